"""``parcomp estimate``: answers in, estimates out, and bad files in one line."""

from __future__ import annotations

import json

import pytest

from parcomp.cli.app import main
from parcomp.estimation import Estimate, estimate
from parcomp.samples import paper_example

ANSWERS = [3, 9, 4, 7, 2, -3]


@pytest.fixture
def paper(tmp_path):
    workload = paper_example()
    workload.domain.save(tmp_path / "domain.json")
    workload.save(tmp_path / "paper.jsonl")
    return workload


@pytest.fixture
def run(tmp_path, capsys, paper):
    """Run the command on lines of answers; its exit code, output and errors."""

    def run(lines, *options, facts=None):
        path = tmp_path / "answers.jsonl"
        path.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines) + "\n")
        if facts is not None:
            (tmp_path / "facts.jsonl").write_text("\n".join(map(json.dumps, facts)))
            options = (*options, "--facts", str(tmp_path / "facts.jsonl"))
        arguments = ["estimate", "--domain", str(tmp_path / "domain.json"), str(tmp_path / "paper.jsonl"), str(path)]
        code = main([*arguments, *options])
        shown = capsys.readouterr()
        return code, shown.out, shown.err

    return run


def lines(scale=2.0):
    return [{"id": f"q{i}", "value": value, "scale": scale} for i, value in enumerate(ANSWERS, 1)]


def test_each_query_gets_a_line(run, paper):
    """The fields of the contract first, the raw interval beside them, the same numbers as from Python."""
    code, out, _ = run(lines(), "--json")
    found = [json.loads(line) for line in out.splitlines()]
    assert code == 0
    assert [list(line)[:6] for line in found] == [["id", "value", "raw", "low", "high", "method"]] * 6
    same = estimate(paper, ANSWERS, 2.0)
    assert isinstance(same, Estimate)
    assert [line["value"] for line in found] == same.values.tolist()
    assert [line["raw"] for line in found] == ANSWERS
    assert all(line["low"] <= line["value"] <= line["high"] for line in found)
    assert all(line["raw_low"] == line["raw"] - 4 and line["raw_high"] == line["raw"] + 4 for line in found)
    assert found == same.as_json()
    assert same.to_arrow().column_names == list(found[0])


def test_intervals_widen_with_their_probability(run):
    """And the order of the lines does not matter."""
    widths = []
    for interval in ("0.5", "0.95", "0.999"):
        _, out, _ = run(lines()[::-1], "--interval", interval, "--json")
        widths.append(sum(one["high"] - one["low"] for one in map(json.loads, out.splitlines())))
    assert widths == sorted(set(widths))


def test_people_see_a_table(run):
    """With what is proven."""
    code, out, _ = run(lines())
    assert code == 0
    for text in ("estimates of 6 queries, gaussian noise", "proven", "guaranteed", "q6", "95 % interval"):
        assert text in out


def test_what_a_custodian_prints_is_read_as_it_is(run):
    """Lines of ``batch --json``: no ids, an expected error in place of a scale, and more that is of no use."""
    batch = [
        {
            "charge": 3,
            "value": value,
            "interval": [0, 9],
            "cost": 0.5,
            "expected_error": 1.9,
            "cached": False,
            "names": [],
        }
        for value in ANSWERS
    ]
    code, out, err = run(batch, "--noise", "laplace", "--json")
    assert code == 2
    assert "an answer is given for 1, which is the id of no query" in err
    numbered = [{**line, "id": f"q{i}"} for i, line in enumerate(batch, 1)]
    code, out, _ = run(numbered, "--noise", "laplace", "--json")
    assert code == 0
    # E|Y| = 1/sinh(1/b) is 1.9 at b = 2; half-widths are those of Laplace noise.
    assert json.loads(out.splitlines()[0])["raw_high"] == 3 + 6


