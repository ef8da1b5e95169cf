"""``parcomp shell``: asking one statement after the other."""

from __future__ import annotations

import sys
from contextlib import closing
from typing import TYPE_CHECKING

from parcomp.cli.options import Analyst, Custodian, Epsilon, Mu, Rho
from parcomp.errors import ParcompError

if TYPE_CHECKING:
    from parcomp.cli.shell_session import Session

__all__ = ["shell"]


def shell(
    custodian: Custodian,
    epsilon: Epsilon = None,
    rho: Rho = None,
    mu: Mu = None,
    analyst: Analyst = "",
) -> None:
    """Ask one statement after the other, with completion from the domain; piped statements are answered in order."""
    from parcomp.cli.shell_session import Session

    with closing(Session(custodian, analyst, {"epsilon": epsilon, "rho": rho, "mu": mu})) as session:
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
