"""An independent look at a ledger: whether the chain is whole, and whether the budget was kept.

Nothing is taken from the custodian that made the charges.  The chain is recomputed from the binding on, each charge is
read again, and the loss of all of them is worked out from scratch by the offline solver.  For a few hundred charges
:mod:`parcomp.certificate.checker` checks the proof of it, if there is a short one.  Only where the solver leaves open
whether the budget was kept, charges are admitted again one by one, as they were at first.

*The loss* in additive units, under k rows per person, is k or k² (group privacy) times γ against adding or removing a
row, and times min(2γ, replaced) against replacing one (:mod:`parcomp.privacy.loss`).  ``replaced`` adds up the charges,
those with groups twice, since a row can leave one group and enter another.  *Precondition*: noise is made for the most
by which replacing a row moves a number within one group.

*Strategies* (:mod:`parcomp.ledger.strategy`).  A charge for a strategy must cost what the dearest of all rows does, be
their values declared or not, which is worked out from its statements and from what it says was measured: the matrix
beside it must have the digest in its statement, and atoms are listed again.  Against replacing a row a correlated
strategy must have twice that, as two rows move its coordinates by up to twice what one does.

*Loads* (:mod:`parcomp.ledger.load`).  A charge is read under the domain of its time and taken over to the last one, and
the loss is worked out over that.  A load whose domain is no extension of the one before is a problem.

*Answers* that are stored have a trail of digests, of which a mark keeps the last one.  It is worked out anew: an answer
that was changed since, by whoever can write to the database, is a problem.

Loss only grows with each charge, so the loss of all charges bounds that at every moment.

A chain shows no charges that were cut off at its end.  Who notes its head now and then can have it looked for.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from parcomp.certificate import verify
from parcomp.costs import Cost
from parcomp.errors import CertificateError, LedgerError, ParcompError
from parcomp.ledger.binding import Binding, domain_text, read_domain_text
from parcomp.ledger.charge import Charge, StoredAnswer, chain_problems, trail_problems
from parcomp.ledger.load import Load
from parcomp.ledger.queries import ChargedQueries
from parcomp.ledger.strategy import StrategyRecord, unpacked
from parcomp.model import Domain, Query, Workload, groups_touched, lift, over_codes, parse_json, queries_of
from parcomp.overlap import LiveOverlap, WorkloadOverlap
from parcomp.planning import atoms_charge, strategy_charge
from parcomp.privacy import Neighbours, find_measure, neighbor_units

__all__ = ["Audit", "audit_charges"]

_FIRST_WORK = 1 << 29
"""Word operations spent on the loss at first: a few seconds. More is spent only if that leaves the budget in doubt."""

_PROVEN_CHARGES = 300
_PROOF_SECONDS = 2.0
_PROOF_NODES = 1000
_PROOF_NUMBERS = 2_000_000
"""Up to how many charges a proof is asked for, how long the solver may take, and how long a proof may be."""


@dataclass(frozen=True, slots=True)
class Audit:
    """What an audit found; all amounts are additive units.

    ``loss`` is a proven bound of what the charges spend under the binding's neighbor relation; ``lower`` is what it
    would be if no row were covered by more than the heaviest that was found.  ``sequential`` is what they would spend
    without regard to overlap.  ``checked`` is whether a proof that the budget was kept was checked apart from the
    solver.  ``problems`` are lines that name the charge at fault.
    """

    charges: int
    loads: int
    head: str
    budget: int
    loss: int
    lower: int
    sequential: int
    checked: bool
    problems: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether there is nothing to object to."""
        return not self.problems


