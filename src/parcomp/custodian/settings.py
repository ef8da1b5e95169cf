"""The custodian's settings: one TOML file that says which table, which budget, which ledger, which analysts.

.. code-block:: toml

    [dataset]
    name = "census"
    version = "2026"
    source = "census.parquet"       # or .csv, a DuckDB file, postgresql://…, spark://…
    table = "census"                # where the source holds several
    domain = "census-domain.json"

    [privacy]
    measure = "pure"                # or zcdp, gdp
    budget = "1.0"                  # ε, ρ or μ; a string, so that it is the decimal that is written
    neighbours = "add-remove"       # or replace-one
    rows_per_person = 1

    [ledger]
    url = "sqlite:///ledger.db"     # or postgresql://…
    mark = "custodian.mark"         # the default: the settings' name with this ending

    [analysts.anna]
    quota = "0.3"

Files are looked up beside the settings, not in the working directory: a command that is run elsewhere must find the
same ledger, or it would spend the budget a second time.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from os.path import relpath
from pathlib import Path
from typing import Any, Final

from parcomp.costs import Amount
from parcomp.errors import CostError, DomainError, FileError, ParcompError, SettingsError, shown
from parcomp.ledger import Binding
from parcomp.model import Domain, KeyedFile
from parcomp.privacy import Measure, Neighbours, check_rows_per_person, find_measure

__all__ = ["Settings"]

_NEEDED: Final = {
    "dataset": ("name", "version", "source", "domain"),
    "privacy": ("measure", "budget"),
    "ledger": ("url",),
}
_OPTIONAL: Final = {"dataset": ("table",), "privacy": ("neighbours", "rows_per_person"), "ledger": ("mark",)}
_ADDRESS = re.compile(r"[a-z][a-z0-9+]*://")
_SQLITE = "sqlite:///"


@dataclass(frozen=True, slots=True)
class Settings:
    """What a custodian is told: the dataset, its privacy settings, the ledger and the analysts' quotas.

    ``budget_units`` and the quotas are in additive units of the measure, rounded down.  ``source`` and ``ledger`` are
    addresses, or absolute paths.  ``mark`` is the file that says how far the ledger has come, and ``directory`` that of
    the settings, beside which files are looked up.
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
    quotas: Mapping[str, int | None] = field(default_factory=dict)
    mark: str | None = None
    directory: str | None = None

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
        return f"{name} {self.table}" if self.table else name

    @property
    def tables(self) -> set[str]:
        """The names that may stand after FROM."""
        return {self.name, self.domain.name, *([self.table] if self.table else [])}

    @property
    def row_budget(self) -> int:
        """What may be spent on a single row: the budget is for all rows that one person can own."""
        return self.budget_units // self.measure.group(1, self.rows_per_person)

    def row_quota(self, analyst: str) -> int:
        """What one analyst may spend on a single row."""
        quota = self.quotas.get(analyst)
        return self.row_budget if quota is None else quota // self.measure.group(1, self.rows_per_person)


class _Reader:
    """Checks a parsed document field by field."""

    def __init__(self, path: Path) -> None:
        if path.suffix.lower() != ".toml":
            raise FileError(path, "a custodian's settings are a .toml file")
        self.path = path
        self.file = KeyedFile.read(path)

    def settings(self) -> Settings:
        document = self.file.mapping(self.file.document, [])
        self.file.check_keys(document, {*_NEEDED, "analysts"}, [])
        sections = {name: self._section(document, name) for name in _NEEDED}
        dataset, privacy = sections["dataset"], sections["privacy"]
        measure = self._checked(find_measure, privacy["measure"], "privacy", "measure")
        budget = self._amount(measure, privacy["budget"], ["privacy", "budget"])
        rows = self._checked(check_rows_per_person, privacy.get("rows_per_person", 1), "privacy", "rows_per_person")
        if budget < measure.group(1, rows):
            raise self.file.error("too small to be divided among the rows of a person", ["privacy", "budget"])
        return Settings(
            name=self._text(dataset, "dataset", "name"),
            version=self._text(dataset, "dataset", "version"),
            source=self._source(dataset),
            table=self._text(dataset, "dataset", "table") if "table" in dataset else None,
            domain=self._domain(dataset),
            measure=measure,
            budget_units=budget,
            neighbours=self._checked(Neighbours, privacy.get("neighbours", "add-remove"), "privacy", "neighbours"),
            rows_per_person=rows,
            ledger=self._ledger(sections["ledger"]),
            mark=self._mark(sections["ledger"]),
            directory=str(self.path.parent.resolve()),
            quotas=self._quotas(document.get("analysts", {}), measure, budget),
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
        if not isinstance(value, str) or not value or "\0" in value:
            raise self.file.error(
                f"must be a non-empty string without null characters, not {shown(value)}", [name, key]
            )
        return value

    def _source(self, dataset: Mapping[str, Any]) -> str:
        source = self._text(dataset, "dataset", "source")
        return source if _ADDRESS.match(source) else str(self._beside(source))

    def _domain(self, dataset: Mapping[str, Any]) -> Domain:
        path = self._beside(self._text(dataset, "dataset", "domain"))
        try:
            return Domain.load(path)
        except DomainError as error:
            raise self.file.error(str(error), ["dataset", "domain"]) from None

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

    def _quotas(self, written: object, measure: Measure, budget: int) -> dict[str, int | None]:
        quotas: dict[str, int | None] = {}
        for analyst, fields in self.file.mapping(written, ["analysts"]).items():
            place = ["analysts", analyst]
            section = self.file.mapping(fields, place)
            self.file.check_keys(section, {"quota"}, place)
            if not analyst:
                raise self.file.error("an analyst's name must not be empty", place)
            quotas[analyst] = None
            if "quota" in section:
                quota = self._amount(measure, section["quota"], [*place, "quota"])
                if quota > budget:
                    raise self.file.error("is above the budget, which bounds every quota", [*place, "quota"])
                quotas[analyst] = quota
        return quotas

    def _amount(self, measure: Measure, written: object, place: list[str]) -> int:
        if not isinstance(written, str):
            raise self.file.error(f'must be a string such as "1.0", not {shown(written)}', place)
        amount: Amount = written
        try:
            return measure.budget_down(amount)
        except CostError as error:
            raise self.file.error(str(error), place) from None

    def _checked(self, check: Any, value: object, section: str, key: str) -> Any:
        try:
            return check(value)
        except ParcompError as error:
            raise self.file.error(str(error), [section, key]) from None

    def _beside(self, name: str) -> Path:
        return (self.path.parent / name).resolve()
