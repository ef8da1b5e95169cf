"""The prompt of a session on a terminal, by prompt_toolkit: editing, history, completion and highlighting."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.lexers import PygmentsLexer
from pygments.lexers.sql import PostgresLexer

from parcomp.cli.shell_session import Session
from parcomp.cli.shell_text import Completions, is_complete, split_command

__all__ = ["history_file", "talk"]


def talk(session: Session) -> None:
    """Read lines and do what they say, until Ctrl-D or a command ends the session."""
    prompts: PromptSession[str] = PromptSession(
        history=_history(),
        completer=_DomainCompleter(session.completions),
        complete_while_typing=False,
        lexer=PygmentsLexer(PostgresLexer),
        multiline=True,
        key_bindings=_keys(),
        prompt_continuation=lambda width, _line, _wrapped: ".".rjust(width - 2) + "> ",
    )
    print("SELECT … asks and pays, ? SELECT … quotes; \\help lists the rest.")
    begun = ""
    while True:
        try:
            typed = prompts.prompt(session.prompt, default=begun)
        except KeyboardInterrupt:
            # The line is cleared.
            begun = ""
            continue
        except EOFError:
            return
        # A statement that was begun before a command waits for its end.
        before, command = split_command(typed)
        begun = before if command else ""
        if not session.do_and_tell(command or typed):
            return


def history_file() -> Path:
    """Where the lines that were typed are kept: the user's state directory."""
    state = os.environ.get("XDG_STATE_HOME", "")
    return (Path(state) if os.path.isabs(state) else Path.home() / ".local/state") / "parcomp" / "shell-history"


def _history() -> History:
    """The history on disk, readable by its owner only; in memory where none can be kept."""
    path = history_file()
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(path, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW, 0o600)
        try:
            os.fchmod(handle, 0o600)
        finally:
            os.close(handle)
    except (OSError, RuntimeError):
        return InMemoryHistory()
    return FileHistory(str(path))


def _keys() -> KeyBindings:
    """Enter ends what is complete, and is a line end otherwise; Alt-Enter is always a line end."""
    keys = KeyBindings()

    @keys.add("enter")
    def _enter(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        menu = buffer.complete_state
        if menu is not None and menu.current_completion is not None and len(menu.completions) > 1:
            # The chosen word is taken, and nothing is asked yet.
            buffer.complete_state = None
        elif is_complete(buffer.text):
            buffer.validate_and_handle()
        else:
            buffer.insert_text("\n")

    @keys.add("escape", "enter")
    def _line_end(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    return keys


class _DomainCompleter(Completer):
    """Completion from the domain."""

    def __init__(self, completions: Completions) -> None:
        self._completions = completions

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:  # noqa: ARG002
        """What the text before the cursor may go on with."""
        text = document.text_before_cursor
        mark = text.lstrip()[:1] == "?"
        begun, words = self._completions.after(text.lstrip()[1:] if mark else text)
        for word in words:
            yield Completion(word, start_position=-len(begun))