def audit_charges(
    charges: Iterable[Charge],
    binding: Binding,
    domain: Domain,
    *,
    noted_head: str | None = None,
    ties: Iterable[tuple[str, str]] = (),
    answers: Iterable[StoredAnswer] = (),
    strategy_of: Callable[[str], str | None] = lambda _: None,
    time_limit: float = 60.0,
) -> Audit:
    """Check all charges of a ledger from the first one on; ``domain`` is the one that it should have come to.

    ``noted_head`` is the digest of the last charge as it was at some earlier time: it must still be in the chain.
    ``ties`` are the answers and requests of the ledger with the digests of the charges that they belong to, and
    ``answers`` all that are stored, which must be those that their trail speaks for.
    ``strategy_of`` says what stands beside the charge with a digest, where it is that of a strategy.
    """
    entries = list(charges)
    problems = chain_problems(entries, binding.digest)
    loads = [charge for charge in entries if charge.is_load]
    digests = {charge.digest for charge in entries}
    tied = digests - {load.digest for load in loads}
    problems += [f"{what}: belongs to no charge of the chain" for what, digest in ties if digest not in tied]
    problems += trail_problems(answers)
    if noted_head is not None and noted_head not in {binding.digest, *digests}:
        problems.append("the chain: does not hold the noted head; charges were cut off or written anew since")
    try:
        reader = _Reader(read_domain_text(binding.domain, domain), binding, strategy_of)
    except LedgerError as error:
        problems.append(f"the binding: {error}")
        reader = _Reader(domain, binding, strategy_of)
    expenses: list[_Expense] = []
    bounds: list[tuple[Charge, int]] = []
    for charge in entries:
        try:
            if charge.is_load:
                reader.load(charge)
                bounds.append((charge, 0))
            else:
                expenses.append(reader.expense(charge))
                bounds.append((charge, 0 if expenses[-1].query.is_contradiction else charge.units))
        except ParcompError as error:
            problems.append(f"charge {charge.number}: {error}")
            expenses += reader.feared(charge)
        except RecursionError:
            problems.append(f"charge {charge.number}: is nested too deeply")
            expenses += reader.feared(charge)
    if domain_text(reader.domain) != domain_text(domain):
        problems.append(f"the {'last load' if loads else 'binding'}: is for another domain")
    problems.extend(_upper_problems(bounds))
    expenses = [replace(expense, query=lift(expense.query, reader.domain)) for expense in expenses]
    try:
        loss = _Accountant(expenses, binding, reader.domain).loss(time_limit)
    except ParcompError as error:
        problems.append(f"the loss: cannot be worked out ({error})")
        loss = _Loss(0, 0, 0, checked=False)
    measure = find_measure(binding.measure)
    least = f"{measure.parameter} {measure.parameter_down(loss.lower)}"
    if loss.lower > binding.budget_units:
        problems.append(f"the loss: is {least} or more, the budget {binding.budget}")
    elif loss.upper > binding.budget_units:
        problems.append(
            f"the loss: is between {least} and {measure.parameter_up(loss.upper)}, not shown to be within "
            f"the budget of {binding.budget}; allow more time"
        )
    if bounds and bounds[-1][0].upper < loss.overlap:
        problems.append(
            f"charge {bounds[-1][0].number}: says that the maximum overlap is at most "
            f"{bounds[-1][0].upper} units, it is {loss.overlap} or more"
        )
    return Audit(
        charges=len(entries) - len(loads),
        loads=len(loads),
        head=entries[-1].digest if entries else binding.digest,
        budget=binding.budget_units,
        loss=loss.upper,
        lower=loss.lower,
        sequential=measure.group(_sequential(expenses, binding), binding.rows_per_person),
        checked=loss.checked,
        problems=tuple(problems),
    )


@dataclass(frozen=True, slots=True)
class _Expense:
    """A charge that was understood."""

    charge: Charge
    query: Query
    replaced: int
    """What replacing a row costs, in additive units."""


