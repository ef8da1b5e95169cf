"""Estimates over all that an analyst has paid for: never worse than the answers, free, and of nobody else's."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest

import parcomp as pc
from parcomp.custodian import Custodian, Estimates, Figure, retrospect
from parcomp.custodian.released import ReleasedStrategy
from parcomp.custodian.retrospect import View, estimates_of
from parcomp.errors import ArgumentError, LedgerError, SettingsError, UnderivableError, WorkloadError
from parcomp.estimation import problem
from parcomp.sql import parse_selection
from tests.custodian.test_deriving import ALL, DOMAIN, MEN, WOMEN, broken, counted, every_row, random_sql
from tests.custodians import ROWS, audited, open_custodian, write_custodian
from tests.nearest import nearest_possible
from tests.soak import shared_with_soak

BATCH = [ALL, "SELECT COUNT(*) FROM people GROUP BY age", f"{WOMEN} AND age < 5"]


@pytest.fixture(autouse=True, scope="module")
def loaded_kernels():
    """Loading compiled code can take seconds on a busy machine, and these would be part of the time of an estimate."""
    domain = pc.Domain({"sex": pc.Categorical(["F", "M"])})
    pc.estimate(pc.Workload(domain, [domain.query(), domain.query(sex="F")]), [1, 3], 1.0)


@pytest.fixture
def fewer_draws(monkeypatch):
    """Intervals from fewer draws, which take less time."""
    monkeypatch.setattr(problem, "_DRAWS", (100, 100))


def view_of(custodian, analyst=""):
    return custodian._view(analyst)


def drawn(view, truths, draw):
    """The view with answers of other noise."""
    noisy = iter((np.asarray(truths) + view.noise.drawn(draw)).tolist())
    return View(view.released, tuple(tuple(next(noisy) for _ in numbers) for numbers in view.numbers))


def random_rows(draw, domain, complete, count):
    """Rows with undeclared values on attributes that are not complete."""
    possible = every_row(domain, complete)
    return [draw.choice(possible) for _ in range(count)]


@pytest.mark.parametrize("chunk", shared_with_soak(30, 28))
def test_estimates_are_never_worse_than_the_answers_in_units_of_their_noise(chunk, tmp_path, monkeypatch):
    """Of random sessions with groups, batches and undeclared values; they are the nearest of all possible answers."""
    monkeypatch.setattr(problem, "_DRAWS", (1, 1))
    monkeypatch.setattr(problem, "_LEAST_DRAWS", 1)
    draw, numbers = random.Random(chunk), np.random.default_rng([35, chunk])
    kinds = Counter()
    for number in range(5):
        complete = [name for name in DOMAIN["attributes"] if draw.random() < 0.5]
        measure, parameter = draw.choice([("pure", "epsilon"), ("gdp", "mu"), ("zcdp", "rho")])
        path = write_custodian(
            tmp_path / str(number), rows=[], domain=DOMAIN, measure=measure, budget="100", complete=complete
        )
        with Custodian.open(path) as custodian:
            for _ in range(draw.randint(1, 5)):
                custodian.ask(random_sql(draw), **{parameter: draw.choice(["0.02", "0.2", "1", "3"])})
            if not number or draw.random() < 0.7:
                drawn_sql = [sql for _ in range(4) if " OR " not in (sql := random_sql(draw))]
                asked = list(dict.fromkeys([*drawn_sql, *([] if number else [WOMEN])]))
                if asked:
                    custodian.ask_batch(asked, budget="1", strategy="auto" if number else "atoms")
            before = custodian.charges()
            view = view_of(custodian)
            kinds.update(type(one).__name__ for one in view.released)
            queries, scales = view.queries, view.noise.deviations
            if not queries:
                assert len(custodian.estimates()) == 0
                continue
            possible = every_row(custodian.settings.domain, complete)
            cells = np.array([[counted(query, row) for row in possible] for query in queries], float)
            for _ in range(10):
                truth = cells @ numbers.poisson(draw.choice([0.05, 1, 50]), len(possible))
                again = drawn(view, truth, numbers)
                answers = np.array(again.every_number)
                found = estimates_of(custodian.settings, again, 0.95, {})
                assert found.proven
                assert [one.raw for one in found] == again.every_number
                values = np.array([one.value for one in found])
                raw, moved = np.linalg.norm((answers - truth) / scales), np.linalg.norm((values - truth) / scales)
                assert moved <= raw * (1 + 1e-9)
                away = np.linalg.norm((values - nearest_possible(cells, answers, 1 / scales)) / scales) / np.sqrt(
                    len(scales)
                )
                assert away <= 0.02 + 1e-7 * np.abs(answers / scales).max()
            assert custodian.charges() == before
    assert kinds.keys() == {"ReleasedCount", "ReleasedStrategy"}


def test_answers_stay_as_they_are_with_their_guaranteed_intervals(tmp_path):
    """Plain ones, groups and batches: raw numbers and ends are those that the answers had, and ids name the charges."""
    with open_custodian(tmp_path, measure="gdp", budget="9") as custodian:
        plain = custodian.ask(ALL, mu="0.3")
        grouped = custodian.ask("SELECT sex, COUNT(*) FROM people GROUP BY sex", mu="0.2")
        custodian.ask("SELECT AVG(age) FROM people", mu="0.2")
        batch = custodian.ask_batch(
            [ALL, WOMEN, "SELECT COUNT(*) FROM people WHERE age < 5"], budget="1", strategy="auto"
        )
        found = custodian.estimates()
        [first, women, men, *together] = found
        assert (first.id, first.charge, first.where, first.raw) == ("1", 1, {}, plain.value)
        assert (first.raw_low, first.raw_high) == plain.interval
        assert [(one.id, one.where) for one in (women, men)] == [("2.1", {"sex": "F"}), ("2.2", {"sex": "M"})]
        told = [(group.value, group.interval) for group in grouped.groups]
        assert [(one.raw, (one.raw_low, one.raw_high)) for one in (women, men)] == told
        assert [one.id for one in together] == ["4.1", "4.2", "4.3"]
        assert {one.charge for one in together} == {4}
        by_value = {answer.value: answer.interval for answer in batch}
        assert {one.raw: (one.raw_low, one.raw_high) for one in together} == by_value
        assert all(0 <= one.low <= one.value <= one.high for one in found)
        assert np.mean([one.high - one.low for one in found]) < np.mean([one.raw_high - one.raw_low for one in found])
        wider = custodian.estimates(interval=0.99)
        assert all(more.raw_high > one.raw_high for more, one in zip(wider, found, strict=True))
        assert [one.value for one in wider] == [one.value for one in found]
        assert Estimates.read(found.document()) == found
        assert found.to_arrow().column("charge").to_pylist() == [1, 2, 2, 4, 4, 4]
        assert audited(custodian.settings).problems == ()
        assert len(custodian.charges()) == 4


def test_a_count_that_was_bought_twice_is_the_mean_by_accuracy(tmp_path):
    """Both answers have the same estimate, nearer to the one that cost more."""
    with open_custodian(tmp_path, measure="gdp", budget="9") as custodian:
        answers = [custodian.ask(ALL, mu=cost).value for cost in ("0.05", "0.15")]
        found = custodian.estimates()
        variances = view_of(custodian).noise.deviations ** 2
        mean = np.average(answers, weights=1 / variances)
        assert [one.value for one in found] == pytest.approx([mean, mean])
        half = found[0].high - found[0].value
        assert half == pytest.approx(1.97 / np.sqrt((1 / variances).sum()), rel=0.15)
        assert (found[0].low, found[0].high) == (found[1].low, found[1].high)


PREFIXES = [*(f"SELECT COUNT(*) FROM people WHERE age < {age}" for age in (3, 5, 7, 9)), BATCH[1]]
"""Of which each is a sum of ages."""


@pytest.mark.parametrize(("measure", "strategy"), [("pure", "atoms"), ("gdp", "correlated"), ("zcdp", "atoms")])
def test_intervals_hold_about_as_often_as_they_say_with_the_covariance_of_strategies(
    tmp_path, fewer_draws, measure, strategy
):
    """A range is the sum of its ages in the answers of atoms already, so its error does not shrink beside them."""
    with open_custodian(tmp_path, measure=measure, budget="90", complete=True) as custodian:
        custodian.ask_batch(PREFIXES, budget="1", strategy=strategy)
        view = view_of(custodian)
        [batch] = view.released
        assert isinstance(batch, ReleasedStrategy)
        rows = [*ROWS, *({"sex": "M", "age": age} for age in range(10))]
        truths = [20 * sum(counted(query, row) for row in rows) for query in view.queries]
        draw, deviations = np.random.default_rng(36), batch.strategy.noise.deviations
        held, widths = [], []
        for _ in range(60):
            found = estimates_of(custodian.settings, drawn(view, truths, draw), 0.95, {})
            held.append([one.low <= truth <= one.high for one, truth in zip(found, truths, strict=True)])
            widths.append([one.high - one.low for one in found])
        # Of 840 intervals, those of one draw go together.
        assert 0.9 <= np.mean(held) <= 0.985
        if strategy == "atoms":
            ranges = deviations > 1.5 * deviations.min()
            assert (np.mean(widths, axis=0) / 3.92)[ranges] == pytest.approx(deviations[ranges], rel=0.2)


def test_only_what_one_has_paid_for_is_estimated_from(tmp_path):
    """Of others' answers nothing is told, and none is used; who asks without a name sees all."""
    with open_custodian(tmp_path / "named", budget="9", quotas={"anna": "5", "ben": "5"}) as custodian:
        custodian.ask(ALL, epsilon="0.02", analyst="anna")
        alone = custodian.estimates(analyst="anna")
        custodian.ask(ALL, epsilon="2", analyst="ben")
        custodian.ask(MEN, epsilon="1", analyst="ben")
        custodian.ask(MEN, epsilon="1", analyst="anna")
        assert custodian.estimates(analyst="anna") == alone
        assert [one.id for one in custodian.estimates(analyst="ben")] == ["2", "3"]
        for nobody in ("", "carl"):
            with pytest.raises(SettingsError):
                custodian.estimates(analyst=nobody)
    with open_custodian(tmp_path / "unnamed", budget="9") as custodian:
        for number, sql in enumerate((ALL, MEN, WOMEN)):
            custodian.ask(sql, epsilon="1", analyst=["anna", "ben", ""][number])
        assert [one.id for one in custodian.estimates()] == ["1", "2", "3"]
        assert [one.id for one in custodian.estimates(analyst="ben")] == ["2"]
        assert len(custodian.estimates(analyst="carl")) == 0


