"""Batches that are measured as a whole: how they are asked, answered, refused and shown."""

from __future__ import annotations

import json
import math
from contextlib import closing

import numpy as np
import pytest

from parcomp.custodian import Answer, estimating
from parcomp.custodian import strategy as strategy_module
from parcomp.custodian.request import read_request
from parcomp.custodian.strategic import _chosen
from parcomp.custodian.strategy import Strategy, plan_strategy, read_strategy
from parcomp.errors import ArgumentError, CostError, LedgerError, RefusedError, WorkloadError
from parcomp.ledger import StrategyRecord, packed
from parcomp.planning.strategies import atoms
from parcomp.service.bodies import fixed_width_json
from parcomp.service.console.wording import sql_of
from parcomp.sql import parse_statement
from parcomp.tabular import error_text
from tests.custodians import BATCH, ROWS, audited, load_settings, open_custodian


def test_a_batch_is_one_charge_and_asking_again_is_free(tmp_path):
    with open_custodian(tmp_path, measure="gdp", budget="3") as custodian:
        quoted = custodian.quote_batch(BATCH, budget="1", strategy="correlated")
        first = custodian.ask_batch(BATCH, budget="1", strategy="correlated")
        [charge] = custodian.charges()
        assert [one.charge for one in first] == [1] * len(BATCH)
        assert [one.cost for one in first] == [quoted.quotes[0].cost, 0, 0, 0, 0]
        assert quoted.quotes[0].cost <= 1
        assert {one.strategy for one in first} == {"correlated"}
        assert [one.expected_error for one in first] == pytest.approx([one.expected_error for one in quoted.quotes])
        again = custodian.ask_batch(BATCH[::-1] + BATCH[:1], budget="0.9", strategy="correlated")
        assert [one.groups for one in again] == [one.groups for one in (*first[::-1], first[0])]
        assert all(one.cached and one.cost == 0 for one in again)
        assert custodian.charges() == [charge]
        assert custodian.quote_batch(BATCH, budget="1", strategy="correlated").quotes[0].cached
        # Another strategy, or more budget, is another purchase.
        custodian.ask_batch(BATCH, budget="1", strategy="atoms")
        custodian.ask_batch(BATCH, budget="1.1", strategy="correlated")
        assert len(custodian.charges()) == 3
        settings = custodian.settings
        stored = custodian._ledger.answer(charge.digest)
        strategy = read_strategy(settings, charge, custodian._ledger.strategy(charge.digest))
        assert len(strategy.queries) == len(strategy.answers(stored)) == len(strategy.noise.covariance) == 6
        [total] = [
            value for query, value in zip(strategy.queries, strategy.answers(stored), strict=True) if not query.tested
        ]
        assert total == first[0].value
    assert audited(settings).ok


def test_answers_are_near_the_truth_and_say_what_they_are(tmp_path):
    for measure, strategy in (("pure", "atoms"), ("zcdp", "correlated"), ("gdp", "auto")):
        with open_custodian(tmp_path / measure, measure=measure, budget="1000") as custodian:
            answers = custodian.ask_batch(BATCH, budget="900", strategy=strategy, estimate=True)
            truth = [len(ROWS), 55, 55, 60, 35]
            values = [one.groups[0].value for one in answers]
            assert values == pytest.approx(truth, abs=0.6)
            assert answers[0].estimate == pytest.approx(100, abs=0.6)
            low, high = answers[0].interval
            assert low <= answers[0].value <= high
            document = json.loads(json.dumps(answers[2].as_json()))
            assert document.get("strategy", "") == answers[2].strategy
            assert len(document["estimates"][1]) == 2
            assert type(answers[2]).read(document).columns[1].estimates == answers[2].columns[1].estimates


