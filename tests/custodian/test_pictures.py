"""What a notebook shows: HTML that is well formed and escapes every label, and pictures that hold what they should."""

from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pytest
from matplotlib import pyplot as plt
from matplotlib.figure import Figure as Picture

import parcomp as pc
from parcomp.custodian import Answer, Batch, BatchQuote, EstimatedCount, Estimates, Quote
from parcomp.errors import ArgumentError, FileError
from parcomp.markup import error_bar
from tests.custodian.answers import answer, figures, with_estimates

EVIL = '<script>alert("x")</script>&\'"'
ALLOWED = {"div", "span", "table", "tr", "th", "td", "svg", "rect", "line"}

QUOTE = Quote(0.5, 0.25, 1, fits=True, expected_error=None, best_error=1.0, cached=False, reason="", measure="pure")
REFUSED = Quote(2, 2, 1, fits=False, expected_error=3.0, best_error=None, cached=False, reason=EVIL)
ANSWERS = {
    "a number": answer({}, {EVIL: figures(5)}),
    "no number": answer({}, {"average": figures(None)}),
    "several": answer({}, {"n": figures(5), EVIL: figures(-2.5)}),
    "groups": answer({EVIL: [EVIL, None, True]}, {"count": figures(3, -1, None)}),
    "two keys": answer({"a": [EVIL, EVIL, "b", "b"], "c": [1, 2, 1, 2]}, {"count": figures(1, 2, 3, None)}),
    "three keys": answer({"a": [1], "b": [2], "c": [EVIL]}, {"count": figures(1)}),
    "without keys": answer({}, {"count": figures(1, 2)}),
    "no groups": answer({"a": []}, {"count": []}),
    "many groups": answer({"a": range(1000)}, {"count": figures(*range(1000))}),
    "rehearsed": answer({"a": [1, 2]}, {"count": figures(1, 2)}, rehearsed=True),
    "noted": Answer(None, answer({}, {"n": figures(5)}).columns, 0, 0.0, cached=False, notes=(EVIL,)),
}


