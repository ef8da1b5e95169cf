"""What is done with each line of a session: statements are quoted or asked, commands look at the books."""

from __future__ import annotations

import shutil
import sys
import textwrap
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, cast

import parcomp as pc
from parcomp.cli.answers import print_answer, print_balance, print_charges, print_quote
from parcomp.cli.domain_render import print_domain, print_level
from parcomp.cli.estimate_render import print_estimates
from parcomp.cli.interrupts import answered, asked_now, charges_in_words, heeded
from parcomp.cli.shell_text import COMMANDS, Completions
from parcomp.cli.terminal import new_console, plain_table
from parcomp.costs import short_down
from parcomp.custodian.request import cost_wanted
from parcomp.errors import ArgumentError, CostError, ParcompError, SqlError, one_line
from parcomp.figures import whose
from parcomp.model import Categorical, Domain

if TYPE_CHECKING:
    from parcomp.custodian import Estimates
    from parcomp.custodian.request import Costs
    from parcomp.ledger import Charge
    from parcomp.privacy import Measure

__all__ = ["CustodianSession", "Session"]

_NARROWEST = 20
"""Columns of a terminal that lines are still made for."""


class Session(ABC):
    """Somebody who is asked one statement after the other, each at the cost that was set last.

    ``domain``, ``measure`` and ``rows_per_person`` are those of the dataset ``name``, and ``tables`` what may stand
    after FROM.  ``cost`` is what the prompt shows, "" if none was set.
    """

    def __init__(
        self,
        name: str,
        domain: Domain,
        measure: Measure,
        rows_per_person: int,
        tables: Collection[str],
        costs: Mapping[str, str | None],
    ) -> None:
        self.name = name
        self.domain = domain
        self.measure = measure
        self.rows_per_person = rows_per_person
        self.tables = tables
        self._asks = False
        """Whether what is done is an ask; nothing else charges."""
        self.cost = _cost_of(name, measure, costs) if any(costs.values()) else ""
        if self.cost:
            measure.cost_up(self.cost)

    @abstractmethod
    def close(self) -> None:
        """Let go of who is asked."""

    @abstractmethod
    def _ask(self, sql: str) -> None:
        """Pay for a statement, and print its answer and what is left."""

    @abstractmethod
    def _quote(self, sql: str) -> None:
        """Print what asking would cost."""

    @abstractmethod
    def _derive(self, sql: str) -> None:
        """Print what follows from released answers, which costs nothing."""

    @abstractmethod
    def _estimates(self) -> Estimates:
        """What all counts of who asks say together, which costs nothing."""

    @abstractmethod
    def _balance(self) -> None:
        """Print what is spent of the budget."""

    @abstractmethod
    def _history(self) -> list[Charge]:
        """The charges of who asks."""

    @abstractmethod
    def _after_interrupt(self) -> None:
        """Say what was charged, and begin anew: what was interrupted halfway is not relied on."""

    @property
    def completions(self) -> Completions:
        """What can be typed, by the domain."""
        values: dict[str, list[str]] = {}
        for name, attribute in self.domain.attributes.items():
            declared = attribute.values if isinstance(attribute, Categorical) else ()
            values[name] = [value for value in declared if isinstance(value, str)]
        values |= {name: list(level.groups) for name, (_, level) in self.domain.levels.items()}
        return Completions(self.tables, values)

    @property
    def prompt(self) -> str:
        """Whom is asked, and at which cost."""
        return f"{self.name} {self.measure.symbol} {self.cost or '?'}> "

    def do(self, typed: str) -> bool:
        """Do what a line says; False if it says to leave."""
        text = typed.strip().rstrip(";").strip()
        self._asks = not text.startswith(("?", "\\"))
        if text.lower() in ("help", "quit", "exit"):
            text = "\\help" if text.lower() == "help" else "\\quit"
            self._asks = False
        if text.startswith("\\"):
            return self._command(text)
        if text.startswith("?"):
            self._quote(text[1:].strip())
        elif text:
            self._ask(text)
        return True

    def do_and_tell(self, typed: str) -> bool:
        """Do what a line says, and print what is wrong with it, or what was charged if it is interrupted."""
        try:
            return self.do(typed)
        except ParcompError as error:
            statement = typed.strip().removeprefix("?")
            if isinstance(error, SqlError) and "\n" not in statement.strip():
                # Beneath the place that the message speaks of.
                print(f"  {statement.strip()}\n  {' ' * (error.column - 1)}^", file=sys.stderr)
            print(_wrapped(f"parcomp: {' '.join(str(error).split())}"), file=sys.stderr)
        except OSError as error:
            print(f"parcomp: {one_line(str(error.filename or 'a file'))}: {error.strerror or error}", file=sys.stderr)
        except KeyboardInterrupt:
            heeded()
            self._after_interrupt()
        return True

    def _cost(self) -> dict[str, str]:
        if not self.cost:
            raise CostError(f"say what each answer costs first: \\cost X, in {self.measure.parameter}")
        return {self.measure.parameter: self.cost}

    def _command(self, text: str) -> bool:
        word, _, argument = text.partition(" ")
        argument = argument.strip()
        match word.lower():
            case "\\quit" | "\\q":
                return False
            case "\\help" | "\\h" | "\\?":
                self._help()
            case "\\budget":
                self._balance()
            case "\\domain":
                self._domain(argument)
            case "\\history":
                own = self._history()
                print_charges(self.measure, own, self.domain, self.rows_per_person) if own else print("no charges yet")
            case "\\derive":
                self._derive(argument)
            case "\\estimate":
                print_estimates("", self._estimates(), self.domain, as_json=False)
            case "\\cost":
                self.measure.cost_up(argument)
                self.cost = argument
            case _:
                raise ArgumentError(f"unknown command {one_line(word)}; there are {', '.join(COMMANDS)}")
        return True

    def _print_left(self, amount: int | float) -> None:
        each = whose(self.rows_per_person)[0]
        print(f"left on these rows: {self.measure.symbol} = {short_down(amount)}{each}")

    def _help(self) -> None:
        table = plain_table("", "", names=True)
        table.add_row("SELECT …;", "asks and pays; an empty line ends it too")
        table.add_row("? SELECT …;", "quotes: what it would cost, free")
        for command, meaning in COMMANDS.items():
            table.add_row(command, meaning)
        table.add_row("Tab", "completes words, attributes and, in quotes, values")
        table.add_row("Ctrl-C", "clears the line; while a statement is asked, interrupts it and says what was charged")
        new_console().print(table)

    def _domain(self, name: str) -> None:
        domain = self.domain
        if not name:
            print_domain(domain)
            return
        if name in domain.levels:
            print_level(domain, name)
            return
        domain.index(name)
        print_domain(pc.Domain({name: domain.attributes[name]}, name=domain.name), every_value=True)


