"""The custodian's settings: one TOML file that says which table, which budget, which ledger, which analysts.

.. code-block:: toml

    [dataset]
    name = "census"
    version = "2026"
    source = "census.parquet"       # or .csv, a DuckDB file, postgresql://…, spark://…
    table = "census"                # where the source holds several
    domain = "census-domain.json"
    complete = ["sex", "age"]       # every row has a declared value of these, which init and load see to; or true

    [privacy]
    measure = "pure"                # or zcdp, gdp
    budget = "1.0"                  # ε, ρ or μ; a string, so that it is the decimal that is written
                                    # zcdp, gdp: or {epsilon = "1", delta = "1e-6"}
    neighbours = "add-remove"       # or replace-one
    rows_per_person = 1
    person = "patient"              # the column that tells whose row it is; without it the line above is an assumption

    [source]                        # how the table is read; all of it optional
    nulls = ["NA"]                  # texts that stand for null, beside an empty field of a CSV file
    delimiter = ";"
    encoding = "cp1252"
    compression = "gzip"            # the default for a file that ends in .gz
    timezone = "Europe/Vienna"      # in which points in time are shown as dates; UTC if not given

    [ledger]
    url = "sqlite:///ledger.db"     # or postgresql://…
    mark = "custodian.mark"         # the default: the settings' name with this ending

    [analysts.anna]
    quota = "0.3"

Files are looked up beside the settings, not in the working directory: a command that is run elsewhere must find the
same ledger, or it would spend the budget a second time.  The section ``[service]`` is described in
:mod:`parcomp.custodian.serving`.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from os.path import relpath
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from parcomp.costs import budget_down
from parcomp.custodian.serving import SERVING_KEYS, Serving
from parcomp.data import Reading, TablePlace
from parcomp.errors import DomainError, FileError, ParcompError, SettingsError, shown
from parcomp.ledger import Binding, domain_text
from parcomp.model import Categorical, Domain, KeyedFile
from parcomp.privacy import Measure, Neighbours, check_rows_per_person, find_measure

if TYPE_CHECKING:
    from parcomp.privacy import ApproximateBudget

__all__ = ["Settings", "read_complete", "stated_quotas"]

_NEEDED: Final = {
    "dataset": ("name", "version", "source", "domain"),
    "privacy": ("measure", "budget"),
    "ledger": ("url",),
}
_OPTIONAL: Final = {
    "dataset": ("table", "complete"),
    "privacy": ("neighbours", "rows_per_person", "person"),
    "ledger": ("mark",),
}
_READING: Final = ("nulls", "delimiter", "encoding", "compression", "timezone")
_ADDRESS = re.compile(r"[a-z][a-z0-9+]*://")
_SQLITE = "sqlite:///"


@dataclass(frozen=True, slots=True)
class Settings:
    """What a custodian is told: the dataset, its privacy settings, the ledger and the analysts' quotas.

    ``budget_units`` and the quotas are in additive units of the measure, rounded down.  ``approximate`` is the budget
    as (ε, δ) if it is stated so: amounts are then shown as an ε at that δ too, and ``stated`` has the ε of quotas that
    are stated at the same δ, by their units.  ``source`` and ``ledger`` are addresses, or absolute paths.  ``person``
    is the column that says whose row it is, "" if none does, and ``person_field`` where that is written, for messages.
    ``mark`` is the file that says how far the ledger has come, ``codes`` where the coded table of a file or of Spark
    is, and ``directory`` that of the settings, beside which files are looked up.  ``complete`` are the attributes of
    which every row has a declared value, in the order of the domain.
    """

    name: str
    version: str
    source: str
    domain: Domain
    measure: Measure
    budget_units: int
    ledger: str
    table: str | None = None
    neighbours: Neighbours = Neighbours.ADD_REMOVE
    rows_per_person: int = 1
    person: str = ""
    person_field: str = ""
    reading: Reading = field(default_factory=Reading)
    quotas: Mapping[str, int | None] = field(default_factory=dict)
    serving: Serving = field(default_factory=Serving)
    mark: str | None = None
    codes: str | None = None
    directory: str | None = None
    approximate: ApproximateBudget | None = None
    stated: Mapping[int, float] = field(default_factory=dict)
    complete: tuple[str, ...] = ()

    @classmethod
    def load(cls, path: str | Path) -> Settings:
        """Read a settings file."""
        if not isinstance(path, (str, Path)):
            raise SettingsError(f"settings are read from the path of a .toml file, not {shown(path)}")
        return _Reader(Path(path)).settings()

    @property
    def binding(self) -> Binding:
        """What the ledger is bound to."""
        return Binding.of(
            self.name,
            self.version,
            self.domain,
            self.measure,
            self.budget_units,
            str(self.neighbours),
            self.rows_per_person,
            self._bound_source,
        )

    @property
    def _bound_source(self) -> str:
        """The table as a ledger is bound to it: wherever the settings or the server move, and whoever reads it."""
        if _ADDRESS.match(self.source):
            scheme, _, place = self.source.replace("postgres://", "postgresql://", 1).partition("://")
            name = f"{scheme}:{place.partition('?')[0].partition('/')[2]}"
        else:
            name = relpath(self.source, self.directory) if self.directory else self.source
        named = f"{name} {self.table}" if self.table else name
        named = f"{named}\npersons by {self.person}" if self.person else named
        # Answers from before it was said would be taken for what they are not, so it is said once, with the ledger.
        return f"{named}\ncomplete: {json.dumps(self.complete, ensure_ascii=False)}" if self.complete else named

    @property
    def place(self) -> TablePlace:
        """The table, as it is read and coded."""
        return TablePlace(
            self.name,
            self.version,
            self.domain,
            domain_text(self.domain),
            self.source,
            self.table or self.name,
            self.reading,
            self.person,
            self.rows_per_person,
            self.codes,
            self._bound_source,
            self.person_field,
            self.complete,
        )

    def describe_domain(self) -> dict[str, Any]:
        """The domain as in a domain file, with the ``complete`` attributes beside it, if there are any."""
        return {**self.domain.describe(), **({"complete": list(self.complete)} if self.complete else {})}

    @property
    def complete_positions(self) -> frozenset[int]:
        """The positions of the attributes of which every row has a declared value."""
        return frozenset(map(self.domain.index, self.complete))

    @property
    def tables(self) -> set[str]:
        """The names that may stand after FROM."""
        return {self.name, self.domain.name, *([self.table] if self.table else [])}

    @property
    def row_budget(self) -> int:
        """What may be spent on a single row: the budget is for all rows that one person can own."""
        return self.budget_units // self.measure.group(1, self.rows_per_person)

    def check_analyst(self, analyst: str) -> None:
        """Raise unless the analyst may ask: anyone, or once some are declared one of these."""
        if not isinstance(analyst, str):
            raise SettingsError(f"an analyst is told by name, a string, not {shown(analyst)}")
        if self.quotas and analyst not in self.quotas:
            known = ", ".join(sorted(self.quotas))
            who = f"unknown analyst {shown(analyst)}"
            if not analyst:
                who = 'the request does not say who asks (--as NAME, in Python analyst="NAME")'
            raise SettingsError(f"{who}; the settings name {known}")

    def epsilon_down(self, units: int) -> float:
        """An amount that is left as an ε at the budget's δ: a whole quota as it was stated, others rounded down."""
        assert self.approximate is not None
        return self.stated[units] if units in self.stated else self.approximate.epsilon_down(units)

    def row_quota(self, analyst: str) -> int:
        """What one analyst may spend on a single row."""
        quota = self.quotas.get(analyst)
        return self.row_budget if quota is None else quota // self.measure.group(1, self.rows_per_person)


