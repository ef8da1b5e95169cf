"""``parcomp estimate``: answers in, estimates out, and bad files in one line."""

from __future__ import annotations

import json

import pytest

from parcomp.cli.app import main
from parcomp.custodian import Custodian, retrospect
from parcomp.estimation import Estimate, estimate
from parcomp.samples import paper_example
from tests.custodians import write_custodian

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
    code, out, _ = run(lines(), "--noise", "gaussian")
    assert code == 0
    for text in ("estimates of 6 queries, gaussian noise", "proven", "guaranteed", "q6", "95 % interval"):
        assert text in out


BATCH = [
    {
        "charge": 3,
        "value": value,
        "interval": [0, 9],
        "cost": 0.5,
        "expected_error": 1.9,
        "cached": False,
        "names": [],
        "measure": "pure",
    }
    for value in ANSWERS
]


def test_what_a_custodian_prints_is_read_as_it_is(run):
    """Lines of ``batch --json``: no ids, an expected error in place of a scale, and more that is of no use."""
    code, out, _ = run(BATCH, "--json")
    found = list(map(json.loads, out.splitlines()))
    assert code == 0
    assert [line["id"] for line in found] == [f"q{i}" for i in range(1, 7)]
    assert [line["raw"] for line in found] == ANSWERS
    # E|Y| = 1/sinh(1/b) is 1.9 at b = 2; half-widths are those of Laplace noise, as the measure says.
    assert found[0]["raw_high"] == 3 + 6
    assert run([{**line, "id": f"q{i}"} for i, line in enumerate(BATCH, 1)], "--json")[1] == out
    assert run(BATCH, "--noise", "laplace", "--json")[1] == out


@pytest.mark.parametrize(
    ("measure", "cost", "noise"), [("pure", "--epsilon", "laplace"), ("zcdp", "--rho", "gaussian")]
)
def test_a_batch_of_a_custodian_is_estimated_from(tmp_path, capsys, measure, cost, noise):
    """The file that ``batch --json`` printed, with the statements that it asked: nothing to be said beside it."""
    settings, file, answers = write_custodian(tmp_path, measure=measure), tmp_path / "asked.sql", tmp_path / "a.jsonl"
    file.write_text("-- all, and women\nSELECT COUNT(*)\nFROM people;\nSELECT COUNT(*) FROM people WHERE sex = 'F';\n")
    assert main(["batch", "-c", str(settings), str(file), cost, "0.4", "--json"]) == 0
    answers.write_text(capsys.readouterr().out)
    printed = [json.loads(line) for line in answers.read_text().splitlines()]
    asked = ["estimate", "--domain", str(tmp_path / "domain.json"), str(file), str(answers)]
    assert main(asked) == 0
    out = capsys.readouterr().out
    assert f"2 queries, {noise} noise" in out
    assert "95 %, guaranteed" in out
    assert main([*asked, "--json"]) == 0
    for line, one in zip(map(json.loads, capsys.readouterr().out.splitlines()), printed, strict=True):
        assert line["raw"] == one["value"]
        # The custodian's interval is exact, and this one no narrower.
        assert line["raw_low"] <= one["interval"][0]
        assert line["raw_low"] > one["interval"][0] - 2


@pytest.mark.parametrize(("measure", "noise"), [("pure", "laplace"), ("zcdp", "gaussian"), ("gdp", "gaussian")])
def test_the_measure_says_which_noise_it_is(run, measure, noise):
    """And then raw intervals are guaranteed; a name that contradicts it is an error."""
    given = [{**line, "measure": measure} for line in BATCH]
    code, out, _ = run(given)
    assert code == 0
    assert f"6 queries, {noise} noise" in out
    assert "95 %, guaranteed" in out
    other = "gaussian" if noise == "laplace" else "laplace"
    code, _, err = run(given, "--noise", other)
    assert code == 2
    assert f"answers.jsonl:1: measure: answers of {measure} have {noise} noise, not {other}; leave out --noise" in err


def test_without_a_word_of_the_noise_nothing_is_guaranteed(run):
    """A guarantee that rests on an assumption names it; who says what the noise is has the guarantee."""
    unsaid = [{name: value for name, value in line.items() if name != "measure"} for line in BATCH]
    _, out, _ = run(unsaid)
    assert "noise taken to be gaussian, as nothing says what it is (--noise)" in " ".join(out.split())
    assert "only the raw one is guaranteed, if the noise is Gaussian" in " ".join(out.split())
    assert "95 %, guaranteed" not in out
    _, out, _ = run(unsaid, "--noise", "gaussian")
    assert "95 %, guaranteed" in out


