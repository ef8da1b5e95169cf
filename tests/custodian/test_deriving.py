"""Derived answers: they follow on every row, cost nothing, and hold what they say."""

from __future__ import annotations

import json
import random
import re
import sqlite3
import threading
from collections import Counter
from contextlib import closing
from fractions import Fraction
from itertools import product

import numpy as np
import pyarrow as pa
import pytest

import parcomp as pc
from parcomp.custodian import Answer, Custodian
from parcomp.custodian.released import read_count
from parcomp.errors import ArgumentError, DataError, LedgerError, SettingsError, UnderivableError
from parcomp.ledger import open_ledger
from parcomp.model import queries_of as group_queries
from parcomp.noise import add_noise, mechanism_for
from parcomp.sql import parse_selection
from tests.custodians import ROWS, load_settings, open_custodian, write_custodian
from tests.estimation.test_derivation import in_span, least_variance
from tests.soak import shared_with_soak

DOMAIN = {
    "name": "people",
    "attributes": {
        "sex": {"values": ["F", "M"], "nullable": True},
        "age": {"low": 0, "high": 5},
        "town": {"values": ["A", "B", "C"]},
    },
}
CONDITIONS = [
    *(
        "TRUE",
        "sex = 'F'",
        "sex <> 'F'",
        "sex IN ('F', 'M')",
        "sex IS NULL",
        "age < 3",
        "age >= 3",
        "age BETWEEN 1 AND 4",
    ),
    *("town = 'A'", "town <> 'A'", "town IN ('A', 'B', 'C')", "age BETWEEN 0 AND 5", "sex = 'F' AND age < 3"),
    *(
        "sex = 'M' AND town = 'B'",
        "age < 3 AND town <> 'A'",
        "sex = 'F' OR town = 'A'",
        "age = 2",
        "sex = 'M' AND age = 2",
    ),
]
KEYS = ["", "", "", "sex", "age", "town", "sex, age", "age, town", "FLOOR(age / 2)", "FLOOR(age / 2), sex"]
WOMEN, MEN = (f"SELECT COUNT(*) FROM people WHERE sex = '{sex}'" for sex in "FM")
ALL = "SELECT COUNT(*) FROM people"


def random_sql(draw):
    keys = draw.choice(KEYS)
    return f"SELECT COUNT(*) FROM people WHERE {draw.choice(CONDITIONS)}{f' GROUP BY {keys}' if keys else ''}"


def every_row(domain, complete):
    """Every row, with a value that is not declared where an attribute is not complete."""
    values = [
        [*(attribute.value(code) for code in range(attribute.size)), *([] if name in complete else ["?"])]
        for name, attribute in domain.attributes.items()
    ]
    return [dict(zip(domain.names, row, strict=True)) for row in product(*values)]


def counted(query, row):
    """Whether a query counts a row, by hand: a value that is not declared satisfies nothing."""
    for index, predicate in query.tested:
        name = query.domain.names[index]
        value = row[name]
        if value == "?" or query.domain.attributes[name].code(value) not in predicate:
            return False
    return True


