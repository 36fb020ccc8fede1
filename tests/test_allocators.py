"""The settings of memory in the command, and in no other process."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

SETTING = "dirty_decay_ms:10"


@pytest.mark.slow
@pytest.mark.parametrize(("name", "is_set"), [("apframe", True), ("script.py", False)])
def test_freed_memory_is_returned_in_the_command_alone(name: str, is_set: bool) -> None:
    code = f"import os, sys; sys.argv = [{name!r}]; import apframe, polars; print(os.environ.get('_RJEM_MALLOC_CONF', ''))"
    assert (SETTING in _printed(code)) == is_set


@pytest.mark.slow
def test_settings_of_the_environment_are_left_alone() -> None:
    code = "import os, sys; sys.argv = ['apframe']; import apframe; print(os.environ['_RJEM_MALLOC_CONF'])"
    assert SETTING not in _printed(code, _RJEM_MALLOC_CONF="narenas:2")


def _printed(code: str, **settings: str) -> str:
    others = {name: value for name, value in os.environ.items() if name != "_RJEM_MALLOC_CONF"}
    ended = subprocess.run([sys.executable, "-c", code], env=others | settings, capture_output=True, text=True, check=True)
    return ended.stdout