class _Reader:
    """Reads what charges say, under the domain that they were made under; equal texts are read once."""

    def __init__(self, domain: Domain, binding: Binding, strategy_of: Callable[[str], str | None]) -> None:
        self.domain = domain
        self._measure = find_measure(binding.measure)
        self._replacing = binding.neighbours == Neighbours.REPLACE_ONE
        self._strategy_of = strategy_of
        self._queries = ChargedQueries(domain)
        self._read: dict[tuple[str, str], tuple[Query, int]] = {}

    def load(self, charge: Charge) -> None:
        """Go on under the domain of a load."""
        _ = charge.entry
        domain = Load.read(charge).extending(self.domain)
        if domain is not self.domain:
            self.domain, self._queries, self._read = domain, ChargedQueries(domain), {}

    def expense(self, charge: Charge) -> _Expense:
        """The charge as an expense; an error says what is wrong with it."""
        _ = charge.entry
        record = StrategyRecord.read(charge.statement)
        if record is not None:
            return _Expense(charge, self._strategy(charge, record), 2 * charge.units)
        texts = charge.statement, charge.where
        if texts not in self._read:
            self._read[texts] = self._meaning(*texts)
        query, touched = self._read[texts]
        spent = 0 if query.is_contradiction else charge.units
        return _Expense(charge, query, touched * spent)

    def _strategy(self, charge: Charge, record: StrategyRecord) -> Query:
        """What the charge of a strategy covers; an error where that is too little, or costs more than was charged."""
        covered = self._queries.query(parse_json("where", charge.where))
        queries: list[Query] = []
        for text in record.statements:
            statement = self._queries.statement(parse_json("statement", text))
            if statement.text != text:
                raise LedgerError("statement: is not in the notation that charges have")
            queries += queries_of(statement)
        if not all(_covers(covered, query) for query in queries):
            raise LedgerError("where: does not cover all rows that the strategy asks about")
        workload = over_codes(queries)
        if record.matrix:
            assert record.sigma is not None
            matrix = unpacked(self._strategy_of(charge.digest), record.matrix)
            cost = strategy_charge(workload, matrix, record.sigma, self._measure) * (2 if self._replacing else 1)
        else:
            places = [place for own, _ in record.histograms for place in own]
            if sorted(places) != list(range(len(queries))):
                raise LedgerError("statement: a query of the strategy is in none of its histograms, or in two")
            cost = atoms_charge(workload, [(np.array(own, np.int64), units) for own, units in record.histograms])
        if cost > charge.units:
            raise LedgerError(f"the strategy costs {cost} units, and {charge.units} were charged")
        return covered

    def feared(self, charge: Charge) -> list[_Expense]:
        """A charge that is not understood, as if it were for every row: what it spent must not be left out."""
        try:
            spent = 0 if charge.is_load else charge.entry.units
        except LedgerError:
            return []
        return [_Expense(charge, Query(self.domain, ()), 2 * spent)] if spent else []

    def _meaning(self, statement: str, where: str) -> tuple[Query, int]:
        query = self._queries.query(parse_json("where", where))
        document = parse_json("statement", statement)
        alternatives = document.get("where")
        if not isinstance(alternatives, list) or not all(isinstance(one, Mapping) for one in alternatives):
            raise LedgerError('statement: has no "where", a list of conjunctions')
        groups = document.get("groups", [])
        # A row whose value is not declared, or bears no label, has no group.
        grouped = self._queries.grouped(groups)
        for measured in self._queries.measured(document):
            for alternative in alternatives:
                if not _covers(query, self._queries.query(alternative) & measured & grouped):
                    raise LedgerError("where: does not cover all rows that the statement asks about")
        return query, groups_touched(groups)


def _covers(outer: Query, inner: Query) -> bool:
    """Whether each row that satisfies ``inner`` satisfies ``outer``, rows with undeclared values included."""
    if inner.is_contradiction:
        return True
    terms = dict(inner.tested)
    return all(index in terms and terms[index] <= predicate for index, predicate in outer.tested)


