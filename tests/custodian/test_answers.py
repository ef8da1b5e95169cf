"""Answers as values: what they say, in JSON, in text and as frames."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from datetime import date, datetime

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from parcomp.custodian import Answer, AnswerColumn, Batch, Figure, Quote
from parcomp.errors import ArgumentError, ParcompError
from parcomp.figures import batch_lines
from tests.custodian.answers import answer, figures, with_estimates

BY_SEX = answer({"sex": ["F", "M"]}, {"count": figures(100, 90)})
TOTAL = answer({}, {"count": figures(190)})
SEVERAL = answer({"sex": ["F", None]}, {"n": figures(100, 90), "mean": figures(3.5, None)})


def test_a_single_number_has_a_value_and_an_interval() -> None:
    assert (TOTAL.value, TOTAL.interval, TOTAL.grouped) == (190, (180, 200), False)
    assert TOTAL.as_json() == {
        "charge": 7,
        "value": 190,
        "interval": [180, 200],
        "cost": 0.5,
        "expected_error": 2.5,
        "cached": False,
        "names": ["count"],
        "errors": [[2.5]],
        "approximate": [False],
        "measure": "",
        "rows_per_person": 1,
    }


def test_groups_have_their_labels_and_no_single_value() -> None:
    assert [(group.row, group.value, group.interval) for group in BY_SEX.groups] == [
        ({"sex": "F"}, 100, (90, 110)),
        ({"sex": "M"}, 90, (80, 100)),
    ]
    assert BY_SEX.as_json()["groups"][1] == {"group": {"sex": "M"}, "value": 90, "interval": [80, 100]}
    assert "columns" not in BY_SEX.as_json()
    with pytest.raises(AttributeError, match="groups, not one value"):
        _ = BY_SEX.value


def test_groups_without_their_keys_are_groups() -> None:
    """``SELECT COUNT(*) … GROUP BY sex`` lists as many rows as there are groups."""
    without = answer({}, {"count": figures(1, 2)})
    assert without.grouped
    assert [group.row for group in without.groups] == [{}, {}]


def test_several_items_are_listed_by_column() -> None:
    found = SEVERAL.as_json()
    assert found["names"] == ["sex", "n", "mean"]
    assert found["columns"] == [["F", None], [100, 90], [3.5, None]]
    assert found["intervals"] == [None, [[90, 110], [80, 100]], [[-6.5, 13.5], [None, None]]]
    assert [group["value"] for group in found["groups"]] == [100, 90]
    assert json.loads(json.dumps(found)) == found
    alone = answer({}, {"n": figures(5), "mean": figures(2.5)}).as_json()
    assert (alone["value"], alone["columns"]) == (5, [[5], [2.5]])


def test_what_is_no_answer_is_refused() -> None:
    with pytest.raises(ArgumentError, match="a column at least"):
        Answer(1, (), 1, 1.0, cached=False)
    with pytest.raises(ArgumentError, match="a value for each row"):
        answer({"sex": ["F"]}, {"count": figures(1, 2)})
    with pytest.raises(ArgumentError, match="not those of its figures"):
        AnswerColumn("n", (1,), (Figure(2, 1, 3, 1.0),))


def test_text_is_a_table_with_intervals() -> None:
    assert str(SEVERAL).splitlines() == [
        "sex     n  95 % interval  mean  95 % interval",
        "F     100      90 to 110   3.5   -6.5 to 13.5",
        "null   90      80 to 100     –              –",
        "expected errors: n ± 2.5, mean ± 2.5; charge 7, cost 0.5",
    ]
    assert repr(TOTAL) == "<Answer, count: 190, 95 % interval 180 to 200>"
    assert repr(BY_SEX) == "<Answer, count in 2 groups by sex>"
    many = answer({"x": range(100)}, {"count": figures(*range(100))})
    assert "… 60 more rows" in str(many)


def test_labels_break_no_line() -> None:
    """Names and labels come from a domain file, and could hold what moves a terminal's cursor."""
    odd = answer({"se\nx": ["a\x1b[2J", "b\nc"]}, {"count": figures(1, 2)})
    assert len(str(odd).splitlines()) == 4
    assert "\x1b" not in str(odd)


def test_a_frame_of_pandas_has_types_that_fit() -> None:
    labels = {
        "sex": ["F", None],
        "born": ["1990-01-01", "2020-02-29"],
        "month": ["2020-01", "2020-02"],
        "age": [3, None],
        "left": [True, False],
        "dose": [0.5, None],
        "band": ["young", 3],
    }
    frame = answer(labels, {"count": figures(5, 7)}).to_pandas()
    assert list(frame.columns) == [*labels, "value", "low", "high", "expected_error"]
    assert frame["value"].dtype == pd.Int64Dtype()
    assert frame["expected_error"].dtype == "float64"
    assert frame["age"].dtype == pd.Int64Dtype()
    assert frame["age"].isna().tolist() == [False, True]
    assert frame["left"].dtype == pd.BooleanDtype()
    assert pd.api.types.is_datetime64_any_dtype(frame["born"])
    assert frame["born"][1] == datetime(2020, 2, 29)
    assert frame["month"].tolist() == ["2020-01", "2020-02"]
    assert frame["band"].tolist() == ["young", "3"]
    assert frame.attrs == {
        "charge": 7,
        "cost": 0.5,
        "expected_error": 2.5,
        "cached": False,
        "rehearsed": False,
        "notes": [],
    }