class CustodianSession(Session):
    """A session with the custodian whose settings file is given."""

    def __init__(self, path: Path, analyst: str, costs: Mapping[str, str | None]) -> None:
        self._path = path
        self._analyst = analyst
        self._custodian = pc.Custodian.open(path)
        asked_now(self._custodian)
        settings = self._custodian.settings
        try:
            super().__init__(
                settings.name, settings.domain, settings.measure, settings.rows_per_person, settings.tables, costs
            )
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Let go of the custodian."""
        self._custodian.close()

    def _ask(self, sql: str) -> None:
        cost = cast("Costs", self._cost())
        answer = self._custodian.ask(sql, analyst=self._analyst, **cost)
        if answer.charge is not None and not answer.cached:
            answered(answer.charge)
        print_answer(answer)
        [quoted] = self._custodian.quote_batch([sql], analyst=self._analyst, **cost).quotes
        self._print_left(quoted.remaining)

    def _derive(self, sql: str) -> None:
        print_answer(self._custodian.ask(sql, analyst=self._analyst, derive=True))

    def _estimates(self) -> Estimates:
        return self._custodian.estimates(analyst=self._analyst)

    def _quote(self, sql: str) -> None:
        cost = cast("Costs", self._cost())
        print_quote(self._custodian.quote(sql, analyst=self._analyst, **cost))

    def _balance(self) -> None:
        print_balance(self._custodian.balance(self._analyst or None))

    def _history(self) -> list[Charge]:
        return [one for one in self._custodian.charges() if one.analyst == self._analyst and not one.is_load]

    def _after_interrupt(self) -> None:
        before = self._custodian
        try:
            made = [charge.number for charge in before.latest_charges()] if self._asks else []
            words = charges_in_words(made, outdated=bool(made) and before.is_outdated())
        except ParcompError:
            words = (
                "whether something was charged is to be seen by \\history; if it was, asking the same again is free "
                "until the table is loaded anew"
            )
        print(f"parcomp: interrupted; {words}", file=sys.stderr)
        before.close()
        self._custodian = pc.Custodian.open(self._path)
        asked_now(self._custodian)


def _wrapped(message: str) -> str:
    """A message in lines that a terminal does not break within words; one line for what is no terminal."""
    if not sys.stderr.isatty():
        return message
    width = max(shutil.get_terminal_size().columns, _NARROWEST)
    return textwrap.fill(message, width, break_long_words=False, break_on_hyphens=False)


def _cost_of(name: str, measure: Measure, costs: Mapping[str, str | None]) -> str:
    """The cost that an option gives, which must be the one of the dataset's measure."""
    wanted = measure.parameter
    given = [option for option, amount in costs.items() if amount is not None]
    cost = costs[wanted]
    if cost is None or given != [wanted]:
        raise cost_wanted(name, measure, given)
    return cost
