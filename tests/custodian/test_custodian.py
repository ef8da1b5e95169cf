"""The custodian's promises, one by one, on a real table and a real ledger."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import pytest

from parcomp.custodian import Custodian, Settings, load_table
from parcomp.custodian.books import Books
from parcomp.errors import CostError, DataError, IdempotencyError, ParcompError, RefusedError, SettingsError, SqlError
from parcomp.privacy.measures import MEASURES
from tests.custodians import open_custodian, write_custodian

WOMEN = "SELECT COUNT(*) FROM people WHERE sex = 'F'"
MEN = "SELECT COUNT(*) FROM people WHERE sex = 'M'"
YOUNG = "SELECT COUNT(*) FROM people WHERE age < 5"


@pytest.fixture
def custodian(tmp_path):
    with Custodian.open(write_custodian(tmp_path)) as opened:
        yield opened


def test_disjoint_queries_cost_the_dearest_of_them(custodian):
    """Women and then men at 0.6 each cost 0.6 of 1.0 together."""
    custodian.ask(WOMEN, epsilon="0.6")
    answer = custodian.ask(MEN, epsilon="0.6")
    assert (answer.charge, answer.cost, answer.cached) == (2, 0.6, False)
    balance = custodian.balance()
    assert (balance.loss, balance.sequential, balance.charges) == (0.6, 1.2, 2)


def test_an_overlapping_query_is_refused_if_it_does_not_fit_and_charges_nothing(custodian):
    """After women and men at 0.6, a query that meets both is refused at 0.6 and fits at 0.4."""
    custodian.ask(WOMEN, epsilon="0.6")
    custodian.ask(MEN, epsilon="0.6")
    with pytest.raises(
        RefusedError, match=r"leaves epsilon 0\.4 on the rows of this query, which costs epsilon 0\.6"
    ) as refused:
        custodian.ask(YOUNG, epsilon="0.6")
    assert (refused.value.cost, refused.value.remaining) == (0.6, 0.4)
    assert custodian.balance().charges == 2
    assert custodian.ask(YOUNG, epsilon="0.4").charge == 3
    assert custodian.balance().loss == 1


def test_group_by_is_charged_once_and_returns_every_declared_group(custodian):
    """Twenty groups cost what one of them would."""
    answer = custodian.ask("SELECT sex, age, COUNT(*) FROM people GROUP BY sex, age", epsilon="0.5")
    assert len(answer.groups) == 20
    assert custodian.balance().loss == 0.5
    assert [group.row for group in answer.groups[:2]] == [{"sex": "F", "age": 0}, {"sex": "F", "age": 1}]


def test_a_repeat_in_other_words_is_free(custodian):
    """An equal statement at no higher accuracy is answered from what is stored; a more accurate one is paid for."""
    first = custodian.ask(MEN, epsilon="0.3")
    for sql in (
        "SELECT COUNT(*) FROM people WHERE NOT sex = 'F'",
        "select count(*) from people where sex not in ('F')",
    ):
        again = custodian.ask(sql, epsilon="0.2", analyst="somebody")
        assert (again.value, again.charge, again.cost, again.cached) == (first.value, 1, 0, True)
        assert again.expected_error == first.expected_error
    assert custodian.quote(MEN, epsilon="0.3").cached
    assert not custodian.quote(MEN, epsilon="0.31").cached
    assert custodian.ask(MEN, epsilon="0.4").charge == 2
    assert custodian.balance().loss == 0.7


def test_answers_are_near_the_truth_and_intervals_say_how_near(custodian):
    """At a high accuracy the noise is almost always 0, so the counts show."""
    with Custodian.create(_with_budget(custodian, 10**13)) as rich:
        assert rich.ask(WOMEN, epsilon="100").value == 55
        answer = rich.ask("SELECT sex, COUNT(*) FROM people WHERE age >= 8 GROUP BY sex", epsilon="100")
        assert [(group.row["sex"], group.value) for group in answer.groups] == [("F", 19), ("M", 17)]
        assert rich.ask("SELECT SUM(age) FROM people WHERE sex = 'M'", epsilon="500").value == sum(
            a * a for a in range(10)
        )
        average = rich.ask("SELECT AVG(age) FROM people WHERE sex = 'M'", epsilon="500")
        assert average.value == pytest.approx(285 / 45)
        assert average.interval[0] <= 285 / 45 <= average.interval[1]
        noisy = rich.ask(MEN, epsilon="0.05")
        assert noisy.interval[1] - noisy.interval[0] == 2 * 60
        assert noisy.expected_error == pytest.approx(20, abs=0.1)


def test_sums_and_averages_of_decimals_are_in_whole_steps(tmp_path):
    """The values are taken to the nearest step, ties to even, and intervals hold what they add up to."""
    domain = {"name": "people", "attributes": {"kappa": {"low": "-1.00", "high": "20.00", "step": "0.01"}}}
    stored = ["1.431", "0.125", "0.135", "-0.995", "19.999", "20.006", "x", ""]
    exact = [Decimal(text) for text in ("1.43", "0.12", "0.14", "-1.00", "20.00")]
    rows = [{"kappa": text} for text in stored]
    with open_custodian(tmp_path, domain=domain, rows=rows, budget="1000000") as custodian:
        total = custodian.ask("SELECT SUM(kappa) FROM people", epsilon="100000")
        assert total.value == pytest.approx(float(sum(exact)), abs=1e-9)
        assert total.interval[0] <= float(sum(exact)) <= total.interval[1]
        average = custodian.ask("SELECT AVG(kappa) FROM people WHERE kappa > -2", epsilon="200000")
        assert average.value == pytest.approx(float(sum(exact) / 5))
        assert average.interval[0] <= float(sum(exact)) / 5 <= average.interval[1]
        assert custodian.ask("SELECT COUNT(*) FROM people", epsilon="500").value == len(stored)
        assert custodian.ask("SELECT COUNT(kappa) FROM people WHERE kappa <= 0.125", epsilon="100").value == 2
        noisy = custodian.ask("SELECT SUM(kappa) FROM people WHERE kappa > 1", epsilon="0.01")
        assert noisy.expected_error == pytest.approx(2000, rel=0.01)


def test_a_contradiction_is_answered_by_zero_and_is_free(custodian):
    """No row can satisfy it, so nothing is charged and no noise is added."""
    answer = custodian.ask("SELECT COUNT(*) FROM people WHERE sex = 'F' AND sex = 'M'", epsilon="5")
    assert (answer.value, answer.charge, answer.cost, answer.expected_error) == (0, None, 0, 0)
    assert custodian.balance().charges == 0
    quote = custodian.quote("SELECT COUNT(*) FROM people WHERE age > 100", epsilon="5")
    assert (quote.fits, quote.adds) == (True, 0)


def test_quotes_say_cost_growth_remainder_and_accuracy(custodian):
    """What a quote says is what asking then does."""
    custodian.ask(WOMEN, epsilon="0.6")
    quote = custodian.quote(MEN, epsilon="0.5")
    assert (quote.cost, quote.adds, quote.remaining, quote.fits) == (0.5, 0, 1, True)
    quote = custodian.quote(YOUNG, epsilon="0.3")
    assert (quote.adds, quote.remaining) == (0.3, 0.4)
    assert quote.best_error < quote.expected_error
    quote = custodian.quote(YOUNG, epsilon="0.5")
    assert not quote.fits
    assert "0.4" in quote.reason
    assert custodian.balance().charges == 1


def test_a_batch_is_all_or_nothing(custodian):
    """If one statement does not fit, none is charged; if all fit, they are charged together."""
    custodian.ask(WOMEN, epsilon="0.6")
    with pytest.raises(RefusedError):
        custodian.ask_batch([MEN, YOUNG], epsilon="0.5")
    assert custodian.balance().charges == 1
    quoted = custodian.quote_batch([MEN, YOUNG], epsilon=["0.5", "0.4"])
    assert quoted.fits
    assert quoted.adds == 0.4
    answers = custodian.ask_batch([MEN, YOUNG, MEN], epsilon=["0.5", "0.4", "0.2"])
    assert [answer.charge for answer in answers] == [2, 3, 2]
    assert [answer.cost for answer in answers] == [0.5, 0.4, 0]
    assert answers[0].value == answers[2].value
    batches = {charge.batch for charge in custodian.charges()[1:]}
    assert len(batches) == 1
    assert custodian.balance().loss == 1


def test_equal_statements_of_a_batch_are_quoted_as_they_are_charged(custodian):
    """The dearest of them is charged, wherever it stands: the first one is told its cost, the others are free."""
    statements, costs = [WOMEN, YOUNG, WOMEN], ["0.1", "0.4", "0.6"]
    quoted = custodian.quote_batch(statements, epsilon=costs)
    assert [(quote.cost, quote.cached) for quote in quoted.quotes] == [(0.6, False), (0.4, False), (0, True)]
    assert (quoted.adds, quoted.fits) == (1, True)
    answers = custodian.ask_batch(statements, epsilon=costs)
    assert [answer.cost for answer in answers] == [0.6, 0.4, 0]
    assert custodian.balance().loss == 1


def test_a_budget_for_a_batch_is_shared_out(custodian):
    """The planned costs use the whole budget where the statements overlap, and more in sum."""
    answers = custodian.ask_batch([WOMEN, MEN, YOUNG], budget="0.8")
    assert custodian.balance().loss == pytest.approx(0.8, abs=1e-6)
    assert sum(answer.cost for answer in answers) > 1.15
    with pytest.raises(RefusedError):
        custodian.ask_batch(["SELECT COUNT(*) FROM people"], budget="0.3")


def test_quotas_bound_an_analyst_beneath_the_budget(tmp_path):
    """Anna spends no more than her quota on any row, whatever the budget leaves."""
    with Custodian.open(write_custodian(tmp_path, quotas={"anna": "0.3", "ben": "1.0"})) as custodian:
        custodian.ask(WOMEN, epsilon="0.3", analyst="anna")
        with pytest.raises(RefusedError, match="the quota of anna leaves epsilon 0 "):
            custodian.ask(YOUNG, epsilon="0.1", analyst="anna")
        custodian.ask(MEN, epsilon="0.3", analyst="anna")
        assert custodian.quote(YOUNG, epsilon="0.1", analyst="ben").remaining == 0.7
        custodian.ask(YOUNG, epsilon="0.7", analyst="ben")
        with pytest.raises(RefusedError, match="the budget leaves"):
            custodian.ask("SELECT COUNT(*) FROM people WHERE age = 1", epsilon="0.1", analyst="ben")
        with pytest.raises(SettingsError, match="unknown analyst 'carl'; the settings name anna, ben"):
            custodian.quote(WOMEN, epsilon="0.1", analyst="carl")


def test_an_idempotency_key_is_charged_once_and_bound_to_its_request(custodian):
    """The same request under a key gets the same answer; another one under it is an error."""
    first = custodian.ask(WOMEN, epsilon="0.4", analyst="anna", key="k1")
    assert custodian.ask(WOMEN, epsilon="0.4", analyst="anna", key="k1") == first
    assert first.cost == 0.4
    with pytest.raises(IdempotencyError, match="'k1' was used for another request"):
        custodian.ask(WOMEN, epsilon="0.5", analyst="anna", key="k1")
    other = custodian.ask(WOMEN, epsilon="0.4", analyst="ben", key="k1")
    assert (other.cached, other.cost, other.value) == (True, 0, first.value)
    assert custodian.ask(WOMEN, epsilon="0.4", analyst="ben", key="k1") == other
    batch = custodian.ask_batch([MEN, YOUNG, MEN], budget="0.5", analyst="anna", key="k2")
    assert custodian.ask_batch([MEN, YOUNG, MEN], budget="0.5", analyst="anna", key="k2") == batch
    assert custodian.balance().charges == 3


def test_another_custodian_on_the_same_ledger_sees_every_charge(tmp_path):
    """Two custodians share the budget and each other's answers, open at once or one after the other."""
    path = write_custodian(tmp_path)
    with Custodian.open(path) as one, Custodian.open(path) as other:
        answer = one.ask(WOMEN, epsilon="0.6")
        assert other.ask(WOMEN, epsilon="0.5").value == answer.value
        with pytest.raises(RefusedError):
            other.ask(YOUNG, epsilon="0.6")
    with Custodian.open(path) as later:
        assert later.balance().loss == 0.6
        assert later.ask(WOMEN, epsilon="0.6").value == answer.value