def test_answers_without_ids_belong_to_the_queries_in_the_same_place(tmp_path, capsys, paper):
    """Whatever the ids are: those of an SQL file are lines, and it may begin with a comment."""
    file, answers = tmp_path / "counts.sql", tmp_path / "answers.jsonl"
    counts = "-- the counts\nSELECT COUNT(*) FROM paper\nWHERE postcode = 'A';\nSELECT COUNT(*) FROM paper;\n"
    file.write_text(counts)

    def run(lines):
        answers.write_text("\n".join(map(json.dumps, lines)))
        code = main(["estimate", "--domain", str(tmp_path / "domain.json"), str(file), str(answers), "--json"])
        shown = capsys.readouterr()
        return code, shown.out, shown.err

    code, out, _ = run(BATCH[:2])
    assert code == 0
    assert [(line["id"], line["raw"]) for line in map(json.loads, out.splitlines())] == [(2, 3), (4, 9)]
    code, _, err = run(BATCH[:3])
    assert code == 2
    assert "3 answers without an id stand for 2 queries; have one for each query, in their order, or give" in err
    for more, told in (
        ("SELECT postcode, COUNT(*) FROM paper GROUP BY postcode;", "counts.sql:5: estimates are of single counts"),
        ("SELECT COUNT(DISTINCT postcode) FROM paper;", "counts.sql:5: estimates are of single counts"),
        (
            "SELECT COUNT(*) FROM paper WHERE postcode = 'A' OR native = 'Y';",
            "counts.sql:5: estimates are of counts that one predicate for each attribute describes",
        ),
    ):
        file.write_text(counts + more)
        code, _, err = run(BATCH[:3])
        assert code == 2
        assert told in err


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
    "too large": (
        [*GOOD[:5], '{"id": "q6", "value": 1e999, "scale": 1}'],
        "value: must be between -1e15 and 1e15, not 1E+999",
    ),
    "huge": ([*GOOD[:5], {**GOOD[5], "value": -1e308}], "answers.jsonl:6: value: must be between -1e15 and 1e15"),
    "huge scale": ([*GOOD[:5], {**GOOD[5], "scale": 1e16}], "answers.jsonl:6: scale: must be between -1e15 and 1e15"),
    "exact and impossible": ([{**one, "scale": 0, "value": n} for n, one in enumerate(GOOD)], "no table has all of"),
    "many digits": ([*GOOD[:5], f'{{"id": "q6", "value": {"9" * 400}, "scale": 1}}'], "value: must be between"),
    "long": ([*GOOD[:5], f'{{"id": "q6", "value": {"9" * 5000}, "scale": 1}}'], "value: "),
    "negative scale": ([*GOOD[:5], {**GOOD[5], "scale": -1}], "answers.jsonl:6: scale: must be at least 0"),
    "twice": ([*GOOD, GOOD[0]], "answers.jsonl:7: id: 'q1' was answered before"),
    "bad id": ([*GOOD[:5], {**GOOD[5], "id": [1]}], "answers.jsonl:6: id: must be text or a whole number"),
    "mixed": ([*BATCH[:5], {**BATCH[5], "measure": "gdp"}], "answers.jsonl:6: measure: all answers are of one measure"),
    "unsaid": ([*GOOD[:5], {**GOOD[5], "measure": "gdp"}], "answers.jsonl:6: measure: all answers are of one measure"),
    "no measure": ([{**GOOD[0], "measure": "rdp"}], "measure: must be pure, zcdp, gdp, not 'rdp'"),
    "groups": ([*BATCH[:5], {"groups": []}], "answers.jsonl:6: groups: an answer with GROUP BY has a number for each"),
    "several": ([*BATCH[:5], {"columns": []}], "answers.jsonl:6: columns: an answer with several numbers is no count"),
    "too many": ([*GOOD, {"value": 3, "scale": 1}], "answers.jsonl:7: has no id, and is answer 7 where there are 6"),
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
        ([{"where": {}, "value": 3}, {"where": {"native": "Y"}, "value": 4}], "facts.jsonl:"),
        ([{"where": {}, "value": 3}, {"where": {"postcode": []}, "value": 3}], "facts.jsonl:2: no row satisfies"),
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