def test_answers_of_earlier_rows_are_not_mixed_with_later_ones(tmp_path):
    """After a load only what was asked since counts."""
    path = write_custodian(tmp_path, budget="9")
    with Custodian.open(path) as custodian:
        custodian.ask(ALL, epsilon="2")
        custodian.ask_batch([ALL, MEN], budget="0.5", strategy="atoms")
        assert [one.id for one in custodian.estimates()] == ["1", "2.1", "2.2"]
        with (tmp_path / "people.csv").open("a", newline="") as file:
            file.write("F,3\r\n" * 5_000)
        custodian.load()
        assert len(custodian.estimates()) == 0
        custodian.ask(ALL, epsilon="1")
        [only] = custodian.estimates()
        assert (only.id, only.value) == ("4", only.raw)


def test_what_was_charged_and_never_answered_is_left_out(tmp_path, monkeypatch):
    with open_custodian(tmp_path) as custodian:
        custodian.ask(ALL, epsilon="0.2")
        with monkeypatch.context() as patched:
            patched.setattr(type(custodian._ledger), "store_answers", broken)
            with pytest.raises(LedgerError):
                custodian.ask(MEN, epsilon="0.3")
        assert [one.id for one in custodian.estimates()] == ["1"]
        custodian.ask(MEN, epsilon="0.3")
        assert [one.id for one in custodian.estimates()] == ["1", "2"]


