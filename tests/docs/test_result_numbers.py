"""Every number that the results page takes from a table of the sweeps is the one in the table."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import pytest

from parcomp.experiments.experiment import Row
from parcomp.experiments.tables import read_table
from tests.docs.pages import DOCS, prose

RESULTS = DOCS / "results"


@pytest.fixture(scope="module")
def page() -> str:
    return prose(DOCS / "results.md")


def rows(name: str, **wanted: object) -> list[Row]:
    found = read_table(RESULTS / f"{name}.csv")
    return [row for row in found if all(row[column] == value for column, value in wanted.items())]


def line(*cells: object) -> str:
    return "| " + " | ".join(map(str, cells)) + " |"


def digits(value: object, count: int = 3) -> str:
    """A number to so many digits, with commas and without an exponent."""
    return f"{float(f'{float(str(value)):.{count}g}'):,.10g}"


def either(values: Sequence[object]) -> str:
    return str(values[0]) if len(set(values)) == 1 else ", ".join(map(str, values))


def bracket(row: Row, name: str) -> str:
    low, high = row[f"{name}_lower"], row[f"{name}_upper"]
    return str(high) if low == high else f"{low} … {high}"


def test_table_1(page):
    for row in rows("table1-paper"):
        printed = "1.9488" if row["data_set"] == 1 else f"{row['paper_optimal']:.3f}"
        three = [f"{row[name]:.3f}" for name in ("paper_gain", "gain", "paper_sequential", "sequential")]
        assert line(row["data_set"], row["t"], row["gamma"], *three, printed, f"{row['optimal']:.3f}") in page


def test_the_stand_in_for_the_log(page):
    def seconds(method: str, analyst: object) -> str:
        found = []
        for algorithm in ("overlap", "clique", "chromatic"):
            (row,) = rows("table-builder", method=method, analyst=analyst, algorithm=algorithm)
            found.append(f"{digits(row['seconds'], 2)} s" if row["status"] == "completed" else row["status"])
        return ", ".join(found)

    for row in rows("table-builder", method="parcomp", algorithm="overlap"):
        who = row["analyst"]
        what = [row["charged"], f"{100 * row['gain']:.1f} %", row["sequential"], row["optimal"]]
        assert line(who, row["t"], *what, seconds("paper", who), seconds("parcomp", who)) in page
        for algorithm in ("clique", "chromatic"):
            (other,) = rows("table-builder", method="parcomp", analyst=who, algorithm=algorithm)
            assert other["charged"] == row["charged"]


def test_the_pairwise_gap(page):
    for family, some in groupby(rows("pairwise-gap"), lambda row: row["family"]):
        group = list(some)
        gamma, omega = (either([bracket(row, name) for row in group]) for name in ("gamma", "omega"))
        over = sorted(round(row["overpaid_percent"]) for row in group)
        range_ = f"{over[0]} %" if over[0] == over[-1] else f"{over[0]} to {over[-1]} %"
        assert line(family, gamma, omega, either([row["chromatic"] for row in group]), range_) in page


def test_planned_noise(page):
    names = {"pure": "Laplace, ε = 1", "zcdp": "Gaussian, ρ = 1"}
    for row in rows("planned-noise"):
        if row["t"] in (100, 500, 1_000, 2_000):
            columns = ("sequential", "uniform", "planned", "planned_over_uniform")
            assert line(names[row["measure"]], f"{row['t']:,}", *(digits(row[name]) for name in columns)) in page
            assert row["sets"] == 10


def test_brackets(page):
    for shape, some in groupby(rows("brackets"), lambda row: row["shape"]):
        group = list(some)
        by_then, last = [row for row in group if row["seconds"] <= 1][-1], group[-1]
        found = [
            str(row["upper"]) if row["lower"] == row["upper"] else f"{row['lower']} … {row['upper']}"
            for row in (by_then, last)
        ]
        found[1] += (
            f", after {digits(last['seconds'], 1 if last['seconds'] < 1 else 2)} s"
            if last["lower"] == last["upper"]
            else " at 60 s"
        )
        assert line(shape, *found, last["chromatic"]) in page


def test_admission(page):
    for charges, some in groupby(rows("admission"), lambda row: row["charges"]):
        group = list(some)
        p50, p99, longest, again = (
            1e3 * max(row[f"{name}_seconds"] for row in group) for name in ("p50", "p99", "longest", "solve_again")
        )
        assert line(f"{charges:,}", f"{p50:.1f} ms", f"{p99:.1f} ms", f"{longest:.1f} ms", f"{again:.0f} ms") in page


TOOLS = {
    "parcomp": "Parcomp",
    "enumeration": "a budget for each element, as in Cohere",
    "sequential": "sequential composition",
    "opendp": "OpenDP, compositor",
    "smartnoise": "SmartNoise SQL",
    "diffprivlib": "diffprivlib, accountant",
    "tumult": "Tumult Analytics",
    "tumult-partitioned": "Tumult Analytics, partitions declared",
}


@pytest.mark.parametrize("work", ["census", "hospital"])
def test_peers(page, work):
    def cost(row: Row) -> str:
        seconds = f"{row['seconds']:.1f}" if row["seconds"] < 100 else f"{row['seconds']:.0f}"
        return f"{seconds} s, {row['memory_mib']:,.0f} MiB"

    for tool, name in TOOLS.items():
        (one,) = rows("peers", tool=tool, work=work, way="one by one")
        known = rows("peers", tool=tool, work=work, way="all known")
        cells = ["not asked", "–"]
        if known:
            (all_known,) = known
            whole = all_known["asked"] >= 513
            cells = [
                digits(all_known["error"]) + ("" if whole else f" (the first {all_known['asked']})"),
                cost(all_known),
            ]
        if one["status"] == "completed":
            first = [f"{one['answered']} of {one['asked']:,}", digits(one["error"]), cost(one)]
        else:
            first = [one["status"], "–", "–"]
        assert line(name, *first, *cells) in page


def done(found: Sequence[Row]) -> list[Row]:
    return [row for row in found if row["status"] == "completed"]


def domains(method: str, algorithm: str, low: int, high: int) -> list[Row]:
    """The instances on domains from 10^low to 10^high rows, by their numbers of queries."""
    found = rows("feasible-regions", method=method, algorithm=algorithm)
    return sorted((row for row in found if low <= row["log10_domain"] <= high), key=lambda row: row["t"])


def slowest(found: Sequence[Row]) -> float:
    return max(row["seconds"] for row in done(found))


def test_figure_1(page):
    middle, large, small = (3_000, 30_000), (20_000, 80_000), (0, 2_999)
    ours = {one: domains("parcomp", one, *middle) for one in ("overlap", "clique", "chromatic")}
    theirs = {one: domains("paper", one, *middle) for one in ours}
    (not_ours,) = [row for row in ours["overlap"] if row["status"] == "timed out"]
    assert (
        f"all {len(ours['overlap'])} sets up to t = 2,000 in at most {slowest(ours['overlap']):.0f} s, but one: "
        f"t = {not_ours['t']:,} at 10^{not_ours['log10_domain']}, bracket {not_ours['lower']} to {not_ours['upper']} |"
    ) in page
    reached = [row["t"] for row in done(theirs["overlap"])]
    assert reached == [row["t"] for row in done(theirs["clique"])]
    assert reached[-2] == 60
    missed = [row["t"] for row in theirs["overlap"] if row["status"] != "completed"]
    assert (
        f"completes at t = {reached[0]} to {reached[-2]} and {reached[-1]} ({slowest(theirs['overlap']):.0f} s), "
        f"times out on the six sets from t = {missed[0]:,} on"
    ) in page
    assert len(missed) == 6
    for one in ("clique", "chromatic"):
        assert len(done(ours[one])) == len(ours[one]) == 24
    assert page.count("| all 24, in at most 1.1 s |") == 2
    assert {f"{slowest(ours[one]):.1f}" for one in ("clique", "chromatic")} == {"1.1"}
    last = done(theirs["chromatic"])[-1]
    late = [row["t"] for row in theirs["chromatic"] if row["status"] != "completed"]
    assert f"up to t = {last['t']:,} ({last['seconds']:.0f} s), times out at {late[0]:,} and {late[1]:,} |" in page
    far = {one: domains("parcomp", one, *large) for one in ours}
    assert all(len(done(found)) == len(found) == 27 for found in far.values())
    assert f"all 27 sets up to t = 2,000, in at most {max(map(slowest, far.values())):.1f} s." in page
    theirs = {one: domains("paper", one, *large) for one in ours}
    most = [done(theirs[one])[-1]["t"] for one in ("overlap", "clique", "chromatic")]
    first = min(row["t"] for row in theirs["chromatic"] if row["status"] != "completed")
    assert most[0] == most[1]
    assert (
        f"all three up to t = {most[0]} ({slowest(theirs['overlap']):.0f} s), none from t = {first:,} on; "
        f"at {most[2]:,} the chromatic number only"
    ) in page
    for size in (20_000, 80_000):
        chi, omega, gamma = (
            next(row for row in far[one] if (row["t"], row["log10_domain"]) == (2_000, size))
            for one in ("chromatic", "clique", "overlap")
        )
        times = [digits(row["seconds"], 2) for row in (chi, omega, gamma)]
        assert f"10^{size} rows: {times[0]}, {times[1]} and {times[2]} s" in page
        both = f"ω = {omega['upper']}, γ = {gamma['upper']}" if size == 20_000 else f"ω = γ = {gamma['upper']}"
        assert f"(χ ≤ {chi['upper']}, {both})" in page
    ours, theirs = ({one: domains(who, one, *small) for one in ours} for who in ("parcomp", "paper"))
    last = done(theirs["chromatic"])[-1]
    reach = {one: done(theirs[one])[-1]["t"] for one in ("clique", "overlap")}
    assert len(done(theirs["chromatic"])) == len(theirs["chromatic"]) == 9
    assert (
        f"all 9 sets, t up to {last['t']:,} in {last['seconds']:.0f} s. "
        f"Clique up to t = {reach['clique']}, overlap up to {reach['overlap']} |"
    ) in page
    both = [*ours["chromatic"], *ours["clique"]]
    assert len(done(both)) == len(both) == 2 * 19
    assert f"all 19 sets, t up to {both[-1]['t']:,}, in at most {slowest(both):.1f} s." in page
    found = done(ours["overlap"])
    assert f"Overlap: {len(found)} of 19, up to t = {found[-1]['t']};" in page
    by = {row["t"]: row for row in ours["overlap"]}
    assert f"{by[1099]['lower']} to {by[1099]['upper']} at t = 1,099" in page
    assert f"{by[761]['lower']} to {by[761]['upper']} at t = 761" in page
    whole = [
        len(done(rows("feasible-regions", method="paper", algorithm=one))) for one in ("chromatic", "clique", "overlap")
    ]
    assert f"the paper's method {whole[0]}, {whole[1]} and {whole[2]} of 31." in page
    assert len(done(rows("feasible-regions", method="parcomp", algorithm="overlap"))) == 52


def test_figure_2(page):
    def large(method: str, low: int, high: int, few: int = 0, many: int = 2_000) -> tuple[int, int]:
        found = [
            row
            for row in done(rows("clique-size", method=method))
            if low < row["log10_domain"] <= high and few < row["t"] <= many
        ]
        return sum(row["class"] == "10 or more" for row in found), len(found)

    near, far = large("paper", 0, 10_000), large("paper", 10_000, 80_000)
    assert f"{near[0]} of the {near[1]} that complete up to 10^10000; {far[0]} of {far[1]} beyond" in page
    near, few, many = (
        large("parcomp", 0, 10_000),
        large("parcomp", 10_000, 80_000, many=250),
        large("parcomp", 10_000, 80_000, few=250),
    )
    assert few[0] == 0
    assert (
        f"{near[0]} of {near[1]} up to 10^10000. Beyond: none of {few[1]} with t < 250, and {many[0]} of {many[1]}"
    ) in page


def test_figure_3(page):
    def most(method: str, algorithm: str) -> list[int]:
        return [row["most_queries"] for row in rows("domain-size", method=method, algorithm=algorithm)]

    for row in [
        *rows("domain-size", method="parcomp", algorithm="chromatic"),
        *rows("domain-size", method="parcomp", algorithm="clique"),
    ]:
        assert row["most_queries"] == row["most_tried"]
    theirs = most("paper", "chromatic")
    assert (
        f"({min(theirs[:5])} to {max(theirs[:5]):,}), {theirs[5]:,} and {theirs[6]} beyond | as many as were tried"
    ) in page
    ours = most("parcomp", "overlap")
    assert (
        f"{ours[0]}, {ours[1]}, {ours[2]} and {ours[3]} in the four classes up to 10^3000, "
        f"{ours[4]:,} up to 10^10000, {ours[5]:,} beyond"
    ) in page
    theirs = most("paper", "overlap")
    assert theirs[0] == 0
    assert f"{min(theirs[1:5])} to {max(theirs[1:5])} up to 10^10000, {theirs[5]} and {theirs[6]} beyond;" in page


def test_figures_4_to_6(page):
    own = {row["t"]: row for row in rows("census")}
    assert list(own) == list(range(25, 2_001, 25))
    assert {row["complete"] for row in own.values()} == {100}
    theirs = {row["t"]: row for row in rows("census-methods", method="paper", algorithm="overlap")}
    for by in (own, theirs):
        gain = [f"{100 * by[t]['gain']:.1f} %" for t in (25, 100, 250)]
        assert f"{gain[0]} at t = 25, {gain[1]} at 100, {gain[2]} at 250, 96 to 97 % from 500 on" in page
        later = [row["gain"] for row in by.values() if row["t"] >= 500 and row["gain"] != "none completed"]
        assert all(0.955 < one < 0.975 for one in later)
    above = min(t for t, row in own.items() if row["gain"] > 0.95)
    assert (
        f"from {100 * own[25]['gain']:.1f} % at t = 25 to {100 * own[2000]['gain']:.1f} % at t = 2,000, "
        f"passes 95 % at t = {above}"
    ) in page
    # Means of numbers of which none is below another are the same only if all are.
    for row in rows("census-methods", method="parcomp"):
        assert row["gain"] == own[row["t"]]["gain"]
        assert (row["sets"], row["complete"]) == (30, 100)
    assert sum(30 for _ in own) == 2_400
    assert [theirs[t]["complete"] for t in (1_350, 1_700, 2_000)] == [100, 50, 0]
    times = [theirs[t]["seconds"] for t in (1_000, 1_350, 1_700)]
    ours = [1e3 * own[t]["seconds"] for t in (1_000, 1_350, 2_000)]
    assert (
        f"{times[0]:.1f} s at t = 1,000, {times[1]:.1f} s at 1,350, {times[2]:.0f} s at 1,700 "
        f"| {ours[0]:.1f} ms at t = 1,000, {ours[1]:.0f} ms at 1,350, {ours[2]:.0f} ms at 2,000 |"
    ) in page
    colors = {(row["method"], row["t"]): row["seconds"] for row in rows("census-methods", algorithm="chromatic")}
    assert (
        f"{colors['paper', 1_000]:.1f} s at t = 1,000, {colors['paper', 2_000]:.1f} s at 2,000 "
        f"| {1e3 * colors['parcomp', 1_000]:.0f} ms at t = 1,000, {1e3 * colors['parcomp', 2_000]:.0f} ms at 2,000 |"
    ) in page


def test_the_whole_census(page):
    row = rows("whole-census")[-1]
    assert row["lower"] == row["upper"]
    assert (
        f"γ = {row['upper']:,} exactly: {row['build_seconds']:.1f} s to build "
        f"and {row['solve_seconds']:.1f} s to solve, in {row['peak_gib']:.2f} GiB."
    ) in page
    assert f"1 − 1/45 = {100 * row['gain']:.1f} %" in page


def test_growth(page):
    by = {(row["family"], row["value"]): row for row in rows("growth")}
    census = by["census", 30_000]["seconds"] / by["census", 300]["seconds"]
    assert f"100 times as many census queries take {round(census, -1):.0f} times as long" in page
    scattered = [by["uniform, m=50", t]["seconds"] for t in (150, 200)]
    assert f"150 of them on 50 attributes take {scattered[0]:.1f} s, 200 take {scattered[1]:.0f} s" in page
    small, large = by["uniform, t=2,000", 10_000], by["uniform, t=2,000", 80_000]
    assert f"on 10^10000 rows the bracket after 60 s is {small['lower']} … {small['upper']}" in page
    assert f"on 10^80000 rows γ = {large['upper']} takes {large['seconds']:.1f} s" in page


def limits(method: str, algorithm: str, quantity: str) -> str:
    """A comfortable limit; of another distribution its change against the uniform one, by the three parameters."""
    found = rows("query-limits", method=method, algorithm=algorithm, quantity=quantity)
    most = [row["comfortable_limit"] for row in found]
    assert [row["sets"] for row in found] == [1] * len(found)
    if min(most) == 1_000:
        return "1,000, the most that is tried"
    if quantity == "uniform":
        return f"{most[0]:,}"
    change = [round(100 * (row["over_uniform"] - 1)) for row in found]
    text = [f"{one:+} %".replace("-", "−") if one else "0 %" for one in change]
    return f"{text[0]}, {text[1]} and {text[2]}"


@pytest.mark.parametrize(
    ("what", "algorithm", "quantity", "paper"),
    [
        ("exact overlap, uniform", "overlap", "uniform", "shown up to 50 or 60 queries"),
        ("exact overlap, exponential numbers of values", "overlap", "counts", "about +260 %"),
        ("exact overlap, normal attributes", "overlap", "attributes", "about +20 %"),
        ("exact clique, uniform", "clique", "uniform", "shown up to 80 queries"),
        ("exact clique, exponential numbers of predicates", "clique", "predicates", "falls, by “about 333 %”"),
        ("exact clique, exponential numbers of values", "clique", "counts", "about +46 %"),
        ("exact clique, normal values", "clique", "values", "about +92 %"),
        ("chromatic number, uniform", "chromatic", "uniform", "not stated"),
        ("chromatic number, exponential numbers of values", "chromatic", "counts", "about +23 %"),
    ],
)
def test_comfortable_limits(page, what, algorithm, quantity, paper):
    found = [limits(method, algorithm, quantity) for method in ("paper", "parcomp")]
    assert line(f"§7.1, {what}", paper, *found) in page


@pytest.mark.parametrize(
    ("figure", "algorithm", "reached"), [(7, "chromatic", 120), (9, "clique", 120), (10, "overlap", 20)]
)
def test_figures_7_9_and_10(page, figure, algorithm, reached):
    def gains(method: str, t: int) -> str:
        by = {
            (row["quantity"], row["distribution"]): row["gain"]
            for row in rows("distributions", method=method, algorithm=algorithm, t=t)
        }
        least, uniform, most = by["predicates", "exp 0.1"], by["uniform", "uniform"], by["counts", "exp 0.1"]
        assert max(one for (name, _), one in by.items() if name == "predicates") < uniform
        assert min(one for (name, _), one in by.items() if name == "counts") >= (uniform if t > 20 else 0)
        return f"{100 * least:.0f}, {100 * uniform:.0f} and {100 * most:.0f} % at t = {t:,}"

    start = page.index(f"| Figure {figure}, ")
    cells = page[start : page.index("\n", start)]
    assert gains("paper", reached) in cells
    assert gains("parcomp", 1_000) in cells
