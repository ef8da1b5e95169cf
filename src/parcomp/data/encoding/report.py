"""What a source holds that its domain does not declare, for the custodian's eyes only.

These are exact numbers of the data and not private.  They are shown to the custodian, who has the data anyway, before
anything can be asked, and there is no way to them for an analyst.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from parcomp.data.encoding.encoder import ColumnEncoder
from parcomp.data.encoding.outcome import REASONS
from parcomp.errors import one_line
from parcomp.model import Attribute, Binned, Categorical, Dated, Integer, Stepped
from parcomp.tabular import counted

__all__ = ["AttributeReport", "Report"]

NULL_TOKENS = frozenset({"", "na", "n/a", "#n/a", "nan", "null", "none", "nil", "nat", "?", "-", "--", ".", "missing"})
"""Texts that programs write for null, in lower case and without blanks around."""

_ISO_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_WITH_COMMA = re.compile(r"[+-]?[0-9]{1,3}(?:\.?[0-9]{3})*,[0-9]+")
_DECIMAL = re.compile(r"[+-]?[0-9]*\.?[0-9]+")

_POINT_IN_TIME = re.compile(r":[0-9.]+(?:Z|[+-][0-9:]+)$")
"""The end of a time with its offset, which is shown on the clocks of some zone."""

NULL_CODE = re.compile(r"-[1-9](?:\.0+)?|-?99+(?:\.0+)?|-88+(?:\.0+)?|-77+(?:\.0+)?")
"""Numbers that stand for what is not known in many files."""

TOLERATED = 0.01
"""The share of an attribute's values that may be outside, and of rows left out, before the custodian has to agree."""


@dataclass(frozen=True, slots=True)
class AttributeReport:
    """How many values of an attribute are outside the domain, by reason, and what is suspected to be the cause.

    ``rounded`` counts the values within the domain that lie between two of its steps, and are taken to the nearest;
    ``clipped`` those beyond its ends that are taken to these.
    """

    null: int = 0
    unknown: int = 0
    out_of_range: int = 0
    wrong_type: int = 0
    rounded: int = 0
    clipped: int = 0
    causes: tuple[str, ...] = ()

    @property
    def outside(self) -> int:
        """All of them."""
        return self.null + self.unknown + self.out_of_range + self.wrong_type

    def as_json(self) -> dict[str, int]:
        """The numbers."""
        return {reason: getattr(self, reason) for reason in REASONS.values()}


@dataclass(frozen=True, slots=True)
class Report:
    """What was found in a source: its rows, those with every attribute in the domain, and the attributes.

    ``persons`` is how many there are, None if rows are not told apart by person, and ``rows_left_out`` how many rows
    were not taken, for their person has enough of them or is not known.
    """

    rows: int
    inside: int
    attributes: dict[str, AttributeReport] = field(default_factory=dict)
    persons: int | None = None
    rows_left_out: int = 0

    def __str__(self) -> str:
        lines = [f"{counted(self.rows, 'row')}, {self.rows - self.inside:,} of them with a value outside the domain"]
        if self.persons is not None:
            left_out = self.rows_left_out
            verb = "is" if left_out == 1 else "are"
            lines.append(f"{counted(self.persons, 'person')}; {counted(left_out, 'row')} {verb} left out")
        for name, one in self.attributes.items():
            lines += [f"{one_line(name)}: {cause}" for cause in one.causes]
        return "\n".join(lines)

    @property
    def doubtful(self) -> list[str]:
        """The attributes with more values outside than is tolerated."""
        return [name for name, one in self.attributes.items() if one.outside > TOLERATED * self.rows]

    @property
    def leaves_out_many(self) -> bool:
        """Whether more rows are left out, for their person has enough of them or is not known, than is tolerated."""
        return self.rows_left_out > TOLERATED * self.rows

    def as_json(self) -> dict[str, Any]:
        """The report as ``parcomp check --json`` prints it."""
        return {
            "rows": self.rows,
            "inside": self.inside,
            "outside": self.rows - self.inside,
            "attributes": {name: one.as_json() for name, one in self.attributes.items()},
            "persons": self.persons,
            "rows_left_out": self.rows_left_out,
        }


def attribute_report(column: ColumnEncoder, rows: int) -> AttributeReport:
    """What an encoder has met in so many rows."""
    tally = {reason: column.tally[reason] for reason in (*REASONS.values(), "rounded", "clipped")}
    return AttributeReport(**tally, causes=tuple(_causes(column, rows)))