@pytest.mark.parametrize("chunk", shared_with_soak(12, 10))
def test_what_is_derived_is_the_weighted_sum_on_every_row_and_nothing_else_is(chunk, tmp_path):
    """Of random sessions, plain and in groups; of all unbiased sums of released groups none has a lower variance."""
    draw = random.Random(chunk)
    outcomes = Counter()
    for number in range(6):
        complete = [name for name in DOMAIN["attributes"] if draw.random() < 0.5]
        rows = [{"sex": "F", "age": 2, "town": "A"}] * 3
        measure, parameter = draw.choice([("pure", "epsilon"), ("gdp", "mu")])
        with open_custodian(
            tmp_path / str(number), rows=rows, domain=DOMAIN, measure=measure, budget="100", complete=complete
        ) as custodian:
            for _ in range(draw.randint(1, 7)):
                custodian.ask(random_sql(draw), **{parameter: draw.choice(["0.2", "0.5", "1"])})
            domain = custodian.settings.domain
            rows = every_row(domain, complete)
            released, noise = [], []
            for charge in custodian.charges():
                statement = read_count(domain, charge.statement)
                if statement is not None:
                    groups = group_queries(statement)
                    released += groups
                    mechanism = mechanism_for(custodian.settings.measure, charge.units)
                    noise += [mechanism.variance] * len(groups)
            cells = np.array([[counted(query, row) for row in rows] for query in released]).reshape(-1, len(rows))
            for _ in range(12):
                sql = random_sql(draw)
                selection = parse_selection(domain, sql, custodian.settings.tables)
                statement = selection.statement
                quote = custodian.quote(sql, **{parameter: "0.3"})
                found = custodian._derived("", selection)
                assert quote.derivable == (found is not None)
                if len(statement.where.alternatives) != 1:
                    assert found is None
                    continue
                wanted = [np.array([counted(query, row) for row in rows]) for query in group_queries(statement)]
                assert (found is not None) == all(in_span(cells, one) for one in wanted)
                outcomes[found is not None] += 1
                if found is None:
                    with pytest.raises(UnderivableError, match="nothing was charged"):
                        custodian.ask(sql, derive=True)
                    continue
                for one, parts, spread in zip(wanted, found.groups, found.spreads, strict=True):
                    sums = [
                        sum((weight for weight, part in parts if counted(part.query, row)), Fraction(0)) for row in rows
                    ]
                    assert sums == one.astype(int).tolist()
                    for _, part in parts:
                        groups = group_queries(part.count.statement)
                        chosen = [groups[place] for place in part.places]
                        assert all(sum(counted(g, row) for g in chosen) == counted(part.query, row) for row in rows)
                    variance = sum(float(weight) ** 2 * part.variance for weight, part in parts)
                    best = least_variance(cells.astype(float), one.astype(float), np.diag(noise))
                    assert best * (1 - 1e-6) <= variance <= best * 1.001
                    assert spread.expected_error <= variance**0.5 * (1 + 1e-9)
                assert quote.derived_error == found.expected_error
    assert min(outcomes[True], outcomes[False]) >= 2


def everything(path):
    """All that the ledger's file holds."""
    with closing(sqlite3.connect(path)) as connection:
        return list(connection.iterdump())


@pytest.mark.parametrize(("measure", "cost"), [("pure", {"epsilon": "0.2"}), ("zcdp", {"rho": "0.2"})])
def test_women_are_all_less_men_for_nothing(tmp_path, measure, cost):
    """Where every row has a declared sex; the ledger is as it was, to the byte."""
    with open_custodian(tmp_path, measure=measure, complete=["sex"]) as custodian:
        first, second = custodian.ask(ALL, **cost), custodian.ask(MEN, **cost)
        before = everything(tmp_path / "ledger.db"), custodian.balance()
        quote = custodian.quote(WOMEN, **cost)
        assert (quote.derivable, quote.cached) == (True, False)
        assert quote.derived_error > quote.expected_error
        answer = custodian.ask(WOMEN, derive=True)
        assert answer.value == first.value - second.value
        assert (answer.charge, answer.cost, answer.cached, answer.derived) == (None, 0, False, True)
        assert answer.notes[0] == "derived, free: it follows from the answers of charge 1 and 2"
        assert answer.expected_error == quote.derived_error
        assert answer.interval[0] < answer.value < answer.interval[1]
        assert Answer.read(answer.as_json()).derived
        assert "free: it follows from what was released before" in str(answer)
        # Whatever cost is stated, and whatever the key, which stands for nothing here.
        assert custodian.ask(WOMEN, derive=True, key="k", **cost) == answer
        assert (everything(tmp_path / "ledger.db"), custodian.balance()) == before
        grouped = custodian.ask("SELECT sex, COUNT(*) FROM people GROUP BY sex", derive=True)
        assert [group.value for group in grouped.groups] == [answer.value, second.value]
        assert (everything(tmp_path / "ledger.db"), custodian.balance()) == before


