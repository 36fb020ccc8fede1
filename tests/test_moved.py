"""Old import paths work for one more version, and warn."""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Iterator
from importlib import import_module

import pytest

import apframe
from apframe.moved import MOVED, new_name

NAMED_IN_DOCS = [
    "io.ids",
    "io.coco",
    "ranking.expressions",
    "ranking.measures",
    "ranking.losses",
    "analysis.keys",
    "evaluation",
]


@pytest.fixture(autouse=True)
def _names_of_apframe() -> Iterator[None]:
    """Importing `apframe.protocols` would leave a module in the place of the function of that name, for tests that follow."""
    before = {**vars(apframe)}
    yield
    for name in vars(apframe).keys() - before.keys():
        delattr(apframe, name)
    vars(apframe).update(before)


@pytest.mark.parametrize("name", sorted({*MOVED, *NAMED_IN_DOCS} - {"ranking.torch_losses"}))
def test_an_old_name_is_the_same_module_and_warns(name: str) -> None:
    old = f"apframe.{name}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        import_module(old.rpartition(".")[0])  # which may have moved too
    sys.modules.pop(old, None)
    with pytest.warns(DeprecationWarning, match=f"{old} is now {new_name(old)}") as caught:
        module = import_module(old)
    assert module is import_module(str(new_name(old)))
    assert "apframe" not in str(caught[-1].filename).rpartition("/tests/")[2]


def test_a_name_of_an_old_module_is_imported() -> None:
    script = "from apframe.io.ids import with_ids_by_name as old; from apframe.file_formats.ids import with_ids_by_name as new"
    subprocess.run([sys.executable, "-W", "ignore", "-c", f"{script}; assert old is new"], check=True)


def test_what_never_was_is_not_found() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"apframe\.nothing"):
        import_module("apframe.nothing")
