"""Real servers for tests: PostgreSQL from a wheel, and what Spark needs to run within the process."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["java_problem", "running_postgres"]


@contextmanager
def running_postgres() -> Iterator[str]:
    """The address of a PostgreSQL server that runs for as long as the context."""
    import pgserver  # noqa: PLC0415  few tests need it

    # Not below pytest's own directories: run by root, the server has another user, who may not enter them.
    with pgserver.get_server(tempfile.mkdtemp(prefix="parcomp-postgres-"), cleanup_mode="delete") as server:
        yield server.get_uri()


def java_problem() -> str | None:
    """Why Spark cannot start for lack of Java, or None."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home, "bin", "java")) if home else shutil.which("java")
    if java is None:
        return "no java on the PATH, and JAVA_HOME is not set"
    try:
        version = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=30, check=True).stderr
    except (OSError, subprocess.SubprocessError) as error:
        return f"{java} does not run ({error})"
    found = re.search(r'version "(\d+)', version)
    return None if found and int(found[1]) in (17, 21) else f"{java} is not Java 17 or 21"
