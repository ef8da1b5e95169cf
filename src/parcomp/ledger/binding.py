"""What a ledger is bound to: one dataset of one version, its domain, and what its charges and budget mean.

Charges are numbers without a meaning of their own.  The same ledger read with another domain, measure or budget would
prove a guarantee that nobody has, so a ledger keeps these settings and refuses to be opened with others.  Only the
domain may grow, by loads (:mod:`parcomp.ledger.load`): the binding has the first one.

The digest of a binding, before charge 1 of the chain, is the SHA-256 in lowercase hexadecimal of the records
(:func:`~parcomp.ledger.charge.record`) of

    ``parcomp binding 3``, dataset, version, domain, measure, budget_units, neighbours, rows_per_person, source, rows

with the seal (:mod:`parcomp.ledger.seal`) of the coded rows that the ledger was made with.  A ledger that was made
without it has the mark ``parcomp binding 2`` and no last record, and one without a source either ``parcomp binding 1``
and two records less.
"""

from __future__ import annotations

import json
from dataclasses import astuple, dataclass, fields, replace
from hashlib import sha256
from unicodedata import category, normalize

from parcomp.costs import MAX_UNITS
from parcomp.errors import LedgerError, ParcompError, shown
from parcomp.ledger.charge import check_text, record
from parcomp.model import Domain, check_extension, parse_json
from parcomp.privacy import Measure, Neighbours, check_rows_per_person, find_measure

__all__ = ["Binding", "dataset_identity", "domain_text", "read_domain_text"]

_MARK = "parcomp binding 3"
_MARK_WITHOUT_ROWS = "parcomp binding 2"
_MARK_WITHOUT_SOURCE = "parcomp binding 1"


@dataclass(frozen=True, slots=True)
class Binding:
    """The settings that a ledger belongs to; ``budget_units`` are additive units of the measure.

    ``source`` says which table the charges are about, and ``first_rows`` is the seal of the coded rows that it had
    when the ledger was made; each is "" in a ledger that does not know.
    """

    dataset: str
    version: str
    domain: str
    measure: str
    budget_units: int
    neighbours: str
    rows_per_person: int
    source: str = ""
    first_rows: str = ""

    def __post_init__(self) -> None:
        for name in ("dataset", "version", "domain", "source", "first_rows"):
            check_text(getattr(self, name), name)
        try:
            find_measure(self.measure)
            Neighbours(self.neighbours)
            check_rows_per_person(self.rows_per_person)
        except ParcompError as error:
            raise LedgerError(str(error)) from None
        units = self.budget_units
        if isinstance(units, bool) or not isinstance(units, int) or not 1 <= units <= MAX_UNITS:
            raise LedgerError(f"a budget is a whole number of units from 1 to {MAX_UNITS}, not {shown(units)}")

    @classmethod
    def of(
        cls,
        dataset: str,
        version: str,
        domain: Domain,
        measure: Measure,
        budget_units: int,
        neighbours: str = "add-remove",
        rows_per_person: int = 1,
        source: str = "",
    ) -> Binding:
        """The binding of a dataset with these settings."""
        return cls(
            dataset, version, domain_text(domain), measure.name, budget_units, neighbours, rows_per_person, source
        )

    @property
    def budget(self) -> str:
        """The budget as people state it: in the parameter of the measure, rounded down."""
        measure = find_measure(self.measure)
        return f"{measure.parameter} {measure.parameter_down(self.budget_units)}"

    @property
    def digest(self) -> str:
        """The digest that charge 1 follows."""
        *settings, source, rows = astuple(self)
        bound = (_MARK_WITHOUT_SOURCE, *settings)
        if rows:
            bound = (_MARK, *settings, source, rows)
        elif source:
            bound = (_MARK_WITHOUT_ROWS, *settings, source)
        return sha256(b"".join(map(record, bound))).hexdigest()

    @property
    def persons_key(self) -> bytes:
        """The key under which persons are hashed: the same whenever the table is read, even if its codes were lost."""
        return sha256(b"parcomp persons\n" + replace(self, first_rows="").digest.encode()).digest()

    @property
    def identity(self) -> str:
        """Dataset and version as people tell them apart, who do not see a blank at the end or a capital letter."""
        return dataset_identity(self.dataset, self.version)

    def check_same(self, settings: Binding) -> None:
        """Raise :class:`~parcomp.errors.LedgerError` if a ledger with this binding is opened with other settings."""
        different = [
            field.name
            for field in fields(self)
            if getattr(self, field.name) != getattr(settings, field.name)
            # Settings do not say which rows there were, and a ledger may not know its source.
            and field.name != "first_rows"
            and (field.name != "source" or self.source)
        ]
        if different == ["domain"] and not _extension_problem(self.domain, settings.domain):
            raise LedgerError(
                "the domain of the settings extends that of the ledger; take the table in under it with parcomp load, "
                "or set the domain back"
            )
        if different:
            differences = "; ".join(self._difference(settings, name) for name in different)
            raise LedgerError(
                f"the ledger belongs to other settings: {differences}. Set them back, or use another "
                "ledger: a dataset of another version has its own ledger and budget, and what two ledgers spend on "
                "the same people adds up"
            )

    def check_extended(self, settings: Binding) -> None:
        """Raise if settings differ from this binding in more than a domain that extends its own."""
        replace(self, domain=settings.domain).check_same(settings)
        problem = _extension_problem(self.domain, settings.domain)
        if problem:
            raise LedgerError(
                f"a table is loaded under the domain that its ledger has, or one that extends it: {problem}"
            )

    def _difference(self, settings: Binding, name: str) -> str:
        has, says = getattr(self, name), getattr(settings, name)
        if name == "domain":
            return _domain_difference(has, says)
        if name == "budget_units":
            return f"the budget is {self.budget} in the ledger and {settings.budget} in the settings"
        return f"{name} is {shown(has)} in the ledger and {shown(says)} in the settings"