@pytest.mark.parametrize(("measure", "parameter"), [("pure", "epsilon"), ("zcdp", "rho"), ("gdp", "mu")])
def test_each_measure_is_charged_in_its_own_parameter(tmp_path, measure, parameter):
    """A cost in another parameter is an error; the loss of overlapping queries adds up as the measure says."""
    with Custodian.open(write_custodian(tmp_path, measure=measure)) as custodian:
        wrong = {"epsilon": "rho", "rho": "mu", "mu": "epsilon"}[parameter]
        with pytest.raises(CostError, match=f"accounted in {parameter}"):
            custodian.ask(WOMEN, **{wrong: "0.1"})
        with pytest.raises(CostError, match="no cost"):
            custodian.ask(WOMEN)
        custodian.ask(WOMEN, **{parameter: "0.3"})
        custodian.ask(YOUNG, **{parameter: "0.4"})
        assert custodian.balance().loss == (0.5 if measure == "gdp" else 0.7)


def test_replacing_a_row_counts_twice_unless_few_queries_were_asked(tmp_path):
    """Against replacing a row, the loss is twice the overlap, or the sum of all costs if that is less."""
    with Custodian.open(write_custodian(tmp_path, neighbours="replace-one")) as custodian:
        custodian.ask(WOMEN, epsilon="0.5")
        assert custodian.balance().loss == 0.5
        custodian.ask(MEN, epsilon="0.5")
        assert custodian.balance().loss == 1
        assert custodian.quote("SELECT COUNT(*) FROM people", epsilon="0.1").remaining == 0
        with pytest.raises(RefusedError):
            custodian.ask("SELECT COUNT(*) FROM people", epsilon="0.1")
    with Custodian.open(write_custodian(tmp_path / "grouped", neighbours="replace-one")) as custodian:
        assert not custodian.quote("SELECT COUNT(*) FROM people GROUP BY sex", epsilon="0.6").fits
        custodian.ask("SELECT COUNT(*) FROM people GROUP BY sex", epsilon="0.5")
        assert custodian.balance().loss == 1


