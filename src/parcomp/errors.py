"""Every exception that Parcomp raises on purpose, and its warnings.

All of them are :class:`ParcompError`; those that Python itself would raise as ``ValueError`` or ``TypeError``
are that too.  A message says what was asked, what is possible and what to do, and never holds a value
from the data.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

__all__ = [
    "ArgumentError",
    "CertificateError",
    "CostError",
    "DataError",
    "DataWarning",
    "DeadlineError",
    "DomainError",
    "FileError",
    "IdempotencyError",
    "LedgerError",
    "LedgerWarning",
    "MissingLedgerError",
    "ParcompError",
    "PredicateError",
    "RefusedError",
    "ServiceError",
    "SettingsError",
    "SizeError",
    "SqlError",
    "UnderivableError",
    "WorkloadError",
    "one_line",
    "shown",
]


class ParcompError(Exception):
    """The root of all errors that Parcomp raises on purpose."""


class ArgumentError(ParcompError, ValueError):
    """An argument is none of its choices, or out of its range."""


class DomainError(ParcompError, ValueError):
    """An attribute or a domain is not well formed; ``field`` is the argument at fault, where it is a single one."""

    def __init__(self, message: str, *, field: str | None = None) -> None:
        self.field = field
        super().__init__(message)


class PredicateError(ParcompError, ValueError):
    """A predicate does not fit its attribute."""


class CostError(ParcompError, ValueError):
    """A cost or a budget cannot be booked exactly."""


class WorkloadError(ParcompError, ValueError):
    """Queries and costs do not make up a workload."""


class SizeError(ParcompError, ValueError):
    """The chosen method cannot handle an input of this size."""


class CertificateError(ParcompError, ValueError):
    """A certificate does not prove what it claims of the given workload."""


class DataError(ParcompError, ValueError):
    """A table cannot be read, or its columns do not have the types that the domain needs."""


class DataWarning(UserWarning):
    """A table is taken that may not be what its domain says."""


class LedgerError(ParcompError, ValueError):
    """A ledger cannot be opened, read or written, or does not belong to the settings it is opened with."""


class MissingLedgerError(LedgerError):
    """There is no ledger where the settings say it is.  One is made by ``parcomp init``, and by nothing else."""


class LedgerWarning(UserWarning):
    """A ledger is used without something that would tell whether it is the right one."""


class SettingsError(ParcompError, ValueError):
    """A setting or an argument is not among what is possible, or a custodian's settings do not allow what is asked."""


class RefusedError(ParcompError):
    """Budget or quota do not bear a query; nothing was charged.

    ``cost`` is what it asked for, rounded up, and ``remaining`` the most that its rows still bear, rounded down; both
    in the parameter of the dataset's measure: ε, ρ or μ.  ``limit`` is what leaves no more (``"budget"``, or
    ``"quota of NAME"``), and ``left`` what each limit leaves.  ``position`` says which statement of a batch it is,
    counted from 1; None where there is only one.
    """

    def __init__(
        self,
        message: str,
        *,
        cost: int | float,
        remaining: int | float,
        limit: str = "budget",
        left: Mapping[str, int | float] | None = None,
        position: int | None = None,
    ) -> None:
        self.cost = cost
        self.remaining = remaining
        self.limit = limit
        self.left = {limit: remaining} if left is None else dict(left)
        self.position = position
        super().__init__(message)

    def within(self, place: str) -> RefusedError:
        """The same refusal, with the place of the statement before its message."""
        return RefusedError(
            f"{one_line(place)}: {self}",
            cost=self.cost,
            remaining=self.remaining,
            limit=self.limit,
            left=self.left,
            position=self.position,
        )


class UnderivableError(ParcompError):
    """An answer does not follow from what was released to whoever asks; nothing was charged."""


class DeadlineError(ParcompError):
    """A request took longer than whoever asked waits for, and was given up before anything was charged."""


class IdempotencyError(ParcompError, ValueError):
    """An idempotency key stands for another request already."""


class ServiceError(ParcompError):
    """A server cannot be reached, or does not do what is asked.

    ``status`` is that of its response, 0 if there was none, and ``kind`` the end of the problem's type: ``role``,
    ``unauthorized``, ``rate``.
    """

    def __init__(self, message: str, *, status: int, kind: str = "") -> None:
        self.status = status
        self.kind = kind
        super().__init__(one_line(message))


class FileError(ParcompError, ValueError):
    """A file is unreadable or ill formed; the message names file, line and field."""

    def __init__(self, path: object, message: str, *, line: int | None = None, field: str | None = None) -> None:
        self.path = str(path)
        self.line = line
        self.field = field
        self.message = message
        place = self.path if line is None else f"{self.path}:{line}"
        super().__init__(": ".join(one_line(part) for part in (place, field, message) if part))


class SqlError(ParcompError, ValueError):
    """A statement is not in the dialect that is answered; the message names line and column of what is not.

    ``position`` says which statement of a batch it is, counted from 1; None where there is only one.
    """

    def __init__(self, message: str, *, line: int, column: int, place: str = "", position: int | None = None) -> None:
        self.message = one_line(message)
        self.line = line
        self.column = column
        self.position = position
        super().__init__(f"{f'{one_line(place)}, ' if place else ''}line {line}, column {column}: {self.message}")

    def within(self, place: str, position: int) -> SqlError:
        """The same error, with the place of the statement before its message."""
        return SqlError(self.message, line=self.line, column=self.column, place=place, position=position)


def shown(value: object) -> str:
    """A value as a message shows it: short, whatever it is."""
    if isinstance(value, (list, tuple, dict, set, frozenset)):
        # Written out, a few lines of a file can name more values than memory holds (YAML's aliases).
        return "an object" if isinstance(value, dict) else "a list"
    if isinstance(value, int) and value.bit_length() > 200:
        return f"an integer of {value.bit_length()} bits"
    if isinstance(value, Decimal) and len(value.as_tuple().digits) > 60:
        return f"a number of {len(value.as_tuple().digits)} digits"
    text = str(value) if isinstance(value, Decimal) else repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def one_line(text: str) -> str:
    """The text with line ends and other control characters escaped: names from a file must not break a message."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)
