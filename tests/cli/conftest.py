"""The command is built once: to build it takes as long as to run it on small files."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from unittest.mock import patch

import pytest
import typer.main


@pytest.fixture(autouse=True, scope="session")
def one_command() -> Iterator[None]:
    with patch("typer.main.get_command", cache(typer.main.get_command)):
        yield