def _causes(column: ColumnEncoder, rows: int) -> Iterable[str]:
    attribute, tally = column.attribute, column.tally
    texts = column.samples.get("unknown", Counter()) + column.samples.get("wrong_type", Counter())
    tokens = Counter({text: count for text, count in texts.items() if text.strip().lower() in NULL_TOKENS})
    listed = ", ".join(f"`{one_line(text)}`" for text, _ in tokens.most_common(3))
    if tokens:
        verb = "looks like a null token" if len(tokens) == 1 else "look like null tokens"
        seen = counted(sum(tokens.values()), "value")
        yield f"{listed} {verb} ({seen}): add to nulls under [source]{_also(attribute)}"
    if tally["null"]:
        yield f"{_are(tally['null'])} null: declare nullable = true to count them"
    rest = Counter({text: count for text, count in texts.items() if text not in tokens})
    if isinstance(attribute, Categorical):
        yield from _name_causes(attribute, tally["unknown"] + tally["wrong_type"] - sum(tokens.values()), rest)
    elif tally["wrong_type"] > sum(tokens.values()):
        count = tally["wrong_type"] - sum(tokens.values())
        if isinstance(attribute, Dated):
            yield f"{count:,} of {rows:,} dates do not parse{_examples(rest)}; {_about_dates(rest)}"
        elif isinstance(attribute, Integer):
            yield f"{_no(count, 'whole number')}{_examples(rest)}; {_about_numbers(rest, whole=True)}"
        else:
            yield f"{_no(count, 'number')}{_examples(rest)}; {_about_numbers(rest)}"
    if tally["rounded"] and isinstance(attribute, Stepped):
        yield (
            f"{_values(tally['rounded'], 'lies', 'lie')} between two steps of {attribute.step}, and "
            f"{'is' if tally['rounded'] == 1 else 'are'} taken to the nearest, in "
            "sums and averages too: declare a finer step to keep them as they are"
        )
    yield from _end_causes(column)


def _end_causes(column: ColumnEncoder) -> Iterable[str]:
    """What is said of values beyond the ends: outside, or taken to them."""
    attribute = column.attribute
    for reason in ("out_of_range", "clipped"):
        count, seen = column.tally[reason], column.samples.get(reason, Counter())
        code, times = seen.most_common(1)[0] if seen and not isinstance(attribute, Dated) else ("", 0)
        if NULL_CODE.fullmatch(code) and 2 * times > count and times > 1:
            count -= times
            way = f"add to nulls under [source]{_also(attribute)}"
            if not column.has_text:
                way = f"make it null in a view, or before the table is read, since nulls are texts{_also(attribute)}"
            yield f"`{code}` looks like a code for null ({counted(times, 'value')}): {way}"
        if reason == "clipped" and column.tally[reason]:
            yield f"{_are(column.tally[reason], ' beyond low and high')} taken to the nearer one{_examples(seen)}"
        elif count:
            ways = "widen them"
            if isinstance(attribute, (Integer, Stepped, Binned)):
                ways += ", or clip = true to take them to the ends"
            elif any(_POINT_IN_TIME.search(text) for text in seen):
                ways += ", or declare under [source] the timezone whose clocks are meant"
            yield f"{_values(count, 'lies', 'lie')} beyond low and high: {ways}"


def _values(count: int, singular: str, plural: str) -> str:
    """So many values, and what they do."""
    return f"{counted(count, 'value')} {singular if count == 1 else plural}"


def _are(count: int, which: str = "") -> str:
    return f"{counted(count, 'value')}{which} {'is' if count == 1 else 'are'}"


def _no(count: int, thing: str) -> str:
    return f"{_are(count)} no {thing}{'' if count == 1 else 's'}"


def _also(attribute: Attribute) -> str:
    return "" if attribute.nullable else ", and nullable = true to the attribute"


def _about_dates(texts: Counter[str]) -> str:
    """What to do about texts that are no dates, by what most of them look like."""
    if _mostly(texts, str.strip, _ISO_DATE.match):
        return "take the blanks away before the table is read"
    return "dates are read as ISO writes them, 2020-12-31; convert others before the table is read, or in a view"


def _about_numbers(texts: Counter[str], *, whole: bool = False) -> str:
    if not texts:
        return "declare a step where they are decimals" if whole else "NaN is none"
    if _mostly(texts, str, _WITH_COMMA.fullmatch):
        return "decimals are read with a point; convert those with a comma before the table is read, or in a view"
    if _mostly(texts, str.strip, _ISO_DATE.match):
        return 'declare them as dates, with low and high such as "2020-12-31"'
    if whole and _mostly(texts, str.strip, _DECIMAL.fullmatch):
        return "declare a step where they are decimals"
    if _mostly(texts, str.strip, _DECIMAL.fullmatch):
        return "take the blanks away before the table is read"
    return "declare values where they are names"


def _mostly(texts: Counter[str], prepare: Callable[[str], str], looks: Callable[[str], object]) -> bool:
    """Whether most of the texts look like something."""
    return 2 * sum(count for text, count in texts.items() if looks(prepare(text))) > texts.total()


def _name_causes(attribute: Categorical, count: int, texts: Counter[str]) -> Iterable[str]:
    if count <= 0:
        return
    folded = {str(value).strip().casefold() for value in attribute.values}
    alike = Counter({text: number for text, number in texts.items() if text.strip().casefold() in folded})
    if alike:
        differ = _values(sum(alike.values()), "differs", "differ")
        yield (
            f"{differ} from declared ones in case or in blanks only{_examples(alike)}; declare them as they are stored"
        )
        count -= sum(alike.values())
        texts = texts - alike
    if count > 0 and {type(value) for value in attribute.values} == {bool}:
        yield f"{_no(count, 'boolean')}, which are true, false, 1 and 0{_examples(texts)}; declare values"
    elif count > 0:
        yield f"{_are(count)} not declared{_examples(texts)}"


def _examples(texts: Counter[str]) -> str:
    listed = ", ".join(f"`{one_line(text)[:30]}`" for text, _ in texts.most_common(3))
    return f", such as {listed}" if listed else ""