def test_rows_of_one_person_share_the_budget(tmp_path):
    """With two rows per person, ε counts twice, and ρ four times."""
    with Custodian.open(write_custodian(tmp_path, rows_per_person=2)) as custodian:
        custodian.ask(WOMEN, epsilon="0.5")
        assert custodian.balance().loss == 1
        assert custodian.quote(WOMEN + " AND age = 1", epsilon="0.1").remaining == 0
    with Custodian.open(write_custodian(tmp_path / "zcdp", measure="zcdp", rows_per_person=2)) as custodian:
        quote = custodian.quote(WOMEN, rho="0.1")
        assert (quote.adds, quote.remaining) == (0.4, 0.25)


def test_an_unanswered_charge_is_answered_when_the_same_is_asked_again(custodian, monkeypatch):
    """If counting fails after the charge, the charge stands and the next one who asks gets the answer for it."""
    table = custodian._table()
    monkeypatch.setattr(type(table), "measure", _broken)
    with pytest.raises(ParcompError, match="the charge stands, and asking the same again is free"):
        custodian.ask(WOMEN, epsilon="0.6")
    monkeypatch.undo()
    answer = custodian.ask(WOMEN, epsilon="0.6")
    assert (answer.charge, answer.cost, answer.cached) == (1, 0, True)
    assert custodian.balance().charges == 1


