"""Figures: what they say of themselves is true over many draws, and without noise they are what the rows have."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import parcomp.noise
from parcomp.custodian.release import Release
from parcomp.figures import Figure
from parcomp.model import Condition, Item, Statement
from parcomp.noise import Mechanism
from parcomp.privacy.measures import MEASURES
from tests.custodian.drawing import (
    COSTS,
    CURVED,
    DOMAIN,
    EXACT,
    QUANTILES,
    RATIOS,
    Draws,
    coverage,
    drawn,
    rows_of,
    truth,
    values_of,
)
from tests.custodian.test_division import SETTINGS
from tests.data.coded_rows import expected
from tests.soak import shared_with_soak

CASES = [*product(MEASURES, [100, 3_000])]


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("item", [*EXACT, *RATIOS, *CURVED], ids=str)
def test_the_error_that_figures_tell_is_the_mean_of_theirs(item, measure, monkeypatch):
    """Over 2,000 draws; whether intervals hold the true number is seen in ``test_coverage.py``."""
    rows = rows_of(3_000, 3)
    monkeypatch.setattr(parcomp.noise, "add_noise", Draws(3_000))
    figures = drawn(item, measure, rows, 2_000)
    true = truth(item, values_of(item, rows))
    error = np.mean([abs(one.value - true) for one in figures])
    assert np.mean([one.error for one in figures]) == pytest.approx(error, rel=0.1)


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("ages", [range(3, 12), range(55, 64), range(110, 119)])
def test_an_average_at_an_end_has_the_noise_of_the_count_too(measure, ages, monkeypatch):
    """There the count moves it about as much as the sum does, and in the middle not at all."""
    monkeypatch.setattr(parcomp.noise, "add_noise", Draws(6))
    rows = [(0, age, 9) for age in ages for _ in range(200)]
    figures = drawn(Item("average", "age"), measure, rows, 4_000)
    assert 0.935 <= coverage(figures, statistics.fmean(ages)) <= 0.965


@pytest.mark.parametrize(("measure", "many"), CASES)
@pytest.mark.parametrize("item", QUANTILES, ids=str)
def test_intervals_of_quantiles_hold_them_at_least_so_often(item, measure, many, monkeypatch):
    """They are cautious, and they narrow down with the rows all the same."""
    rows = rows_of(many, 4)
    monkeypatch.setattr(parcomp.noise, "add_noise", Draws(many))
    figures = drawn(item, measure, rows, 2_000)
    true = truth(item, values_of(item, rows))
    assert coverage(figures, true) >= 0.95
    width = np.median([one.high - one.low for one in figures])
    assert width <= (119 if many == 100 else 25)
    assert np.mean([abs(one.value - true) for one in figures]) <= (30 if many == 100 else 3)


@pytest.mark.parametrize("chunk", shared_with_soak(12, left=11))
def test_intervals_of_noise_by_the_exact_samplers(chunk):
    """1,000 draws of each kind by OpenDP, in groups of different sizes; a scale that is off by a third is noticed."""
    measure = list(MEASURES)[chunk % 3]
    rows = rows_of(700, chunk)
    for item in [*EXACT, *RATIOS, *CURVED, *QUANTILES]:
        true = truth(item, values_of(item, rows))
        held = coverage(drawn(item, measure, rows, 1_000), true)
        assert held >= 0.93, item
        assert item.kind == "quantile" or held <= 0.97, item


@pytest.mark.parametrize("item", [*EXACT, *RATIOS, *CURVED, *QUANTILES], ids=str)
def test_without_noise_figures_are_what_the_rows_have(item, monkeypatch):
    monkeypatch.setattr(parcomp.noise, "add_noise", lambda _, values: list(values))
    for many in (2, 3, 7, 40):
        rows = rows_of(many, many)
        [figure] = drawn(item, "pure", rows, 1)
        assert figure.value == pytest.approx(float(truth(item, values_of(item, rows))), rel=1e-9)
        assert figure.low <= figure.value <= figure.high


@pytest.mark.parametrize("place", ["0", "1/3", "1/2", "99/100", "1"])
def test_a_quantile_is_the_least_value_that_enough_rows_reach(place, monkeypatch):
    """As PERCENTILE_DISC has it; 0 and 1 are the least and the greatest value of the rows."""
    monkeypatch.setattr(parcomp.noise, "add_noise", lambda _, values: list(values))
    item = Item("quantile", "pay", Fraction(place))
    for many in range(1, 12):
        rows = rows_of(many, many)
        [figure] = drawn(item, "zcdp", rows, 1)
        assert figure.value == truth(item, values_of(item, rows))


def test_quantiles_of_two_attributes_are_each_of_their_own_rows(monkeypatch):
    """And several of one attribute go by the same ones."""
    monkeypatch.setattr(parcomp.noise, "add_noise", lambda _, values: list(values))
    items = tuple(Item("quantile", name, Fraction(place)) for name in ("pay", "age") for place in ("1/4", "3/4"))
    asked = Statement(Condition.of(DOMAIN.query()), items)
    release = Release.plan(replace(SETTINGS, domain=DOMAIN), asked, 4 * 10**9)
    rows = rows_of(500, 3)
    found = release.figures(release.noisy(expected(rows, asked)))
    for item in items:
        assert found[item][0].value == truth(item, values_of(item, rows))


def test_items_share_noisy_numbers_and_agree(monkeypatch):
    """In one statement the deviation is the root of the variance, and a plain sum serves the average too."""
    monkeypatch.setattr(parcomp.noise, "add_noise", Draws(8))
    items = (Item("variance", "age"), Item("deviation", "age"), Item("average", "age"), Item("sum", "age"))
    asked = Statement(Condition.of(DOMAIN.query(age={"not": []})), (*items, Item("count")))
    release = Release.plan(replace(SETTINGS, domain=DOMAIN), asked, 10**9)
    rows = rows_of(3_000, 9)
    found = {item: one[0] for item, one in release.figures(release.noisy(expected(rows, asked))).items()}
    assert found[items[1]].value == pytest.approx(math.sqrt(found[items[0]].value))
    assert found[items[2]].value == pytest.approx(found[items[3]].value / found[Item("count")].value)
    assert found[items[0]].value == pytest.approx(truth(items[0], values_of(items[0], rows)), rel=0.1)


def test_few_rows_have_no_average_and_no_variance():
    """Where the noisy count is below what they need; all that is declared is possible then."""
    chosen = replace(SETTINGS, domain=DOMAIN)
    everyone = Condition.of(DOMAIN.query(age={"not": []}, pay={"not": None}))
    for item, numbers, ends in (
        (Item("average", "pay"), [[3, 3], [0, -5]], (-2.5, 40.0)),
        (Item("variance", "age", sample=False), [[0, 0], [0, 0], [0, -2]], (0.0, 119**2 / 4)),
        (Item("variance", "age"), [[0, 0], [0, 0], [1, -2]], (0.0, 119**2 / 2)),
        (Item("deviation", "age", sample=False), [[0, 0], [0, 0], [0, -2]], (0.0, 119 / 2)),
    ):
        asked = Statement(everyone, (item,))
        figures = Release.plan(chosen, asked, 10**9).figures(str(numbers))[item]
        assert [(one.value, one.low, one.high, one.error) for one in figures] == [(None, *ends, None)] * 2


def test_figures_stay_within_what_is_declared():
    chosen = replace(SETTINGS, domain=DOMAIN)
    for item, numbers in product([*RATIOS, *CURVED], [[9**9, 9**9, 5], [-(9**9), -(9**9), 5], [3, -(9**9), 40]]):
        asked = Statement(Condition.of(DOMAIN.query(age={"not": []}, pay={"not": None})), (item,))
        release = Release.plan(chosen, asked, 10**9)
        stored = str([[number] for number in ([numbers[0], numbers[2]] if item in RATIOS else numbers)])
        [figure] = release.figures(stored)[item]
        low, high = {"age": (0, 119), "pay": (-2.5, 40)}[item.attribute]
        if item in RATIOS:
            assert low <= figure.low <= figure.value <= figure.high <= high
        else:
            most = (high - low) ** 2 / 4 * (numbers[2] / (numbers[2] - 1) if item.sample else 1)
            assert 0 <= figure.low <= figure.value <= figure.high
            assert figure.value <= (math.sqrt(most) if item.kind == "deviation" else most) * (1 + 1e-12)


def test_errors_that_depend_on_the_rows_are_told_for_some_numbers_of_rows(monkeypatch):
    """Where values are spread evenly they are about the mean error over many draws; others are exact."""
    monkeypatch.setattr(parcomp.noise, "add_noise", Draws(4))
    many = 6_000
    rows = [(0, i % 120, 9) for i in range(many)]
    for item in [*EXACT, RATIOS[0], *CURVED[:2], *QUANTILES]:
        asked = Statement(Condition.of(DOMAIN.query()), (item,))
        release = Release.plan(replace(SETTINGS, domain=DOMAIN), asked, COSTS["pure"] // (16 if item in EXACT else 1))
        known = release.expected_errors[asked.item(item)]
        assert (known is None) == (item not in EXACT)
        told = release.error_for(asked.item(item), many)
        if known is not None:
            assert told == known == release.error_for(asked.item(item), 10)
        else:
            assert release.error_for(asked.item(item), 100) > told
        true = truth(item, values_of(item, rows))
        error = np.mean([abs(one.value - true) for one in drawn(item, "pure", rows, 2_000)])
        assert error / 2.5 <= told <= 2.5 * error + 0.5, item


def test_no_error_is_told_that_cannot_happen():
    """However little is paid: answers are kept to what is possible, and the true numbers are too."""
    age, width = range(120), 119
    for item in [RATIOS[0], *CURVED, *QUANTILES]:
        asked = Statement(Condition.of(DOMAIN.query(age={"not": []}, pay={"not": None})), (item,))
        release = Release.plan(replace(SETTINGS, domain=DOMAIN), asked, 10**4)
        if item.attribute == "age":
            true = truth(item, list(age))
            most = {"variance": width**2 / 4, "deviation": width / 2}.get(item.kind, width)
            # Of a sample a variance is larger by one in the number of rows.
            assert release.error_for(asked.item(item), 10) <= max(true, most - true) * 1.02, item
        if item.kind != "quantile":
            for numbers in ([5, 7, 40], [-900, 9**9, 3], [9**9, -(9**9), 2]):
                stored = str([[number] for number in ([numbers[0], numbers[2]] if item in RATIOS else numbers)])
                [figure] = release.figures(stored)[item]
                low, high = {"age": (0.0, 119.0), "pay": (-2.5, 40.0)}[item.attribute]
                if item.kind != "average":
                    rows = numbers[2]
                    low, high = 0.0, (high - low) ** 2 / 4 * (rows / (rows - 1) if item.sample else 1)
                    high = math.sqrt(high) if item.kind == "deviation" else high
                assert figure.error <= max(figure.value - low, high - figure.value) * (1 + 1e-9), item


@pytest.mark.parametrize(("measure", "ends", "shared"), [("pure", (30, 59), "73 %"), ("zcdp", (45, 48), "66 %")])
def test_numbers_that_earlier_versions_have_stored_are_read_as_they_were_made(measure, ends, shared):
    """Their searches went by the signs of seven numbers, each with the noise of a seventh of its part of the cost."""
    asked = Statement(Condition.of(DOMAIN.query()), (QUANTILES[1], Item("count")))
    stored = "[[[210,-150,-40,12,90,-3,5]],[130]]"
    chosen = replace(SETTINGS, domain=DOMAIN, measure=MEASURES[measure])
    release = Release.stored(chosen, asked, 4 * 10**8, stored)
    [median], [count] = release.figures(stored).values()
    assert (median.value, median.low, median.high) == (47, *ends)
    assert (count.value, count.high) == (130, 157 if measure == "pure" else 134)
    assert release.notes[0].startswith(
        f"the cost was shared for the least error: {shared} for the search at 1/2 of age"
    )
    again = Release.plan(chosen, asked, 4 * 10**8)
    assert again.shares != release.shares
    assert Release.stored(chosen, asked, 4 * 10**8, '[{"width":9,"searches":[[1]]},[130]]') == again


def test_a_search_keeps_the_width_that_it_went_by(monkeypatch):
    """So that what its numbers were asked at follows from what is stored, whatever a later version makes of tails."""
    monkeypatch.setattr(parcomp.noise, "add_noise", lambda _, values: list(values))
    rows = rows_of(3_000, 4)
    asked = Statement(Condition.of(DOMAIN.query()), (QUANTILES[1],))
    release = Release.plan(replace(SETTINGS, domain=DOMAIN), asked, 4 * 10**8)
    stored = release.noisy(expected(rows, asked))
    monkeypatch.setattr(Mechanism, "half_width", lambda *_: 10**6)
    [figure] = release.figures(stored)[QUANTILES[1]]
    assert figure.value == truth(QUANTILES[1], values_of(QUANTILES[1], rows))
    assert figure.high - figure.low < 12


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("many", [200, 3_000])
def test_intervals_of_medians_in_the_middle_seldom_end_where_the_domain_does(measure, many, monkeypatch):
    """A search that came from one side used to say nothing of the other."""
    chance = np.random.default_rng(many)
    rows = [(0, int(age), 9) for age in np.clip(np.rint(chance.normal(59, 15, many)), 0, 119)]
    monkeypatch.setattr(parcomp.noise, "add_noise", Draws(5))
    figures = drawn(QUANTILES[1], measure, rows, 500)
    assert np.mean([one.low == 0 or one.high == 119 for one in figures]) <= 0.15
    assert np.mean([one.high - one.low for one in figures]) <= (40 if many == 200 else 10)


def test_what_no_row_satisfies_is_nothing():
    asked = Statement(Condition(DOMAIN, ()), (Item("count"), Item("average", "age"), QUANTILES[0]))
    nothing = Release.plan(replace(SETTINGS, domain=DOMAIN), asked, 10**9).nothing()
    assert nothing[Item("count")] == [Figure(0, 0, 0, 0.0)]
    assert nothing[Item("average", "age")] == nothing[QUANTILES[0]] == [Figure(None, None, None, None)]


def test_many_groups_of_a_variance():
    """Fewer draws have to do; the intervals are as good."""
    rows, item = rows_of(3_000, 3), CURVED[0]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parcomp.noise, "add_noise", Draws(2))
        few, many = (drawn(item, "pure", rows, draws) for draws in (900, 6_000))
    true = truth(item, values_of(item, rows))
    assert 0.935 <= coverage(many, true) <= 0.965
    widths = [np.mean([one.high - one.low for one in some]) for some in (few, many)]
    assert widths[0] == pytest.approx(widths[1], rel=0.03)
    assert Counter(one.approximate for one in many) == {True: 6_000}