def test_a_ledger_that_was_rolled_back_is_known_by_what_was_told_of_it(tmp_path):
    """Estimates mark the answers that they stand on."""
    path = write_custodian(tmp_path)
    ledger = tmp_path / "ledger.db"
    with Custodian.open(path) as custodian:
        custodian.ask(ALL, epsilon="0.2")
    older = ledger.read_bytes()
    with Custodian.open(path) as custodian:
        custodian._mark_after = lambda: None
        custodian.ask(MEN, epsilon="0.2")
        custodian._look_at_the_mark = lambda: None
        assert len(custodian.estimates()) == 2
    ledger.write_bytes(older)
    for name in ("ledger.db-wal", "ledger.db-shm"):
        (tmp_path / name).unlink(missing_ok=True)
    with pytest.raises(LedgerError, match="rolled back"):
        Custodian.open(path)


def test_complete_attributes_have_no_other_values(tmp_path):
    """All are women and men where sex is complete, and may be more elsewhere."""
    for number, complete in enumerate((["sex"], [])):
        with open_custodian(tmp_path / str(number), budget="9", complete=complete) as custodian:
            for sql in (ALL, MEN, WOMEN):
                custodian.ask(sql, epsilon="2")
            view = view_of(custodian)
            told = estimates_of(custodian.settings, View(view.released, ((130,), (60,), (40,))), 0.95, {})
            expected = [120, 70, 50] if complete else [130, 60, 40]
            assert [one.value for one in told] == pytest.approx(expected, abs=1e-4)