def test_rows_with_undeclared_values_are_counted_as_they_are_charged(tmp_path):
    """A predicate that lists every declared value leaves them out; a statement without one does not."""
    rows = [*ROWS, *({"sex": "X", "age": 3} for _ in range(40)), *({"sex": "F", "age": 99} for _ in range(20))]
    sql = ["SELECT COUNT(*) FROM people", "SELECT COUNT(*) FROM people WHERE sex IN ('F', 'M')", BATCH[2], BATCH[3]]
    truth = [160, 120, 75, 60 + 40]
    for measure, strategy in (("pure", "atoms"), ("gdp", "correlated"), ("gdp", "atoms")):
        directory = tmp_path / f"{measure}-{strategy}"
        with open_custodian(directory, rows=rows, measure=measure, budget="1000") as custodian:
            answers = custodian.ask_batch(sql, budget="900", strategy=strategy)
            assert [one.groups[0].value for one in answers] == pytest.approx(truth, abs=0.6)


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("SELECT COUNT(*) FROM people WHERE sex = 'F' OR age = 3", "OR goes across attributes"),
        ("SELECT AVG(age) FROM people", "more than COUNT"),
        ("SELECT COUNT(*), SUM(age) FROM people", "more than COUNT"),
    ],
)
def test_what_is_no_count_of_a_conjunction_is_not_measured_together(tmp_path, statement, reason):
    with open_custodian(tmp_path, measure="gdp", budget="3") as custodian:
        with pytest.raises(WorkloadError, match=f"statement 2 cannot be part of a strategy.*{reason}.*--strategy auto"):
            custodian.ask_batch([BATCH[0], statement], budget="1", strategy="correlated")
        assert not custodian.charges()
        answers = custodian.ask_batch([BATCH[0], statement], budget="1", strategy="auto")
        assert [one.strategy for one in answers] == ["", ""]
        assert any("each statement has noise of its own: statement 2" in note for note in answers[0].notes)
        quoted = custodian.quote_batch([BATCH[0], statement], budget="1", strategy="auto")
        assert "statement 2" in quoted.notes[0]


def test_what_a_strategy_needs_is_said_before_anything_is_charged(tmp_path):
    with open_custodian(tmp_path, measure="pure", budget="3") as custodian:
        with pytest.raises(CostError, match="give the batch a budget"):
            custodian.ask_batch(BATCH, epsilon="0.1", strategy="atoms")
        with pytest.raises(WorkloadError, match="Gaussian noise"):
            custodian.ask_batch(BATCH, budget="1", strategy="correlated")
        with pytest.raises(ArgumentError, match="unknown strategy"):
            custodian.ask_batch(BATCH, budget="1", strategy="best")
        with pytest.raises(RefusedError, match="as a whole") as refused:
            custodian.ask_batch(BATCH, budget="4", strategy="atoms")
        assert (refused.value.cost, refused.value.remaining) == (4, 3)
        assert not custodian.charges()


def test_estimates_where_noise_is_next_to_nothing(tmp_path):
    """Where floats tell no product from 0 any more."""
    domain = {"name": "people", "attributes": {"a": {"low": 0, "high": 1}}}
    rows = [{"a": 0}, {"a": 1}, {"a": 9999}]
    with open_custodian(tmp_path, domain=domain, rows=rows, measure="gdp", budget="1000") as custodian:
        asked = ["SELECT a, COUNT(*) FROM people GROUP BY a", "SELECT COUNT(*) FROM people"]
        by_value, total = custodian.ask_batch(asked, budget="25", strategy="atoms", estimate=True)
        assert [group.value for group in by_value.groups] == [1, 1]
        assert total.value == 3


def test_a_matrix_that_was_not_charged_is_refused(tmp_path):
    with open_custodian(tmp_path, measure="gdp", budget="3") as custodian:
        custodian.ask_batch(BATCH, budget="1", strategy="correlated")
        [charge] = custodian.charges()
        other = packed(np.eye(6, dtype=np.int64))
        custodian._ledger.strategy = lambda _: other  # type: ignore[method-assign]
        with pytest.raises(LedgerError, match="not the one that was charged"):
            custodian.ask_batch(BATCH, budget="1", strategy="correlated")
        record = StrategyRecord.read(charge.statement)
        with pytest.raises(LedgerError, match="not the one that was charged"):
            Strategy.restored(custodian.settings, record, None, [parse_statement(custodian.settings.domain, BATCH[0])])