def _upper_problems(bounds: Sequence[tuple[Charge, int]]) -> list[str]:
    """Where the bound that an entry carries is too low: maximum overlap never shrinks and is not below a cost.

    Each entry comes with what it spends on some row.
    """
    problems, before = [], 0
    for charge, spent in bounds:
        least = max(before, spent)
        if charge.upper < least:
            problems.append(
                f"charge {charge.number}: bounds the maximum overlap by {charge.upper} units, it is {least}"
            )
        before = max(before, charge.upper)
    return problems


def _sequential(expenses: Sequence[_Expense], binding: Binding) -> int:
    """What the charges cost one row without regard to overlap, a charge that covers nothing as much as any other."""
    replacing = binding.neighbours == Neighbours.REPLACE_ONE
    return sum(max(one.replaced, one.charge.units) if replacing else one.charge.units for one in expenses)


@dataclass(frozen=True, slots=True)
class _Loss:
    """The loss as a bracket in units; the maximum overlap is not below ``overlap``."""

    lower: int
    upper: int
    overlap: int
    checked: bool


class _Accountant:
    """Works out what expenses spend, with growing effort until it is known whether the budget was kept."""

    def __init__(self, expenses: Sequence[_Expense], binding: Binding, domain: Domain) -> None:
        self._expenses = expenses
        self._budget = binding.budget_units
        self._measure = find_measure(binding.measure)
        self._neighbours = Neighbours(binding.neighbours)
        self._rows = binding.rows_per_person
        self._domain = domain
        self._replaced = sum(expense.replaced for expense in expenses)
        costs = [Cost("weight", expense.charge.units) for expense in expenses]
        self._workload = Workload(domain, [expense.query for expense in expenses], costs)

    def loss(self, time_limit: float) -> _Loss:
        deadline = time.monotonic() + time_limit
        overlap = WorkloadOverlap(self._workload)
        first = overlap.within_work(self._workload.units, _FIRST_WORK)
        lower, upper = first.lower, first.upper
        if self._in_doubt(lower, upper):
            second = overlap.within_time(self._workload.units, time.monotonic() + time_limit / 2)
            lower, upper = max(lower, second.lower), min(upper, second.upper)
        if self._in_doubt(lower, upper):
            upper = min(upper, self._admitted_again(upper, deadline))
        proven = self._proven()
        checked = proven is not None and self._charged(proven) <= self._budget
        return _Loss(
            self._charged(lower), self._charged(upper if proven is None else min(upper, proven)), lower, checked
        )

    def _charged(self, gamma: int) -> int:
        return self._measure.group(neighbor_units(gamma, self._replaced, self._neighbours), self._rows)

    def _in_doubt(self, lower: int, upper: int) -> bool:
        return self._charged(upper) > self._budget >= self._charged(lower)

    def _admitted_again(self, upper: int, deadline: float) -> int:
        """A bound of the maximum overlap by the admission lemma; ``upper`` if a charge is not admitted in time."""
        live = LiveOverlap(self._domain, self._budget)
        for expense in self._expenses:
            if time.monotonic() > deadline or not live.add(expense.query, expense.charge.units):
                return upper
        return live.upper

    def _proven(self) -> int | None:
        """A bound of the maximum overlap by a proof that was checked; None if there is no short one."""
        if len(self._workload) > _PROVEN_CHARGES:
            return None
        overlap = WorkloadOverlap(self._workload)
        bracket = overlap.within_time(self._workload.additive_units(), time.monotonic() + _PROOF_SECONDS)
        certificate = overlap.certificate(bracket, _PROOF_NUMBERS)
        nodes = certificate["proof"]
        if len(nodes) > _PROOF_NODES or any("search" in node for node in nodes):
            return None
        try:
            verify(self._workload, certificate)
        except CertificateError as error:
            raise LedgerError(f"the solver's proof is wrong: {error}") from None
        # The certificate has whole units, which a float need not hold.
        return int(certificate["upper"])
