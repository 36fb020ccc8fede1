"""Label maps that cannot be compared, or have other segments than those listed, as findings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import apframe as apf
from tests.benchmarks.pixels.panoptic.test_format import Change, invent, recount, relist, write


def lose(truth: dict[str, Any], _: dict[str, Any]) -> None:
    truth["annotations"][1]["segments_info"].pop()


def rename(_: dict[str, Any], found: dict[str, Any]) -> None:
    found["annotations"][0]["file_name"] = "9.png"


CASES: dict[str, tuple[Change | None, list[tuple[str, str]]]] = {
    "all is well": (None, []),
    "a number that is not listed": (relist, [("error", "label_map")]),
    "a segment without pixels": (invent, [("error", "label_map")]),
    "no such file": (rename, [("error", "label_map")]),
    "other areas": (recount, [("warning", "listed_segments")]),
    "an annotated one that is not listed": (lose, [("warning", "listed_segments")]),
}


@pytest.mark.parametrize("name", CASES)
def test_label_maps_are_opened(name: str, tmp_path: Path) -> None:
    change, expected = CASES[name]
    findings = apf.check(*write(tmp_path, change=change))
    of_maps = findings.filter(findings["check"].is_in(["label_map", "listed_segments"]))
    assert of_maps.select("severity", "check").rows() == expected


@pytest.mark.slow
def test_label_maps_of_classes() -> None:
    folder = Path(__file__).parents[2] / "data" / "segments" / "semantic"
    assert apf.check(folder / "truth", folder / "model_a").filter(severity="error").is_empty()
    assert "listed_segments" not in apf.check(folder / "truth", folder / "model_a")["check"].to_list()