@pytest.mark.parametrize("strategy", ["independent", "atoms"])
def test_what_a_load_before_the_count_has_made_of_a_charge_is_told(tmp_path, monkeypatch, strategy):
    """The charge stands and its answer is of rows that are gone, so that the same is charged again."""
    path = write_custodian(tmp_path)
    statements = [WOMEN, WOMEN + " AND age < 5"]

    def loaded(self, *_asked):
        with (tmp_path / "people.csv").open("a", newline="") as file:
            file.write("F,3\r\n")
        load_table(Settings.load(path))
        raise DataError("the coded table is gone")

    with Custodian.open(path) as custodian:
        custodian.ask(WOMEN + " AND age = 9", epsilon="0.1")
        assert not custodian.is_outdated()
        for count in ("measure", "count_classes"):
            monkeypatch.setattr(type(custodian._table()), count, loaded)
        with pytest.raises(DataError, match=r"what it bought is gone: .* asking the same again is charged"):
            custodian.ask_batch(statements, budget="0.2", strategy=strategy, key="k")
        monkeypatch.undo()
        assert custodian.latest_charges()
        assert custodian.is_outdated()
    with Custodian.open(path) as custodian:
        spent = custodian.balance().loss
        with pytest.raises(IdempotencyError, match="before the table was loaded anew"):
            custodian.ask_batch(statements, budget="0.2", strategy=strategy, key="k")
        assert custodian.ask_batch(statements, budget="0.2", strategy=strategy)[0].cost > 0
        assert custodian.balance().loss > spent