class Reader(HTMLParser):
    """Reads HTML strictly: elements that are allowed, and each of them closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text: list[str] = []
        self.seen: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in ALLOWED, tag
        assert not [name for name, _ in attrs if name.startswith("on") or name in ("href", "src")]
        self.seen.append(tag)
        self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in ALLOWED, tag
        self.seen.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def read(shown: Any) -> Reader:
    reader = Reader()
    reader.feed(shown._repr_html_())
    reader.close()
    assert not reader.open
    return reader


@pytest.fixture(autouse=True)
def closed() -> Any:
    yield
    plt.close("all")


@pytest.mark.parametrize("name", ANSWERS)
def test_html_is_well_formed_and_escaped(name: str) -> None:
    for shown in (ANSWERS[name], Batch((ANSWERS[name],), (EVIL,))):
        read(shown)


def test_html_shows_labels_as_they_are_and_a_bar_for_each_figure() -> None:
    reader = read(ANSWERS["groups"])
    assert EVIL in reader.text
    assert reader.seen.count("svg") == 3
    # Two have values, and so bars; the third has none.
    assert reader.seen.count("rect") == 2
    assert {"null", "true", "3", "-7 to 13", "–"} <= set(reader.text)


def test_html_lists_no_more_than_one_reads() -> None:
    text = "".join(read(ANSWERS["many groups"]).text)
    assert "900 more rows" in text
    assert len(read(ANSWERS["many groups"]).seen) < 2000


def test_quotes_show_their_verdict() -> None:
    assert "fits" in read(QUOTE).text
    assert "does not fit: nothing would be charged" in read(REFUSED).text
    assert EVIL in read(REFUSED).text
    both = read(BatchQuote((QUOTE, REFUSED), 0.25, fits=False))
    assert "together: adds ε = 0.25" in both.text


def test_a_bar_is_as_long_as_its_value_and_its_line_as_the_interval() -> None:
    drawn = error_bar(50, 40, 60, (0, 100))
    assert '<rect x="0.0" y="2" width="90.0"' in drawn
    assert '<line x1="72.0" x2="108.0"' in drawn
    below = error_bar(-50, None, None, (-100, 100))
    assert '<rect x="45.0" y="2" width="45.0"' in below
    assert "rect" not in error_bar(None, None, None, (0, 1))


def test_a_plan_is_a_frame_and_shows_itself(tmp_path: Path) -> None:
    domain = pc.Domain({"sex": pc.Categorical(["F", "M"])})
    workload = pc.Workload(domain, [domain.query(sex="F"), domain.query(sex="M"), domain.query()])
    plan = pc.plan(workload, budget=1)
    frame = plan.to_pandas()
    assert list(frame.columns) == ["id", "cost", "expected_error"]
    assert frame["cost"].tolist() == plan.costs
    assert frame.attrs["mean_error"] == plan.mean_error
    assert plan.to_polars()["expected_error"].to_list() == plan.expected_errors.tolist()
    assert "mean plan for 3 queries: ε = 1 on the heaviest row" in read(plan).text
    axes = plan.plot(tmp_path / "plan.png")
    assert all("×" not in label.get_text() for label in axes.get_xticklabels())
    # Beneath the axis, where no line is.
    assert axes.get_legend().get_bbox_to_anchor().y0 < axes.bbox.y0
    assert (tmp_path / "plan.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("name", ANSWERS)
def test_every_answer_is_drawn(name: str, tmp_path: Path) -> None:
    axes = ANSWERS[name].plot(tmp_path / "new" / "answer.png")
    assert (tmp_path / "new" / "answer.png").read_bytes().startswith(b"\x89PNG")
    assert isinstance(axes.figure, Picture)
    # Pyplot, which a notebook shows of its own accord, knows nothing of a picture that went to a file.
    assert plt.get_fignums() == []


def test_bars_have_heights_intervals_and_labels() -> None:
    axes = answer({"sex": ["F", "M"]}, {"count": figures(100, 90)}).plot()
    assert [patch.get_height() for patch in axes.patches] == [100, 90]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["F", "M"]
    spans = [segment[:, 1].tolist() for lines in axes.collections for segment in lines.get_segments()]
    assert spans == [[90, 110], [80, 100]]
    assert plt.get_fignums() == [axes.figure.number]


def test_two_keys_are_a_heat_map_with_expected_errors() -> None:
    """After ± stands the expected error, here 2.5, as everywhere, and not half of an interval, here 10."""
    axes = ANSWERS["two keys"].plot()
    [image] = axes.images
    assert image.get_array().shape == (2, 2)
    assert image.get_array().compressed().tolist() == [1, 2, 3]
    assert sorted(text.get_text() for text in axes.texts) == ["1", "2", "3"]
    assert axes.figure.axes[1].get_ylabel().endswith("(expected error ± 2.5)")
    told = [replace(one, error=2.5 * place) for place, one in enumerate(figures(1, 2), 1)]
    axes = answer({"a": ["x", "y"], "b": ["z", "z"]}, {"count": told}).plot()
    assert sorted(text.get_text() for text in axes.texts) == ["1\n± 2.5", "2\n± 5"]
    assert axes.figure.axes[1].get_ylabel().endswith("(expected error ± 2.5 to ± 5)")


def test_labels_of_a_heat_map_do_not_meet() -> None:
    """Long ones stand at a slant, and the color bar sets thousands apart."""
    for labels, slant in ((["a", "b"], 0), ([f"{low} to {low + 9}" for low in range(10, 120, 10)], 45)):
        keys = {"sex": ["F"] * len(labels), "group": labels}
        axes = answer(keys, {"count": figures(*range(0, 5_000 * len(labels), 5_000))}).plot()
        assert {label.get_rotation() for label in axes.get_xticklabels()} == {slant}
    axes.figure.canvas.draw()
    told = [label.get_text() for label in axes.figure.axes[1].get_yticklabels()]
    assert "10,000" in told
    ends = [label.get_window_extent() for label in axes.get_xticklabels()]
    assert all(left.x0 < right.x0 for left, right in pairwise(ends))


def test_where_no_error_is_known_an_interval_is_written_out() -> None:
    unknown = [replace(one, error=None) for one in figures(1, 2, 3)]
    axes = answer({"a": ["x", "x", "y"], "b": [1, 2, 1]}, {"count": unknown}).plot()
    assert sorted(text.get_text() for text in axes.texts) == ["1\n-9 to 11", "2\n-8 to 12", "3\n-7 to 13"]
    assert axes.figure.axes[1].get_ylabel() == "count"
    plt.close("all")


def test_a_column_is_chosen_by_name_and_axes_are_the_callers() -> None:
    several = answer({"sex": ["F", "M"]}, {"n": figures(1, 2), "mean": figures(3, 4)})
    _, axes = plt.subplots()
    assert several.plot(column="mean", axes=axes) is axes
    assert [patch.get_height() for patch in axes.patches] == [3, 4]
    with pytest.raises(ArgumentError, match="'median'; there are n, mean"):
        several.plot(column="median")


def test_batches_and_quotes_are_drawn(tmp_path: Path) -> None:
    batch = Batch((ANSWERS["a number"], ANSWERS["groups"], ANSWERS["a number"]), ("one", "two", "three"))
    axes = batch.plot()
    assert [label.get_text()[:6] for label in axes.get_xticklabels()] == ["1", "2 <scr", "2 null", "2 true", "3"]
    assert axes.get_xlabel() == "statement, and its group"
    assert "left out" not in axes.get_title()
    only_groups = replace(ANSWERS["groups"], columns=ANSWERS["groups"].labels)
    with pytest.raises(ArgumentError, match="one by one"):
        Batch((only_groups, ANSWERS["many groups"]), ("none", "many")).plot()
    partly = Batch((ANSWERS["many groups"], ANSWERS["a number"]), ("many", "one")).plot()
    assert partly.get_title().endswith("left out, as they have no figures or too many groups: 1")
    QUOTE.plot(tmp_path / "quote.png")
    BatchQuote((QUOTE, REFUSED), 0.25, fits=False).plot(tmp_path / "quotes.png")
    assert len(list(tmp_path.glob("*.png"))) == 2


def test_estimates_are_hollow_marks_beside_the_answers() -> None:
    """In every picture that has any, with a legend; in a map of two keys as a number."""
    estimated = {name: with_estimates(one, *range(len(one))) for name, one in ANSWERS.items() if name != "no number"}
    names = ("a number", "groups", "rehearsed")
    for shown in (*(estimated[name] for name in names), Batch((estimated["groups"], ANSWERS["a number"]), ("a", "b"))):
        axes = shown.plot()
        assert [text.get_text() for text in axes.get_legend().get_texts()] == ["answer, 95 %", "estimate, about 95 %"]
        [marks] = [line for line in axes.get_lines() if line.get_label() == "estimate, about 95 %"]
        assert marks.get_markerfacecolor() == "white"
        # On the axis of values, in the order of the groups.
        values = marks.get_xdata() if shown is estimated["a number"] else marks.get_ydata()
        assert list(values) == list(range(len(values)))
    cells = estimated["two keys"].plot()
    assert any(text.get_text() == "1\n≈ 0" for text in cells.texts)
    assert cells.get_title() == "count\n≈ is the estimate"
    assert ANSWERS["groups"].plot().get_legend() is None


def test_small_counts_can_be_seen_beside_large_ones() -> None:
    """By powers of ten where the spread asks for it, and never where it is no more than noise."""
    assert answer({"a": range(4)}, {"count": figures(5_000, 12, 900, 40)}).plot().get_yscale() == "symlog"
    assert answer({"a": range(4)}, {"count": figures(500, 120, 0, 40)}).plot().get_yscale() == "linear"
    axes = answer({"a": range(3)}, {"count": figures(5_000, 12, -900)}).plot()
    low, high = axes.get_ylim()
    assert low < -910
    assert high > 5_010


def test_estimates_show_themselves(tmp_path: Path) -> None:
    """As a table of text, in a notebook and as a picture."""
    counts = [
        EstimatedCount("1.1", 40.25, 41.7, 38.0, 42.5, "projection", 38.2, 45.2, 1, {"age": {"from": 1, "to": 3}}),
        EstimatedCount("1.2", 1.1e-5, -3.2, 0.0, 2.5, "projection", -6.7, 0.3, 1, {EVIL: None}),
        EstimatedCount("2", 90.0, 91, 85.5, 94.5, "projection", 81, 101, 2, {}),
    ]
    found = Estimates(tuple(counts), 0.9)
    lines = str(found).splitlines()
    assert lines[0] == "3 counts: 3 by projection"
    assert lines[2].split("  ")[0] == "number"
    assert "about 90 %" in lines[2]
    assert "90 %, guaranteed" in lines[2]
    told = [line.split() for line in lines[3:]]
    assert told[0][1:7] == ["count", "where", "age", "1", "to", "3"]
    assert told[0][7:] == ["40.25", "38.00", "to", "42.50", "41.70", "38.20", "to", "45.20"]
    assert "below 0.001" in lines[4]
    assert told[2][5:] == ["90.00", "85.50", "to", "94.50", "91", "81", "to", "101"]
    assert str(found[0]) == "count where age 1 to 3: estimate 40.25, 38.00 to 42.50; answer 41.70, 38.20 to 45.20"
    assert any(EVIL in text for text in read(found).text)
    axes = found.plot(tmp_path / "estimates.png")
    assert [label.get_text() for label in axes.get_xticklabels()] == ["1.1", "1.2", "2"]
    assert (tmp_path / "estimates.png").read_bytes().startswith(b"\x89PNG")
    many = Estimates(tuple(counts[:1]) * 50, 0.9, left_out=2)
    assert str(many).splitlines()[-1] == "… 10 more; to_pandas() has all"
    assert "left out: 2 charges, as there are too many counts" in str(many)
    assert str(Estimates((), 0.9)) == "no counts since the last load"


def test_the_estimates_of_a_workload_show_themselves(tmp_path: Path) -> None:
    domain = pc.Domain({"sex": pc.Categorical(["F", "M"])})
    workload = pc.Workload(domain, [domain.query(), domain.query(sex="F")])
    found = pc.estimate(workload, [100, -4], scales=[5, 5])
    lines = str(found).splitlines()
    assert lines[0] == "estimates of 2 queries: 2 by projection"
    assert "95 %, if Gaussian" in lines[2]
    assert lines[4].split()[:6] == ["2", "count", "where", "sex", "=", "F"]
    assert "count where sex = F" in read(found).text
    found.plot(tmp_path / "estimate.png")
    assert (tmp_path / "estimate.png").exists()


def test_a_picture_is_a_file_that_can_be_written(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="a picture is a PNG file"):
        ANSWERS["a number"].plot(tmp_path / "answer.gif")
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError, match="cannot be written"):
        ANSWERS["a number"].plot(tmp_path / "file" / "answer.png")


def test_drawing_leaves_the_backend_alone(tmp_path: Path) -> None:
    before = mpl.get_backend()
    ANSWERS["a number"].plot(tmp_path / "answer.png")
    assert mpl.get_backend() == before


def test_null_bears_a_label_beside_many_numbers() -> None:
    """At the end of a thinned axis it would seem to be the next number."""
    ages = [*range(120), None]
    bars = answer({"age": ages}, {"count": figures(*range(121))}).plot()
    assert [one.get_text() for one in bars.get_xticklabels()][-2:] == ["110", "null"]
    cells = answer({"sex": ["F"] * 121, "age": ages}, {"count": figures(*range(121))}).plot()
    assert [one.get_text() for one in cells.get_xticklabels()][-1] == "null"
    plt.close("all")


def test_numbers_of_a_heat_map_stand_beside_each_other_or_not_at_all() -> None:
    def sizes(columns: int, value: float) -> set[float]:
        keys = {"a": ["x"] * columns, "b": range(columns)}
        drawn = answer(keys, {"count": figures(*[value] * columns)}).plot()
        plt.close("all")
        return {one.get_fontsize() for one in drawn.texts}

    assert sizes(4, 12) == {8.0}
    [smaller] = sizes(10, 1_234_567.0)
    assert 5 <= smaller < 8
    assert sizes(40, 1_234_567.0) == set()
