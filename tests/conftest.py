"""Servers that tests share; each is started when the first test asks for it, and stopped at the end."""

from collections.abc import Iterator

import pytest

from tests.servers import java_problem, running_postgres


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    with running_postgres() as url:
        yield url


@pytest.fixture(scope="session")
def spark_master() -> str:
    problem = java_problem()
    if problem:
        pytest.skip(f"Spark needs Java 17 or 21: {problem}")
    return "spark://local[2]"