def test_facts_and_values_outside(run):
    """The number of rows is kept to; with values outside the domain, parts need not add up to it."""
    code, out, _ = run(lines(), "--json", facts=[{"where": {}, "value": 12}])
    inside = {line["id"]: line["value"] for line in map(json.loads, out.splitlines())}
    assert code == 0
    # q2 is A or B, q5 is C: the whole.
    assert inside["q2"] + inside["q5"] == pytest.approx(12, abs=1e-4)
    code, out, _ = run(lines(), "--json", "--outside", facts=[{"where": {}, "value": 12}])
    outside = {line["id"]: line["value"] for line in map(json.loads, out.splitlines())}
    assert code == 0
    assert outside["q2"] + outside["q5"] < 12 - 1e-3


GOOD = lines()
BAD = {
    "no object": ([*GOOD[:5], "[1]"], "answers.jsonl:6: an answer is an object"),
    "no JSON": ([*GOOD[:5], "{"], "answers.jsonl:6: not valid JSON"),
    "unknown key": ([*GOOD[:5], {**GOOD[5], "noise": 1}], "answers.jsonl:6: noise: unknown key"),
    "no value": ([*GOOD[:5], {"id": "q6", "scale": 1}], "answers.jsonl:6: value: must be a number"),
    "text": ([*GOOD[:5], {**GOOD[5], "value": "3"}], "value: must be a number, not '3'"),
    "true": ([*GOOD[:5], {**GOOD[5], "value": True}], "value: must be a number, not True"),
    "nan": ([*GOOD[:5], '{"id": "q6", "value": NaN, "scale": 1}'], "value: must be a number, not NaN"),
    "too large": ([*GOOD[:5], '{"id": "q6", "value": 1e999, "scale": 1}'], "value: must be a number, not 1E+999"),
    "many digits": ([*GOOD[:5], f'{{"id": "q6", "value": {"9" * 400}, "scale": 1}}'], "value: must be a number"),
    "long": ([*GOOD[:5], f'{{"id": "q6", "value": {"9" * 5000}, "scale": 1}}'], "value: "),
    "negative scale": ([*GOOD[:5], {**GOOD[5], "scale": -1}], "answers.jsonl:6: scale: must be at least 0"),
    "twice": ([*GOOD, GOOD[0]], "answers.jsonl:7: id: 'q1' was answered before"),
    "bad id": ([*GOOD[:5], {**GOOD[5], "id": [1]}], "answers.jsonl:6: id: must be text or a whole number"),
    "no query": ([*GOOD, {**GOOD[0], "id": "q9"}], "answers.jsonl: an answer is given for 'q9'"),
    "unanswered": (GOOD[:5], "answers.jsonl: an answer is missing for 'q6'"),
    "no scale": ([*GOOD[:5], {"id": "q6", "value": 3}], "either all answers state the scale"),
    "a late scale": ([{"id": "q6", "value": 3}, *GOOD[:5]], "either all answers state the scale"),
    "no scales": ([{"id": one["id"], "value": 3} for one in GOOD], "give the scale of the noise"),
    "exact and below 0": ([*GOOD[:5], {**GOOD[5], "scale": 0}], "an answer of scale 0 is exact"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_answers_are_told_in_one_line(name, run):
    """File, line and field; exit code 2."""
    given, message = BAD[name]
    code, out, err = run(given)
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ([{"value": 3}], "facts.jsonl:1: where: must be an object"),
        ([{"where": {"nonsense": 1}, "value": 3}], "facts.jsonl:1: where: "),
        ([{"where": {"native": 5}, "value": 3}], "facts.jsonl:1: where: "),
        ([{"where": {}, "value": -3}], "facts.jsonl:1: value: must be at least 0"),
        ([{"where": {}, "value": 3}, {"where": {}, "value": 4}], "facts.jsonl:2: where: the same fact"),
        ([{"where": {}, "value": 3}, {"where": {"native": "Y"}, "value": 4}], "no table was found that has all facts"),
        ([{"where": {"postcode": []}, "value": 3}], "a contradiction"),
    ],
)
def test_bad_facts_are_told_in_one_line(facts, message, run):
    """Also where no table has them."""
    code, out, err = run(lines(), facts=facts)
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


def test_bad_options(run):
    """As everywhere."""
    for options in (["--interval", "1"], ["--interval", "nan"], ["--noise", "uniform"], ["--time-limit", "0"]):
        code, _, err = run(lines(), *options)
        assert code == 2
        assert err.count("\n") == 1
