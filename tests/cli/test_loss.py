"""``parcomp loss`` as people and programs use it."""

import json
import math
import re

import pytest

import parcomp as pc
from parcomp.cli import main
from parcomp.samples import paper_example

KEYS = ["measure", "loss", "sequential", "saved", "exact", "neighbours"]


def run(paper, *options, workload="six.jsonl"):
    return main(["loss", "--domain", str(paper / "domain.json"), str(paper / workload), *options])


@pytest.mark.parametrize(("measure", "loss", "sequential"), [("pure", 3, 6), ("zcdp", 3, 6), ("gdp", 3**0.5, 6**0.5)])
def test_json_has_the_promised_keys(paper, capsys, measure, loss, sequential):
    """One object with the keys of the contract in order."""
    assert run(paper, "--measure", measure, "--json") == 0
    (line,) = capsys.readouterr().out.splitlines()
    answer = json.loads(line)
    assert list(answer) == KEYS
    assert (answer["measure"], answer["exact"], answer["neighbours"]) == (measure, True, "add-remove")
    assert (answer["loss"], answer["sequential"]) == (
        pytest.approx(loss, rel=1e-12),
        pytest.approx(sequential, rel=1e-12),
    )
    assert answer["saved"] == pytest.approx(1 - loss / sequential)


def test_neighbors_and_rows(paper, capsys):
    """Both settings reach the loss."""
    assert run(paper, "--measure", "zcdp", "--neighbours", "replace-one", "--rows-per-person", "3", "--json") == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["loss"], answer["sequential"], answer["neighbours"]) == (54, 54, "replace-one")


def test_people_see_a_chart_and_the_guarantee(paper, capsys, tmp_path):
    """Bars, the saving, the neighbor relation; and a picture where asked for."""
    picture = tmp_path / "loss.png"
    for measure in ("pure", "zcdp", "gdp"):
        assert run(paper, "--measure", measure, "--plot", str(picture)) == 0
        out = " ".join(capsys.readouterr().out.split())
        assert "█" in out
        assert "adding or removing one row" in out
        assert picture.read_bytes().startswith(b"\x89PNG")
        picture.unlink()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--measure", "renyi"], "there are pure, zcdp, gdp"),
        (["--measure", "pure", "--neighbours", "bounded"], "there are add-remove and replace-one"),
        (["--measure", "pure", "--rows-per-person", "0"], "rows per person"),
        (["--measure", "pure", "--rows-per-person", "two"], "rows-per-person"),
        (["--measure", "pure", "--time-limit", "nan"], "--time-limit"),
        ([], "measure"),
    ],
)
def test_bad_options_are_one_line_and_exit_2(paper, capsys, options, said):
    """The line says what is possible."""
    assert run(paper, *options) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert said in line


def test_costs_of_another_measure_are_one_line_and_exit_2(paper, capsys):
    """They are named."""
    domain = pc.Domain.load(paper / "domain.json")
    pc.Workload(domain, [domain.query()], [pc.Cost.of("mu", 1)]).save(paper / "mu.jsonl")
    assert run(paper, "--measure", "pure", workload="mu.jsonl") == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "mu cannot be booked under pure" in line


def test_privacy_loss_is_exported():
    """`import parcomp` offers it without loading what it needs."""
    assert pc.privacy_loss(paper_example(), "gdp").loss == pytest.approx(math.sqrt(3))


def test_a_loss_is_rounded_up_wherever_it_is_told(paper, capsys):
    """Above the guarantee and in it: 5·√6 = 12.24744…"""
    options = ["--measure", "gdp", "--neighbours", "replace-one", "--rows-per-person", "5"]
    assert run(paper, *options) == 0
    assert re.findall(r"μ = ([0-9.]+)", capsys.readouterr().out) == ["12.2475"] * 3