def test_frames_of_polars_and_arrow_hold_the_same() -> None:
    several = answer({"sex": ["F", None], "born": ["1990-01-01", None]}, {"n": figures(1, 2), "m": figures(0.5, None)})
    names = ["sex", "born", "n", "n_low", "n_high", "n_error", "m", "m_low", "m_high", "m_error"]
    table, frame = several.to_arrow(), several.to_polars()
    assert table.column_names == frame.columns == list(several.to_pandas().columns) == names
    assert table.schema.field("n").type == pa.int64()
    assert table.schema.field("born").type == pa.date32()
    assert frame["n"].dtype == pl.Int64
    assert frame["born"].to_list() == [date(1990, 1, 1), None]
    assert frame["m"].to_list() == [0.5, None]
    assert frame.to_dicts() == table.to_pylist()


def test_no_figure_at_all_is_still_a_column_of_numbers() -> None:
    empty = answer({"sex": []}, {"average": []})
    assert empty.to_arrow().schema.field("value").type == pa.float64()
    assert len(empty.to_pandas()) == len(empty.to_polars()) == 0
    assert answer({}, {"average": figures(None)}).to_pandas()["value"].isna().all()


def test_sums_beyond_64_bits_are_floats() -> None:
    frame = answer({}, {"sum": figures(2**70)}).to_pandas()
    assert frame["value"].tolist() == [float(2**70)]


def test_keys_keep_their_names_where_figures_would_take_them() -> None:
    odd = answer({"value": ["a"], "low": ["b"], "count": ["c"]}, {"count": figures(1)})
    frame = odd.to_pandas()
    assert list(frame.columns) == ["value", "low", "count", "count_", "count_low", "count_high", "count_error"]
    assert frame["count"].tolist() == ["c"]


def test_what_is_rehearsed_says_so_everywhere() -> None:
    rehearsed = answer({"sex": ["F", "M"]}, {"count": figures(1, 2)}, rehearsed=True)
    assert rehearsed.as_json()["rehearsed"] is True
    assert "rehearsed" in str(rehearsed)
    assert "rehearsed" in repr(rehearsed)
    assert "rehearsed" in rehearsed._repr_html_()
    assert rehearsed.to_pandas().attrs["rehearsed"] is True
    assert json.loads(rehearsed.to_arrow().schema.metadata[b"parcomp"])["rehearsed"] is True
    for frame in (rehearsed.to_pandas(), rehearsed.to_polars()):
        assert list(frame["rehearsed"]) == [True, True]
    assert rehearsed.plot().get_title().endswith("not from the data")
    batch = Batch((rehearsed,), ("SELECT …",))
    assert batch.to_pandas()["rehearsed"].all()
    assert "rehearsed" in batch._repr_html_()
    assert "rehearsed" in str(batch)
    assert "rehearsed" not in TOTAL.as_json()
    assert "rehearsed" not in str(TOTAL) + repr(TOTAL) + TOTAL._repr_html_()


def test_a_batch_is_a_list_and_stacks_its_answers() -> None:
    batch = Batch((TOTAL, BY_SEX, SEVERAL), ("one", "two", "three"))
    assert (len(batch), batch[0], list(batch)) == (3, TOTAL, [TOTAL, BY_SEX, SEVERAL])
    assert batch[1:].statements == ("two", "three")
    frame = batch.to_pandas()
    # A missing label is a group of its own in one of them, and there is none in another.
    assert frame["grouped_by"].tolist() == ["", "sex", "sex", "sex", "sex", "sex", "sex"]
    assert list(batch[1:].to_pandas().columns) == [one for one in frame.columns if one != "grouped_by"]
    assert list(frame.columns) == ["statement", "grouped_by", "sex", "item", "value", "low", "high", "expected_error"]
    assert frame["statement"].tolist() == ["one", "two", "two", "three", "three", "three", "three"]
    assert frame["item"].tolist() == ["count", "count", "count", "n", "n", "mean", "mean"]
    assert frame["value"].tolist()[:6] == [190, 100, 90, 100, 90, 3.5]
    assert frame["sex"].isna().tolist() == [True, False, False, False, True, False, True]


