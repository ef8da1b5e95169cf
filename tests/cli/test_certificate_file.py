"""``overlap --certificate``: the bracket is told whatever becomes of its proof, and the file is whole or not there."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys

import pytest

import parcomp as pc
from parcomp.certificate import load_certificate
from parcomp.cli import main, whole_file
from parcomp.cli.whole_file import check_writable, write_whole
from parcomp.experiments.workloads import dense_subsets
from parcomp.overlap import certify
from tests.cli.terminal import Terminal

INTERRUPTED = """
import os, signal, sys, time
from parcomp.cli import app, interrupts
from parcomp.overlap import engine, units

interrupts._AGAIN_SECONDS = 0.3
moments, slices = sys.argv.pop(1).split(), 0
advance, prove, replace = engine.Engine.advance, units.certificate, os.replace

def at(moment):
    if moment in moments:
        os.kill(os.getpid(), signal.SIGINT)

def searching(self, most):
    global slices
    slices += 1
    if slices == 4:
        at("search")
    return advance(self, most)

def proving(compilation, bracket, most_numbers, deadline):
    if deadline > 0:
        at("proof")
        # Longer than until an interrupt that is not heeded is raised again.
        for _ in range(20):
            time.sleep(0.05)
    return prove(compilation, bracket, most_numbers, deadline)

def replacing(*arguments):
    at("writing")
    replace(*arguments)