def test_undeclared_values_are_neither_women_nor_men(tmp_path):
    """Unless it is said that there are none, all less men do not tell how many women there are."""
    with open_custodian(tmp_path, rows=[*ROWS, *[{"sex": "X", "age": 1}] * 500]) as custodian:
        custodian.ask(ALL, epsilon="0.3")
        custodian.ask(MEN, epsilon="0.3")
        assert custodian.quote(WOMEN, epsilon="0.1").derivable is False
        with pytest.raises(UnderivableError):
            custodian.ask(WOMEN, derive=True)
        declared = custodian.ask("SELECT COUNT(*) FROM people WHERE sex IN ('F', 'M')", epsilon="0.3")
        men = custodian.ask(MEN, epsilon="0.3")
        assert custodian.ask(WOMEN, derive=True).value == declared.value - men.value


@pytest.mark.parametrize(("measure", "cost"), [("pure", "epsilon"), ("gdp", "mu")])
def test_intervals_hold_the_count_as_often_as_they_say(tmp_path, measure, cost):
    """Over draws of the noise, of sums of groups and of weighted means of several ways."""
    draws = 400
    asked = {WOMEN: 55, "SELECT COUNT(*) FROM people WHERE age < 4": 16, f"{MEN} AND age >= 2": 44, ALL: 100}
    with open_custodian(tmp_path, measure=measure, budget="50", complete=True) as custodian:
        for sql in (ALL, MEN, "SELECT COUNT(*) FROM people GROUP BY sex, age"):
            custodian.ask(sql, **{cost: "0.4"})
        custodian.ask("SELECT COUNT(*) FROM people WHERE age >= 4", **{cost: "0.7"})
        truths = [[100], [45], [age + (sex == "F") for sex in "FM" for age in range(10)], [84]]
        mechanisms = [mechanism_for(custodian.settings.measure, one.units) for one in custodian.charges()]
        for sql, truth in asked.items():
            selection = parse_selection(custodian.settings.domain, sql, custodian.settings.tables)
            found = custodian._derived("", selection)
            assert len(found.charges) > 1
            held, errors = 0, []
            for _ in range(draws):
                stored = {
                    charge.digest: json.dumps([add_noise(mechanism, counts)])
                    for charge, mechanism, counts in zip(custodian.charges(), mechanisms, truths, strict=True)
                }
                [figure] = found.figures(stored)
                held += figure.low <= truth <= figure.high
                errors.append(abs(figure.value - truth) / found.expected_error)
            # 95 of 100 or more, but for chance: less than once in 10⁵ runs it is so far below.
            assert held >= 0.95 * draws - 20
            assert held < draws
            assert 0.8 < np.mean(errors) < 1.2


def test_only_what_one_has_paid_for_is_derived_from(tmp_path):
    """Of others' answers nothing is told, not even that they are there; who asks without a name sees all."""
    with open_custodian(tmp_path / "named", complete=True, quotas={"anna": "0.9", "ben": "0.9"}) as custodian:
        custodian.ask(ALL, epsilon="0.2", analyst="anna")
        custodian.ask(MEN, epsilon="0.2", analyst="ben")
        for analyst in ("anna", "ben"):
            assert custodian.quote(WOMEN, epsilon="0.1", analyst=analyst).derivable is False
            with pytest.raises(UnderivableError):
                custodian.ask(WOMEN, derive=True, analyst=analyst)
        with pytest.raises(SettingsError, match="does not say who asks"):
            custodian.ask(WOMEN, derive=True)
        custodian.ask(MEN, epsilon="0.3", analyst="anna")
        assert custodian.ask(WOMEN, derive=True, analyst="anna").notes[0].endswith("charge 1 and 3")
    with open_custodian(tmp_path / "unnamed", complete=True) as custodian:
        custodian.ask(ALL, epsilon="0.2", analyst="anna")
        custodian.ask(MEN, epsilon="0.2", analyst="ben")
        assert custodian.ask(WOMEN, derive=True).derived
        assert custodian.quote(WOMEN, epsilon="0.1", analyst="ben").derivable is False


