"""``parcomp shell``: asking one statement after the other."""

from __future__ import annotations

import sys
from contextlib import closing
from typing import TYPE_CHECKING

from parcomp.cli.options import Analyst, Custodian, Epsilon, Mu, Rho
from parcomp.errors import ParcompError

if TYPE_CHECKING:
    from parcomp.cli.shell_session import Session

__all__ = ["shell", "shell_server"]


def shell(
    custodian: Custodian,
    epsilon: Epsilon = None,
    rho: Rho = None,
    mu: Mu = None,
    analyst: Analyst = "",
) -> None:
    """Ask one statement after the other, with completion from the domain; piped statements are answered in order."""
    from parcomp.cli.shell_session import CustodianSession

    _hold(CustodianSession(custodian, analyst, {"epsilon": epsilon, "rho": rho, "mu": mu}))


def shell_server(server: str, epsilon: str | None, rho: str | None, mu: str | None) -> None:
    """The same with a server, as the analyst of the key."""
    from parcomp.cli.remote import client_of
    from parcomp.cli.shell_served import ServedSession

    _hold(ServedSession(client_of(server), {"epsilon": epsilon, "rho": rho, "mu": mu}))


def _hold(session: Session) -> None:
    """Talk on a terminal, and otherwise answer what is piped."""
    with closing(session):
        if sys.stdin.isatty() and sys.stdout.isatty():
            from parcomp.cli.shell_prompt import talk

            talk(session)
        else:
            _answer_piped(session)


def _answer_piped(session: Session) -> None:
    """Do what is piped, up to the first error; what was answered before it stays answered."""
    from parcomp.cli.places import placed
    from parcomp.cli.shell_text import split_pieces

    for line, piece in split_pieces(sys.stdin.read()):
        try:
            if not session.do(piece):
                return
        except ParcompError as error:
            raise placed("standard input", error, line, piece) from None
        sys.stdout.flush()