_UNSEEN = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0")
"""Characters that show nothing, beyond blanks, controls, formats and the selectors of a variant."""


def dataset_identity(dataset: str, version: str) -> str:
    """Equal for names and versions that look the same but for case: in blanks, unseen characters and encodings.

    >>> dataset_identity("People ", "2\u200b6") == dataset_identity("people", " 2 6")
    True
    """
    return json.dumps([_visible(dataset), _visible(version)])


def _visible(text: str) -> str:
    # Upper case first, as some letters differ from others in lower case alone.
    folded = normalize("NFKC", normalize("NFKC", text).upper().casefold())
    return "".join(c for c in folded if not (c.isspace() or c in _UNSEEN or _is_unseen(c)))


def _is_unseen(character: str) -> bool:
    variant = "\ufe00" <= character <= "\ufe0f" or "\U000e0100" <= character <= "\U000e01ef"
    return variant or category(character) in ("Cc", "Cf")


def domain_text(domain: Domain) -> str:
    """The domain in canonical JSON; attributes are a list, as their order counts."""
    attributes = [[name, attribute.describe()] for name, attribute in domain.attributes.items()]
    document = {"name": domain.name, "attributes": attributes}
    return json.dumps(document, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def read_domain_text(text: str, known: Domain | None = None) -> Domain:
    """The domain that :func:`domain_text` wrote; ``known`` itself if it is that."""
    if known is not None and domain_text(known) == text:
        return known
    try:
        document = parse_json("domain", text)
        attributes = document["attributes"]
        named = dict(attributes)
        if len(named) == len(attributes) and len(document) == 2:
            return Domain.described({"name": document["name"], "attributes": named})
    except (ParcompError, KeyError, TypeError, ValueError):
        pass
    raise LedgerError("the ledger has a domain that cannot be read; it was tampered with or made by a later version")


def _extension_problem(old: str, new: str) -> str:
    """Why one domain does not extend another, "" if it does."""
    try:
        check_extension(read_domain_text(old), read_domain_text(new))
    except ParcompError as error:
        return str(error)
    return ""


def _domain_difference(has: str, says: str) -> str:
    try:
        old, new = json.loads(has), json.loads(says)
        if old["name"] != new["name"]:
            return f"domain is named {shown(old['name'])} in the ledger and {shown(new['name'])} in the settings"
        old_names, new_names = ([name for name, _ in domain["attributes"]] for domain in (old, new))
        if old_names != new_names:
            have, say = ", ".join(old_names), ", ".join(new_names)
            return f"domain has the attributes {shown(have)} in the ledger and {shown(say)} in the settings"
        changed = next(a[0] for a, b in zip(old["attributes"], new["attributes"], strict=True) if a != b)
        return f"domain has other values of attribute {shown(changed)} in the ledger than in the settings"
    except (ValueError, KeyError, TypeError, StopIteration):
        return "domain in the ledger is not that of the settings"