def test_public_counts_are_kept_to(tmp_path):
    """Facts of a query that was asked, and of one that was not; of another domain they are refused."""
    with open_custodian(tmp_path, budget="9", complete=True) as custodian:
        domain = custodian.settings.domain
        for sql in (MEN, WOMEN):
            custodian.ask(sql, epsilon="0.1")
        found = custodian.estimates(facts={domain.query(): 100})
        assert sum(one.value for one in found) == pytest.approx(100, abs=0.1)
        for time_limit in (60.0, 1e-9):
            _, women = late = custodian.estimates(facts={domain.query(sex="F"): 55}, time_limit=time_limit)
            assert (women.value, women.low, women.high, women.method) == (55, 55, 55, "fact")
            assert bool(late.notes) == (time_limit < 1)
            assert all(note in str(late) for note in late.notes)
        with pytest.raises(WorkloadError, match="facts contradict"):
            custodian.estimates(facts={domain.query(): 10, domain.query(sex="F"): 55})
        for facts in (
            {"sex": 3},
            {open_custodian(tmp_path / "other", domain=DOMAIN, rows=[]).settings.domain.query(): 3},
        ):
            with pytest.raises(ArgumentError, match="query of the domain"):
                custodian.estimates(facts=facts)
        for interval in (0.0, 1.0, 2, None, "0.9"):
            with pytest.raises(ArgumentError, match=r"between 0 and 0\.999999"):
                custodian.estimates(interval=interval)


def test_a_fact_is_the_value_of_every_answer_to_its_query(tmp_path):
    """However inaccurate; and the doubt quotes the answer that was released, not a mean."""
    with open_custodian(tmp_path, budget="90", complete=True) as custodian:
        domain = custodian.settings.domain
        custodian.ask(ALL, epsilon="20")
        for epsilon in ("0.0000001", "0.1", "0.3"):
            custodian.ask(WOMEN, epsilon=epsilon)
        view = view_of(custodian)
        view = View(view.released, ((100,), (-7_000_000,), (48,), (52,)))
        found = estimates_of(custodian.settings, view, 0.95, {domain.query(sex="F"): 50})
        assert [one.method for one in found] == ["projection", *["fact"] * 3]
        assert {(one.value, one.low, one.high) for one in found.counts[1:]} == {(50, 50, 50)}
        [doubt] = estimates_of(custodian.settings, view, 0.95, {domain.query(sex="F"): 100}).doubts
        assert "the fact 100 for the count where sex = F is" in doubt
        assert "the answer 52:" in doubt


def test_of_many_counts_the_latest_are_taken(tmp_path, monkeypatch):
    """And how many charges were left out is told."""
    monkeypatch.setattr(retrospect, "_MOST", 12)
    with open_custodian(tmp_path, budget="9") as custodian:
        custodian.ask("SELECT COUNT(*) FROM people GROUP BY age", epsilon="0.1")
        for age in range(8):
            custodian.ask(f"SELECT COUNT(*) FROM people WHERE age = {age}", epsilon="0.1")
        found = custodian.estimates()
        assert [one.id for one in found] == [str(number) for number in range(2, 10)]
        assert found.left_out == 1
        custodian.ask("SELECT sex, COUNT(*) FROM people GROUP BY sex", epsilon="0.1")
        custodian.ask("SELECT sex, COUNT(*) FROM people WHERE age > 1 GROUP BY sex", epsilon="0.1")
        assert len(custodian.estimates()) == 12
        assert custodian.estimates().left_out == 1
        custodian.ask(ALL, epsilon="0.1")
        assert [one.id for one in custodian.estimates()][:2] == ["3", "4"]
        assert custodian.estimates().left_out == 2


