"""``parcomp check``, ``init`` and ``load``, as a custodian uses them."""

from __future__ import annotations

import json
import os
import stat

import pytest

from parcomp.cli import main
from parcomp.custodian import Custodian
from tests.custodians import PEOPLE, write_custodian

DOMAIN = {
    "name": "people",
    "attributes": {
        "sex": {"values": ["F", "M"]},
        "age": {"low": 0, "high": 99},
        "smokes": {"values": [True, False]},
        "born": {"low": "1990-01-01", "high": "1999-12-31"},
    },
}
ROWS = [
    {"sex": "FM"[i % 2], "age": f"{i}.0", "smokes": i % 2, "born": f"199{i % 10}-0{i % 9 + 1}-11"} for i in range(100)
]
DIRTY = [
    {"sex": "NA", "age": "NA", "smokes": "yes", "born": "11.01.1990"},
    {"sex": "f", "age": "200", "smokes": "1", "born": ""},
    {"sex": "X", "age": "4.5", "smokes": "", "born": "2001-01-01"},
]


def run(capsys, *arguments):
    code = main(list(map(str, arguments)))
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_a_clean_table(tmp_path, capsys):
    settings = write_custodian(tmp_path, domain=DOMAIN, rows=ROWS, init=False)
    code, out, _ = run(capsys, "check", "-c", settings, "--json")
    assert code == 0
    report = json.loads(out)
    assert (report["rows"], report["inside"], report["outside"]) == (100, 100, 0)
    assert (report["persons"], report["rows_left_out"]) == (None, 0)
    assert all(set(counts.values()) == {0} for counts in report["attributes"].values())
    assert not (tmp_path / "custodian.codes").exists()
    assert run(capsys, "init", "-c", settings)[0] == 0
    mode = stat.S_IMODE(os.stat(tmp_path / "custodian.codes").st_mode)
    assert mode == 0o600


def test_a_dirty_table_is_shown_and_not_taken(tmp_path, capsys):
    """With the reasons, the suspected causes, and the words that it is for the custodian only."""
    settings = write_custodian(tmp_path, domain=DOMAIN, rows=[*ROWS, *DIRTY], init=False)
    code, out, _ = run(capsys, "check", "-c", settings, "--json")
    report = json.loads(out)
    assert (code, report["rows"], report["inside"]) == (0, 103, 100)
    assert report["attributes"] == {
        "sex": {"null": 0, "unknown": 3, "out_of_range": 0, "wrong_type": 0},
        "age": {"null": 0, "unknown": 0, "out_of_range": 1, "wrong_type": 2},
        "smokes": {"null": 1, "unknown": 0, "out_of_range": 0, "wrong_type": 1},
        "born": {"null": 1, "unknown": 0, "out_of_range": 1, "wrong_type": 1},
    }
    code, out, err = run(capsys, "init", "-c", settings)
    words = " ".join(out.split())
    assert code == 2
    assert "For the custodian only" in words
    assert "`NA` looks like a null token" in words
    assert "--accept" in err
    assert err.count("\n") == 1
    assert not any((tmp_path / name).exists() for name in ("custodian.codes", "ledger.db", "custodian.mark"))
    assert run(capsys, "init", "-c", settings, "--accept")[0] == 0
    with Custodian.open(settings) as custodian:
        assert custodian.ask("SELECT COUNT(*) FROM people", epsilon="0.9").value == pytest.approx(103, abs=40)


def test_values_between_two_steps_are_told_whatever_else_is_amiss(tmp_path, capsys):
    """By ``check`` and ``init``, with their number."""
    domain = {
        "name": "people",
        "attributes": {"kappa": {"low": "0", "high": "9", "step": "0.5"}, **PEOPLE["attributes"]},
    }
    rows = [
        {"kappa": f"{i % 9}.{i % 7}", "sex": "F", "age": 1 + 20 * (i < dirty)} for dirty in (0, 3) for i in range(70)
    ]
    for name, some in (("clean", rows[:70]), ("dirty", rows[70:])):
        settings = write_custodian(tmp_path / name, domain=domain, rows=some, init=False)
        for command in (["check"], ["init", "--accept"]):
            code, out, _ = run(capsys, *command, "-c", settings)
            words = " ".join(out.split())
            assert code == 0
            assert "kappa: 50 values lie between two steps of 0.5, and are taken to the nearest" in words
            assert ("every value is declared" in words) == (name == "clean")


def test_what_check_says_can_be_done(tmp_path, capsys):
    """Null tokens and nullable: then every row is inside but those that are odd for other reasons."""
    domain = json.loads(json.dumps(DOMAIN))
    for attribute in domain["attributes"].values():
        attribute["nullable"] = True
    settings = write_custodian(tmp_path, domain=domain, rows=[*ROWS, *DIRTY], init=False)
    settings.write_text(settings.read_text() + '\n[source]\nnulls = ["NA"]\n')
    report = json.loads(run(capsys, "check", "-c", settings, "--json")[1])
    assert report["attributes"]["sex"] == {"null": 0, "unknown": 2, "out_of_range": 0, "wrong_type": 0}
    assert report["attributes"]["smokes"]["null"] == 0