def test_an_interrupt_in_the_middle_of_booking_leaves_the_books_right(custodian, monkeypatch):
    """The transaction is undone, and the books are read anew from the ledger."""
    custodian.ask(WOMEN, epsilon="0.6")
    enter = Books.enter

    def interrupted(self, charges):
        enter(self, charges)
        raise KeyboardInterrupt

    monkeypatch.setattr(Books, "enter", interrupted)
    with pytest.raises(KeyboardInterrupt):
        custodian.ask(YOUNG, epsilon="0.4")
    monkeypatch.undo()
    assert custodian.balance().charges == 1
    assert custodian.quote(YOUNG, epsilon="0.4").fits
    assert custodian.ask(YOUNG, epsilon="0.4").charge == 2


def test_a_quota_counts_an_analysts_own_overlap_only(tmp_path):
    """Against replacing a row too, what others spend does not count towards a quota."""
    path = write_custodian(tmp_path, neighbours="replace-one", budget="10", quotas={"anna": "1.2", "ben": "10"})
    with Custodian.open(path) as custodian:
        custodian.ask("SELECT COUNT(*) FROM people", epsilon="3", analyst="ben")
        for age in range(4):
            custodian.ask(f"SELECT COUNT(*) FROM people WHERE age = {age}", epsilon="0.6", analyst="anna")
    with Custodian.open(path) as custodian:
        custodian.ask("SELECT COUNT(*) FROM people WHERE age = 9", epsilon="0.6", analyst="anna")
        assert not custodian.quote("SELECT COUNT(*) FROM people WHERE age > 8", epsilon="0.61", analyst="anna").fits


@pytest.mark.parametrize(
    "cost", ["nan", "inf", "-inf", "0", "-1", "1e-400", "abc", "", "1e400", float("nan"), True, 10**20]
)
def test_bad_costs_are_errors_and_charge_nothing(custodian, cost):
    """Whatever is no positive number that can be booked."""
    with pytest.raises(CostError):
        custodian.ask(WOMEN, epsilon=cost)
    assert custodian.balance().charges == 0


def test_bad_sql_is_an_error_and_charges_nothing(custodian):
    """The error names the construct."""
    for sql in (
        "SELECT name FROM people",
        "SELECT COUNT(*) FROM elsewhere",
        "DROP TABLE people",
        "",
        "SELECT COUNT(*)",
    ):
        with pytest.raises(SqlError):
            custodian.ask(sql, epsilon="0.1")
    assert custodian.balance().charges == 0


def _with_budget(custodian, units):
    ledger = custodian.settings.ledger.replace("ledger.db", "other.db")
    return replace(custodian.settings, budget_units=units, ledger=ledger, mark=None)


def _broken(self, statements):
    raise DataError("the table cannot be read")


@pytest.mark.parametrize("measure", ["pure", "zcdp", "gdp"])
def test_a_refusal_tells_amounts_in_the_parameter_rounded_to_the_safe_side(tmp_path, measure):
    """What is left after 0.7 and 0.6 on two overlapping sets; under GDP it is the root of what is left of μ²."""
    known = MEASURES[measure]
    with open_custodian(tmp_path, measure=measure, budget="1") as custodian:
        custodian.ask(WOMEN, **{known.parameter: "0.7"})
        with pytest.raises(RefusedError) as refused:
            custodian.ask(YOUNG, **{known.parameter: "0.9000000001"})
        assert refused.value.cost >= Fraction("0.9000000001")
        left = known.budget_down(1) - known.cost_up("0.7")
        assert Fraction(repr(refused.value.remaining)) ** known.power <= Fraction(left, 10**9)
        assert refused.value.remaining == pytest.approx((left / 10**9) ** (1 / known.power), abs=1e-9)
        assert refused.value.remaining == custodian.quote(YOUNG, **{known.parameter: "0.9"}).remaining
        custodian.ask(YOUNG, **{known.parameter: refused.value.remaining})