def test_answers_of_earlier_rows_are_not_mixed_with_later_ones(tmp_path):
    """After a load only what was asked since counts."""
    path = write_custodian(tmp_path, complete=True)
    with Custodian.open(path) as custodian:
        custodian.ask(ALL, epsilon="0.2")
        custodian.ask(MEN, epsilon="0.2")
        assert custodian.quote(WOMEN, epsilon="0.1").derivable
        with (tmp_path / "people.csv").open("a", newline="") as file:
            file.write("F,3\r\n" * 50)
        custodian.load()
        assert custodian.quote(WOMEN, epsilon="0.1").derivable is False
        later = custodian.ask(ALL, epsilon="0.2")
        assert custodian.quote(WOMEN, epsilon="0.1").derivable is False
        men = custodian.ask(MEN, epsilon="0.2")
        assert custodian.ask(WOMEN, derive=True).value == later.value - men.value


def broken(*_):
    raise LedgerError("the database is gone")


def test_what_was_charged_and_never_answered_is_not_derived_from(tmp_path, monkeypatch):
    """A process that dies before it stores an answer leaves nothing that was released."""
    with open_custodian(tmp_path, complete=True) as custodian:
        custodian.ask(ALL, epsilon="0.2")
        older = custodian.ask(MEN, epsilon="0.1")
        with monkeypatch.context() as patched:
            patched.setattr(type(custodian._ledger), "store_answers", broken)
            with pytest.raises(LedgerError):
                custodian.ask(MEN, epsilon="0.3")
        assert custodian.charges()[-1].number == 3
        found = custodian.ask(WOMEN, derive=True)
        assert found.notes[0].endswith("charge 1 and 2")
        everyone = custodian.ask(ALL, epsilon="0.2")
        assert found.value == everyone.value - older.value
        # Asked for again, it is answered for the charge that stands, and counts from then on.
        custodian.ask(MEN, epsilon="0.3")
        assert custodian.ask(WOMEN, derive=True).notes[0].endswith("charge 1, 2 and 3")


def test_a_ledger_that_was_rolled_back_gives_nothing(tmp_path):
    """What is told of an answer is marked, so that an older copy of the ledger is known."""
    path = write_custodian(tmp_path, complete=True)
    ledger = tmp_path / "ledger.db"
    with Custodian.open(path) as custodian:
        custodian.ask(ALL, epsilon="0.2")
    older = ledger.read_bytes()
    with Custodian.open(path) as custodian:
        custodian._mark_after = lambda: None
        custodian.ask(MEN, epsilon="0.2")
        custodian._look_at_the_mark = lambda: None
        assert custodian.ask(WOMEN, derive=True).derived
    ledger.write_bytes(older)
    for name in ("ledger.db-wal", "ledger.db-shm"):
        (tmp_path / name).unlink(missing_ok=True)
    with pytest.raises(LedgerError, match="rolled back"):
        Custodian.open(path)


