"""What a selection makes of figures: values, order, and intervals that hold."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from fractions import Fraction

import pytest

from parcomp.custodian.intervals import widened
from parcomp.custodian.presentation import notes, present
from parcomp.figures import Figure
from parcomp.model import Categorical, Domain, Integer, Item, Selection, Statement, Stepped
from parcomp.noise import Mechanism
from parcomp.noise import add_noise as with_noise
from parcomp.noise.tails import NoiseKind, tail_up
from parcomp.sql import parse_selection
from tests.custodians import open_custodian

DOMAIN = Domain(
    {
        "sex": Categorical(["F", "M"], nullable=True),
        "age": Integer(0, 99),
        "pay": Stepped("0.00", "10.00", "0.25"),
        "trial": Integer(1, 2_000),
    },
    name="t",
)
COUNT, SUM, AVERAGE = Item("count"), Item("sum", "age"), Item("average", "age")


def shown(text: str, **numbers: Sequence[Figure]) -> list[tuple[str, tuple[object, ...]]]:
    """Names and values of the columns, given the figures of counts, sums and averages in each group."""
    return [(column.name, column.values) for column in present(parse_selection(DOMAIN, text), figures_of(**numbers))]


def figures_of(**numbers: Sequence[Figure]) -> dict[Item, Sequence[Figure]]:
    items = {"count": COUNT, "sum": SUM, "average": AVERAGE}
    return {items[name]: figures for name, figures in numbers.items()}


def about(*values: float | None, width: float = 2) -> list[Figure]:
    return [Figure(v, None if v is None else v - width, None if v is None else v + width, width / 3) for v in values]


def one(text: str, **numbers: Sequence[Figure]) -> Figure:
    """The single figure of a selection."""
    (column,) = present(parse_selection(DOMAIN, text), figures_of(**numbers))
    assert column.figures is not None
    (figure,) = column.figures
    return figure


def test_a_plain_item_is_its_figure() -> None:
    figure = Figure(7, 5, 9, 1.5)
    assert one("SELECT COUNT(*) FROM t", count=[figure]) == figure


@pytest.mark.parametrize(
    ("expression", "figure"),
    [
        ("2 * COUNT(*)", Figure(20, 16, 24, 4 / 3)),
        ("-COUNT(*) / 4", Figure(-2.5, -3.0, -2.0, 1 / 6)),
        ("100 - COUNT(*)", Figure(90, 88, 92, 2 / 3)),
        ("ROUND(COUNT(*) / 3.0, 1)", Figure(3.3, 2.7, 4.0, 2 / 9)),
        ("ABS(COUNT(*) - 11)", Figure(1, 0, 3, None)),
        ("CASE WHEN COUNT(*) > 1 THEN 1 ELSE 0 END", Figure(1, 1, 1, None)),
        ("CASE WHEN COUNT(*) >= 8 THEN 1 ELSE 0 END", Figure(1, 1, 1, None)),
        ("CASE WHEN COUNT(*) > 8 THEN 1 ELSE 0 END", Figure(1, 0, 1, None)),
        ("CASE WHEN COUNT(*) = 13 THEN 1 WHEN COUNT(*) < 13 THEN 2 ELSE 3 END", Figure(2, 2, 2, None)),
        ("CASE WHEN NOT COUNT(*) < 3 AND COUNT(*) <> 20 THEN 5 ELSE 6 END", Figure(5, 5, 5, None)),
        ("CASE WHEN COUNT(*) <= 12 OR COUNT(*) > 40 THEN COUNT(*) ELSE 0 END", Figure(10, 8, 12, None)),
        ("CASE WHEN COUNT(*) < 12 THEN COUNT(*) ELSE 0 END", Figure(10, 0, 12, None)),
        ("COUNT(*) * COUNT(*)", Figure(100, 64, 144, None)),
        ("POWER(COUNT(*), 2)", Figure(100.0, 64.0, 144.0, None)),
        ("GREATEST(COUNT(*), 11)", Figure(11, 11, 12, None)),
        ("LEAST(COUNT(*), 11)", Figure(10, 8, 11, None)),
        ("FLOOR(COUNT(*) / 3.0)", Figure(3, 2, 4, None)),
        ("1.0 / COUNT(*)", Figure(0.1, 1 / 12, 0.125, None)),
        ("1.0 / (COUNT(*) - 10)", Figure(None, None, None, None)),
        ("1.0 / (COUNT(*) - 11)", Figure(-1.0, None, None, None)),
        ("NULLIF(COUNT(*), 10)", Figure(None, None, None, None)),
        ("COALESCE(NULLIF(COUNT(*), 10), 3)", Figure(3, 3, 12, None)),
        ("CASE WHEN COUNT(*) > 5 THEN COUNT(*) END", Figure(10, 8, 12, None)),
        ("CASE WHEN COUNT(*) > 5 THEN COUNT(*) ELSE 0 END", Figure(10, 8, 12, None)),
        ("CASE WHEN 1 = 1 THEN COUNT(*) ELSE 0 END", Figure(10, 8, 12, None)),
        ("COUNT(*) % 3", Figure(1, -3, 3, None)),
    ],
)
def test_an_expression_of_one_figure_has_the_interval_of_what_it_can_be(expression: str, figure: Figure) -> None:
    found = one(f"SELECT {expression} FROM t", count=about(10))
    for mine, wanted in zip(
        (found.value, found.low, found.high, found.error),
        (figure.value, figure.low, figure.high, figure.error),
        strict=True,
    ):
        assert mine == (wanted if wanted is None else pytest.approx(wanted, rel=1e-9)), found
        assert type(mine) is type(wanted)
    assert not found.approximate


@pytest.mark.parametrize("divisor", [3, 7, 11, 13, 49, 97])
def test_ends_are_rounded_outward(divisor: int) -> None:
    """Floats near these quotients lie on either side of them."""
    found = one(f"SELECT COUNT(*) / {divisor} FROM t", count=about(10))
    assert found.low is not None
    assert found.high is not None
    assert Fraction(found.low) <= Fraction(8, divisor) < Fraction(found.low) + Fraction(1, 10**14)
    assert Fraction(found.high) - Fraction(1, 10**14) < Fraction(12, divisor) <= Fraction(found.high)


def test_a_number_of_rows_that_divides_is_one_at_least() -> None:
    """Otherwise there would be no quotient that an interval could be of."""
    found = one("SELECT 60.0 / NULLIF(COUNT(*), 0) FROM t", count=about(1, width=5))
    assert (found.low, found.high) == (10.0, 60.0)
    unknown = one("SELECT 60.0 / (COUNT(*) + 0.5) FROM t", count=about(1, width=5))
    assert (unknown.low, unknown.high) == (None, None)


def test_groups_are_chosen_sorted_and_cut() -> None:
    counts, averages = about(5, 30, 8), about(50.0, None, 20.0)
    text = "SELECT sex, COUNT(*) n, AVG(age) FROM t GROUP BY sex"
    numbers = {"count": counts, "average": averages}
    assert shown(text, **numbers)[0][1] == ("F", "M", None)
    assert shown(text + " ORDER BY n", **numbers)[0][1] == ("F", None, "M")
    assert shown(text + " ORDER BY n DESC LIMIT 2", **numbers)[0][1] == ("M", None)
    assert shown(text + " ORDER BY n DESC LIMIT 2 OFFSET 1", **numbers)[0][1] == (None, "F")
    assert shown(text + " ORDER BY 3", **numbers)[0][1] == (None, "F", "M")
    assert shown(text + " ORDER BY 3 DESC", **numbers)[0][1] == ("F", None, "M")
    assert shown(text + " ORDER BY 3 DESC NULLS LAST", **numbers)[0][1] == ("F", None, "M")
    assert shown(text + " ORDER BY sex DESC", **numbers)[0][1] == ("M", "F", None)
    assert shown(text + " HAVING n > 6", **numbers)[0][1] == ("M", None)
    assert shown(text + " HAVING AVG(age) > 6", **numbers)[0][1] == ("F", None)
    assert shown(text + " HAVING NOT AVG(age) > 30", **numbers)[0][1] == (None,)
    assert shown(text + " HAVING AVG(age) IS NULL OR sex = 'F'", **numbers)[0][1] == ("F", "M")
    assert shown(text + " HAVING n > 100", **numbers)[0][1] == ()
    assert shown(text + " LIMIT 0", **numbers)[0][1] == ()


@pytest.mark.parametrize(
    ("clause", "approximate"),
    [
        ("", False),
        ("ORDER BY COUNT(*)", False),
        ("ORDER BY sex LIMIT 1", False),
        ("LIMIT 1", False),
        ("HAVING sex = 'F'", False),
        ("ORDER BY COUNT(*) LIMIT 1", True),
        ("ORDER BY COUNT(*) OFFSET 1", True),
        ("HAVING COUNT(*) > 1", True),
    ],
)
def test_groups_picked_by_noise_have_approximate_intervals(clause: str, approximate: bool) -> None:
    selection = parse_selection(DOMAIN, f"SELECT sex, COUNT(*) n, COUNT(*) + 1 m FROM t GROUP BY sex {clause}")
    columns = present(selection, {COUNT: about(5, 30, 8)})
    for column in columns[1:]:
        assert column.figures
        assert all(figure.approximate is approximate for figure in column.figures)
    assert bool(notes(selection, columns)) is approximate


def test_labels_are_no_figures() -> None:
    text = "SELECT sex, COUNT(*), CASE WHEN COUNT(*) > 9 THEN 'many' ELSE 'few' END AS w FROM t GROUP BY sex"
    columns = present(parse_selection(DOMAIN, text), {COUNT: about(5, 30, 8)})
    assert [column.figures is None for column in columns] == [True, False, True]
    assert columns[2].values == ("few", "many", "few")


def test_a_statement_as_it_is_shows_its_groups_and_items() -> None:
    selection = parse_selection(DOMAIN, "SELECT AVG(age), sex, COUNT(*) FROM t GROUP BY sex")
    columns = present(Selection.of(selection.statement), {COUNT: about(5, 30, 8), AVERAGE: about(1.0, 2.0, 3.0)})
    assert [column.name for column in columns] == ["sex", "AVG(age)", "COUNT(*)"]
    assert [column.values for column in columns] == [("F", "M", None), (1.0, 2.0, 3.0), (5, 30, 8)]


def random_expression(draw: random.Random, depth: int) -> str:
    if depth == 0 or draw.random() < 0.15:
        return draw.choice(("COUNT(*)", "SUM(age)", "AVG(age)", "3", "-2.5", "0.5"))
    one, other = random_expression(draw, depth - 1), random_expression(draw, depth - 1)
    return draw.choice(
        [
            f"({one} + {other})",
            f"({one} - {other})",
            f"({one} * {other})",
            f"({one} / {other})" if other.strip("(") not in {"0"} else one,
            f"-({one})",
            f"ABS({one})",
            f"ROUND({one}, 1)",
            f"CEIL({one})",
            f"SQRT({one})",
            f"LN({one})",
            f"{draw.choice(('CBRT', 'ATAN', 'DEGREES', 'SIN', 'TAN'))}({one})",
            f"EXP({one} / 50.0)",
            f"POWER({one}, {draw.choice(('2', '3', '-1', '0.5'))})",
            f"GREATEST({one}, {other})",
            f"COALESCE({one}, {other})",
            f"NULLIF({one}, {other})",
            f"CASE WHEN {one} > {other} THEN {one} ELSE {other} END",
            f"({one} % 7)",
        ]
    )


@pytest.mark.parametrize("seed", range(3))
def test_an_interval_holds_whatever_the_true_numbers_are(seed: int) -> None:
    """As long as each is within its own interval, widened or not; by sampling these."""
    draw = random.Random(seed)
    checked = 0
    for _ in range(150):
        text = f"SELECT {random_expression(draw, 3)} FROM t"
        selection = parse_selection(DOMAIN, text) if any(word in text for word in ("COUNT", "SUM", "AVG")) else None
        if selection is None:
            continue
        centers = {COUNT: draw.randint(-3, 40), SUM: draw.randint(-90, 900), AVERAGE: draw.uniform(0, 99)}
        width = {COUNT: 4, SUM: 60, AVERAGE: 5.5}
        items = selection.statement.items
        (column,) = present(
            selection, {i: [Figure(centers[i], centers[i] - width[i], centers[i] + width[i], 1.0)] for i in items}
        )
        if column.figures is None or column.figures[0].value is None:
            continue
        figure = column.figures[0]
        for _ in range(25):
            true = {i: draw.choice((draw.uniform(-1, 1), -1, 1)) * width[i] + centers[i] for i in items}
            true[COUNT] = max(round(true[COUNT]), 0) if COUNT in items else 0
            (exact,) = present(selection, {i: [Figure(true[i], true[i], true[i], 0.0)] for i in items})
            value = exact.values[0]
            # Where there is no true number, there is nothing to hold.
            if value is None or not centers.get(COUNT, 0) - 4 <= true[COUNT] <= centers[COUNT] + 4:
                continue
            assert isinstance(value, (int, float))
            checked += 1
            slack = 1e-9 * max(abs(value), 1)
            assert figure.low is None or figure.low <= value + slack, (text, true, figure)
            assert figure.high is None or value - slack <= figure.high, (text, true, figure)
    assert checked > 500


@pytest.mark.parametrize("function", ["LOG2(COUNT(*) / 16.0)", "ATANH(COUNT(*) / 16.0)", "-ATANH(1 - COUNT(*) / 16.0)"])
def test_an_interval_holds_what_a_function_of_one_figure_can_be(function: str) -> None:
    """For every true count within that of the count, also where the function has no end or no value beside it."""
    selection = parse_selection(DOMAIN, f"SELECT {function} FROM t")
    checked = 0
    for center in range(-4, 24):
        (column,) = present(selection, {COUNT: [Figure(center, center - 3, center + 3, 1.0)]})
        if column.figures is None or column.figures[0].value is None:
            continue
        low, high = column.figures[0].low, column.figures[0].high
        for true in range(max(center - 3, 0), center + 4):
            value = present(selection, {COUNT: [Figure(true, true, true, 0.0)]})[0].values[0]
            if value is not None:
                assert isinstance(value, (int, float))
                checked += 1
                assert low is None or low <= value
                assert high is None or value <= high
    assert checked > 60


@pytest.mark.parametrize("kind", ["discrete-laplace", "discrete-gaussian"])
def test_a_widened_interval_fails_as_rarely_as_its_share_demands(kind: NoiseKind) -> None:
    """By the exact probability of the noise; and it is not much wider than the noise itself would have it."""
    for scale, shares in itertools.product((0.03, 0.3, 0.5, 1.0, 2.0, 7.5, 100.0, 12_345.6), (2, 3, 5, 20, 100)):
        noise = Mechanism(kind, scale)
        narrow, wide = noise.half_width(0.95), noise.half_width(1 - 0.05 / shares)
        low, high = widened(Fraction(0), Fraction(-narrow), Fraction(narrow), shares, Fraction(1))
        assert -low == high
        assert tail_up(kind, scale, int(high)) <= 0.05 / shares + 1e-11
        assert high <= 1.7 * wide + 3


@pytest.mark.parametrize("kind", ["discrete-laplace", "discrete-gaussian"])
@pytest.mark.parametrize(
    "expression",
    ["100.0 * SUM(age) / COUNT(*)", "SUM(age) - 30 * COUNT(*)", "(SUM(age) + SUM(pay)) / COUNT(*)", "2 * SUM(pay)"],
)
def test_intervals_hold_in_95_of_100_answers(kind: NoiseKind, expression: str) -> None:
    """Over 2,000 draws of real noise; with several figures they may hold more often."""
    selection = parse_selection(DOMAIN, f"SELECT trial, {expression} AS r FROM t GROUP BY trial")
    true = {"count": 300, "age": 12_000, "pay": 1_500}
    figures: dict[Item, list[Figure]] = {}
    for item in selection.statement.items:
        step = Fraction(1, 4) if item.attribute == "pay" else Fraction(1)
        noise = Mechanism(kind, {"count": 5.0}.get(item.kind, 90.0))
        width = noise.half_width() * step
        drawn = with_noise(noise, [int(true[item.attribute or "count"] / step)] * 2_000)
        figures[item] = [
            Figure(float(v * step), float(v * step - width), float(v * step + width), noise.expected_error)
            for v in drawn
        ]
    single = {item: [Figure(true[item.attribute or "count"], 0, 0, 0.0)] * 2_000 for item in figures}
    truth = present(selection, single)[1].values[0]
    column = present(selection, figures)[1]
    assert column.figures is not None
    assert isinstance(truth, (int, float))
    inside = sum(
        one.low is not None and one.high is not None and one.low <= truth <= one.high for one in column.figures
    )
    assert not any(figure.approximate for figure in column.figures)
    # Half a percent is one deviation; a single figure fails as often as it says, up to what is drawn in whole numbers.
    assert inside >= 2_000 * 0.935
    if len(figures) == 1:
        assert inside <= 2_000 * 0.97


def test_an_interval_of_several_figures_is_wider() -> None:
    """Each figure by ln(20 k) / ln(20), and only counts and sums are known to have such noise."""
    found = one("SELECT SUM(age) + COUNT(*) FROM t", count=about(10), sum=about(50, width=20))
    assert (found.value, found.low, found.high, found.approximate) == (60, 60 - 3 - 25, 60 + 3 + 25, False)
    assert one("SELECT AVG(age) + COUNT(*) FROM t", count=about(10), average=about(50.0)).approximate
    assert not one("SELECT AVG(age) + AVG(age) FROM t", average=about(50.0)).approximate
    near = one("SELECT AVG(age) + 0 * COUNT(*) FROM t", count=about(10), average=about(50.0, width=0.1))
    assert near.high == pytest.approx(50.0 + 0.1 * 1.2314, abs=1e-4)


def test_steps_that_are_floats_widen_as_whole_ones() -> None:
    """A half-width of 3 steps of 0.1 is not 3 of them as a float."""
    low, high = widened(Fraction(0.7), Fraction(0.4), Fraction(1.0), 2, Fraction(1, 10))
    assert (float(low), float(high)) == pytest.approx((0.3, 1.1))


def test_a_number_beyond_floats_is_null() -> None:
    text = "SELECT " + "SQUARE(" * 20 + "COUNT(*) + 0.5" + ")" * 20 + " FROM t"
    assert one(text, count=about(10)) == Figure(None, None, None, None)
    assert one("SELECT COUNT(*)" + " * 1e300" * 90 + " / 7 FROM t", count=about(10)).value is None


def test_the_same_statement_is_shown_in_many_ways() -> None:
    texts = [
        "SELECT sex, COUNT(*) FROM t GROUP BY sex",
        "SELECT COUNT(*) * 2, sex FROM t GROUP BY 2 ORDER BY 1 DESC LIMIT 1",
        "SELECT COUNT(1) AS n FROM t GROUP BY sex HAVING n > 3",
    ]
    statements = {parse_selection(DOMAIN, text).statement for text in texts}
    assert len({statement.text for statement in statements}) == len(statements) == 1
    assert isinstance(statements.pop(), Statement)


@pytest.mark.parametrize(
    "expression",
    [
        "1e200 * 1e200 * COUNT(*)",
        "FLOOR(1e200 * COUNT(*) * 1e110)",
        "CAST(POWER(10, 400) * COUNT(*) AS INT)",
        "1e18 * COUNT(*)",
    ],
)
def test_numbers_without_end_are_no_error_after_a_charge(tmp_path, expression):
    """What no number holds has no value; what is shown fits into frames and notebooks."""
    with open_custodian(tmp_path, budget="10") as custodian:
        answer = custodian.ask(f"SELECT {expression} AS v FROM people", epsilon="1")
        assert answer.value is None or abs(answer.value) < 1.8e308
        answer.to_arrow()
        assert "<table" in answer._repr_html_()
