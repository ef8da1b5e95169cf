"""What requests hold, and what responses look like in the OpenAPI document.

Requests are strict: what is not asked for is an error, booleans are no numbers, and an amount is a decimal string or a
finite number, which stands for its shortest decimal.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema, model_validator

from parcomp.custodian import Answer, EstimatedCount, Estimates, longest_notes
from parcomp.custodian.rooms import LONGEST, NUMBER
from parcomp.estimation import METHODS

__all__ = [
    "AnswerBody",
    "AnswersBody",
    "AskBody",
    "AskOrDeriveBody",
    "BatchBody",
    "BudgetBody",
    "DomainBody",
    "EstimatesBody",
    "GraphBody",
    "LedgerBody",
    "MapBody",
    "ProblemBody",
    "QuoteBody",
    "QuotesBody",
    "StateBody",
    "fixed_width_json",
]

_DECIMAL = r"^[0-9]{1,30}(\.[0-9]{1,60})?([eE][+-]?[0-9]{1,4})?$"
_LARGEST = 10.0**30
_PARAMETERS = ("epsilon", "rho", "mu")
_MOST_MEMBERS = 20
_MOST_CHARACTERS = 500_000
_LONGEST_METHOD = max(METHODS, key=len)


def _amount(written: object) -> object:
    if isinstance(written, str) and len(written) <= 100 and re.fullmatch(_DECIMAL, written, re.ASCII):
        return written
    if isinstance(written, (int, float)) and not isinstance(written, bool) and 0 < written < _LARGEST:
        return written
    raise ValueError('an amount is a decimal above 0, a string such as "0.1" or a number')


# As "anything that the validator takes", so that leaving it out is one thing and null, which it does not take, another.
Amount = Annotated[
    Any,
    BeforeValidator(_amount),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string", "pattern": _DECIMAL, "maxLength": 100},
                {"type": "number", "exclusiveMinimum": 0},
            ],
            "examples": ["0.1"],
        }
    ),
]
Sql = Annotated[str, Field(min_length=1, examples=["SELECT COUNT(*) FROM census WHERE gender = 'F'"])]


def _absent() -> Any:
    """A field that may be left out, of which the document says no more than that it is not required."""
    return Field(default=None, json_schema_extra=_without_default)


def _without_default(schema: dict[str, Any]) -> None:
    schema.pop("default", None)


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    @model_validator(mode="before")
    @classmethod
    def _few_members(cls, written: object) -> object:
        # Each that is not known would be an error of its own, worked out on the event loop.
        if isinstance(written, dict) and len(written) > _MOST_MEMBERS:
            raise ValueError(f"it has {len(written):,} members; a request has a few")
        return written


class _Told(BaseModel):
    model_config = ConfigDict(extra="allow")


class _Priced(_Strict):
    epsilon: Amount = _absent()
    rho: Amount = _absent()
    mu: Amount = _absent()

    @property
    def cost(self) -> dict[str, Any]:
        """The amount that is given, by its parameter."""
        return {name: amount for name in _PARAMETERS if (amount := getattr(self, name)) is not None}


class AskBody(_Priced):
    """A statement and what it may cost, in the parameter of the dataset's measure."""

    model_config = ConfigDict(json_schema_extra={"oneOf": [{"required": [name]} for name in _PARAMETERS]})

    sql: Sql

    @model_validator(mode="after")
    def _one_cost(self) -> AskBody:
        if len(self.cost) != 1:
            raise ValueError("give one of epsilon, rho and mu: the parameter of the dataset's measure")
        return self


class AskOrDeriveBody(_Priced):
    """A statement and what it may cost; with ``derive`` it is answered from what was released before, for nothing.

    With ``estimate`` a derived answer has beside it what all answers of the key say of it.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "anyOf": [
                {"oneOf": [{"required": [name]} for name in _PARAMETERS]},
                {
                    "required": ["derive"],
                    "properties": {"derive": {"const": True}},
                    "not": {"anyOf": [{"required": [name]} for name in _PARAMETERS]},
                },
            ],
            "if": {"required": ["estimate"], "properties": {"estimate": {"const": True}}},
            "then": {"required": ["derive"], "properties": {"derive": {"const": True}}},
        }
    )

    sql: Sql
    derive: bool = False
    estimate: bool = False

    @model_validator(mode="after")
    def _one_cost(self) -> AskOrDeriveBody:
        if len(self.cost) != 1 and (self.cost or not self.derive):
            raise ValueError("give one of epsilon, rho and mu: the parameter of the dataset's measure; or derive: true")
        if self.estimate and not self.derive:
            raise ValueError("an estimate stands beside an answer that is derived; ask with derive: true too")
        return self


class StatementBody(_Priced):
    """A statement of a batch, with its cost unless the batch has a budget."""

    sql: Sql

    @model_validator(mode="after")
    def _at_most_one_cost(self) -> StatementBody:
        if len(self.cost) > 1:
            raise ValueError("give one of epsilon, rho and mu: the parameter of the dataset's measure")
        return self


class BatchBody(_Strict):
    """Statements that are answered together, or none of them."""

    statements: Annotated[list[StatementBody], Field(min_length=1, max_length=10_000)]
    budget: Amount = _absent()
    strategy: Literal["independent", "correlated", "atoms", "auto"] = "independent"
    estimate: bool = False

    @model_validator(mode="after")
    def _costs_or_budget(self) -> BatchBody:
        length = sum(len(one.sql) for one in self.statements)
        if length > _MOST_CHARACTERS:
            raise ValueError(
                f"the statements have {length:,} characters together, at most {_MOST_CHARACTERS:,} are read at once; "
                "send them in several batches"
            )
        priced = {name for one in self.statements for name in one.cost}
        if self.budget is not None:
            if priced:
                raise ValueError("a batch has either a budget or a cost for each statement")
        elif self.strategy != "independent":
            raise ValueError("a strategy is charged as a whole: give the batch a budget, and no statement a cost")
        elif len(priced) != 1 or any(not one.cost for one in self.statements):
            raise ValueError("give each statement a cost, all in the same parameter, or the batch a budget")
        return self

    @property
    def texts(self) -> list[str]:
        """The SQL of each statement."""
        return [one.sql for one in self.statements]

    @property
    def measured(self) -> dict[str, Any]:
        """What is measured, and whether it is estimated from."""
        return {"strategy": self.strategy, "estimate": self.estimate}

    @property
    def costs(self) -> dict[str, Any]:
        """The budget, or the cost of each statement by its parameter."""
        if self.budget is not None:
            return {"budget": self.budget}
        (name,) = self.statements[0].cost
        return {name: [one.cost[name] for one in self.statements]}


class QuoteBody(_Told):
    """What asking would mean; amounts are in the measure's parameter."""

    cost: float
    adds: float
    remaining: float
    fits: bool
    expected_error: float | None


