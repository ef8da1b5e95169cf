"""Workload files: what is saved is loaded, and every contract of the format holds."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given

from parcomp.costs import MAX_UNITS, Cost
from parcomp.errors import FileError
from parcomp.model.attribute import Binned, Categorical, Integer
from parcomp.model.domain import Domain
from parcomp.model.workload import Workload
from tests.property.strategies import many, workloads

PEOPLE = Domain(
    {
        "sex": Categorical(["F", "M"]),
        "age": Integer(0, 119),
        "region": Categorical(["N", "E", "S", "W"]),
        "income": Binned(0, 750_000, 5_000),
    }
)


def load(text: str | bytes, directory: Path) -> Workload:
    path = directory / "w.jsonl"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return Workload.load(PEOPLE, path)


@many
@given(workloads(max_queries=8, one_kind=False))
def test_what_is_saved_is_loaded(workload: Workload) -> None:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "w.jsonl")
        workload.save(path)
        again = Workload.load(workload.domain, path)
    assert list(again) == list(workload)
    assert [(type(name), name) for name in again.ids] == [(type(name), name) for name in workload.ids]
    assert again.units.tolist() == workload.units.tolist()
    assert again.kinds.tolist() == workload.kinds.tolist()


@pytest.mark.parametrize("units", [1, 10**9, 10**9 + 1, 2**53 + 1, 4 * 10**18 + 1, MAX_UNITS])
def test_costs_are_saved_to_the_last_digit(units: int, tmp_path: Path) -> None:
    path = tmp_path / "w.jsonl"
    Workload(PEOPLE, [PEOPLE.query()], [Cost("epsilon", units)]).save(path)
    assert Workload.load(PEOPLE, path).cost_of(0) == Cost("epsilon", units)


def test_the_query_of_the_documentation(tmp_path: Path) -> None:
    text = (
        '{"id": "q7", "where": {"sex": "F", "age": [{"from": 20, "to": 39}, 65], "region": {"not": ["N","S"]}}, '
        '"weight": 1}'
    )
    workload = load(text, tmp_path)
    assert workload.ids == ["q7"]
    assert workload[0].coverage_size == 1 * 21 * 2 * 5_000
    assert workload.cost_of(0) == Cost.of("weight", 1)


def test_defaults(tmp_path: Path) -> None:
    workload = load('\n{"where": {}}\n\n{"where": {"sex": "F"}, "epsilon": 0.1}\n', tmp_path)
    assert workload.ids == [2, 4]
    assert [workload.cost_of(position) for position in range(2)] == [Cost.of("weight", 1), Cost.of("epsilon", "0.1")]


@pytest.mark.parametrize(
    "where", ['{"sex": "X"}', '{"age": 120}', '{"age": [-5, 500]}', '{"income": 800000}', '{"sex": []}']
)
def test_a_value_outside_the_domain_is_never_satisfied(where: str, tmp_path: Path) -> None:
    assert load(f'{{"where": {where}}}', tmp_path)[0].is_contradiction


def test_ranges_reach_beyond_the_domain(tmp_path: Path) -> None:
    query = load('{"where": {"age": {"from": -5, "to": 9}, "income": {"from": 749850, "below": 1000000}}}', tmp_path)[0]
    assert query.coverage_size == 10 * 1 * 2 * 4


def test_only_line_feeds_end_a_line(tmp_path: Path) -> None:
    text = '{"id": "a\u2028b\u0085c", "where": {}}\r\n{"id": "d", "where": {}}\r\n'
    assert load(text, tmp_path).ids == ["a\u2028b\u0085c", "d"]


def test_a_byte_order_mark_and_an_empty_file_are_fine(tmp_path: Path) -> None:
    assert len(load(b'\xef\xbb\xbf{"where": {}}', tmp_path)) == 1
    assert len(load("", tmp_path)) == 0
    assert len(load("\n \n", tmp_path)) == 0


def test_decimal_costs_are_taken_by_their_notation_and_rounded_up(tmp_path: Path) -> None:
    text = (
        '{"where": {}, "rho": 0.1}\n{"where": {}, "rho": 0.1000000000000000000000000000001}\n{"where": {}, "rho": 1e-9}'
    )
    assert load(text, tmp_path).units.tolist() == [10**8, 10**8 + 1, 1]


def test_a_workload_is_saved_as_jsonl_only(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"\.jsonl"):
        Workload(PEOPLE).save(tmp_path / "w.json")
