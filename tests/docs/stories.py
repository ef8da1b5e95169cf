"""Pages as stories: their blocks are run from the first to the last, in one directory.

Before a block a comment may say what it is: ``<!-- file: NAME -->``, a file that the reader writes, or
``<!-- not run: WHY -->``.  Beside these there are commands with what they print, and programs in Python.  What differs
from run to run is ``…``: within a line any text, and alone on a line any lines.
"""

from __future__ import annotations

import io
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

from parcomp.cli import main
from tests.docs.pages import Block, blocks

__all__ = ["assert_printed", "not_run", "run_console", "run_python", "run_story"]

_SECONDS = re.compile(r"\d+\.\d+ s\b")
_PROMPT = re.compile(r"^\w+ [ερμ] \S+> (.*)$")
_OWN_WORDS = re.compile(r"^parcomp: (?!note:)", re.MULTILINE)


def assert_printed(shown: str, expected: str, what: object) -> None:
    """Hold what was printed to what the page shows; seconds and the widths of columns are left aside."""
    pattern = ""
    for line in _lines(expected):
        if line.strip() == "…":
            pattern += r"(?:[^\n]*\n)*?"
        else:
            pattern += r"[^\n]*?".join(map(re.escape, line.split("…"))) + r"\n"
    text = "".join(f"{line}\n" for line in _lines(shown))
    assert re.fullmatch(pattern, text), f"{what}\nprints\n{text}\nand the page shows\n{expected}"


def _lines(text: str) -> list[str]:
    return [re.sub("   +", "  ", _SECONDS.sub("_ s", line.rstrip())) for line in text.rstrip().splitlines()]


def run_console(text: str) -> None:
    """Run the commands of a block, and compare what is shown of their output; an error that is shown must come."""
    for command, expected in _commands(text):
        lines = expected.splitlines()
        typed = [found[1] for line in lines if (found := _PROMPT.match(line))]
        printed = "\n".join(line for line in lines if not _PROMPT.match(line))
        shown, code = _run(command, "".join(f"{line}\n\n" for line in typed))
        assert (code in {2, 3}) if _OWN_WORDS.search(printed) else (code == 0), f"{command}\n{shown}"
        if printed.strip():
            assert_printed(shown, printed, command)


def _commands(text: str) -> Iterator[tuple[str, str]]:
    before, *parts = re.split(r"^\$ ", text, flags=re.MULTILINE)
    assert not before.strip(), f"a command begins with $: {before}"
    for part in parts:
        command, _, expected = re.sub(r"\\\n", " ", part).partition("\n")
        yield command, expected


def _run(command: str, typed: str) -> tuple[str, int]:
    """What a command prints, and its exit code."""
    words = shlex.split(command, comments=True)
    program = words[0].rpartition("/")[2]
    if program == "parcomp" and not set("|<>;") & set(re.sub(r'"[^"]*"|\'[^\']*\'', "", command.partition(" #")[0])):
        printed = io.StringIO()
        stdin, sys.stdin = sys.stdin, io.StringIO(typed)
        try:
            with redirect_stdout(printed), redirect_stderr(printed):
                code = main(words[1:])
        finally:
            sys.stdin = stdin
        return printed.getvalue(), code
    if any(word == "sqlite3" and shutil.which(word) is None for word in words):
        return "", 0
    # What is called parcomp in a line of a shell is the program of this tree.
    defined = f'parcomp() {{ {shlex.quote(sys.executable)} -m parcomp.cli "$@"; }}\n{command}'
    ended = subprocess.run(
        ["bash", "-c", defined], capture_output=True, text=True, check=False, timeout=120, env=os.environ
    )
    return ended.stdout + ended.stderr, ended.returncode


def run_python(text: str, names: dict[str, object] | None = None) -> None:
    """Run a program, after others that left ``names``; what is printed is what stands in comments behind the prints."""
    printed = io.StringIO()
    with redirect_stdout(printed):
        exec(compile(text, "a block of the documentation", "exec"), {} if names is None else names)
    expected = re.findall(r"^ *print\(.*\)  # (.+)$", text, re.MULTILINE)
    if expected:
        assert_printed(printed.getvalue(), "\n".join(expected), text)


def not_run(block: Block) -> str | None:
    """Why a block is not run, if it says so."""
    found = re.fullmatch(r"not run: (.+)", block.mark)
    return found[1] if found else None


def run_story(page: Path, directory: Path) -> None:
    """Run the blocks of a page in a directory, which is the current one."""
    names: dict[str, object] = {}
    for block in blocks(page):
        file = re.fullmatch(r"file: (\S+)", block.mark)
        if file:
            (directory / file[1]).write_text(block.text, encoding="utf-8")
        elif block.language == "console" and not block.mark:
            run_console(block.text)
        elif block.language == "python" and not block.mark:
            run_python(block.text, names)
        else:
            assert not_run(block), f"{block}: neither a file, nor commands, nor Python, nor a reason"
