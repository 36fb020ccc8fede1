"""The page about what changes from 0.5 to 0.6 names what there is."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

import apframe as apf
from apframe.exceptions import RenamedWarning
from tests.docs.map import ROOT
from tests.names import HOMES

PAGE = (ROOT / "docs" / "guides" / "from_0_5_to_0_6.md").read_text()


def test_old_names_warn() -> None:
    rows = PAGE.split("## Names that moved")[1].split("## What is gone")[0]
    old = [name for row in re.findall(r"^\| (.*?) \|", rows, re.MULTILINE) for name in re.findall(r"`apf\.(\w+)`", row)]
    assert len(old) > 15
    for name in old:
        if name.isupper() and name in dir(apf.protocols):
            assert getattr(apf, name) is getattr(apf.protocols, name)
            continue
        with pytest.warns(RenamedWarning):
            getattr(apf, name)


def test_new_names_are_public() -> None:
    table = PAGE.split("## Names that are new")[1].split("\n\n")[2]
    names = re.findall(r"`([\w.]+)`", table)
    assert len(names) > 60 and set(names) <= {*HOMES, *(name.removeprefix("protocols.") for name in HOMES)}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["definitions", "measures"])
def test_an_old_name_says_the_new_one(name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", f"import apframe; apframe.{name}()"], capture_output=True, text=True, check=False
    )
    assert done.stderr.splitlines()[-1] == f"AttributeError: apframe.{name} is now apframe.list_{name}"
    assert f"`apf.list_{name}()`" in PAGE


def test_packages_are_there() -> None:
    table = PAGE.split("## Packages inside apframe")[1].split("\n## ")[0]
    packages = {
        name for row in re.findall(r"^\| .*? \| (.*) \|$", table, re.MULTILINE) for name in re.findall(r"apframe\.(\w+)", row)
    }
    assert len(packages) > 8 and all((ROOT / "apframe" / name / "__init__.py").exists() for name in packages)
