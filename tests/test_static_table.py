"""The table of what is imported by name is what the modules say."""

from __future__ import annotations

import pytest

from apframe import static_names, static_table
from apframe.lazily import homes_of
from tests.static_table import tables


@pytest.mark.parametrize("name", tables())
def test_the_table_is_what_the_modules_say(name: str) -> None:
    assert getattr(static_table, name) == tables()[name], "run `python -m tests.static_table`"


def test_type_checkers_see_what_the_table_names() -> None:
    own = {name for name in vars(static_names) if not name.startswith("_")}
    assert own == {name for name in homes_of("apframe.protocols") if name.isupper()}, "run `python -m tests.static_table`"
