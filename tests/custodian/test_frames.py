"""Data frames taken into custody: made once, known again, grown, and nothing else."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ibis
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import parcomp as pc
from parcomp.custodian import Settings
from parcomp.errors import (
    ArgumentError,
    CostError,
    DataError,
    DataWarning,
    LedgerError,
    LedgerWarning,
    MissingLedgerError,
    ParcompError,
    SettingsError,
)
from tests.custodians import ROWS, load_settings

DOMAIN = pc.Domain({"sex": pc.Categorical(["F", "M"]), "age": pc.Integer(0, 9)}, name="people")
COUNT = "SELECT COUNT(*) FROM people"
FRAME = pd.DataFrame(ROWS)

LIBRARIES: dict[str, Callable[[], Any]] = {
    "pandas": lambda: pd.DataFrame(ROWS),
    "pandas categories": lambda: pd.DataFrame(ROWS).astype({"sex": "category", "age": "Int64"}),
    "pandas objects": lambda: pd.DataFrame(ROWS).astype(object),
    "pandas with an index": lambda: pd.DataFrame(ROWS).set_index(pd.Index(range(5, 5 + len(ROWS)), name="number")),
    "pandas on arrow": lambda: pd.DataFrame(ROWS).convert_dtypes(dtype_backend="pyarrow"),
    "polars": lambda: pl.DataFrame(ROWS),
    "polars categories": lambda: pl.DataFrame(ROWS).with_columns(pl.col("sex").cast(pl.Categorical)),
    "polars, lazy": lambda: pl.DataFrame(ROWS).lazy(),
    "arrow": lambda: pa.Table.from_pylist(ROWS),
    "arrow batch": lambda: pa.RecordBatch.from_pylist(ROWS),
    "arrow, columns to spare": lambda: pa.Table.from_pylist([{**row, "name": "x"} for row in ROWS]),
    "ibis": lambda: ibis.memtable(pa.Table.from_pylist(ROWS)),
    "ibis expression": lambda: ibis.memtable(pa.Table.from_pylist(ROWS)).mutate(twice=ibis._.age * 2),
}


def custody(table: Any, directory: Path, **arguments: Any) -> pc.Custodian:
    """A custodian of a frame, with a ledger in this directory."""
    given = {"domain": DOMAIN, "measure": "pure", "budget": "1000", "ledger": directory / "ledger.db", **arguments}
    return pc.Custodian(table, **given)


def digest(directory: Path) -> str:
    """That of the coded table in place."""
    with custody(None, directory) as custodian:
        return custodian._table().imprint.digest


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_table_of_any_library_is_counted_and_known_again(library: str, tmp_path: Path) -> None:
    with custody(LIBRARIES[library](), tmp_path) as custodian:
        assert custodian.ask(COUNT, epsilon="100").value == len(ROWS)
        answer = custodian.ask("SELECT sex, COUNT(*) FROM people GROUP BY sex", epsilon="100")
        assert [group.value for group in answer.groups] == [55, 45]
    assert {path.name for path in tmp_path.iterdir()} >= {"ledger.db", "ledger.codes", "ledger.mark"}
    assert os.stat(tmp_path / "ledger.codes").st_mode & 0o077 == 0
    # Known by its codes, whatever library brings them, and in whatever order.
    with custody(FRAME.sample(frac=1, random_state=1), tmp_path) as again:
        assert again.ask(COUNT, epsilon="100").cached
        assert again.balance().charges == 2


def test_charges_are_made_and_kept(tmp_path: Path) -> None:
    for turn in range(3):
        with custody(FRAME, tmp_path, budget="1") as custodian:
            custodian.ask(f"SELECT COUNT(*) FROM people WHERE age >= {turn}", epsilon="0.3")
    with custody(FRAME, tmp_path, budget="1") as custodian, pytest.raises(pc.errors.RefusedError):
        custodian.ask("SELECT COUNT(*) FROM people WHERE age >= 5", epsilon="0.3")


def test_what_becomes_of_the_frame_afterwards_changes_nothing(tmp_path: Path) -> None:
    frame = FRAME.copy()
    with custody(frame, tmp_path) as custodian:
        frame["sex"] = "F"
        frame["age"] = 0
        assert custodian.ask("SELECT COUNT(*) FROM people WHERE sex = 'M'", epsilon="100").value == 45


def test_a_frame_whose_rows_have_changed_is_refused(tmp_path: Path) -> None:
    custody(FRAME, tmp_path).close()
    before = (tmp_path / "ledger.codes").read_bytes()
    changed = FRAME.copy()
    changed.loc[0, "sex"] = "M"
    for frame in (FRAME[:-1], changed):
        with pytest.raises(DataError, match="1 are gone or have changed"):
            custody(frame, tmp_path)
    assert (tmp_path / "ledger.codes").read_bytes() == before
    assert not list(tmp_path.glob(".*.part"))


def test_rows_that_were_added_are_taken_in_by_load(tmp_path: Path) -> None:
    with custody(FRAME, tmp_path) as custodian:
        custodian.ask(COUNT, epsilon="100")
    grown = pd.concat([FRAME, FRAME[:7]])
    with pytest.raises(DataError, match=r"load\(table\)") as caught:
        custody(grown, tmp_path)
    assert not any(character.isdigit() for character in str(caught.value))
    with custody(None, tmp_path) as custodian:
        assert custodian.ask(COUNT, epsilon="100").value == len(ROWS)
        custodian.load(grown)
        again = custodian.ask(COUNT, epsilon="100")
        assert (again.value, again.cached) == (len(ROWS) + 7, False)
    with custody(grown, tmp_path) as custodian:
        assert custodian.ask(COUNT, epsilon="100").cached
    with pytest.raises(DataError, match="7 are gone"):
        custody(FRAME, tmp_path)


def test_a_load_may_extend_the_domain(tmp_path: Path) -> None:
    wider = pc.Domain({"sex": pc.Categorical(["F", "M"]), "age": pc.Integer(0, 19)}, name="people")
    with custody(FRAME, tmp_path) as custodian:
        custodian.load(pd.concat([FRAME, pd.DataFrame({"sex": ["F"], "age": [15]})]), domain=wider)
        assert custodian.ask("SELECT COUNT(*) FROM people WHERE age > 9", epsilon="100").value == 1
    with pytest.raises(LedgerError, match="domain"):
        custody(None, tmp_path)
    with custody(None, tmp_path, domain=wider) as custodian:
        assert custodian.ask("SELECT COUNT(*) FROM people WHERE age > 9", epsilon="100").cached


def test_another_custodian_of_the_same_ledger_meets_the_load(tmp_path: Path) -> None:
    with custody(FRAME, tmp_path) as first, custody(None, tmp_path) as second:
        first.load(pd.concat([FRAME, FRAME[:1]]))
        with pytest.raises(LedgerError, match="Open it again"):
            second.ask(COUNT, epsilon="1")


def test_requests_and_a_load_do_not_mix(tmp_path: Path) -> None:
    """Every answer is of the rows before or after, and every charge is in the ledger once."""
    wider = pc.Domain({"sex": pc.Categorical(["F", "M"]), "age": pc.Integer(0, 19)}, name="people")
    grown = pd.concat([FRAME, FRAME])
    answers: list[tuple[int | None, Any]] = []
    problems: list[Exception] = []
    with custody(FRAME, tmp_path, budget="1000000") as custodian:

        def ask(number: int) -> None:
            for turn in range(12):
                try:
                    answer = custodian.ask(COUNT, epsilon=str(100 + number + 10 * turn))
                    answers.append((answer.charge, answer.value))
                except LedgerError as error:
                    problems.append(error)

        threads = [threading.Thread(target=ask, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        custodian.load(grown, domain=wider)
        for thread in threads:
            thread.join()
        load = next(charge.number for charge in custodian.charges() if charge.is_load)
    # Between the load and its being taken over, asking says that the custodian has to be opened again.
    assert all("Open it again" in str(problem) for problem in problems)
    assert answers
    for charge, value in answers:
        assert charge is not None
        assert value == (len(ROWS) if charge < load else 2 * len(ROWS))


def test_a_load_is_taken_over_when_no_request_is_under_way(tmp_path: Path) -> None:
    """Settings, books and table stay what they are for a request, from its reading to its answer."""
    grown = pd.concat([FRAME, FRAME])
    with custody(FRAME, tmp_path) as custodian:
        with custodian._in_use():
            before = custodian._books
            loading = threading.Thread(target=custodian.load, args=(grown,))
            loading.start()
            deadline = time.monotonic() + 60
            while not custodian.charges() and time.monotonic() < deadline:
                time.sleep(0.01)
            loading.join(0.5)
            assert loading.is_alive()
            assert custodian._books is before
        loading.join(60)
        assert not loading.is_alive()
        assert custodian.ask(COUNT, epsilon="100").value == 2 * len(ROWS)


def test_a_ledger_on_a_server_has_its_coded_table_here(tmp_path: Path, postgres_url: str) -> None:
    given = {"ledger": postgres_url, "codes": tmp_path / "people.codes", "name": "framed"}
    with custody(FRAME, tmp_path, **given) as custodian:
        assert custodian.ask("SELECT COUNT(*) FROM framed", epsilon="100").value == len(ROWS)
    assert {path.name for path in tmp_path.iterdir()} == {"people.codes", "people.mark", ".people.mark.lock"}
    with custody(FRAME, tmp_path, **given) as custodian:
        assert custodian.ask(COUNT, epsilon="100").cached


def test_a_ledger_is_not_made_again(tmp_path: Path) -> None:
    """Where its mark says that there was one, a fresh one would spend the budget a second time."""
    with custody(FRAME, tmp_path) as custodian:
        custodian.ask(COUNT, epsilon="100")
    for path in tmp_path.glob("ledger.db*"):
        path.unlink()
    with pytest.raises(LedgerError, match="find it"):
        custody(FRAME, tmp_path)
    assert not (tmp_path / "ledger.db").exists()


@pytest.mark.parametrize(
    "other",
    [
        {"budget": "2000"},
        {"measure": "zcdp"},
        {"version": "2"},
        {"name": "others"},
        {"neighbours": "replace-one"},
        {"rows_per_person": 2},
        {"person": "sex"},
        {"domain": pc.Domain({"sex": pc.Categorical(["F", "M", "X"]), "age": pc.Integer(0, 99)}, name="people")},
    ],
    ids=lambda given: next(iter(given)),
)
def test_other_settings_than_the_ledger_has_are_refused(other: dict[str, Any], tmp_path: Path) -> None:
    custody(FRAME, tmp_path).close()
    with pytest.raises(LedgerError):
        custody(FRAME, tmp_path, **other)


def test_how_it_was_read_must_be_the_same(tmp_path: Path) -> None:
    custody(FRAME, tmp_path).close()
    with pytest.raises(DataError, match="another reading"):
        custody(FRAME, tmp_path, nulls=["F"])


def test_a_coded_table_that_is_lost_is_made_again_of_the_same_rows(tmp_path: Path) -> None:
    custody(FRAME, tmp_path).close()
    (tmp_path / "ledger.codes").unlink()
    with pytest.raises(DataError, match="it gives others when it is read again"):
        custody(FRAME.iloc[1:], tmp_path)
    with custody(None, tmp_path) as custodian:
        with pytest.raises(DataError, match="there is no coded table"):
            custodian.ask(COUNT, epsilon="1")
        assert custodian.balance().charges == 0
        custodian.load(FRAME)
        assert custodian.ask(COUNT, epsilon="100").value == len(ROWS)
    (tmp_path / "ledger.codes").unlink()
    with custody(FRAME, tmp_path) as custodian:
        assert custodian.ask(COUNT, epsilon="100").cached


def test_persons_are_bounded(tmp_path: Path) -> None:
    frame = FRAME.assign(patient=[number // 10 for number in range(len(FRAME))])
    arguments = {"person": "patient", "rows_per_person": 3}
    with custody(frame, tmp_path, **arguments) as custodian:
        assert custodian.ask(COUNT, epsilon="100").value == 30
    with custody(frame.sample(frac=1, random_state=2), tmp_path, **arguments) as custodian:
        assert custodian.ask(COUNT, epsilon="100").cached


def test_missing_values_are_null_or_outside(tmp_path: Path) -> None:
    domain = pc.Domain(
        {"sex": pc.Categorical(["F", "M"], nullable=True), "age": pc.Integer(0, 9, nullable=True)}, name="people"
    )
    frame = pd.DataFrame({"sex": ["F", None, "NA", "M"], "age": [1.0, float("nan"), 3.0, None]})
    with custody(frame, tmp_path, domain=domain, nulls=["NA"]) as custodian:
        by_sex = custodian.ask("SELECT sex, COUNT(*) FROM people GROUP BY sex", epsilon="100")
        assert [(group.row["sex"], group.value) for group in by_sex.groups] == [("F", 1), ("M", 1), (None, 2)]
        assert custodian.ask("SELECT COUNT(*) FROM people WHERE age IS NULL", epsilon="100").value == 2


def test_a_frame_that_is_mostly_outside_is_warned_of(tmp_path: Path) -> None:
    small = FRAME.assign(sex=FRAME["sex"].str.lower())
    with pytest.warns(DataWarning, match="values of sex are outside") as caught:
        custody(small, tmp_path / "..").close()
    assert caught[0].filename == __file__
    for path in (tmp_path / "..").glob("ledger.*"):
        path.unlink()
    seen = []
    custody(small, tmp_path, agree=seen.append).close()
    assert seen[0].attributes["sex"].unknown == len(ROWS)


def test_who_does_not_agree_gets_no_ledger(tmp_path: Path) -> None:
    def refuse(_report: object) -> None:
        raise DataError("no")

    with pytest.raises(DataError, match="no"):
        custody(FRAME, tmp_path, agree=refuse)
    assert not list(tmp_path.glob("ledger.*"))


def test_a_ledger_in_memory_is_warned_of_and_goes_with_its_custodian() -> None:
    with pytest.warns(LedgerWarning, match="forgotten with this process") as caught:
        custodian = pc.Custodian(FRAME, domain=DOMAIN, measure="pure", budget="1", ledger=":memory:")
    assert caught[0].filename == __file__
    directory = Path(custodian.settings.ledger.removeprefix("sqlite:///")).parent
    assert directory.is_dir()
    with custodian:
        custodian.ask(COUNT, epsilon="1")
        with pytest.raises(pc.errors.RefusedError):
            custodian.ask("SELECT COUNT(*) FROM people WHERE sex = 'F'", epsilon="1")
    assert not directory.exists()


def test_a_directory_that_is_missing_is_named(tmp_path: Path) -> None:
    missing = tmp_path / "nope"
    with pytest.raises(LedgerError, match=rf"the directory {missing} is missing.*make it first") as caught:
        custody(FRAME, missing)
    assert "[ledger]" not in str(caught.value)


def test_without_a_table_there_must_be_a_ledger(tmp_path: Path) -> None:
    with pytest.raises(MissingLedgerError, match=r"pc\.Custodian\(table"):
        custody(None, tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_ledger_is_made_or_found_as_it_is_said(tmp_path: Path) -> None:
    """Who goes on with a ledger can say so, and a mistyped path is then no fresh budget."""
    with pytest.raises(MissingLedgerError, match="create=True"):
        custody(FRAME, tmp_path, create=False)
    assert not list(tmp_path.iterdir())
    custody(FRAME, tmp_path, create=True).close()
    with pytest.raises(LedgerError, match="has a ledger already"):
        custody(FRAME, tmp_path, create=True)
    custody(FRAME, tmp_path, create=False).close()


@pytest.mark.parametrize(
    ("table", "given", "kind", "message"),
    [
        (FRAME, {"ledger": None}, ArgumentError, "not given: ledger"),
        (FRAME, {"domain": None, "budget": None}, ArgumentError, "not given: domain, budget"),
        (FRAME, {"domain": 7}, ArgumentError, "a domain is a Domain or the path"),
        (FRAME, {"domain": "nowhere.json"}, ParcompError, "nowhere.json"),
        (FRAME, {"measure": "rdp"}, ParcompError, "rdp"),
        (FRAME, {"budget": "much"}, CostError, "much"),
        (FRAME, {"budget": -1}, CostError, "-1"),
        (FRAME, {"budget": "0.000000003", "rows_per_person": 5}, SettingsError, "too small to be divided"),
        (FRAME, {"neighbours": "strangers"}, ParcompError, "strangers"),
        (FRAME, {"rows_per_person": 0}, ParcompError, "0"),
        (FRAME, {"name": ""}, SettingsError, "name must be"),
        (FRAME, {"person": "nobody"}, DataError, "nobody: no column has this name"),
        (FRAME, {"nulls": "NA"}, ArgumentError, "nulls is a list"),
        (FRAME, {"timezone": "Mars"}, DataError, "not a time zone"),
        (FRAME, {"analysts": ["anna"]}, ArgumentError, "quotas by name"),
        (FRAME, {"analysts": {"anna": "2000"}}, SettingsError, "above the budget"),
        (FRAME, {"ledger": "postgresql://host/base"}, ArgumentError, "codes="),
        (FRAME, {"ledger": "mysql://host/base", "codes": "x"}, LedgerError, "mysql"),
        (FRAME, {"ledger": 7}, ArgumentError, "a ledger is a path"),
        (FRAME, {"ledger": "ledger.mark"}, ArgumentError, r"name it NAME\.db"),
        (FRAME, {"ledger": "ledger.codes"}, ArgumentError, r"name it NAME\.db"),
        (FRAME.drop(columns="age"), {}, DataError, "age: no column has this name; the columns are sex"),
        (FRAME.set_index("age"), {}, DataError, r"age: it is in the index .* reset_index"),
        (FRAME.assign(age="x").assign(age=[{"secret": 1}] * len(FRAME)), {}, DataError, "one that is not read"),
        (FRAME["age"], {}, DataError, "not a Series"),
        ([{"secret": 1}], {}, DataError, "not a list"),
        ({"secret": [1]}, {}, DataError, "not a dict"),
        ("custodian.toml", {}, SettingsError, r"Custodian\.open"),
    ],
)
def test_what_cannot_be_taken_is_refused_and_nothing_is_made(
    table: Any,
    given: dict[str, Any],
    kind: type[Exception],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(kind, match=message) as caught:
        custody(table, tmp_path, **given)
    assert isinstance(caught.value, ParcompError)
    assert "secret" not in str(caught.value)
    assert not [path.name for path in tmp_path.iterdir() if not path.name.endswith(".lock")]


def test_what_unwanted_columns_hold_is_of_no_account(tmp_path: Path) -> None:
    mixed = FRAME.assign(note=[number if number % 2 else "text" for number in range(len(FRAME))])
    with custody(mixed, tmp_path) as custodian:
        assert custodian.ask(COUNT, epsilon="100").value == len(ROWS)


def test_settings_stand_alone(tmp_path: Path) -> None:
    settings = load_settings(tmp_path)
    pc.Custodian.create(settings).close()
    with pc.Custodian(settings) as custodian:
        assert isinstance(custodian.settings, Settings)
        with pytest.raises(DataError, match="no data frame is taken"):
            custodian.load(FRAME)
    with pytest.raises(ArgumentError, match="give them alone"):
        pc.Custodian(settings, budget="7")


def test_a_domain_may_be_a_file_or_what_is_in_one(tmp_path: Path) -> None:
    DOMAIN.save(tmp_path / "domain.json")
    with custody(FRAME, tmp_path, domain=tmp_path / "domain.json") as custodian:
        assert custodian.settings.domain == DOMAIN
    described = {"name": "people", "attributes": {"sex": {"values": ["F", "M"]}, "age": {"low": 0, "high": 9}}}
    with custody(FRAME, tmp_path, domain=described) as custodian:
        assert custodian.settings.domain == DOMAIN


def test_a_budget_may_be_of_two_numbers(tmp_path: Path) -> None:
    two = {"epsilon": "1", "delta": "1e-6"}
    half = {"epsilon": "0.5", "delta": "1e-6"}
    given: dict[str, Any] = {"measure": "gdp", "budget": two, "analysts": {"anna": half}}
    with custody(FRAME, tmp_path, **given) as custodian:
        balance = custodian.balance()
        assert balance.delta == 1e-6
        assert 0.2 < balance.budget < 0.3
        assert custodian.quote(COUNT, mu="0.1", analyst="anna").to_pandas()["delta"].tolist() == [1e-6]
        assert "δ = 1e-06" in custodian._repr_html_()
    with pytest.raises(CostError, match="epsilon and delta"):
        custody(FRAME, tmp_path, measure="gdp", budget={"epsilon": "1"})


def test_quotes_tell_what_each_limit_leaves(tmp_path: Path) -> None:
    with custody(FRAME, tmp_path, budget="1", analysts={"anna": "0.5"}) as custodian:
        both = custodian.quote_batch([COUNT, "SELECT AVG(age) FROM people"], epsilon="0.2", analyst="anna")
        frame = both.to_pandas()
        assert frame["limit"].tolist() == ["quota of anna"] * 2
        assert frame["left quota of anna"].tolist() == [0.5, 0.3]
        assert frame["left budget"].tolist() == [1.0, 0.8]
        assert frame["expected_error"].isna().tolist() == [False, True]
        assert "left quota of anna" in str(both)
        assert "left quota of anna" in both._repr_html_()
        assert "left budget" in both.quotes[0]._repr_html_()


def test_a_custodian_shows_its_budget(tmp_path: Path) -> None:
    odd = pc.Domain({"<b>sex</b>": pc.Categorical(["F", "M"]), "age": pc.Integer(0, 9)}, name="people")
    frame = FRAME.rename(columns={"sex": "<b>sex</b>"})
    with custody(frame, tmp_path, domain=odd, name="<script>") as custodian:
        custodian.ask("SELECT COUNT(*) FROM people WHERE age = 1", epsilon="250")
        shown = custodian._repr_html_()
        assert "ε = 250 of ε = 1,000 spent" in shown
        assert "<script>" not in shown
        assert "<b>" not in shown
        assert repr(custodian) == "<Custodian of <script>, version 1>"
    assert "closed" in custodian._repr_html_()
