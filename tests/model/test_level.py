"""Levels: partitions of the values of a categorical attribute."""

from __future__ import annotations

import pickle
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given

from parcomp.errors import DomainError
from parcomp.model import Categorical, Domain, Integer, Predicate
from tests.property.strategies import categoricals, many

CODES = ["C00", "C01", "E10", "I10"]
CHAPTERS = {"Neoplasms": ["C01", "C00"], "Diabetes": ["E10"], "Other": "rest"}


@many
@given(categoricals(max_size=8))
def test_every_value_is_in_one_group(attribute: Categorical) -> None:
    for name, groups in attribute.levels.items():
        level = attribute.level(name)
        assert list(groups) == list(level.groups)
        for code, value in enumerate(attribute.values):
            held = [group for group, listed in groups.items() if (type(value), value) in [(type(v), v) for v in listed]]
            assert held == [group for group, member in zip(level.groups, level.members, strict=True) if code in member]
            assert len(held) == 1
        # Null is in no group, and all groups together are all other values.
        known = Predicate.from_runs(attribute.size, [(0, attribute.null)])
        groups_but_null = Predicate.from_runs(len(groups) + attribute.nullable, [(0, len(groups))])
        assert level.values_in(groups_but_null) == known
        assert level.values_in(~groups_but_null) == ~known


def test_the_rest_is_what_no_other_group_lists() -> None:
    attribute = Categorical(CODES, levels={"chapter": CHAPTERS})
    assert attribute.levels == {"chapter": {"Neoplasms": ("C00", "C01"), "Diabetes": ("E10",), "Other": ("I10",)}}
    spelled = Categorical(CODES, levels={"chapter": CHAPTERS | {"Other": ["I10"]}})
    assert spelled == attribute
    assert hash(spelled) == hash(attribute)
    assert attribute.describe() == {
        "values": CODES,
        "levels": {"chapter": {"Neoplasms": ["C00", "C01"], "Diabetes": ["E10"], "Other": ["I10"]}},
    }
    assert pickle.loads(pickle.dumps(attribute)) == attribute == Categorical(**attribute.describe())  # type: ignore[arg-type]
    assert repr(attribute) == "Categorical(['C00', 'C01', 'E10', 'I10'], levels=['chapter'])"


def test_what_levels_say_is_part_of_an_attribute() -> None:
    plain, coarse = Categorical(CODES), Categorical(CODES, levels={"chapter": CHAPTERS})
    other = Categorical(CODES, levels={"chapter": CHAPTERS | {"Diabetes": ["I10"]}})
    # The order of groups is that of answers.
    turned = Categorical(CODES, levels={"chapter": dict(reversed(CHAPTERS.items()))})
    assert all(one != two for one, two in combinations((plain, coarse, other, turned), 2))
    assert plain.levels == {}


def test_levels_cannot_be_changed() -> None:
    attribute = Categorical(CODES, levels={"chapter": CHAPTERS})
    with pytest.raises(TypeError):
        attribute.levels["other"] = {}  # type: ignore[index]
    with pytest.raises(TypeError):
        attribute.levels["chapter"]["Other"] = ["C00"]  # type: ignore[index]


def test_levels_of_one_and_true_differ() -> None:
    mixed = Categorical([1, True], levels={"l": {"x": [1], "y": [True]}})
    assert mixed != Categorical([1, True], levels={"l": {"x": [True], "y": [1]}})


@pytest.mark.parametrize(
    "levels",
    [
        [],
        {"": {"x": "rest"}},
        {1: {"x": "rest"}},
        {"l": {1: "rest"}},
        {"l": "rest"},
        {"l": {"x": ["C00", "C01"], "y": ["C01", "E10", "I10"]}},
        {"l": {"x": ["C00", "C01"]}},
        {"l": {"x": ["C00", "Z99"], "y": "rest"}},
        {"l": {"x": ["C00", 5], "y": "rest"}},
        {"l": {"x": [["C00"]], "y": "rest"}},
        {"l": {"x": b"C00", "y": "rest"}},
    ],
)
def test_what_is_no_partition_is_an_error(levels: Any) -> None:
    with pytest.raises(DomainError) as caught:
        Categorical(CODES, levels=levels)
    assert caught.value.field == "levels"


def test_a_domain_finds_levels_by_their_names() -> None:
    icd = Categorical(CODES, True, {"chapter": CHAPTERS, "all": {"any": "rest"}})
    domain = Domain({"age": Integer(0, 9), "icd": icd})
    assert {name: (index, level.groups) for name, (index, level) in domain.levels.items()} == {
        "chapter": (1, ("Neoplasms", "Diabetes", "Other")),
        "all": (1, ("any",)),
    }
    assert domain.levels["chapter"][1].members[0] == domain.predicate("icd", ["C00", "C01"])
    assert Domain({"age": Integer(0, 9)}).levels == {}
    assert domain != Domain({"age": Integer(0, 9), "icd": Categorical(CODES, True)})


@pytest.mark.parametrize(
    "attributes",
    [
        {"icd": Categorical(CODES, levels={"age": CHAPTERS}), "age": Integer(0, 9)},
        {"icd": Categorical(CODES, levels={"icd": CHAPTERS})},
        {"a": Categorical(CODES, levels={"l": CHAPTERS}), "b": Categorical(CODES, levels={"l": CHAPTERS})},
    ],
)
def test_no_two_columns_have_one_name(attributes: dict[str, Any]) -> None:
    with pytest.raises(DomainError, match="level"):
        Domain(attributes)