def test_an_analyst_sees_nothing_of_it(tmp_path, capsys):
    """Neither a quote nor an answer nor a refusal differs by what is outside."""
    said = []
    for number, more in enumerate(([], DIRTY)):
        settings = write_custodian(tmp_path / str(number), domain=DOMAIN, rows=[*ROWS, *more], init=False)
        assert run(capsys, "init", "-c", settings, "--accept")[0] == 0
        sql = "SELECT COUNT(*) FROM people WHERE sex = 'F'"
        said.append(
            [
                run(capsys, "quote", "-c", settings, sql, "--epsilon", "0.5", "--json"),
                run(capsys, "ask", "-c", settings, sql, "--epsilon", "1.5"),
                run(capsys, "ask", "-c", settings, "SELECT COUNT(*) FROM people WHERE sexx = 'F'", "--epsilon", "1"),
            ]
        )
    assert said[0] == said[1]


def test_loading_more_rows(tmp_path, capsys):
    """They are counted after the load, and an answer from before is of other rows."""
    settings = write_custodian(tmp_path, domain=DOMAIN, rows=ROWS, budget="100")
    ask = ("ask", "-c", settings, "SELECT COUNT(*) FROM people WHERE sex = 'F'", "--epsilon", "20", "--json")
    assert json.loads(run(capsys, *ask)[1])["value"] == 50
    with (tmp_path / "people.csv").open("a", newline="") as file:
        file.writelines("F,1,1,1990-01-01\r\n" for _ in range(7))
    assert json.loads(run(capsys, *ask)[1])["cached"]
    assert run(capsys, "load", "-c", settings)[0] == 0
    again = json.loads(run(capsys, *ask)[1])
    assert (again["value"], again["cached"], again["cost"]) == (57, False, 20)
    assert run(capsys, "load", "-c", settings)[0] == 0
    assert json.loads(run(capsys, *ask)[1])["cached"]
    changed = (tmp_path / "people.csv").read_bytes().replace(b"F,1,1", b"M,1,1")
    (tmp_path / "people.csv").write_bytes(changed)
    code, _, err = run(capsys, "load", "-c", settings)
    assert code == 2
    assert "7 are gone or have changed" in err
    assert json.loads(run(capsys, *ask)[1])["cached"]
    assert run(capsys, "ledger", "verify", "-c", settings)[0] == 0


def test_loading_under_an_extended_domain(tmp_path, capsys):
    """Only `load` takes it; every other command says so, and other changes are refused."""
    settings = write_custodian(tmp_path, domain=DOMAIN, rows=ROWS, budget="1")
    asked = "SELECT COUNT(*) FROM people WHERE born BETWEEN DATE '1990-01-01' AND DATE '1999-12-31'"
    assert run(capsys, "ask", "-c", settings, asked, "--epsilon", "1")[0] == 0
    wider = json.loads(json.dumps(DOMAIN))
    wider["attributes"]["born"]["high"] = "2009-12-31"
    (tmp_path / "domain.json").write_text(json.dumps(wider))
    with (tmp_path / "people.csv").open("a", newline="") as file:
        file.writelines("F,1,1,2005-01-01\r\n" for _ in range(9))
    code, _, err = run(capsys, "ask", "-c", settings, asked, "--epsilon", "1")
    assert code == 2
    assert "parcomp load" in err
    assert run(capsys, "load", "-c", settings)[0] == 0
    later = "SELECT COUNT(*) FROM people WHERE born >= DATE '2000-01-01'"
    assert run(capsys, "ask", "-c", settings, later, "--epsilon", "1")[0] == 0
    assert run(capsys, "ask", "-c", settings, "SELECT COUNT(*) FROM people", "--epsilon", "0.1")[0] == 3
    wider["attributes"]["sex"]["values"] = ["M", "F"]
    (tmp_path / "domain.json").write_text(json.dumps(wider))
    code, _, err = run(capsys, "load", "-c", settings)
    assert code == 2
    assert "sex" in err