def test_all_that_a_custodian_says_beside_a_count_is_passed_over(tmp_path, capsys, monkeypatch):
    """What `batch --json` really prints, also of a rehearsal, where a person may have several rows."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("who,sex\n" + "".join(f"{i},{'FM'[i % 2]}\n" for i in range(40)))
    domain = {"name": "t", "attributes": {"sex": {"values": ["F", "M"]}}}
    (tmp_path / "domain.json").write_text(json.dumps(domain))
    (tmp_path / "custodian.toml").write_text(
        '[dataset]\nname = "t"\nversion = "1"\nsource = "t.csv"\ndomain = "domain.json"\n'
        '[privacy]\nmeasure = "zcdp"\nbudget = "1"\nperson = "who"\nrows_per_person = 2\n'
        '[ledger]\nurl = "sqlite:///ledger.db"\n'
    )
    (tmp_path / "asked.sql").write_text(
        "SELECT COUNT(*) FROM t;\nSELECT COUNT(*) FROM t WHERE sex = 'F';\nSELECT COUNT(*) FROM t WHERE sex = 'M';\n"
    )
    assert main(["init", "-c", "custodian.toml", "--accept"]) == 0
    for extra in ([], ["--dummy"]):
        capsys.readouterr()
        assert main(["batch", "-c", "custodian.toml", "asked.sql", "--rho", "0.01", "--json", *extra]) == 0
        (tmp_path / "answers.jsonl").write_text(capsys.readouterr().out)
        assert main(["estimate", "--domain", "domain.json", "asked.sql", "answers.jsonl", "--json"]) == 0
        estimates = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        assert estimates[0]["value"] == pytest.approx(estimates[1]["value"] + estimates[2]["value"], abs=1e-3)


@pytest.mark.parametrize("value", [12, 1_000_000])
def test_a_fact_of_another_table_is_told(value, run, paper):
    """What is proven is proven if the facts are true, and noise does not explain a million."""
    found = estimate(paper, ANSWERS, 2.0, facts={paper.domain.query(): value})
    code, out, err = run(lines(), facts=[{"where": {}, "value": value}])
    assert code == 0
    assert "proven, if the facts are true" in " ".join(out.split())
    assert bool(found.doubts) == (value > 12) == ("in doubt" in repr(found))
    assert ("are these facts of this table?" in err) == (value > 12)
    assert "proven, if" not in run(lines())[1]


def test_a_fact_that_is_far_from_its_own_answer_is_named(bought, tmp_path, capsys):
    """By how much, with the answer; JSON stays a line for each count."""
    with Custodian.open(bought[2]) as custodian:
        [everyone, women, *_] = custodian.estimates(analyst="anna")
    (tmp_path / "facts.jsonl").write_text(f'{{"where": {{"sex": "F"}}, "value": {women.raw + 500}}}')
    assert main([*bought, "--facts", str(tmp_path / "facts.jsonl"), "--json"]) == 0
    shown = capsys.readouterr()
    assert len(shown.out.splitlines()) == 4
    notes = [json.loads(line)["note"] for line in shown.err.splitlines()]
    assert "for the count where sex = F is" in notes[0]
    assert f"the answer {women.raw}" in notes[0]
    (tmp_path / "facts.jsonl").write_text(f'{{"where": {{}}, "value": {max(0, everyone.raw)}}}')
    assert main([*bought, "--facts", str(tmp_path / "facts.jsonl")]) == 0
    assert capsys.readouterr().err == ""


def test_when_the_time_is_up_it_is_said_and_facts_are_kept_to(bought, tmp_path, capsys):
    """In the text, and beside JSON as notes."""
    with Custodian.open(bought[2]) as custodian:
        count = max(custodian.estimates(analyst="anna")[0].raw, 0) + 1
    (tmp_path / "facts.jsonl").write_text(f'{{"where": {{}}, "value": {count}}}')
    late = [*bought, "--facts", str(tmp_path / "facts.jsonl"), "--time-limit", "1e-9"]
    assert main([*late, "--json"]) == 0
    shown = capsys.readouterr()
    first, *others = [json.loads(line) for line in shown.out.splitlines()]
    assert (first["value"], first["low"], first["high"], first["method"]) == (count, count, count, "fact")
    assert {line["method"] for line in others} == {"partial projection"}
    [up, missed] = [json.loads(line)["note"] for line in shown.err.splitlines()]
    kept = sum(line["value"] == line["raw"] for line in [first, *others])
    assert up.startswith(f"time was up: {kept} of 4 counts are as they were released; try a longer time limit")
    assert missed.startswith("facts were not reached within the time for the other counts")
    assert main(late) == 0
    told = capsys.readouterr()
    assert up in told.out
    assert missed in told.out
    assert told.err == ""
    assert main([*bought]) == 0
    assert "time was up" not in capsys.readouterr().out


@pytest.fixture
def bought(tmp_path):
    """A custodian of whom anna has bought four counts and ben one; the options that name it."""
    path = write_custodian(tmp_path / "bought", budget="9", complete=["sex"], quotas={"anna": "5", "ben": "5"})
    with Custodian.open(path) as custodian:
        custodian.ask("SELECT COUNT(*) FROM people", epsilon="1", analyst="anna")
        custodian.ask("SELECT sex, COUNT(*) FROM people GROUP BY sex", epsilon="0.5", analyst="anna")
        custodian.ask("SELECT COUNT(*) FROM people WHERE age < 5", epsilon="0.5", analyst="anna")
        custodian.ask("SELECT COUNT(*) FROM people WHERE age = 1", epsilon="0.5", analyst="ben")
    return ["estimate", "-c", str(path), "--as", "anna"]


def test_all_that_was_paid_for_is_estimated_from(bought, tmp_path, capsys):
    """A line for each count, the same as from Python, and a table for people."""
    assert main([*bought, "--json"]) == 0
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    with Custodian.open(bought[2]) as custodian:
        assert found == custodian.estimates(analyst="anna").as_json()
        assert len(custodian.charges()) == 4
    assert [line["id"] for line in found] == ["1", "2.1", "2.2", "3"]
    assert found[1]["where"] == {"sex": "F"}
    assert found[0]["value"] == pytest.approx(found[1]["value"] + found[2]["value"], abs=1e-3)
    assert main([*bought, "--interval", "0.5"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    for words in (
        "estimates of 4 counts",
        "about 50 %",
        "2.2 count where sex = M",
        "3 count where age 0 to 4",
        "1 count of every row",
        "proven",
        "50 %, guaranteed",
    ):
        assert words in told
    (tmp_path / "facts.jsonl").write_text('{"where": {}, "value": 90}')
    assert main([*bought, "--facts", str(tmp_path / "facts.jsonl"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[0])["value"] == pytest.approx(90, abs=0.1)
    assert main([*bought[:3], "--as", "carl"]) == 2
    assert "unknown analyst" in capsys.readouterr().err


def test_nothing_and_much_that_was_paid_for(tmp_path, capsys, monkeypatch):
    """Without counts there is nothing to list; of many the latest are shown, and what was left out is told."""
    path = write_custodian(tmp_path / "none", budget="9")
    assert main(["estimate", "-c", str(path)]) == 0
    assert "estimates of 0 counts" in capsys.readouterr().out
    assert main(["estimate", "-c", str(path), "--json"]) == 0
    assert capsys.readouterr().out == ""
    with Custodian.open(path) as custodian:
        custodian.ask("SELECT COUNT(*) FROM people GROUP BY age, sex", epsilon="1")
        for age in range(9):
            custodian.ask(f"SELECT COUNT(*) FROM people WHERE age <= {age}", epsilon="0.5")
    assert main(["estimate", "-c", str(path)]) == 0
    assert "9 earlier ones (parcomp estimate --all lists them)" in capsys.readouterr().out
    assert main(["estimate", "-c", str(path), "--all"]) == 0
    told = capsys.readouterr().out
    assert "earlier" not in told
    assert "1.1 " in told
    # In the words of a batch and of the ledger, so that it can be joined with them.
    assert main(["ledger", "show", "-c", str(path)]) == 0
    assert "count where age 0 to 3" in capsys.readouterr().out
    assert "count where age 0 to 3 " in told
    assert "count where age = 9 and sex = M" in told
    monkeypatch.setattr(retrospect, "_MOST", 15)
    assert main(["estimate", "-c", str(path)]) == 0
    assert "1 charge, as there are too many counts" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--noise", "laplace"], "leave out"),
        (["--outside"], "leave out"),
        (["--domain", "domain.json"], "leave out"),
        (["workload.jsonl"], "leave out"),
        (["--server", "http://127.0.0.1:1"], "or a server with --server"),
        (["--interval", "1"], "between 0 and 0.999999"),
        (["--facts", "facts.jsonl"], "do the facts contradict"),
    ],
)
def test_what_does_not_go_with_a_custodian(bought, tmp_path, monkeypatch, capsys, more, words):
    monkeypatch.chdir(tmp_path)
    lines = [{"where": {}, "value": 3}, {"where": {"sex": "F"}, "value": 9}]
    (tmp_path / "facts.jsonl").write_text("\n".join(map(json.dumps, lines)))
    assert main([*bought, *more]) == 2
    assert words in capsys.readouterr().err


@pytest.mark.parametrize("given", [[], ["a.jsonl"], ["a.jsonl", "b.jsonl"], ["--domain", "a.json"], ["--as", "anna"]])
def test_what_is_estimated_from_must_be_named(given, capsys):
    assert main(["estimate", *given]) == 2
    assert "-c CUSTODIAN.toml" in capsys.readouterr().err