@pytest.mark.parametrize(("measure", "cost"), [("pure", "epsilon"), ("gdp", "mu")])
def test_a_derived_answer_has_an_estimate_beside_it(tmp_path, measure, cost):
    """The same sum of the estimates of what it follows from, and a narrower interval; its own figure stays."""
    with open_custodian(tmp_path, measure=measure, budget="90", complete=True) as custodian:
        custodian.ask(ALL, **{cost: "0.3"})
        custodian.ask(MEN, **{cost: "0.2"})
        custodian.ask("SELECT COUNT(*) FROM people GROUP BY age", **{cost: "0.4"})
        custodian.ask_batch([ALL, f"{WOMEN} AND age < 5", f"{MEN} AND age < 5"], budget="0.5", strategy="auto")
        before = custodian.charges()
        plain = custodian.ask(WOMEN, derive=True)
        found = custodian.ask(WOMEN, derive=True, estimate=True)
        assert (found.value, found.interval, found.cost, found.charge) == (plain.value, plain.interval, 0, None)
        assert plain.estimate is None
        by_query = {str(one.where): one.value for one in custodian.estimates()}
        assert found.estimate == pytest.approx(by_query["{}"] - by_query["{'sex': 'M'}"], abs=1e-3)
        low, high = found.estimate_interval
        assert high - low < found.interval[1] - found.interval[0]
        assert any("all answers that you may see" in note for note in found.notes)
        grouped = custodian.ask("SELECT FLOOR(age / 5), COUNT(*) FROM people GROUP BY 1", derive=True, estimate=True)
        ages = [by_query[str({"age": age})] for age in range(10)]
        told = [one.value for one in grouped.columns[1].estimates]
        assert told == pytest.approx([sum(ages[:5]), sum(ages[5:])], abs=1e-3)
        with pytest.raises(ArgumentError, match="beside an answer that is derived"):
            custodian.ask(WOMEN, estimate=True, **{cost: "0.1"})
        with pytest.raises(UnderivableError):
            custodian.ask(f"{WOMEN} AND age = 3", derive=True, estimate=True)
        assert custodian.ask(f"{WOMEN} AND sex = 'M'", derive=True, estimate=True).value == 0
        assert custodian.charges() == before


def test_a_derived_estimate_holds_the_count_about_as_often_as_it_says(tmp_path, fewer_draws):
    with open_custodian(tmp_path, measure="gdp", budget="90", complete=True) as custodian:
        custodian.ask_batch([*BATCH, WOMEN], budget="1", strategy="correlated")
        custodian.ask(ALL, mu="0.5")
        selection = parse_selection(custodian.settings.domain, MEN, custodian.settings.tables)
        derived, view = custodian._derived("", selection), view_of(custodian)
        truths = [5 * sum(counted(query, row) for row in ROWS) for query in view.queries]
        draw, held = np.random.default_rng(37), 0
        for _ in range(100):
            again = drawn(view, truths, draw)
            [figure] = retrospect.derived_estimates(custodian.settings, again, derived, [])
            held += figure.low <= 5 * 45 <= figure.high
        assert 88 <= held <= 99


def test_when_the_time_is_up_a_derived_count_is_cut_at_0(tmp_path, monkeypatch):
    """Its estimate is then the figure itself, and never below 0."""
    monkeypatch.setattr(retrospect, "ESTIMATE_SECONDS", 1e-9)
    with open_custodian(tmp_path, complete=True) as custodian:
        custodian.ask(ALL, epsilon="0.1")
        custodian.ask(MEN, epsilon="0.1")
        selection = parse_selection(custodian.settings.domain, WOMEN, custodian.settings.tables)
        view = View(view_of(custodian).released, ((300,), (900,)))
        figures = [Figure(-600, -650, 20, 1.0)]
        [found] = retrospect.derived_estimates(custodian.settings, view, custodian._derived("", selection), figures)
        assert (found.value, found.low, found.high) == (0, 0, 20)
        assert {one.method for one in estimates_of(custodian.settings, view, 0.95, {}, 1e-9)} == {"partial projection"}


def test_what_follows_from_too_many_counts_has_no_estimate(tmp_path, monkeypatch):
    monkeypatch.setattr(retrospect, "_MOST", 5)
    with open_custodian(tmp_path, complete=True) as custodian:
        custodian.ask("SELECT COUNT(*) FROM people GROUP BY age, sex", epsilon="0.1")
        found = custodian.ask(WOMEN, derive=True, estimate=True)
        assert found.estimate is None
        assert any("there is no estimate" in note for note in found.notes)


def test_an_answer_that_was_bought_for_next_to_nothing_does_not_spoil_another(tmp_path):
    """It is left as it is, but for 0; and what is derived from it has no other estimate."""
    with open_custodian(tmp_path, budget="20", complete=True) as custodian:
        custodian.ask("SELECT COUNT(*) FROM people", epsilon="19")
        custodian.ask("SELECT COUNT(*) FROM people WHERE sex = 'F'", epsilon="0.00000001")
        everyone, women = custodian.estimates()
        assert (everyone.value, everyone.method) == (pytest.approx(100, abs=0.01), "projection")
        assert (women.value, women.method) == (max(women.raw, 0), "cut at 0")
        assert women.low <= women.value <= women.high
        assert custodian.estimates().proven
        derived = custodian.ask("SELECT COUNT(*) FROM people WHERE sex = 'M'", derive=True, estimate=True)
        assert derived.estimate == max(derived.value, 0)
