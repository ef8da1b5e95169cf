"""Notes on standard error: what people should know of a result that stands."""

from __future__ import annotations

import json
import sys

from parcomp.errors import one_line

__all__ = ["print_note"]


def print_note(note: str, *, as_json: bool = False) -> None:
    """Print a note, as JSON for programs."""
    told = json.dumps({"note": note}, ensure_ascii=False) if as_json else f"parcomp: note: {one_line(note)}"
    print(told, file=sys.stderr)
