"""Named values in a fixed order, and coarser groupings of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from parcomp.errors import DomainError, PredicateError, shown
from parcomp.model.attribute.base import Attribute, Value
from parcomp.model.attribute.exact import as_plain
from parcomp.model.attribute.level import Level, read_level
from parcomp.model.predicate import Predicate
from parcomp.model.text_file import is_unicode

__all__ = ["Categorical"]

_TYPE_NAMES = {str: "a string", int: "an integer", bool: "a boolean"}
_SHOWN = 8
"""How many values stand in the ``repr``."""


@dataclass(frozen=True, slots=True)
class Categorical(Attribute):
    """Named values in a fixed order: strings, integers or booleans.

    ``levels`` names groupings of the values: level → group → list of values, or ``"rest"`` for all others.

    >>> Categorical(["F", "M"]).code("M")
    1
    >>> icd = Categorical(["C00", "C01", "I10"], levels={"chapter": {"Neoplasms": ["C00", "C01"], "Other": "rest"}})
    >>> icd.levels["chapter"]["Other"]
    ('I10',)
    """

    values: Sequence[str | int | bool]
    nullable: bool = False
    # Not compared, since dictionaries that differ only in their order are equal; what it says is in _levels.
    levels: Mapping[str, Mapping[str, Sequence[str | int | bool] | str]] = field(default_factory=dict, compare=False)
    # Compared, since the values alone do not tell 1 from true.
    _codes: Mapping[tuple[type, object], int] = field(init=False, repr=False)
    _types: frozenset[type] = field(init=False, repr=False, compare=False)
    _levels: tuple[Level, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if isinstance(self.values, (str, bytes)) or not isinstance(self.values, Sequence):
            raise DomainError(f"values must be a list, not {shown(self.values)}", field="values")
        values = tuple(as_plain(value) for value in self.values)
        codes: dict[tuple[type, object], int] = {}
        for position, value in enumerate(values):
            if type(value) not in _TYPE_NAMES:
                message = f"values must be strings, integers or booleans, not {shown(value)}"
                raise DomainError(message, field="values")
            if isinstance(value, str) and not is_unicode(value):
                raise DomainError(f"value {shown(value)} is not valid Unicode", field="values")
            if codes.setdefault((type(value), value), position) != position:
                raise DomainError(f"value {shown(value)} occurs twice", field="values")
        if not codes:
            raise DomainError("values must not be empty", field="values")
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "_codes", codes)
        object.__setattr__(self, "_types", frozenset(kind for kind, _ in codes))
        self._check()
        self._read_levels()

    def _read_levels(self) -> None:
        if not isinstance(self.levels, Mapping):
            raise DomainError(f"levels must be an object of levels, not {shown(self.levels)}", field="levels")
        levels = tuple(
            read_level(name, written, self.null, self.nullable, self._code) for name, written in self.levels.items()
        )
        object.__setattr__(self, "_levels", levels)
        written = {
            level.name: MappingProxyType(
                {group: self._listed(member) for group, member in zip(level.groups, level.members, strict=True)}
            )
            for level in levels
        }
        object.__setattr__(self, "levels", MappingProxyType(written))

    def __reduce__(self) -> tuple[type[Categorical], tuple[object, ...]]:
        return Categorical, (self.values, self.nullable, {name: dict(groups) for name, groups in self.levels.items()})

    def __hash__(self) -> int:
        return hash((self.values, self.nullable, self._levels))

    def __repr__(self) -> str:
        listed = ", ".join(map(shown, self.values[:_SHOWN]))
        more = f", … {len(self.values):,} in all" if len(self.values) > _SHOWN else ""
        names = ", ".join(map(shown, [*self.levels][:_SHOWN])) + (", …" if len(self.levels) > _SHOWN else "")
        levels = f", levels=[{names}]" if self.levels else ""
        return f"Categorical([{listed}{more}]{', nullable=True' if self.nullable else ''}{levels})"

    @property
    def null(self) -> int:
        """The number of named values."""
        return len(self.values)

    def extends(self, older: Attribute) -> bool:
        """Whether its first values are those of ``older``, in the same order, and further ones of the same types."""
        if not isinstance(older, Categorical) or (self.nullable, self._types) != (older.nullable, older._types):
            return False
        # The codes tell 1 from true.
        return all(self._codes.get(key) == code for key, code in older._codes.items())

    def level(self, name: str) -> Level:
        """The level of this name, which must be one of :attr:`levels`."""
        return next(level for level in self._levels if level.name == name)

    def _code(self, value: object) -> int | None:
        plain = as_plain(value)
        if type(plain) not in self._types:
            wanted = " or ".join(sorted(_TYPE_NAMES[kind] for kind in self._types))
            raise PredicateError(f"{shown(value)} is not {wanted}")
        return self._codes.get((type(plain), plain))

    def run(self, low: object, high: object) -> tuple[int, int]:
        """The values from ``low`` to ``high``, both included, in the declared order."""
        start, last = self.code(low), self.code(high)
        for end, code in ((low, start), (high, last)):
            if code is None or end is None:
                raise PredicateError(f"a range of named values runs between two of them; {shown(end)} is none")
        assert start is not None
        assert last is not None
        if start > last:
            raise PredicateError(f"the range is reversed: {shown(low)} comes after {shown(high)}")
        return start, last + 1

    def edge(self, code: int) -> Value:
        """The last value before ``code``."""
        return self.values[code - 1]

    def _value(self, code: int) -> Value:
        return self.values[code]

    def _fields(self) -> dict[str, object]:
        levels = {name: {group: list(listed) for group, listed in one.items()} for name, one in self.levels.items()}
        return {"values": list(self.values)} | ({"levels": levels} if levels else {})

    def _listed(self, predicate: Predicate) -> tuple[str | int | bool, ...]:
        return tuple(self.values[code] for start, stop in predicate.runs() for code in range(start, stop))
