"""The README is one page that says what is so: its code runs, its outputs are the real ones, its links lead somewhere."""

from __future__ import annotations

import inspect
import re
from io import BytesIO
from pathlib import Path

import pytest

import apframe as apf
from apframe.cli.command import app
from tests.docs.pages import FENCE, ROOT, WIDTH, page_run
from tests.docs.picture import PICTURE, take, write_page

README = (ROOT / "README.md").read_text()


@pytest.mark.slow
def test_outputs_are_the_real_ones(tmp_path: Path) -> None:
    assert page_run(README, tmp_path).text == README, "run: python -m tests.docs.outputs README.md"


def test_it_is_one_page() -> None:
    assert len(README.splitlines()) <= 150
    code = [line for block in FENCE.finditer(README) for line in block["body"].splitlines()]
    assert [line for line in code if len(line) > WIDTH] == []


def test_the_commands_come_first() -> None:
    commands = README.split("```sh\n")[1].split("```")[0]
    assert [line.split("#")[0].strip() for line in commands.splitlines()] == ["make demo", "make test"]


def test_links_lead_to_files() -> None:
    links = re.findall(r"\]\(([^)]+)\)", README)
    assert links
    assert [link for link in links if not (ROOT / link).is_file()] == []


@pytest.mark.parametrize("verb", ["eval", "rank", "check", "convert", "stats"])
def test_verbs_are_named(verb: str) -> None:
    assert f"apframe {verb}" in README
    assert verb in app.verbs


def test_keywords_of_the_table_exist() -> None:
    table = README.split("## What you have, and what to call")[1].split("\n## ")[0]
    keywords = set(re.findall(r"`(\w+)=", table))
    assert len(keywords) > 5
    assert keywords <= set(inspect.signature(apf.evaluate).parameters)


@pytest.mark.slow
def test_the_picture_is_that_of_todays_page(tmp_path: Path) -> None:
    """Browsers differ in their letters, and a card has more of them than of anything else."""
    image, difference = pytest.importorskip("PIL.Image"), pytest.importorskip("PIL.ImageChops").difference
    now, then = (image.open(BytesIO(each)).convert("L") for each in (take(write_page(tmp_path)), PICTURE.read_bytes()))
    assert now.size == then.size
    share = sum(difference(now, then).point(lambda value: value > 40).histogram()[1:]) / (now.width * now.height)
    assert share < 0.05, "run: python -m tests.docs.picture"
