"""What ``import parcomp`` offers, and how its values look in a notebook."""

from __future__ import annotations

import pickle
import subprocess
import sys
from importlib import import_module

import numpy as np
import pytest

import parcomp as pc
from parcomp.privacy import Neighbours, approximate_loss, privacy_loss, renyi_loss
from parcomp.samples import census_domain, census_sample, paper_example

PACKAGES = ("parcomp", "parcomp.model", "parcomp.privacy", "parcomp.planning", "parcomp.estimation")


@pytest.mark.parametrize("name", PACKAGES)
def test_every_exported_name_is_there_and_dir_lists_no_other(name):
    """No import of the module's own shows."""
    package = import_module(name)
    for exported in package.__all__:
        assert getattr(package, exported) is not None
    if name != "parcomp.model":
        assert [one for one in dir(package) if not one.startswith("__")] == sorted(
            one for one in package.__all__ if not one.startswith("__")
        )
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = package.nonsense


def test_the_contract_of_the_package():
    """The names that outside code may rely on."""
    for name in ("Domain", "Categorical", "Integer", "Binned", "between", "Query", "Workload", "max_overlap"):
        assert name in dir(pc)
    for name in (
        "clique_number",
        "chromatic_number",
        "verify",
        "privacy_loss",
        "plan",
        "estimate",
        "Custodian",
        "errors",
    ):
        assert name in dir(pc)
    assert pc.__version__.count(".") == 2
    assert all(hasattr(pc.errors, name) for name in pc.errors.__all__)
    assert pc.ParcompError is pc.errors.ParcompError


@pytest.mark.parametrize("name", PACKAGES)
def test_packages_import_neither_numba_nor_scipy(name):
    """``parcomp`` itself and its lazy packages do without NumPy, too."""
    heavy = ["numba", "scipy", "dp_accounting", "yaml"] + ([] if name == "parcomp.model" else ["numpy"])
    script = f"import sys, {name}\nassert not set({heavy}) & set(sys.modules)"
    subprocess.run([sys.executable, "-c", script], check=True)


def test_a_submodule_never_takes_the_place_of_a_function():
    """Importing deep modules leaves the exported functions what they are."""
    script = (
        "import parcomp.planning.planner, parcomp.privacy.workload_tradeoff, parcomp.privacy.renyi\n"
        "from parcomp import planning, privacy\n"
        "assert all(callable(one) for one in (planning.plan, planning.expected_error, privacy.f_gamma))"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def shapes():
    """Values that once printed pages."""
    many = pc.Categorical([f"a rather long name of a value, number {i}" for i in range(20_000)])
    wide = pc.Domain({f"attribute {i}": pc.Integer(0, i + 1) for i in range(500)}, name="wide")
    large = pc.Domain({"code": many})
    scattered = large.query(code=[many.values[i] for i in range(0, 20_000, 3)])
    paper = paper_example()
    return [
        many,
        wide,
        large,
        scattered,
        scattered.terms[0][1],
        wide.query({f"attribute {i}": 0 for i in range(500)}),
        census_domain(),
        census_sample(30, 1),
        pc.Workload(wide),
        privacy_loss(paper),
        pc.plan(paper, "gdp", 1),
        pc.estimate(paper, [1.0] * 6, 1.0),
        renyi_loss(pc.Workload(paper.domain, list(paper), [pc.Cost.of("rho", "0.1")] * 6), 1e-6),
        approximate_loss(pc.Workload(paper.domain, list(paper), [pc.Cost.of("epsilon", "0.1")] * 6), "1e-6"),
    ]


@pytest.mark.parametrize("value", shapes(), ids=lambda value: type(value).__name__)
def test_a_value_prints_in_a_line_or_two(value):
    """Whatever its size."""
    assert 0 < len(repr(value)) <= 700
    assert "\n" not in repr(value)
    assert " object at 0x" not in repr(value)


def test_reprs_say_what_matters():
    """Enough to know what one looks at."""
    paper = paper_example()
    assert repr(paper) == "<Workload: 6 queries on 'paper', costs in weight>"
    assert repr(paper.domain) == "<Domain 'paper': postcode (3), native (2)>"
    assert repr(paper[2]) == "Query(postcode={'not': 'B'}, native='N')"
    assert repr(paper.domain.query()) == "Query()"
    assert repr(pc.Categorical(["F", "M"], nullable=True)) == "Categorical(['F', 'M'], nullable=True)"
    loss = repr(privacy_loss(paper, neighbours="replace-one"))
    guarantee = "pure DP with ε = 6 against replacing one row, assuming that nobody has more"
    assert loss == f"<PrivacyLoss of 6 queries: {guarantee}; exact, 0.0% saved>"
    assert repr(pc.max_overlap(paper)) == "<MaximumOverlap of 6 queries: 3, of 6 in all>"
    assert repr(pc.clique_number(paper)) == "<CliqueNumber: 3, by 3 queries>"
    assert repr(pc.chromatic_number(paper)) == "<ChromaticNumber: at most 3, by 3 classes>"
    assert repr(pc.plan(paper, budget=1)).startswith("<Plan of 6 queries, mean: ε = 1, mean error 2.3")


def test_neighbours_are_strings_that_check_themselves():
    """Strings are taken wherever a relation is asked for, and the enum is written as its string."""
    paper = paper_example()
    given = [
        privacy_loss(paper, "pure", one) for one in ("replace-one", Neighbours.REPLACE_ONE, np.str_("replace-one"))
    ]
    assert {one.neighbours for one in given} == {Neighbours.REPLACE_ONE}
    assert {one.as_json()["neighbours"] for one in given} == {"replace-one"}
    assert f"{given[0].neighbours}" == str(given[0].neighbours) == "replace-one"
    assert pickle.loads(pickle.dumps(Neighbours.ADD_REMOVE)) is Neighbours.ADD_REMOVE
    for wrong in ("replace", None, ["add-remove"], 1):
        with pytest.raises(pc.errors.ArgumentError, match="add-remove and replace-one"):
            privacy_loss(paper, "pure", wrong)


def test_bad_values_are_value_errors():
    """Python's own ``except ValueError`` catches them."""
    paper = paper_example()
    for call in (
        lambda: privacy_loss(paper, "nonsense"),
        lambda: privacy_loss(paper, rows_per_person=0),
        lambda: pc.plan(paper, "pure", 1, "nonsense"),
        lambda: pc.plan(paper, budget=1, time_limit=0),
        lambda: pc.plan(paper, budget=1, budget_units=1),
        lambda: renyi_loss(paper, orders=[0.5]),
    ):
        with pytest.raises(ValueError) as raised:  # noqa: PT011  which messages they have is tested where they belong
            call()
        assert isinstance(raised.value, pc.errors.ArgumentError)