def read_complete(domain: Domain, written: object) -> tuple[str, ...]:
    """The attributes of which every row has a declared value: all of them (true), or those of a list."""
    if isinstance(written, bool):
        return domain.names if written else ()
    if not isinstance(written, Sequence) or isinstance(written, str):
        raise SettingsError(f'complete is true, or a list of attributes such as ["sex"], not {shown(written)}')
    for name in written:
        if not isinstance(name, str) or name not in domain.names:
            raise SettingsError(f"complete: {shown(name)} is no attribute; there are {', '.join(domain.names)}")
    return tuple(name for name in domain.names if name in written)


def stated_quotas(
    budget: ApproximateBudget | None, quotas: Iterable[tuple[int, ApproximateBudget | None]]
) -> dict[int, float]:
    """The ε of quotas that are stated at the δ of the budget, by their units."""
    if budget is None:
        return {}
    return {units: one.epsilon for units, one in quotas if one is not None and one.delta == budget.delta}


class _Reader:
    """Checks a parsed document field by field."""

    def __init__(self, path: Path) -> None:
        if path.suffix.lower() != ".toml":
            raise FileError(path, "a custodian's settings are a .toml file")
        self.path = path
        self.file = KeyedFile.read(path)

    def settings(self) -> Settings:
        document = self.file.mapping(self.file.document, [])
        self.file.check_keys(document, {*_NEEDED, "source", "service", "analysts"}, [])
        sections = {name: self._section(document, name) for name in _NEEDED}
        dataset, privacy = sections["dataset"], sections["privacy"]
        measure = self._checked(find_measure, privacy["measure"], "privacy", "measure")
        budget, approximate = self._amount(measure, privacy["budget"], ["privacy", "budget"])
        rows = self._checked(check_rows_per_person, privacy.get("rows_per_person", 1), "privacy", "rows_per_person")
        if budget < measure.group(1, rows):
            raise self.file.error("too small to be divided among the rows of a person", ["privacy", "budget"])
        quotas = self._quotas(document.get("analysts", {}), measure, budget)
        domain = self._domain(dataset)
        complete = self._checked(partial(read_complete, domain), dataset.get("complete", False), "dataset", "complete")
        return Settings(
            name=self._text(dataset, "dataset", "name"),
            version=self._text(dataset, "dataset", "version"),
            source=self._source(dataset),
            table=self._text(dataset, "dataset", "table") if "table" in dataset else None,
            domain=domain,
            complete=complete,
            measure=measure,
            budget_units=budget,
            neighbours=self._checked(Neighbours, privacy.get("neighbours", "add-remove"), "privacy", "neighbours"),
            rows_per_person=rows,
            person=self._text(privacy, "privacy", "person") if "person" in privacy else "",
            person_field=str(self.file.error("", ["privacy", "person"])) if "person" in privacy else "",
            reading=self._reading(document.get("source", {})),
            ledger=self._ledger(sections["ledger"]),
            mark=self._mark(sections["ledger"]),
            codes=str(self._beside(self.path.with_suffix(".codes").name)),
            directory=str(self.path.parent.resolve()),
            serving=self._serving(document.get("service", {})),
            quotas={name: None if one is None else one[0] for name, one in quotas.items()},
            approximate=approximate,
            stated=stated_quotas(approximate, [one for one in quotas.values() if one is not None]),
        )

    def _section(self, document: Mapping[str, Any], name: str) -> Mapping[str, Any]:
        if name not in document:
            raise self.file.error(f"missing; it holds {', '.join(_NEEDED[name])}", [name])
        section = self.file.mapping(document[name], [name])
        self.file.check_keys(section, {*_NEEDED[name], *_OPTIONAL[name]}, [name])
        for key in _NEEDED[name]:
            if key not in section:
                raise self.file.error(f"missing {key}", [name, key])
        return section

    def _text(self, section: Mapping[str, Any], name: str, key: str) -> str:
        value = section[key]
        if not isinstance(value, str) or not value or set("\0\r\n") & set(value):
            raise self.file.error(
                f"must be a non-empty string in one line, without null characters, not {shown(value)}", [name, key]
            )
        return value

    def _source(self, dataset: Mapping[str, Any]) -> str:
        source = self._text(dataset, "dataset", "source")
        # Links are not followed: the name stays where the file behind it becomes another one.
        return source if _ADDRESS.match(source) else os.path.normpath(self.path.parent.resolve() / source)

    def _domain(self, dataset: Mapping[str, Any]) -> Domain:
        path = self._beside(self._text(dataset, "dataset", "domain"))
        try:
            domain = Domain.load(path)
        except DomainError as error:
            raise self.file.error(str(error), ["dataset", "domain"]) from None
        for name, attribute in domain.attributes.items():
            if isinstance(attribute, Categorical) and len({type(value) for value in attribute.values}) > 1:
                raise KeyedFile.read(path).error(
                    "the domain declares values of several types, and a column of a table has one; declare one type",
                    ["attributes", name, "values"],
                )
        return domain

    def _ledger(self, section: Mapping[str, Any]) -> str:
        url = self._text(section, "ledger", "url")
        if url.startswith(_SQLITE) and len(url) > len(_SQLITE):
            return _SQLITE + str(self._beside(url[len(_SQLITE) :]))
        if url.startswith(("postgresql://", "postgres://")):
            return url
        raise self.file.error("must be sqlite:///FILE or postgresql://…", ["ledger", "url"])

    def _mark(self, section: Mapping[str, Any]) -> str:
        name = self._text(section, "ledger", "mark") if "mark" in section else self.path.with_suffix(".mark").name
        return str(self._beside(name))

    def _reading(self, written: object) -> Reading:
        section = self.file.mapping(written, ["source"])
        self.file.check_keys(section, set(_READING), ["source"])
        for key, value in section.items():
            # One by one, so that an error names its field.
            self._checked(lambda given, key=key: Reading(**{key: given}), value, "source", key)
        return Reading(**section)

    def _serving(self, written: object) -> Serving:
        section = self.file.mapping(written, ["service"])
        self.file.check_keys(section, set(SERVING_KEYS), ["service"])
        for key, value in section.items():
            self._checked(lambda given, key=key: Serving(**{key: given}), value, "service", key)
        try:
            return Serving(**section)
        except SettingsError as error:
            raise self.file.error(str(error), ["service"]) from None

    def _quotas(
        self, written: object, measure: Measure, budget: int
    ) -> dict[str, tuple[int, ApproximateBudget | None] | None]:
        quotas: dict[str, tuple[int, ApproximateBudget | None] | None] = {}
        for analyst, fields in self.file.mapping(written, ["analysts"]).items():
            place = ["analysts", analyst]
            section = self.file.mapping(fields, place)
            self.file.check_keys(section, {"quota"}, place)
            if not analyst:
                raise self.file.error("an analyst's name must not be empty", place)
            quotas[analyst] = None
            if "quota" in section:
                quota = self._amount(measure, section["quota"], [*place, "quota"])
                if quota[0] > budget:
                    raise self.file.error("is above the budget, which bounds every quota", [*place, "quota"])
                quotas[analyst] = quota
        return quotas

    def _amount(self, measure: Measure, written: object, place: list[str]) -> tuple[int, ApproximateBudget | None]:
        """A budget or a quota in additive units, and as (ε, δ) if it is written so."""
        if isinstance(written, Mapping):
            return self._approximate(measure, self.file.mapping(written, place), place)
        if not isinstance(written, str):
            raise self.file.error(f'must be a string such as "1.0", not {shown(written)}', place)
        return self._checked(measure.budget_down, written, *place), None

    def _approximate(
        self, measure: Measure, written: Mapping[str, Any], place: list[str]
    ) -> tuple[int, ApproximateBudget]:
        from parcomp.privacy import ApproximateBudget, read_delta  # noqa: PLC0415  few settings need the conversions

        self.file.check_keys(written, {"epsilon", "delta"}, place)
        for key, check in (("epsilon", budget_down), ("delta", read_delta)):
            if key not in written:
                raise self.file.error(
                    'missing; a budget of two numbers is {epsilon = "1", delta = "1e-6"}', [*place, key]
                )
            if not isinstance(written[key], str):
                raise self.file.error(f'must be a string such as "1e-6", not {shown(written[key])}', [*place, key])
            self._checked(check, written[key], *place, key)
        budget = self._checked(lambda fields: ApproximateBudget.of(measure, **fields), written, *place)
        return budget.units, budget

    def _checked(self, check: Any, value: object, *place: str) -> Any:
        try:
            return check(value)
        except ParcompError as error:
            raise self.file.error(str(error), place) from None

    def _beside(self, name: str) -> Path:
        return (self.path.parent / name).resolve()
