"""The settings of a data frame: what a settings file says, as arguments in Python.

The ledger is a file or an address, and with it go the coded table and the mark: ``ledger.db`` has ``ledger.codes`` and
``ledger.mark`` beside it.  A ledger in memory is a file too, in a directory that goes with the process; charges in it
bind nobody afterwards, which is said by a warning.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import warnings
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parcomp.costs import Amount
from parcomp.custodian.settings import Settings, read_complete, stated_quotas
from parcomp.data import Reading, TablePlace
from parcomp.errors import ArgumentError, LedgerWarning, SettingsError, shown
from parcomp.model import Domain
from parcomp.privacy import Measure, Neighbours, check_rows_per_person, find_measure

if TYPE_CHECKING:
    from parcomp.privacy import ApproximateBudget

__all__ = ["IN_MEMORY", "FrameSettings", "read_domain"]

IN_MEMORY = ":memory:"
_SQLITE = "sqlite:///"
_FORGETFUL = (
    "the ledger is in memory: what is charged there is forgotten with this process, and the budget binds nobody after "
    "it. Give ledger a path for a table that matters"
)


@dataclass(frozen=True, slots=True)
class FrameSettings:
    """The arguments of :class:`~parcomp.custodian.Custodian` for a data frame, as they are given."""

    domain: Domain | str | Path | Mapping[str, Any] | None
    measure: str | None
    budget: Amount | Mapping[str, Amount] | None
    ledger: str | Path | None
    name: str | None = None
    version: str = "1"
    neighbours: str = "add-remove"
    rows_per_person: int = 1
    person: str | None = None
    nulls: Sequence[str] = ()
    timezone: str = "UTC"
    analysts: Mapping[str, Amount | Mapping[str, Amount] | None] | None = None
    codes: str | Path | None = None
    complete: bool | Sequence[str] = False

    def settings(self, owner: object) -> tuple[Settings, Callable[[], object]]:
        """The settings, and what removes a ledger in memory; that is removed with ``owner`` at the latest."""
        missing = [name for name in ("domain", "measure", "budget", "ledger") if getattr(self, name) is None]
        if missing:
            raise ArgumentError(
                "a custodian of a data frame has a domain, a measure, a budget and a ledger; not given: "
                f"{', '.join(missing)}. Custodian.open(path) reads settings from a file"
            )
        measure = find_measure(self.measure)
        rows = check_rows_per_person(self.rows_per_person)
        budget, approximate = _budget(measure, self.budget)
        if budget < measure.group(1, rows):
            raise SettingsError("the budget is too small to be divided among the rows of a person")
        domain = read_domain(self.domain)
        quotas = _quotas(self.analysts or {}, measure, budget)
        name = _text("name", domain.name if self.name is None else self.name)
        version = _text("version", self.version)
        person = "" if self.person is None else _text("person", self.person)
        reading = Reading(nulls=self._nulls(), timezone=self.timezone)
        neighbours = Neighbours(self.neighbours)
        complete = read_complete(domain, self.complete)
        # Last, as it may make a directory.
        url, codes, mark, remove = self._places(owner)
        settings = Settings(
            name=name,
            version=version,
            source=TablePlace.FRAME,
            domain=domain,
            measure=measure,
            budget_units=budget,
            ledger=url,
            neighbours=neighbours,
            rows_per_person=rows,
            person=person,
            reading=reading,
            quotas={one: None if quota is None else quota[0] for one, quota in quotas.items()},
            mark=mark,
            codes=codes,
            complete=complete,
            approximate=approximate,
            stated=stated_quotas(approximate, [quota for quota in quotas.values() if quota is not None]),
        )
        return settings, remove

    def _nulls(self) -> tuple[str, ...]:
        if isinstance(self.nulls, str) or not isinstance(self.nulls, Sequence):
            raise ArgumentError(f'nulls is a list of texts such as ["NA"], not {shown(self.nulls)}')
        return tuple(self.nulls)

    def _places(self, owner: object) -> tuple[str, str, str | None, Callable[[], object]]:
        """The address of the ledger, the paths of the coded table and of the mark, and what removes all of them."""
        ledger = self.ledger
        if not isinstance(ledger, (str, Path)) or not str(ledger) or "\0" in str(ledger):
            raise ArgumentError(f"a ledger is a path, an address or {IN_MEMORY!r}, not {shown(ledger)}")
        if ledger == IN_MEMORY:
            # To the line that made the custodian.
            warnings.warn(_FORGETFUL, LedgerWarning, stacklevel=4)
            directory = Path(tempfile.mkdtemp(prefix="parcomp-"))
            remove = weakref.finalize(owner, _remove_own, str(directory), os.getpid())
            return f"{_SQLITE}{directory / 'ledger.db'}", str(directory / "ledger.codes"), None, remove
        text = str(ledger)
        if "://" in text and not text.startswith(_SQLITE):
            if self.codes is None:
                raise ArgumentError(
                    "the ledger is on a server, so say where on this machine the coded table goes: codes='people.codes'"
                )
            codes = Path(self.codes).absolute()
            return text, str(codes), str(codes.with_suffix(".mark")), _nothing
        path = Path(text.removeprefix(_SQLITE)).absolute()
        codes = path.with_suffix(".codes") if self.codes is None else Path(self.codes).absolute()
        if path in (codes, path.with_suffix(".mark")):
            raise ArgumentError(f"{path.name}: the coded table and the mark go beside the ledger; name it NAME.db")
        return f"{_SQLITE}{path}", str(codes), str(path.with_suffix(".mark")), _nothing


def read_domain(given: Domain | str | Path | Mapping[str, Any] | None) -> Domain:
    """A domain as it is, from its file, or as a file has it."""
    if isinstance(given, Domain):
        return given
    if isinstance(given, (str, Path)):
        return Domain.load(given)
    if isinstance(given, Mapping):
        return Domain.described(dict(given))
    raise ArgumentError(f"a domain is a Domain or the path of a domain file, not {shown(given)}")


def _budget(measure: Measure, given: object) -> tuple[int, ApproximateBudget | None]:
    """A budget or a quota in additive units, and as (ε, δ) if it is given so."""
    if not isinstance(given, Mapping):
        return measure.budget_down(given), None  # type: ignore[arg-type]  # whatever is no amount is an error there
    from parcomp.privacy import read_budget  # noqa: PLC0415  few need the conversions

    return read_budget(measure, given)


def _quotas(
    analysts: Mapping[str, Amount | Mapping[str, Amount] | None], measure: Measure, budget: int
) -> dict[str, tuple[int, ApproximateBudget | None] | None]:
    if not isinstance(analysts, Mapping):
        raise ArgumentError(f'analysts have quotas by name, such as {{"anna": "0.3"}}, not {shown(analysts)}')
    quotas: dict[str, tuple[int, ApproximateBudget | None] | None] = {}
    for name, given in analysts.items():
        quota = None if given is None else _budget(measure, given)
        if quota is not None and quota[0] > budget:
            raise SettingsError(f"the quota of {shown(name)} is above the budget, which bounds every quota")
        quotas[_text("the name of an analyst", name)] = quota
    return quotas


def _text(what: str, value: object) -> str:
    if not isinstance(value, str) or not value or "\0" in value:
        raise SettingsError(f"{what} must be a non-empty string without null characters, not {shown(value)}")
    return value


def _remove_own(directory: str, process: int) -> None:
    # A child of this process inherits what is to be done at its end, but not the directory.
    if os.getpid() == process:
        shutil.rmtree(directory, ignore_errors=True)


def _nothing() -> None:
    """There is nothing to remove."""
