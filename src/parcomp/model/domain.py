"""A domain: the product of its attributes (paper §2.1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from types import MappingProxyType

from parcomp.errors import DomainError, PredicateError, shown
from parcomp.model.attribute import Attribute, Categorical, Level, Value
from parcomp.model.domain_file import load_domain, read_domain, save_domain
from parcomp.model.keyed_file import KeyedFile
from parcomp.model.notation import read_predicate
from parcomp.model.predicate import Predicate
from parcomp.model.query import Query
from parcomp.model.text_file import is_unicode

__all__ = ["Domain"]

_SHOWN = 12
"""How many attributes stand in the ``repr``."""


@dataclass(frozen=True, slots=True)
class Domain:
    """Attributes by name, in a fixed order.

    >>> from parcomp.model.attribute import Categorical, Integer
    >>> domain = Domain({"sex": Categorical(["F", "M"]), "age": Integer(0, 119)}, name="people")
    >>> domain.size
    240
    """

    attributes: Mapping[str, Attribute]
    name: str = "data"

    def __post_init__(self) -> None:
        if not self.attributes:
            raise DomainError("a domain needs at least one attribute")
        for name in (self.name, *self.attributes):
            if not isinstance(name, str) or not name:
                raise DomainError(f"names must be non-empty strings, not {shown(name)}")
            if not is_unicode(name):
                raise DomainError(f"the name {shown(name)} is not valid Unicode")
        object.__setattr__(self, "attributes", MappingProxyType(dict(self.attributes)))
        self._check_levels()

    def __repr__(self) -> str:
        listed = [f"{name} ({attribute.size:,})" for name, attribute in [*self.attributes.items()][:_SHOWN]]
        more = [f"… {len(self.attributes):,} in all"] if len(self.attributes) > _SHOWN else []
        return f"<Domain {shown(self.name)}: {', '.join(listed + more)}>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Domain):
            return NotImplemented
        # The order counts: a query names its attributes by position.
        return self.name == other.name and tuple(self.attributes.items()) == tuple(other.attributes.items())

    def __hash__(self) -> int:
        return hash((self.name, tuple(self.attributes.items())))

    def __reduce__(self) -> tuple[type[Domain], tuple[dict[str, Attribute], str]]:
        return Domain, (dict(self.attributes), self.name)

    def _check_levels(self) -> None:
        """A level can stand where an attribute can, so no two may have one name."""
        owners: dict[str, str] = {}
        for name, attribute in self.attributes.items():
            for level in attribute.levels if isinstance(attribute, Categorical) else ():
                if level in self.attributes:
                    message = f"level {shown(level)} of attribute {shown(name)} has the name of an attribute"
                    raise DomainError(message, field="attributes")
                if level in owners:
                    message = f"{shown(owners[level])} and {shown(name)} both have a level {shown(level)}"
                    raise DomainError(message, field="attributes")
                owners[level] = name

    @classmethod
    def load(cls, path: str | Path) -> Domain:
        """Read a domain file (``.json``, ``.toml`` or ``.yaml``)."""
        return load_domain(path, cls)

    @classmethod
    def described(cls, document: Mapping[str, object], *, within: str = "domain.json") -> Domain:
        """The domain that :meth:`describe` describes; ``within`` is what an error calls the document's file.

        What a custodian tells beside it, which attributes are ``complete``, is passed over.
        """
        described = {name: told for name, told in document.items() if name != "complete"}
        return read_domain(KeyedFile(Path(within), "", described), cls)

    def save(self, path: str | Path) -> None:
        """Write a domain file in JSON."""
        save_domain(self.describe(), path)

    def describe(self) -> dict[str, object]:
        """The domain as it stands in a domain file."""
        return {"name": self.name, "attributes": {name: one.describe() for name, one in self.attributes.items()}}

    @property
    def size(self) -> int:
        """The number of rows, |𝔻|."""
        return prod(attribute.size for attribute in self.attributes.values())

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the attributes, in order."""
        return tuple(self.attributes)

    @property
    def levels(self) -> Mapping[str, tuple[int, Level]]:
        """The levels of all attributes: name → position of the attribute, and the level."""
        return {
            name: (index, attribute.level(name))
            for index, attribute in enumerate(self.attributes.values())
            if isinstance(attribute, Categorical)
            for name in attribute.levels
        }

    def index(self, name: str) -> int:
        """The position of an attribute."""
        try:
            return self.names.index(name)
        except ValueError:
            known = ", ".join(self.names[:20]) + (", …" if len(self.names) > 20 else "")
            raise DomainError(f"unknown attribute {name!r}; there are {known}") from None

    def predicate(self, name: str, written: object) -> Predicate:
        """The predicate that ``written`` stands for on the attribute of this name."""
        self.index(name)
        try:
            return read_predicate(self.attributes[name], written)
        except PredicateError as error:
            raise PredicateError(f"{name}: {error}") from None

    def query(self, where: Mapping[str, object] | None = None, /, **more: object) -> Query:
        """The query that asks for each given attribute to satisfy its predicate.

        Predicates are written as in workload files, with ``between(a, b)`` for a range; an attribute whose name is
        no Python identifier goes into the mapping ``where``.
        """
        terms = {}
        for name, written in [*(where or {}).items(), *more.items()]:
            if (index := self.index(name)) in terms:
                raise PredicateError(f"{name}: an attribute has one predicate in a query, not two")
            terms[index] = self.predicate(name, written)
        return Query(self, tuple(sorted(terms.items())))

    def row(self, codes: Sequence[int]) -> dict[str, Value]:
        """The row with these codes, as attribute → value."""
        return {name: a.value(int(code)) for (name, a), code in zip(self.attributes.items(), codes, strict=True)}