def test_auto_takes_what_has_the_least_error(tmp_path):
    settings = load_settings(tmp_path, measure="gdp", budget="3")
    for statements in (BATCH, BATCH[:1]):
        asked = read_request(settings, "", statements, budget="1", strategy="auto")
        made = _chosen(settings, asked)
        alone = read_request(settings, "", statements, budget="1")
        errors = {one.statement.text: one.expected_error for one in alone.releases}
        mean = sum(errors.values()) / len(errors)
        if isinstance(made, Strategy):
            assert made.mean_error < mean
        else:
            assert [one.units for one in made.releases] == [one.units for one in alone.releases]


def test_statements_are_counted_in_their_groups_and_bands(tmp_path):
    band = "CASE WHEN age < 3 THEN 'few' WHEN age < 7 THEN 'some' END"
    sql = f"SELECT {band} AS band, sex, COUNT(*) FROM people GROUP BY {band}, sex"
    with open_custodian(tmp_path, measure="zcdp", budget="1000") as custodian:
        whole = custodian.ask_batch([sql, BATCH[0]], budget="400", strategy="correlated")[0]
        alone = custodian.ask(sql, rho="400")
        assert [one.row for one in whole.groups] == [one.row for one in alone.groups]
        assert [one.value for one in whole.groups] == pytest.approx([one.value for one in alone.groups], abs=0.6)


def test_nothing_to_count_costs_nothing(tmp_path):
    with open_custodian(tmp_path, measure="pure", budget="1") as custodian:
        none = "SELECT COUNT(*) FROM people WHERE age < 0"
        for key in (None, "k", "k"):
            [answer] = custodian.ask_batch([none], budget="1", strategy="atoms", key=key)
            assert (answer.value, answer.cost, answer.charge) == (0, 0, None)
        answers = custodian.ask_batch([none, BATCH[0]], budget="1", strategy="atoms")
        assert [one.charge for one in answers] == [None, 1]


def test_a_rehearsal_is_free_and_says_so(tmp_path):
    with open_custodian(tmp_path, measure="gdp", budget="1") as custodian:
        answers = custodian.ask_batch(BATCH, budget="1", strategy="correlated", estimate=True, dummy=True)
        assert all(one.rehearsed and one.charge is None for one in answers)
        assert answers[0].estimate is not None
        assert not custodian.charges()


def test_estimates_stand_beside_answers_with_noise_of_their_own(tmp_path):
    with open_custodian(tmp_path, measure="pure", budget="5") as custodian:
        mixed = [*BATCH, "SELECT AVG(age) FROM people"]
        answers = custodian.ask_batch(mixed, budget="2", estimate=True)
        plain = custodian.ask_batch(mixed, budget="2")
        assert [one.groups for one in answers] == [one.groups for one in plain]
        assert all(one.measured[0].estimates is not None for one in answers[:-1])
        assert answers[-1].measured[0].estimates is None
        # It is said of estimates where there are some, and once of a batch.
        said = [any("say together" in note for note in one.notes) for one in answers]
        assert said == [True] * (len(answers) - 1) + [False]
        assert str(answers).count("say together") == 1
        total, women, men = answers[0].estimate, *(one.value for one in answers[2].columns[1].estimates)
        assert women + men <= total + 1e-6
        assert {"estimate", "estimate_low", "estimate_high"} <= set(answers[0].to_pandas().columns)


@pytest.mark.parametrize(("measure", "strategy"), [("pure", "atoms"), ("gdp", "correlated"), ("zcdp", "auto")])
def test_neighbors_are_treated_alike(tmp_path, measure, strategy):
    """What is quoted, charged, refused and said, and how long it is, does not depend on the rows."""
    tables = [ROWS, ROWS[1:], [*ROWS, {"sex": "X", "age": 99}], []]
    seen = []
    for number, rows in enumerate(tables):
        with open_custodian(tmp_path / str(number), rows=rows, measure=measure, budget="1") as custodian:
            quoted = custodian.quote_batch(BATCH, budget="0.9", strategy=strategy).as_json()
            answers = custodian.ask_batch(BATCH, budget="0.9", strategy=strategy, estimate=True)
            with pytest.raises(RefusedError) as refused:
                custodian.ask_batch(BATCH[:2], budget="0.9", strategy=strategy)
            charges = [(one.units, one.upper, one.where, one.statement) for one in custodian.charges()]
            lengths = [len(fixed_width_json(answer)) for answer in answers]
            paid = [(one.cost, one.charge, one.cached, one.expected_error, one.strategy) for one in answers]
            seen.append((quoted, charges, lengths, paid, str(refused.value)))
    assert all(one == seen[0] for one in seen[1:])


