"""The page of commands says what the commands are: each of them, every option and default, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
import typer

from parcomp.cli.app import app, main
from tests.docs.pages import DOCS, PAGES, blocks, inline_code, prose, sections

CLI_PAGE = DOCS / "cli.md"
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*|(?<![\w-])-[a-z]\b")
EVERYWHERE = {"--help", "-h", "--version"}
"""Options of every command, which are described once."""


def walk(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    """A command and those below it, by what is typed to call them; groups that only hold commands are left out."""
    below = getattr(command, "commands", {})
    if not below or name == "parcomp":
        yield name, command
    for word, one in below.items():
        yield from walk(one, f"{name} {word}")


COMMANDS = dict(walk(typer.main.get_command(app), "parcomp"))


def options_of(command: Any) -> dict[str, Any]:
    """The options of a command by every name they have, long and short."""
    return {
        name: parameter
        for parameter in command.params
        if parameter.param_type_name == "option"
        for name in (*parameter.opts, *parameter.secondary_opts)
    }


def table_of(section: str) -> dict[str, str]:
    """The options that a section's table lists, with the default beside each."""
    rows = [re.split(r"(?<!\\)\|", line)[1:-1] for line in section.splitlines() if line.startswith("| `-")]
    return {name: default.strip() for cell, default, _ in rows for name in OPTION.findall(" ".join(inline_code(cell)))}


def test_every_command_is_documented(capsys):
    """None is added without its place on the page and in the help, and none stays on the page that is gone."""
    page = sections(CLI_PAGE)
    assert {title for title in page if title.startswith("parcomp")} == set(COMMANDS)
    listed = {code for line in prose(CLI_PAGE).splitlines() if line.startswith("| [`") for code in inline_code(line)}
    assert listed == {name.removeprefix("parcomp ") for name in COMMANDS if name != "parcomp"}
    assert main(["--help"]) == 0
    assert {name.split()[1] for name in COMMANDS if name != "parcomp"} <= set(capsys.readouterr().out.split())


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_is_described_with_its_default_and_none_that_does_not_exist(name):
    """The table below a command lists its options, neither more nor fewer, and what holds without them."""
    options, table = options_of(COMMANDS[name]), table_of(sections(CLI_PAGE)[name])
    assert set(table) | EVERYWHERE == set(options) | EVERYWHERE
    for option, default in table.items():
        if option in EVERYWHERE:
            continue
        parameter = options[option]
        if parameter.required:
            assert default == "required", option
        elif isinstance(parameter.default, bool) or parameter.default in (None, ""):
            assert default == "", option
        else:
            assert default == str(parameter.default), option


@pytest.mark.parametrize("name", COMMANDS)
def test_every_choice_and_argument_is_named(name, capsys):
    """What an option takes stands beside it, and the arguments in the line that shows how to call the command."""
    written = " ".join(inline_code(sections(CLI_PAGE)[name]))
    usages = [block.text for block in blocks(CLI_PAGE) if re.match(rf"{name}( -|\n| [A-Z])", block.text)]
    assert len(usages) == (name != "parcomp")
    assert main([*name.split()[1:], "--help"]) == 0
    choices = dict(re.findall(r"(--[a-z-]+) <([^>]+)>", capsys.readouterr().out))
    for parameter in COMMANDS[name].params:
        if parameter.param_type_name == "argument":
            assert (parameter.metavar or parameter.name.upper()) in usages[0].split(), parameter.name
        elif not isinstance(parameter.default, bool) and name != "parcomp":
            option = parameter.opts[0]
            assert f"{option} {parameter.metavar or choices[option]}" in written


def calls(text: str) -> Iterator[tuple[str, list[str]]]:
    """The commands that a line of a shell calls, each with the options that it is given."""
    for line in text.replace("\\\n", " ").splitlines():
        words = line.partition(" #")[0].split()
        place = next((at for at, word in enumerate(words) if word.rpartition("/")[2] == "parcomp"), None)
        if place is None:
            continue
        name, at = "parcomp", place + 1
        while at < len(words) and any(known.startswith(f"{name} {words[at]}") for known in COMMANDS):
            name, at = f"{name} {words[at]}", at + 1
        yield name, OPTION.findall(" ".join(words[at:]))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_page_names_an_option_that_does_not_exist(page):
    """In the calls that a page shows, and in its prose, where an option must be one of some command."""
    shown = [block.text for block in blocks(page)] + inline_code(prose(page))
    for name, options in (call for text in shown for call in calls(text)):
        if name in COMMANDS:
            assert set(options) <= set(options_of(COMMANDS[name])) | EVERYWHERE, name
    every = set().union(*(options_of(command) for command in COMMANDS.values()))
    alone = {code.split()[0] for code in inline_code(prose(page)) if code.startswith("--") and code != "--"}
    assert alone <= every | EVERYWHERE


def test_the_calls_on_the_pages_are_understood():
    """What the test above finds in a line, so that it cannot pass by finding nothing."""
    assert list(calls("$ .venv/bin/parcomp ledger verify -c x.toml --head 1  # --no")) == [
        ("parcomp ledger verify", ["-c", "--head"])
    ]
    assert list(calls("make demo")) == []