class QuotesBody(_Told):
    """What asking a batch would mean: a quote for each statement after those before it, and for all together."""

    quotes: list[QuoteBody]
    adds: float
    fits: bool


class AnswerBody(_Told):
    """An answer: ``value``, or ``groups`` with GROUP BY, each with its 95 % interval."""

    charge: int | None
    cost: float
    expected_error: float | None
    cached: bool


class AnswersBody(BaseModel):
    """The answers of a batch, in the order of its statements."""

    answers: list[AnswerBody]


class EstimatesBody(_Told):
    """The counts of a key since the last load, each with its estimate."""

    confidence: float
    left_out: int
    estimates: list[dict[str, Any]]


class BudgetBody(_Told):
    """What was spent of the dataset's budget, and by analysts of their quotas."""

    measure: str
    budget: float
    spent: float
    sequential: float
    charges: int
    analysts: dict[str, Any]


class DomainBody(_Told):
    """The domain as a domain file has it, and the names of ``complete`` attributes, if there are any."""

    name: str
    attributes: dict[str, Any]


class LedgerBody(_Told):
    """Charges, in order; ``next`` is the ``after`` of the rest, null if there is none."""

    charges: list[dict[str, Any]]
    next: int | None


class GraphBody(_Told):
    """Charges as nodes, overlaps as edges, and the maximum overlap."""

    nodes: list[dict[str, Any]]
    edges: list[list[int]]
    maximum: dict[str, Any]


class MapBody(_Told):
    """The most that was spent on any row of each cell."""

    x: str
    y: str
    cells: list[list[float]]


class StateBody(BaseModel):
    """Whether the service is there."""

    status: str


class ProblemBody(_Told):
    """What went wrong (RFC 9457).

    A refusal has what was asked for (``cost``), the most that can be (``remaining``), what leaves no more (``limit``)
    and what each limit leaves (``left``); an error of SQL has ``line`` and ``column``, and both have the number of
    the ``statement`` if it is one of several.
    """

    type: str
    title: str
    status: int
    detail: str
    cost: float = _absent()
    remaining: float = _absent()
    limit: str = _absent()
    left: dict[str, float] = _absent()
    line: int = _absent()
    column: int = _absent()
    statement: int = _absent()


def fixed_width_json(document: object) -> bytes:
    """JSON in which every number, and null, takes the same room: its length tells nothing of the numbers.

    So do true and false.

    An answer may stand in it as it is, and has room for whatever its notes could say of its numbers; so may estimates,
    which have room for every method.

    >>> len(fixed_width_json({"value": 7})) == len(fixed_width_json({"value": -123456.75}))
    True
    """
    return _fixed(document).encode()


def _room_left(answer: Answer, again: bool) -> int:
    """How many characters more the texts of an answer could take, which stand in its groups, and ``again`` in columns.

    An answer with texts has groups: they tell its rows apart.
    """
    texts = [(column.room, len(_fixed(value))) for column in answer.columns if column.room for value in column.values]
    return (1 + again) * sum((room if written <= room else LONGEST) - written for room, written in texts)


def _fixed(value: object) -> str:
    if isinstance(value, Answer):
        document = value.as_json()
        others = {name: one for name, one in document.items() if name != "notes"}
        if "estimate_method" in others:
            # Whether the time was enough follows from the numbers too.
            others["estimate_method"] = _LONGEST_METHOD
        longest = len(_fixed({**others, "notes": longest_notes(value)}))
        return _fixed(document).ljust(longest + _room_left(value, "columns" in document))
    if isinstance(value, EstimatedCount):
        return _fixed(asdict(value)).ljust(len(_fixed(asdict(replace(value, method=_LONGEST_METHOD)))))
    if isinstance(value, Estimates):
        return _fixed({**value.document(), "estimates": value.counts})
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{json.dumps(str(key))}: {_fixed(one)}" for key, one in value.items()) + "}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "[" + ", ".join(_fixed(one) for one in value) + "]"
    written = json.dumps(value, allow_nan=False)
    if isinstance(value, str):
        return written
    return written.rjust(len("false") if isinstance(value, bool) else NUMBER)
