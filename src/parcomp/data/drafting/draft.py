"""A draft of a domain: a line for each column, complete or to be completed by a person.

The draft is written as TOML, which has comments.  A line that lacks something is one, and says what is missing: what is
incomplete must not load, and no column is passed over in silence.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from parcomp.errors import DomainError, one_line
from parcomp.model import Attribute, Domain

__all__ = ["Draft", "Line", "checked", "complete", "integers", "left_out", "moments", "names", "numbers", "unread"]

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)


@dataclass(frozen=True, slots=True)
class Line:
    """What is drafted of one column: an attribute, or the ``fields`` it would have, in which None is what is missing.

    A line without either is of a column that is left out.  ``remark`` says what is missing, why it is left out, or
    where the ends of an attribute are from.
    """

    attribute: Attribute | None = None
    fields: Mapping[str, object] = field(default_factory=dict)
    remark: str = ""

    def written(self, name: str) -> str:
        """The line as it stands in the draft."""
        remark = one_line(self.remark)
        if self.attribute is not None:
            line = f"{_key(name)} = {_table(self.attribute.describe())}"
            return f"{line}  # {remark}" if remark else line
        if not self.fields:
            return f"# {_key(name)} is left out: {remark}"
        return f"# {_key(name)} = {_table(self.fields)}  # {remark}"


@dataclass(frozen=True, slots=True)
class Draft:
    """The lines of a domain by column, in the order of the columns.

    ``nulls`` are texts of the data that seem to stand for null; the lines are drafted as if they were declared so.
    """

    name: str
    lines: Mapping[str, Line]
    nulls: tuple[str, ...] = ()

    @property
    def attributes(self) -> dict[str, Attribute]:
        """The attributes that are complete."""
        return {name: line.attribute for name, line in self.lines.items() if line.attribute is not None}

    @property
    def domain(self) -> Domain | None:
        """The domain of the complete attributes; None if there are none."""
        return Domain(self.attributes, name=self.name) if self.attributes else None

    @property
    def incomplete(self) -> dict[str, str]:
        """The columns that are to be completed, and what is missing."""
        return {name: line.remark for name, line in self.lines.items() if line.attribute is None and line.fields}

    @property
    def left_out(self) -> dict[str, str]:
        """The columns that make no attribute, and why."""
        return {name: line.remark for name, line in self.lines.items() if line.attribute is None and not line.fields}

    def as_toml(self) -> str:
        """The draft as a domain file, with what is incomplete in comments."""
        lines = [line.written(name) for name, line in self.lines.items()]
        return "\n".join([f"name = {_value(self.name)}", "", "[attributes]", *lines, ""])

    def as_json(self) -> str:
        """The complete attributes as a domain file."""
        described = {name: attribute.describe() for name, attribute in self.attributes.items()}
        return json.dumps({"name": self.name, "attributes": described}, ensure_ascii=False, indent=2) + "\n"


def complete(attribute: Attribute, remark: str = "") -> Line:
    """A line that can stand as it is."""
    return Line(attribute, remark=remark)


def left_out(reason: str) -> Line:
    """A column of which no attribute is drafted."""
    return Line(remark=reason)


def integers(low: int | None = None, high: int | None = None, *, nullable: bool = True) -> Line:
    """Integers of which an end is missing."""
    missing = _missing({"low": low, "high": high})
    return Line(fields=_fields({"low": low, "high": high}, nullable), remark=f"integers; give {missing}")


def numbers(step: str | None = None, ends: Mapping[str, str | None] | None = None, *, nullable: bool = True) -> Line:
    """Numbers of which an end or the step is missing."""
    fields = {"low": None, "high": None, **(ends or {}), "step": step}
    missing = _missing(fields)
    choice = "" if step is not None else ", or bins in its place"
    kind = "decimals" if step is not None else "numbers"
    return Line(fields=_fields(fields, nullable), remark=f"{kind}; give {missing}{choice}")


def moments(ends: Mapping[str, str | None] | None = None, *, hours: bool, nullable: bool = True) -> Line:
    """Dates of which an end is missing; with ``hours`` the column has times too."""
    fields = {"low": None, "high": None, **(ends or {})}
    unit = 'or unit = "hour"' if hours else 'or unit = "month"'
    remark = f"{'times' if hours else 'dates'}; give {_missing(fields)} as ISO dates; {unit}"
    return Line(fields=_fields({**fields, "unit": "day"}, nullable), remark=remark)


def names(remark: str = "text; give values", *, nullable: bool = True) -> Line:
    """Values that are not known."""
    return Line(fields=_fields({"values": [None]}, nullable), remark=remark)


def unread(kind: str = "") -> Line:
    """A column of a type that no attribute is read from."""
    return left_out(
        f"no attribute is read from a column of {f'type {kind}' if kind else 'this type'}; cast it in a view"
    )


def _fields(fields: Mapping[str, object], nullable: bool) -> dict[str, object]:
    return {**fields} | ({"nullable": True} if nullable else {})


def _missing(fields: Mapping[str, object]) -> str:
    listed = [name for name, value in fields.items() if value is None]
    return " and ".join([", ".join(listed[:-1]), listed[-1]]) if len(listed) > 1 else listed[0]


def _table(fields: Mapping[str, object]) -> str:
    return "{ " + ", ".join(f"{_key(name)} = {_value(value)}" for name, value in fields.items()) + " }"


def _key(name: str) -> str:
    return name if _BARE_KEY.fullmatch(name) else _value(name)


def _value(value: object) -> str:
    if value is None:
        return "?"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, Mapping):
        return _table(value)
    # TOML's strings, numbers and booleans are written as JSON's are, but for a control character that JSON leaves as it
    # is. Half of a surrogate pair, which TOML has no escape for, stands in comments only.
    written = json.dumps(value, ensure_ascii=False)
    return "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in written)


def checked(name: str, line: Line) -> Line:
    """The line, or that its column is left out because no domain has an attribute of this name."""
    if not name:
        return left_out("the column has no name")
    if line.attribute is None:
        return line
    try:
        Domain({name: line.attribute})
    except DomainError as error:
        return left_out(str(error))
    return line