def test_deriving_while_others_ask(tmp_path):
    """Threads of two custodians: what is derived is what the named answers say, and only who asks is charged."""
    path = write_custodian(tmp_path, budget="100", complete=True)
    with Custodian.open(path) as one, Custodian.open(path) as other:
        everyone = one.ask(ALL, epsilon="0.2").value
        bought, derived, failed = {}, [], []

        def ask(custodian, number):
            try:
                for place in range(4):
                    units = f"0.{number}{place + 1}"
                    bought[custodian.ask(MEN, epsilon=units).charge] = None
                    derived.append(custodian.ask(WOMEN, derive=True))
            except Exception as error:
                failed.append(error)

        threads = [threading.Thread(target=ask, args=((one, other)[n % 2], n + 1)) for n in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failed
        charges = one.charges()
        assert {charge.number for charge in charges} == {1, *bought}
        assert len(derived) == 24
        numbers = one._ledger.answers([charge.digest for charge in charges])
        for answer in derived:
            named = [int(word) for word in re.findall("[0-9]+", answer.notes[0])]
            assert named[0] == 1
            if not answer.notes[0].endswith("more"):
                # A mean of what was bought for men is taken from all: how it is weighted depends on what was in view.
                men = [json.loads(numbers[charges[number - 1].digest])[0][0] for number in named[1:]]
                assert everyone - max(men) <= answer.value <= everyone - min(men)
        assert everyone == json.loads(numbers[charges[0].digest])[0][0]


def test_other_statements_stay_out(tmp_path):
    """Sums, averages, unions across attributes, and counts beside other numbers are no counts of a conjunction."""
    with open_custodian(tmp_path, budget="9", complete=True) as custodian:
        for sql in (
            "SELECT SUM(age) FROM people WHERE sex = 'F'",
            "SELECT COUNT(*), AVG(age) FROM people WHERE sex = 'F'",
            "SELECT COUNT(*) FROM people WHERE sex = 'F' OR age = 3",
            "SELECT COUNT(DISTINCT age) FROM people WHERE sex = 'F'",
        ):
            custodian.ask(sql, epsilon="0.2")
            assert custodian.quote(sql, epsilon="0.3").derivable is False
            assert custodian.quote(WOMEN, epsilon="0.1").derivable is False
        custodian.ask("SELECT COUNT(age) FROM people WHERE sex = 'F'", epsilon="0.2")
        assert custodian.quote(WOMEN, epsilon="0.1").derivable
        with pytest.raises(ArgumentError, match="none to rehearse"):
            custodian.ask(WOMEN, derive=True, dummy=True)
        nothing = custodian.ask("SELECT COUNT(*) FROM people WHERE sex = 'F' AND sex = 'M'", derive=True)
        assert (nothing.value, nothing.charge, nothing.cost) == (0, None, 0)
        assert custodian.quote_batch([WOMEN], epsilon="0.1").quotes[0].derivable


def test_expressions_of_a_derived_count(tmp_path):
    """Arithmetic, HAVING, ORDER BY and LIMIT are as free as ever."""
    with open_custodian(tmp_path, budget="9", complete=True) as custodian:
        cells = custodian.ask("SELECT sex, age, COUNT(*) FROM people GROUP BY sex, age", epsilon="2")
        sums = {sex: sum(one.value for one in cells.groups if one.row["sex"] == sex) for sex in "FM"}
        sql = "SELECT sex, 2 * COUNT(*) AS twice FROM people GROUP BY sex HAVING COUNT(*) > 0 ORDER BY sex DESC LIMIT 1"
        answer = custodian.ask(sql, derive=True)
        assert [(one.row["sex"], one.value) for one in answer.groups] == [("M", 2 * sums["M"])]
        assert custodian.ask("SELECT COUNT(*) / 2 FROM people", derive=True).value == sum(sums.values()) / 2


def test_many_charges_and_many_groups(tmp_path):
    """The nearest charges are taken, groups that play the same part together, and too many groups not at all."""
    domain = {"name": "people", "attributes": {"sex": {"values": ["F", "M"]}, "age": {"low": 0, "high": 9_999}}}
    rows = [{"sex": "F", "age": 7}] * 5
    with open_custodian(tmp_path, rows=rows, domain=domain, budget="9999", complete=True) as custodian:
        groups = custodian.ask("SELECT COUNT(*) FROM people GROUP BY sex, age", epsilon="1")
        sql = "SELECT COUNT(*) FROM people WHERE sex = 'F' AND age < 5000"
        answer = custodian.ask(sql, derive=True)
        assert answer.value == sum(group.value for group in groups.groups[:5_000])
        assert custodian.quote("SELECT age, COUNT(*) FROM people GROUP BY age", epsilon="1").derivable is False
        batch = [f"SELECT COUNT(*) FROM people WHERE age < {age} AND sex = 'M'" for age in range(1, 320)]
        custodian.ask_batch(batch, epsilon="0.1")
        custodian.ask("SELECT COUNT(*) FROM people WHERE age < 5000", epsilon="50")
        custodian.ask("SELECT COUNT(*) FROM people WHERE age < 5000 AND sex = 'M'", epsilon="50")
        found = custodian.ask(sql, derive=True)
        assert found.expected_error < 0.1
        assert found.notes[0].endswith("charge 321 and 322") or "321" in found.notes[0]


def test_a_table_that_is_not_complete_is_refused(tmp_path):
    """By init and by load, which say how many rows and what to do; nothing is made, nothing is changed."""
    lacking = [*ROWS, {"sex": "X", "age": 3}, {"sex": "", "age": 12}]
    path = write_custodian(tmp_path / "init", rows=lacking, complete=True, init=False)
    with pytest.raises(
        DataError, match="2 rows without a declared value of sex, 1 row without a declared value of age"
    ):
        Custodian.create(path)
    assert not (tmp_path / "init" / "ledger.db").exists()
    path = write_custodian(tmp_path / "load", complete=["age"])
    with Custodian.open(path) as custodian:
        custodian.ask(ALL, epsilon="0.1")
        before = everything(tmp_path / "load" / "ledger.db")
        with (tmp_path / "load" / "people.csv").open("a", newline="") as file:
            file.write("F,77\r\n")
        with pytest.raises(DataError, match="1 row without a declared value of age"):
            custodian.load()
        assert everything(tmp_path / "load" / "ledger.db") == before
        assert custodian.ask(ALL, epsilon="0.1").cached
    table = pa.table({"sex": ["F"] * 200 + ["Q"], "age": [1] * 201})
    arguments = {"domain": DOMAIN_OF_TWO, "measure": "pure", "budget": "1", "ledger": tmp_path / "frame.db"}
    with pytest.raises(DataError, match="1 row without a declared value of sex"):
        pc.Custodian(table, complete=["sex"], **arguments)
    with pc.Custodian(table, complete=["age"], **arguments) as custodian:
        assert custodian.settings.complete == ("age",)


DOMAIN_OF_TWO = {"name": "people", "attributes": {"sex": {"values": ["F", "M"]}, "age": {"low": 0, "high": 9}}}


def test_what_is_complete_is_bound_to_the_ledger(tmp_path):
    """It can be neither said of answers that were made without it, nor taken back."""
    path = write_custodian(tmp_path, complete=["sex"])
    text = path.read_text()
    for written in ("", "complete = true\n", 'complete = ["age"]\n', 'complete = ["sex", "age"]\n'):
        path.write_text(text.replace('complete = ["sex"]\n', written))
        with pytest.raises(LedgerError, match="belongs to other settings"):
            Custodian.open(path)
    path.write_text(text)
    Custodian.open(path).close()
    settings = load_settings(tmp_path / "none", complete=False)
    with closing(open_ledger(pc.Custodian.create(settings).settings.ledger, settings.binding)) as ledger:
        assert "complete" not in ledger.binding.source


@pytest.mark.parametrize("written", ['"sex"', "1", '["sex", "color"]', "[1]"])
def test_what_may_stand_under_complete(tmp_path, written):
    """True, false, or attributes; the message names the place."""
    path = write_custodian(tmp_path, init=False)
    path.write_text(path.read_text().replace("[privacy]", f"complete = {written}\n\n[privacy]"))
    with pytest.raises(pc.errors.FileError, match=r"custodian.toml:\d+: dataset.complete"):
        Custodian.open(path)


@pytest.mark.parametrize(
    ("measure", "cost", "strategy"),
    [("gdp", "mu", "correlated"), ("pure", "epsilon", "atoms"), ("zcdp", "rho", "atoms")],
)
def test_answers_of_a_strategy_are_derived_from_with_their_covariance(tmp_path, measure, cost, strategy):
    """Alone and beside others; the error is that of the sum, which no sum of single errors tells."""
    batch = [
        ALL,
        MEN,
        "SELECT COUNT(*) FROM people WHERE age < 5",
        f"{MEN} AND age < 5",
        "SELECT COUNT(*) FROM people GROUP BY age",
    ]
    asked = {WOMEN: 55, f"{WOMEN} AND age < 5": 15, f"{MEN} AND age >= 5": 35, MEN: 45, ALL: 100}
    with open_custodian(tmp_path, measure=measure, budget="9", complete=True) as custodian:
        custodian.ask_batch(batch, budget="0.6", strategy=strategy)
        settings = custodian.settings
        [charge] = custodian.charges()
        rows = every_row(settings.domain, settings.complete)
        for more in (False, True):
            if more:
                custodian.ask(WOMEN, **{cost: "0.3"})
            for sql, truth in asked.items():
                selection = parse_selection(settings.domain, sql, settings.tables)
                found = custodian._derived("", selection)
                [target] = group_queries(selection.statement)
                sums = [
                    sum((weight for weight, part in found.groups[0] if counted(part.query, row)), Fraction(0))
                    for row in rows
                ]
                assert sums == [counted(target, row) for row in rows]
                answer = custodian.ask(sql, derive=True)
                assert (answer.charge, answer.cost, answer.derived) == (None, 0, True)
                [whole] = [one for one in [custodian._shelf.restored(settings, charge, None)] if one is not None]
                noise, draw = whole.strategy.noise, np.random.default_rng(5)
                truths = [sum(counted(query, row) for row in ROWS) for query in whole.strategy.queries]
                mechanism = mechanism_for(settings.measure, custodian.charges()[-1].units)
                errors, held = [], 0
                for _ in range(400):
                    answers = (np.array(truths) + noise.drawn(draw)).tolist()
                    stored = {charge.digest: json.dumps({"answers": answers})}
                    if more:
                        stored[custodian.charges()[-1].digest] = json.dumps([add_noise(mechanism, [55])])
                    [figure] = found.figures(stored)
                    errors.append(figure.value - truth)
                    held += figure.low <= truth <= figure.high
                assert held >= 0.95 * 400 - 20
                assert np.mean(np.abs(errors)) == pytest.approx(found.expected_error, rel=0.2)
        # What was measured together tells of its parts by themselves.
        assert custodian.quote(f"{MEN} AND age < 5", **{cost: "0.1"}).derivable
        assert len(custodian.charges()) == 2


def test_what_would_have_to_be_complete_is_told(tmp_path):
    """Where an answer would follow then, and nothing of it where it would not."""
    with closing(open_custodian(tmp_path, budget="9")) as custodian:
        custodian.ask("SELECT COUNT(*) FROM people", epsilon="1")
        custodian.ask("SELECT COUNT(*) FROM people WHERE sex = 'M'", epsilon="1")
        with pytest.raises(UnderivableError, match="would follow if `sex` was declared complete"):
            custodian.ask("SELECT COUNT(*) FROM people WHERE sex = 'F'", derive=True)
        with pytest.raises(UnderivableError, match="does not follow from the counts") as refused:
            custodian.ask("SELECT COUNT(*) FROM people WHERE age = 3", derive=True)
        assert "complete" not in str(refused.value)
        assert len(custodian.charges()) == 2