def test_a_frame_of_a_batch_has_the_estimates_of_its_answers() -> None:
    """Beside each figure, as that of a single answer has; missing where there is none."""
    batch = Batch((with_estimates(TOTAL, 191.5), with_estimates(BY_SEX, 101.0, 90.5), SEVERAL), ("one", "two", "three"))
    frame = batch.to_pandas()
    assert list(frame.columns)[-3:] == ["estimate", "estimate_low", "estimate_high"]
    assert frame["estimate"].tolist()[:3] == [191.5, 101.0, 90.5]
    assert frame["estimate_low"].tolist()[:3] == [190.5, 100.0, 89.5]
    assert frame["estimate"].isna().tolist() == [False] * 3 + [True] * 4
    assert batch.to_arrow()["estimate_high"].to_pylist()[:3] == batch.to_polars()["estimate_high"].to_list()[:3]
    assert batch.to_arrow()["estimate_high"].to_pylist()[:3] == [192.5, 102.0, 91.5]
    assert "estimate" not in Batch((TOTAL,), ("one",)).to_pandas()


def test_a_batch_is_one_table_with_its_notes_once() -> None:
    """Whatever is said of several answers, and of which if not of all."""
    noted = [replace(TOTAL, notes=("of all", *more)) for more in ((), ("of some",), ("of some",))]
    lines = str(Batch((*noted, replace(BY_SEX, notes=("of all",))), ("a", "b", "c " * 90, "groups"))).splitlines()
    assert lines[0].split()[:6] == ["number", "statement", "value", "95", "%", "interval"]
    assert [line.split()[:3] for line in lines[1:3]] == [["1", "a", "190"], ["2", "b", "190"]]
    assert "…" in lines[3]
    assert len(lines[3]) < 130
    assert lines[5] == "4  groups"
    assert lines[-2:] == ["of all", "statements 2 to 3: of some"]
    assert "estimate" not in str(lines)
    narrow = batch_lines(["d " * 90], [TOTAL], width=70)
    assert len(narrow[1]) == 70
    assert "180 to 200" in narrow[1]
    told = str(Batch((with_estimates(TOTAL, 191.5), SEVERAL), ("a", "b")))
    assert "estimate" in told.splitlines()[0]
    assert "191.50" in told


def test_a_quote_is_a_frame_of_one_row() -> None:
    quote = Quote(0.5, 0, 1.5, fits=True, expected_error=None, best_error=1.0, cached=False, reason="")
    frame = quote.to_pandas()
    assert frame["cost"].tolist() == [0.5]
    assert frame["fits"].tolist() == [True]
    assert frame["expected_error"].isna().all()
    assert "remaining" in str(quote)


@pytest.mark.parametrize(("package", "method"), [("pandas", "to_pandas"), ("polars", "to_polars")])
def test_a_missing_package_is_named_with_its_extra(package: str, method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ParcompError, match=rf"needs {package}: pip install 'parcomp\[frames\]'"):
        getattr(TOTAL, method)()


def test_a_picture_without_matplotlib_names_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ParcompError, match=r"parcomp\[plot\]"):
        TOTAL.plot()


def test_an_answer_of_groups_alone_has_no_figures() -> None:
    groups = Answer(None, (AnswerColumn("sex", ("F", None)),), 0, None, cached=False)
    assert groups.as_json() == {
        "charge": None,
        "groups": [{"group": {"sex": one}, "value": None, "interval": [None, None]} for one in ("F", None)],
        "cost": 0,
        "expected_error": None,
        "cached": False,
        "names": ["sex"],
        "errors": [None],
        "approximate": [False],
        "measure": "",
        "rows_per_person": 1,
    }
    assert str(groups).splitlines() == ["sex", "F", "null", "free"]
    assert repr(groups) == "<Answer, 2 groups by sex>"
    assert "null" in groups._repr_html_()
    assert next(iter(groups.to_pandas()["sex"])) == "F"
    batch = Batch((groups, TOTAL), ("SELECT sex …", "SELECT COUNT(*) …")).to_pandas()
    assert list(batch["statement"]) == ["SELECT sex …"] * 2 + ["SELECT COUNT(*) …"]
    with pytest.raises(ArgumentError, match=r"ask for COUNT\(\*\) beside them"):
        groups.plot("never.png")


def test_errors_next_to_nothing_are_said_to_be_so() -> None:
    found = Answer(1, (AnswerColumn.of("count", (Figure(1, 1, 1, 6.7e-15),)),), 1, 6.7e-15, cached=False)
    assert str(found).splitlines()[-1] == "expected error below 0.001; charge 1, cost 1"


def test_errors_that_differ_from_group_to_group_are_told_by_their_range() -> None:
    found = answer({"sex": ["F", "M"]}, {"mean": [Figure(5, 1, 9, 4.0), Figure(7, 0, 99, 78.0)]})
    assert found.off_by == "expected error ± 41 on average over the groups, ± 4 to ± 78"


def test_what_was_told_is_read_again() -> None:
    """But for the marks of intervals: answers with a number, with groups, with several columns and with none."""
    groups = Answer(None, (AnswerColumn("sex", ("F", None)),), 0, None, cached=False)
    noted = replace(TOTAL, notes=("a note",), measure="zcdp", rows_per_person=3)
    for one in (TOTAL, BY_SEX, SEVERAL, groups, noted, answer({}, {"n": figures(5)}, rehearsed=True)):
        assert Answer.read(json.loads(json.dumps(one.as_json()))) == one
    assert noted.paid == "charge 7, ρ = 0.5 for one row"
