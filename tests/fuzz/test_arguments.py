"""Unusual arguments on valid files: see `test_formats`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest

from tests.fuzz.commands import CASES, problem_of, report
from tests.fuzz.mutations import NAMES, NUMBERS
from tests.fuzz.test_runs import write_search
from tests.fuzz.test_stored_sets import write_detection

pytestmark = pytest.mark.slow

_OPTIONS = {
    "eval": (
        ["eval", "truth.json", "found.json"],
        ["--iou-thresholds", "--max-detections", "--categories", "--by", "--protocol", "--iou-type", "--matching", "--split",
         "--join-by-name", "--image-sizes", "--out", "--gt-format", "--dt-format"],
    ),
    "errors": (
        ["errors", "truth.json", "found.json"],
        ["--iou-threshold", "--background", "--categories", "--by", "--protocol", "--iou-type", "--where", "--gt-format"],
    ),
    "check": (["check", "truth.json", "found.json"], ["--split", "--join-by-name", "--image-sizes", "--gt-format"]),
    "convert": (["convert", "truth.json"], ["--to", "--from", "--split", "--image-sizes", "--results-of", "--join-by-name"]),
    "rank": (
        ["rank", "text/qrels.txt", "text/a.txt", "text/b.txt", "--queries", "text/queries.csv"],
        ["-m", "--by", "--missing", "--no-relevant", "--unjudged", "--trec-eval"],
    ),
    "sql": (["sql", "run"], []),
}  # fmt: skip
_WORDS = (
    "cat", "coco", "all", "images", "topic", "AP@10", "RBP(p=.9)", "name", "scene", "truth.json", "run", "SELECT",
    "FROM summary", ";", "SELECT 1/0", "SELECT * FROM summary; FROM metrics", "\udcff", "a\udc80b", "{}", "~", "$HOME",
    "/dev/null", "/", "x" * 100_000,
)  # fmt: skip


def command(number: int) -> list[str]:
    """A command with an unusual value, in the place of one of its arguments, of the value of an option, or as one more."""
    random = Random(f"arguments {number}")
    words, options = random.choice(list(_OPTIONS.values()))
    odd = random.choice(random.choice((NAMES, NUMBERS, _WORDS)))
    odd = random.choice((odd, odd, odd, f"{odd},{odd}", f"cat,{odd}", f"{odd} {odd}"))
    place, chosen = random.random(), list(words)
    if words[0] == "convert":
        chosen += [odd if place < 0.3 else f"out{number}", "--to", random.choice(("voc", "yolo", "parquet", "kitti"))]
    if options and place > 0.3:
        return [*chosen, random.choice(options), odd]
    if place > 0.15:
        return [*chosen, odd]
    chosen[random.randrange(1, len(chosen))] = odd
    return chosen


def test_unusual_arguments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    problems = run(CASES, tmp_path)
    assert not problems, report(problems)


def run(numbers: Sequence[int], folder: Path) -> list[str]:
    """The problems of these cases, in a new folder that is the working folder."""
    write_detection(folder)
    write_search(folder)
    problems = []
    for number in numbers:
        arguments = command(number)
        problem = problem_of(arguments)
        problems += [] if problem is None else [f"arguments, case {number}: {arguments!a:.300}\n{problem}"]
    return problems