def test_released_answers_are_distributed_as_they_say(tmp_path):
    """Means are the truth, the covariance is that of the noise, and intervals hold in 95 of 100 answers at least."""
    draws = 400
    for measure, strategy in (("pure", "atoms"), ("gdp", "correlated")):
        with open_custodian(tmp_path / measure, measure=measure, budget="1") as custodian:
            asked = read_request(custodian.settings, "", BATCH, budget="1", strategy=strategy)
            made = plan_strategy(custodian.settings, asked.together.statements, strategy, asked.together.row_budget)
            table = custodian._table()
            truth = [number for one in table.measure(made.statements) for number in one[0]]
            released = np.array([made.answers(made.release(table)) for _ in range(draws)], np.float64) - truth
            deviation = np.sqrt(np.diag(made.noise.covariance))
            assert (np.abs(released.mean(axis=0)) < 5 * deviation / math.sqrt(draws)).all()
            found, scale = np.cov(released.T), np.outer(deviation, deviation)
            # Each entry is off by about √(2/draws) of its scale, or more where tails are long.
            assert np.abs((found - made.noise.covariance) / scale).max() < 6 * math.sqrt(5 / draws)
            held = (np.abs(released) <= made.noise.half_widths_up(0.95)).mean(axis=0)
            assert (held > 0.95 - 5 * math.sqrt(0.05 * 0.95 / draws)).all()
            errors = np.abs(released).mean(axis=0)
            assert errors == pytest.approx(made.plan.expected_errors, rel=0.25)


def test_the_graph_and_the_map_show_the_charge_on_its_hull(tmp_path):
    sql = ["SELECT COUNT(*) FROM people WHERE age < 3", "SELECT COUNT(*) FROM people WHERE age < 6 AND sex = 'F'"]
    with open_custodian(tmp_path, measure="pure", budget="1") as custodian:
        custodian.ask_batch(sql, budget="0.5", strategy="atoms")
        [node] = custodian.overlook.graph(10).as_json(custodian.settings)["nodes"]
        assert (node["number"], node["cost"], node["maximum"]) == (1, 0.5, True)
        cells = custodian.overlook.map("age", "sex").as_json(custodian.settings)["cells"]
        assert cells == [[0.5, 0.5]] * 6 + [[0, 0]] * 4
        told = sql_of(custodian.settings.domain, custodian.charges()[0].statement).splitlines()
        assert told[0] == "-- 2 statements, measured together (atoms)"
        domain = custodian.settings.domain
        texts = {parse_statement(domain, one.removesuffix(";")).text for one in told[1:]}
        assert texts == {parse_statement(domain, one).text for one in sql}


@pytest.mark.parametrize("strategy", ["independent", "auto"])
def test_estimates_of_a_batch_say_what_they_are_by(tmp_path, strategy):
    with closing(open_custodian(tmp_path, measure="gdp", budget="9")) as custodian:
        told: list[str] = []
        done = custodian.ask_batch(
            BATCH, budget="2", strategy=strategy, estimate=True, time_limit=60, progress=told.append
        )
        assert {one.estimate_method for one in done} == {"projection"}
        assert any("round 1" in one for one in told)
        assert all(estimating.NOTE in one.notes for one in done)
        late = custodian.ask_batch(BATCH, budget="2", strategy=strategy, estimate=True, time_limit=1e-9)
        assert {one.estimate_method for one in late} == {"partial projection"}
        assert [one.value for one in late[:2]] == [one.value for one in done[:2]]
        assert all("--time-limit" in " ".join(one.notes) and estimating.NOTE not in one.notes for one in late)
        assert Answer.read(late[0].as_json()).estimate_method == "partial projection"
        # The length of a response tells nothing of whether the time was enough.
        assert len(fixed_width_json(late[0])) == len(fixed_width_json(done[0]))
        plain = custodian.ask_batch(BATCH, budget="2", strategy=strategy)
        assert {one.estimate_method for one in plain} == {""}
        assert "estimate_method" not in plain[0].as_json()
        with pytest.raises(ArgumentError, match="time limit"):
            custodian.ask_batch(BATCH, budget="2", estimate=True, time_limit=0)


