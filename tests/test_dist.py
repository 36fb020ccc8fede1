"""What the wheel and the source distribution hold. `make dist` installs the wheel and runs the demo with it."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import zipfile
from email import message_from_bytes
from pathlib import Path

import pytest

from tests.dist import interpreter, main

ROOT = Path(__file__).parents[1]
PACKAGED = {"CHANGELOG.md", "LICENSE", "README.md", "pyproject.toml"}


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-d", folder], cwd=ROOT, capture_output=True, check=True)
    return folder


@pytest.fixture(scope="module")
def tracked() -> set[str]:
    try:
        listed = subprocess.run(["git", "ls-files", "apframe"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this is no clone of the repository")
    return {path for path in listed.splitlines() if (ROOT / path).exists()}


@pytest.mark.slow
def test_the_wheel_has_every_file_of_the_package(dist: Path, tracked: set[str]) -> None:
    (wheel,) = dist.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        (metadata,) = (name for name in names if name.endswith(".dist-info/METADATA"))
        about = message_from_bytes(archive.read(metadata))
    own = {name for name in names if ".dist-info/" not in name}
    assert own >= tracked
    assert len(tracked) > 500 and "apframe/py.typed" in own
    assert all(name.startswith("apframe/") for name in own)
    assert {name.partition(".dist-info/")[2] for name in names - own} == {
        "METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE",
    }  # fmt: skip
    assert about["License-Expression"] == "MIT"


@pytest.mark.slow
def test_the_source_distribution_has_nothing_else(dist: Path, tracked: set[str]) -> None:
    (source,) = dist.glob("*.tar.gz")
    with tarfile.open(source) as archive:
        names = {member.name.partition("/")[2] for member in archive if member.isfile()}
    assert {name for name in names if not name.startswith("apframe/")} == PACKAGED | {".gitignore", "PKG-INFO"}
    assert names >= tracked


def test_a_python_is_found_by_its_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, said in (("3.97", "3.97.1"), ("3.98", "3.97.1")):  # the second one is another than its name says
        python = tmp_path / f"python{name}"
        python.write_text(f"#!/bin/sh\necho {python}\necho {said}\n")
        python.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}/bin")
    assert interpreter("3.97") == str(tmp_path / "python3.97")
    assert interpreter("3.98") is interpreter("3.9") is None


def test_a_python_that_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "dist").mkdir()
    monkeypatch.setattr("tests.dist.ROOT", tmp_path)
    monkeypatch.setenv("PATH", os.devnull)
    with pytest.raises(SystemExit, match=r"^dist/ has 0 wheels instead of one: run make dist$"):
        main(["3.11"])
    (tmp_path / "dist" / "apframe-1-py3-none-any.whl").touch()
    with pytest.raises(SystemExit, match=r"^Python 3\.11 is not installed: .*=\"3\.12\"\nPython 3\.12 is not installed"):
        main(["3.11", "3.12"])