def test_rows_of_a_person_are_bounded(tmp_path, capsys):
    """At most two of each, those without a person left out, and the guarantee says so."""
    rows = [{**ROWS[0], "who": who} for who in ["a"] * 5 + ["b"] * 2 + ["c", "", "NA"]]
    settings = write_custodian(tmp_path, domain=DOMAIN, rows=[], budget="100", rows_per_person=2, init=False)
    lines = ["sex,age,smokes,born,who", *(",".join(map(str, row.values())) for row in rows)]
    (tmp_path / "people.csv").write_text("\n".join(lines))
    text = settings.read_text().replace("rows_per_person = 2", 'rows_per_person = 2\nperson = "who"')
    settings.write_text(text + '\n[source]\nnulls = ["NA"]\n')
    report = json.loads(run(capsys, "check", "-c", settings, "--json")[1])
    assert (report["rows"], report["persons"], report["rows_left_out"]) == (10, 3, 5)
    code, _, told = run(capsys, "init", "-c", settings)
    assert code == 2
    assert "nothing was made: 5 of 10 rows would be left out: a person has more than 2 of them" in told
    assert not (tmp_path / "custodian.codes").exists()
    code, out, _ = run(capsys, "init", "-c", settings, "--accept")
    assert code == 0
    assert "all rows of one person" in " ".join(out.split())
    answer = run(capsys, "ask", "-c", settings, "SELECT COUNT(*) FROM people", "--epsilon", "40", "--json")
    assert json.loads(answer[1])["value"] == 5
    with (tmp_path / "people.csv").open("a") as file:
        file.write("\n" + ",".join(map(str, rows[0].values())))
    code, out, _ = run(capsys, "load", "-c", settings)
    assert code == 0, "that rows of a person are left out was accepted, and cannot be changed"
    assert "1 row was added, of which 0 are taken." in out


def test_all_that_is_amiss_is_said_at_once(tmp_path, capsys):
    settings = write_custodian(tmp_path, domain=DOMAIN, rows=[], budget="1", rows_per_person=1, init=False)
    lines = ["sex,age,smokes,born,who", *["X,1,1,1990-01-01,a"] * 9]
    (tmp_path / "people.csv").write_text("\n".join(lines))
    settings.write_text(settings.read_text().replace("rows_per_person = 1", 'rows_per_person = 1\nperson = "who"'))
    code, _, told = run(capsys, "init", "-c", settings)
    assert code == 2
    assert "values of sex are outside" in told
    assert "8 of 9 rows would be left out" in told


def test_a_source_behind_a_link_is_known_by_the_name_of_the_link(tmp_path, capsys):
    """So that the file behind it may be next month's."""
    settings = write_custodian(tmp_path, domain=DOMAIN, rows=ROWS, budget="1", init=False)
    first, second = tmp_path / "january.csv", tmp_path / "february.csv"
    (tmp_path / "people.csv").rename(first)
    second.write_text(first.read_text() + "F,1,1,1995-01-01\n")
    (tmp_path / "people.csv").symlink_to(first)
    assert run(capsys, "init", "-c", settings)[0] == 0
    (tmp_path / "people.csv").unlink()
    (tmp_path / "people.csv").symlink_to(second)
    assert run(capsys, "load", "-c", settings)[0] == 0
    assert run(capsys, "ask", "-c", settings, "SELECT COUNT(*) FROM people", "--epsilon", "0.1")[0] == 0


def test_the_lines_where_persons_have_several_rows(tmp_path, capsys):
    """What is taken of a person, and what a cost is against, stand where numbers and costs do."""
    settings = write_custodian(tmp_path, measure="zcdp", budget="100", rows_per_person=3, init=False)
    text = settings.read_text().replace("rows_per_person = 3", 'rows_per_person = 3\nperson = "who"')
    settings.write_text(text)
    rows = "".join(f"{sex},{age},{sex}{age % 7}\n" for sex in "FM" for age in range(10))
    (tmp_path / "people.csv").write_text(f"sex,age,who\n{rows}")
    assert main(["init", "-c", str(settings)]) == 0
    capsys.readouterr()
    taken = "at most 3 rows of each person were taken; numbers are about these"
    dearer = "for one row; a person may have 3, which cost 9 times that"
    for command, lines in (
        (["ask", "SELECT COUNT(*) FROM people", "--rho", "0.1"], [taken, f"charge 1, ρ = 0.1 {dearer}"]),
        (["quote", "SELECT COUNT(*) FROM people WHERE sex = 'F'", "--rho", "0.1"], [dearer]),
        (["domain", "show"], [taken]),
        (["budget"], [f"these amounts are for a person; a cost is {dearer}"]),
        (["quote", "SELECT AVG(age) FROM people", "--rho", "0.1"], ["ρ = 0.1 for one row", "ρ = 0.9 for a person to"]),
        (["ledger", "show"], [f"costs are {dearer}"]),
    ):
        assert main([*command, "-c", str(settings)]) == 0
        said = " ".join(capsys.readouterr().out.split())
        assert all(line in said for line in lines), said


def test_what_is_0_on_every_table_says_why(tmp_path, capsys):
    settings = write_custodian(tmp_path)
    asked = ["ask", "SELECT COUNT(*) FROM people WHERE age > 200", "-c", str(settings), "--epsilon", "0.1"]
    assert main([*asked, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["value"], answer["cost"], answer["charge"]) == (0, 0, None)
    assert answer["notes"][-1].startswith("no row that the domain declares satisfies the condition")
    assert main(asked) == 0
    assert "nothing was counted" in " ".join(capsys.readouterr().out.split())
