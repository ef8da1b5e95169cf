"""Other tools: the work is the same for all, and what they are run by tells what happened, also when it fails."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pytest

from parcomp.experiments import peer_baselines, peer_environments
from parcomp.experiments.peer_environments import PeerError, ask_tool, environment
from parcomp.experiments.peer_work import Ask, work_named
from parcomp.experiments.peers import PEERS
from parcomp.overlap import max_overlap


@pytest.fixture
def tools(monkeypatch, tmp_path):
    """A directory of programs and requirements in place of the real ones."""
    place = tmp_path / "tools"
    place.mkdir()
    monkeypatch.setattr(peer_environments, "_TOOLS", place)
    return place


def test_an_ask_as_a_statement():
    ask = Ask({"income": (0, 812), "race": (3, 3)}, "gender")
    wanted = "SELECT gender, COUNT(*) AS n FROM census WHERE income BETWEEN 0 AND 812 AND race = 3 GROUP BY gender"
    assert ask.sql("census") == wanted
    assert Ask({}).sql("census") == "SELECT COUNT(*) AS n FROM census"


@pytest.mark.parametrize("name", ["census", "hospital"])
def test_the_truth_is_counted_row_by_row(name):
    work = work_named(name, 60, 300, 1)
    rows = list(zip(*(work.columns[column].tolist() for column in work.sizes), strict=True))
    names = list(work.sizes)
    for ask, true in zip(work.asks, work.truth(), strict=True):
        inside = [
            row
            for row in (dict(zip(names, row, strict=True)) for row in rows)
            if all(low <= row[column] <= high for column, (low, high) in ask.where.items())
        ]
        if ask.by:
            assert true == [sum(row[ask.by] == value for row in inside) for value in range(work.sizes[ask.by])]
        else:
            assert true == [len(inside)]
    for column, codes in work.columns.items():
        assert 0 <= codes.min() <= codes.max() < work.sizes[column]


def test_what_is_answered_one_by_one_never_overlaps_beyond_the_budget():
    work = work_named("census", 120, 500, 3)
    for ask in (peer_baselines.enumeration, peer_baselines.parcomp_online):
        answered = [number for number, answer in enumerate(ask(work, 1.0, 0.25)) if answer is not None]
        assert max_overlap(work.workload[answered]).upper == 4
        assert len(answered) > 20


def test_noise_has_the_scale_that_is_paid_for():
    """The mean of |noise| over 1,500 numbers, whose deviation is 2.6 % of it."""
    work = work_named("hospital", 100, 2_000, 0)
    truth = work.truth()
    answers = peer_baselines.sequential(work, 1.0, 0.01)
    off = [abs(a - b) for answer, true in zip(answers, truth, strict=True) for a, b in zip(answer, true, strict=True)]
    assert len(off) > 1_500
    assert np.mean(off) == pytest.approx(100, rel=0.13)


def test_a_tool_that_cannot_be_installed_says_so(tools, tmp_path):
    (tools / "nothing.txt").write_text("parcomp-has-no-such-package==1.2.3\n")
    with pytest.raises(PeerError, match=r"^not installed: .*parcomp-has-no-such-package"):
        environment("nothing", tmp_path)


def test_an_environment_is_made_once_in_the_users_cache(tools, tmp_path, monkeypatch):
    """And nothing is left in the current directory by those who make it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tools / "empty.txt").write_text("")
    python = environment("empty")
    assert python == tmp_path / "cache" / "parcomp" / "peers" / "empty" / "bin" / "python"
    made = python.lstat().st_ctime_ns
    assert environment("empty") == python
    assert python.lstat().st_ctime_ns == made
    assert {path.name for path in tmp_path.iterdir()} == {"cache", "tools"}