engine.Engine.advance, units.certificate, os.replace = searching, proving, replacing
sys.exit(app.main())
"""


@pytest.fixture
def hard(tmp_path):
    """A workload that is not solved within a few slices, and the arguments to ask for its certificate."""
    workload = dense_subsets(200, 12, seed=2)
    workload.domain.save(tmp_path / "hard.json")
    workload.save(tmp_path / "hard.jsonl")
    files = ["--domain", str(tmp_path / "hard.json"), str(tmp_path / "hard.jsonl")]
    return ["overlap", *files, "--certificate", str(tmp_path / "hard.cert")]


def interrupted(moments, arguments):
    # Whatever is started in the background of a shell ignores Ctrl-C, and so would the command.
    command = ["env", "--default-signal=INT", sys.executable, "-c", INTERRUPTED, moments, *arguments]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert "Traceback" not in ended.stderr
    assert "maximum overlap  between" in ended.stdout
    return ended


def test_ctrl_c_in_the_search_leaves_the_bracket_and_its_certificate(hard, tmp_path):
    ended = interrupted("search", hard)
    assert ended.returncode == 0
    assert "before the search was ended" in " ".join(ended.stdout.split())
    certificate = load_certificate(tmp_path / "hard.cert")
    assert certificate["lower"] < certificate["upper"]
    assert "interrupted" not in ended.stderr
    assert "Ctrl-C" not in ended.stderr
    assert not list(tmp_path.glob(".*"))


def test_ctrl_c_in_the_proof_ends_that_alone(hard, tmp_path):
    """Whether or not one ended the search before."""
    (tmp_path / "hard.cert").write_text("old")
    for moments, limit in (("search proof", "60"), ("proof", "0.01")):
        ended = interrupted(moments, [*hard, "--time-limit", limit])
        assert ended.returncode == 0
        assert load_certificate(tmp_path / "hard.cert")["proof"] == [{"search": True}]
        assert ended.stderr.startswith("parcomp: note: the certificate has no proof of the upper end, and parcomp ver")
        assert "Ctrl-C ended the search for it" in ended.stderr


def test_ctrl_c_in_writing_leaves_the_old_file(hard, tmp_path):
    (tmp_path / "hard.cert").write_text("old")
    ended = interrupted("search writing", hard)
    assert (ended.returncode, ended.stderr) == (130, "parcomp: interrupted; nothing was charged\n")
    assert (tmp_path / "hard.cert").read_text() == "old"
    assert not list(tmp_path.glob(".*"))


def test_a_terminal_shows_that_a_proof_is_written(hard, tmp_path):
    terminal = Terminal(["search", *hard], tmp_path, program=("-c", INTERRUPTED))
    terminal.wait_for("writing the proof, for at most 120 s")
    assert terminal.wait_for_end() == 0
    assert "maximum overlap  between" in terminal.shown


@pytest.mark.parametrize("as_json", [False, True])
def test_a_certificate_without_a_proof_is_noted(paper, tmp_path, capsys, monkeypatch, as_json):
    monkeypatch.setattr(certify, "NUMBER_LIMIT", 1)
    arguments = ["overlap", "--domain", str(paper / "domain.json"), str(paper / "six.jsonl")]
    assert main([*arguments, "--certificate", str(tmp_path / "x"), *["--json"] * as_json]) == 0
    note = capsys.readouterr().err
    told = json.loads(note)["note"] if as_json else note.removeprefix("parcomp: note: ").rstrip()
    assert told == (
        "the certificate has no proof of the upper end, and parcomp verify will refuse it; "
        "privacy can be charged by the bracket all the same"
    )
    assert main(["verify", *arguments[1:], str(tmp_path / "x")]) == 2


def test_a_proof_whose_time_is_up_says_what_gives_it_more(paper, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("parcomp.cli.overlap._PROOF_SECONDS", -60.0)
    arguments = ["overlap", "--domain", str(paper / "domain.json"), str(paper / "six.jsonl")]
    assert main([*arguments, "--certificate", str(tmp_path / "x")]) == 0
    assert "it was not finished within 0 s; a longer --time-limit gives it more, too" in capsys.readouterr().err


def test_a_file_is_written_whole_or_stays(tmp_path, monkeypatch):
    """A link stays a link, and who may read the file may read the new one."""
    kept, link = tmp_path / "kept", tmp_path / "link"
    kept.write_text("old")
    kept.chmod(0o640)
    link.symlink_to(kept)
    check_writable(link)
    assert kept.read_text() == "old"
    write_whole(link, "new")
    assert (kept.read_text(), link.is_symlink(), stat.S_IMODE(kept.stat().st_mode)) == ("new", True, 0o640)

    def full(*_arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(whole_file.os, "replace", full)
    with pytest.raises(OSError, match=r"No space left on device: .*kept"):
        write_whole(kept, "newer")
    assert (kept.read_text(), sorted(tmp_path.iterdir())) == ("new", [kept, link])


def test_a_device_is_not_replaced():
    before = os.stat(os.devnull)
    check_writable(whole_file.Path(os.devnull))
    write_whole(whole_file.Path(os.devnull), "new")
    assert os.stat(os.devnull).st_ino == before.st_ino


def test_a_file_that_cannot_be_written_is_named(paper, tmp_path, capsys):
    missing = tmp_path / "missing" / "x.cert"
    arguments = ["overlap", "--domain", str(paper / "domain.json"), str(paper / "six.jsonl")]
    assert main([*arguments, "--certificate", str(missing)]) == 2
    shown = capsys.readouterr()
    assert (shown.out, str(missing) in shown.err, shown.err.count("\n")) == ("", True, 1)


def test_verify_counts_one_case(tmp_path, capsys):
    domain = pc.Domain({"sex": pc.Categorical(["F", "M"])})
    domain.save(tmp_path / "domain.json")
    pc.Workload(domain, [domain.query()]).save(tmp_path / "one.jsonl")
    files = ["--domain", str(tmp_path / "domain.json"), str(tmp_path / "one.jsonl")]
    certificate = str(tmp_path / "one.cert")
    assert main(["overlap", *files, "--certificate", certificate]) == 0
    assert "1  for 1 query" in capsys.readouterr().out
    document = load_certificate(tmp_path / "one.cert")
    (tmp_path / "one.cert").write_text(json.dumps({**document, "proof": [{"cover": []}], "multipliers": []}))
    assert main(["verify", *files, certificate]) == 0
    assert capsys.readouterr().out == "proven: the maximum overlap is 1 (1 case checked)\n"