def test_a_quote_says_why_a_strategy_was_chosen(tmp_path, monkeypatch):
    """With the mean expected error of each that was compared; where one is asked for, its own."""
    with closing(open_custodian(tmp_path, measure="gdp", budget="9")) as custodian:
        chosen = custodian.quote_batch(BATCH, budget="2", strategy="auto")
        mean = np.mean([one.expected_error for one in chosen.quotes])
        alone = np.mean([one.expected_error for one in custodian.quote_batch(BATCH, budget="2").quotes])
        [told] = [note for note in chosen.notes if note.startswith("auto: ")]
        assert f"whose mean expected error is {error_text(mean)}" in told
        assert f"noise of its own for each statement would have {error_text(alone)}" in told
        [_, told] = custodian.quote_batch(BATCH, budget="2", strategy="atoms").notes
        assert told.startswith("the mean expected error is ± ")
    monkeypatch.setattr(Strategy, "mean_error", 99.0)
    with closing(open_custodian(tmp_path / "apart", measure="gdp", budget="9")) as custodian:
        [told] = custodian.quote_batch(BATCH, budget="2", strategy="auto").notes
        assert "no strategy has less error at this budget; " in told
        assert "atoms would have ± 99" in told
        assert f"and this has {error_text(alone)} on average" in told


def test_a_quote_says_how_many_statements_are_free_by_deriving(tmp_path):
    with closing(open_custodian(tmp_path, measure="gdp", budget="9", complete=["sex"])) as custodian:
        assert custodian.quote_batch(BATCH, mu="0.1").notes == ()
        custodian.ask("SELECT COUNT(*) FROM people WHERE sex = 'F'", mu="1")
        custodian.ask("SELECT COUNT(*) FROM people", mu="1")
        for more in ({"mu": "0.1"}, {"budget": "0.5", "strategy": "correlated"}):
            quoted = custodian.quote_batch(
                [*BATCH[:2], "SELECT COUNT(*) FROM people WHERE sex = 'M'", BATCH[3]], **more
            )
            assert not quoted.quotes[3].derivable
            assert quoted.quotes[2].derivable
            assert quoted.quotes[2].derived_error > 0
            counted = sum(bool(one.derivable) for one in quoted.quotes)
            assert f"{counted:,} of the statements follow" in quoted.notes[-1]
        assert custodian.balance().charges == 2


def test_a_batch_says_why_a_strategy_was_not_compared(tmp_path, monkeypatch):
    """Auto goes on without it; who asks for it by name hears whether rows were too many, or time was up."""
    monkeypatch.setattr(atoms, "ATOM_LIMIT", 2)
    with closing(open_custodian(tmp_path, measure="gdp", budget="9")) as custodian:
        [told] = custodian.quote_batch(BATCH, budget="2", strategy="auto").notes
        assert told == (
            "each statement has noise of its own: atoms and correlated were not compared: more than 2 classes of rows"
        )
        for name in ("atoms", "correlated"):
            with pytest.raises(WorkloadError, match=f"the strategy {name} cannot be planned .*: more than 2 classes"):
                custodian.quote_batch(BATCH, budget="2", strategy=name)
    monkeypatch.undo()
    monkeypatch.setattr(strategy_module, "_PLAN_SECONDS", 1e-9)
    monkeypatch.setattr(strategy_module, "_LEAST_SECONDS", 1e-9)
    with (
        closing(open_custodian(tmp_path / "late", measure="gdp", budget="9")) as custodian,
        pytest.raises(WorkloadError, match="cannot be planned for these statements: the time to plan it was up;"),
    ):
        custodian.quote_batch(BATCH, budget="2", strategy="atoms")
    monkeypatch.undo()
    monkeypatch.setattr(strategy_module, "CORRELATED_QUERIES", 2)
    with closing(open_custodian(tmp_path / "partly", measure="gdp", budget="9")) as custodian:
        [told] = [
            note for note in custodian.quote_batch(BATCH, budget="2", strategy="auto").notes if "not comp" in note
        ]
        assert "correlated was not compared: 5 different counts, and it is for up to 2" in told