def test_a_refusal_names_what_leaves_least(tmp_path):
    """Beyond both, it is the quota where that leaves less, and the budget where that does."""
    with open_custodian(tmp_path, budget="1", quotas={"anna": "0.3", "ben": "1"}) as custodian:
        for analyst, reason in (
            ("anna", "the quota of anna leaves epsilon 0.3"),
            ("ben", "the budget leaves epsilon 1"),
        ):
            with pytest.raises(RefusedError, match=f"{reason} "):
                custodian.ask(WOMEN, epsilon="5", analyst=analyst)


@pytest.mark.parametrize(
    "call",
    [
        lambda custodian: custodian.quote(None, epsilon=1),
        lambda custodian: custodian.ask(7, epsilon=1),
        lambda custodian: custodian.ask(b"SELECT COUNT(*) FROM people", epsilon=1),
        lambda custodian: custodian.quote_batch(None, epsilon=1),
        lambda custodian: custodian.ask_batch(WOMEN, epsilon=1),
        lambda custodian: custodian.ask_batch([WOMEN, None], epsilon=1),
        lambda custodian: custodian.quote(WOMEN, epsilon=1, analyst=None),
        lambda custodian: custodian.ask(WOMEN, epsilon=1, key=7),
        lambda custodian: custodian.ask(WOMEN, epsilon={}),
        lambda custodian: Custodian.open(None),
        lambda custodian: Custodian.create(7),
        lambda custodian: Custodian(None),
    ],
)
def test_what_is_of_another_type_is_refused_in_words(custodian, call):
    """No raw TypeError or AttributeError, which says nothing about what to do; and nothing is charged."""
    with pytest.raises(ParcompError, match=r"\bnot\b") as refused:
        call(custodian)
    assert isinstance(refused.value, (TypeError, ValueError))
    assert custodian.balance().charges == 0


def test_a_list_of_declared_groups_is_free_and_looks_at_nothing(tmp_path, monkeypatch):
    """Also where no budget is left; with HAVING on an aggregate it is charged as that aggregate is."""
    custodian = open_custodian(tmp_path, budget="0.5")
    custodian.ask("SELECT COUNT(*) FROM people", epsilon="0.5")
    monkeypatch.setattr("parcomp.data.codes.duckdb_codes.DuckDBCodes.measure", lambda *_: 1 / 0)
    sql = "SELECT sex FROM people GROUP BY sex ORDER BY sex DESC"
    quote = custodian.quote(sql, epsilon="0.5")
    assert (quote.fits, quote.cost, quote.adds, quote.limit) == (True, 0, 0, "")
    for dummy in (False, True):
        answer = custodian.ask(sql, epsilon="0.5", dummy=dummy)
        assert (answer.charge, answer.cost, answer.expected_error) == (None, 0, None)
        assert [group.row for group in answer.groups] == [{"sex": "M"}, {"sex": "F"}]
        assert "nothing was counted" in answer.notes[-1]
    batch = custodian.ask_batch([sql, sql], budget="0.1", key="again")
    assert [one.charge for one in batch] == [None, None]
    assert custodian.balance().charges == 1
    with pytest.raises(RefusedError):
        custodian.ask("SELECT sex FROM people GROUP BY sex HAVING COUNT(*) > 3", epsilon="0.1")


def test_a_quote_of_several_items_gives_the_error_of_each_for_some_rows(custodian):
    quote = custodian.quote("SELECT COUNT(*), AVG(age), MEDIAN(age) FROM people", epsilon="0.5")
    assert set(quote.errors_by_rows) == {"AVG(age)", "MEDIAN(age)"}
    assert quote.error_by_rows == {}
    told = quote.errors_by_rows["AVG(age)"]
    assert list(told) == [100, 1_000, 10_000]
    assert told[100] > told[1_000] > told[10_000] > 0
    assert quote.as_json()["errors_by_rows"]["AVG(age)"] == told
    assert "error of AVG(age) over 1,000 rows" in str(quote)
    alone = custodian.quote("SELECT AVG(age) FROM people", epsilon="0.5")
    assert alone.error_by_rows == alone.errors_by_rows["AVG(age)"]
    assert "errors_by_rows" not in alone.as_json()