def test_a_tool_is_asked_and_its_processes_are_metered(tools):
    (tools / "ask_echo.py").write_text(
        "import json, subprocess, sys, time\n"
        "held = bytearray(60 << 20)\n"
        "code = 'import time; b = bytearray(60 << 20)\\nwhile time.process_time() < 0.8: pass'\n"
        "subprocess.run([sys.executable, '-c', code], check=True)\n"
        "print('other words')\n"
        "print(json.dumps({'version': '1', 'answers': json.load(sys.stdin)['asks']}))\n"
    )
    told = ask_tool(Path(sys.executable), "echo", {"asks": [[1.0], None]}, 60.0)
    assert told.told == {"version": "1", "answers": [[1.0], None]}
    assert 0.4 < told.seconds < 10
    assert told.memory > 120 << 20


@pytest.mark.parametrize(
    ("program", "told"),
    [
        ("raise ValueError('no such column')", r"^failed: ValueError: no such column$"),
        ("import time; time.sleep(60)", r"^not finished within 1 s$"),
    ],
)
def test_a_tool_that_fails_says_why(tools, program, told):
    (tools / "ask_bad.py").write_text(program)
    with pytest.raises(PeerError, match=told):
        ask_tool(Path(sys.executable), "bad", {}, 1.0)


LITTER = """
import json, os, subprocess, sys, tempfile
from pathlib import Path
Path("spark-warehouse").mkdir()
Path("spark-warehouse/table").write_text("x")
Path("~/.tool").expanduser().write_text("x")
for name in ("PWD", "XDG_CACHE_HOME"):
    Path(os.environ[name], "of-" + name).write_text("x")
tempfile.mkstemp(prefix="parcomp-litter-")
subprocess.run(["sh", "-c", 'echo x > "$PWD/of-the-shell"; echo x > "$HOME/of-the-shell-at-home"'], check=True)
if json.load(sys.stdin)["fails"]:
    raise ValueError("after all that")
print(json.dumps({"here": os.getcwd(), "left": "OLDPWD" in os.environ}))
"""


def listed(*places):
    return [sorted(path.name for path in place.rglob("*")) for place in places]


@pytest.mark.parametrize("fails", [False, True])
def test_what_a_tool_writes_is_gone_with_it(tools, tmp_path, monkeypatch, fails):
    """It goes neither to the current directory nor to the home or the temporary one, whether the tool fails or not."""
    here, home, temporary = (tmp_path / name for name in ("here", "home", "temporary"))
    for place in (here, home, temporary):
        place.mkdir()
    monkeypatch.chdir(here)
    for name in ("HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(home))
    monkeypatch.setenv("PWD", str(here))
    monkeypatch.setenv("OLDPWD", str(here))
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    (tools / "ask_litter.py").write_text(LITTER)
    if fails:
        with pytest.raises(PeerError, match="after all that"):
            ask_tool(Path(sys.executable), "litter", {"fails": True}, 60.0)
    else:
        told = ask_tool(Path(sys.executable), "litter", {"fails": False}, 60.0).told
        assert Path(told["here"]).parent == temporary
        assert not Path(told["here"]).exists()
        assert not told["left"]
    assert listed(here, home, temporary) == [[], [], []]


def test_nothing_but_the_asking_of_tools_starts_programs():
    """So what holds there holds for all tools."""
    starting = re.compile(r"\b(subprocess|os\.(system|popen|spawn\w*|exec\w*|posix_spawn))\b")
    place = Path(peer_environments.__file__).parent
    found = [place / "peers.py", place / "peer_work.py", place / "peer_baselines.py", *Path("benchmarks").glob("*.py")]
    at_peers = [path for path in found if "peer_environments" in path.read_text() or path.parent == place]
    assert len(at_peers) >= 5
    for path in at_peers:
        assert not starting.search(path.read_text()), path


def test_each_tool_has_a_program_and_exact_versions():
    place = Path(peer_environments.__file__).parent / "peer_tools"
    for name in {one.tool.partition("-")[0] for one in PEERS.instances(False)} - {
        "sequential",
        "enumeration",
        "parcomp",
    }:
        assert (place / f"ask_{name}.py").exists()
        lines = (place / f"{name}.txt").read_text().splitlines()
        assert lines
        assert all(len(line.split("==")) == 2 for line in lines)
