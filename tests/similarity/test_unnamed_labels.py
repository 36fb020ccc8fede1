"""Annotated labels that classes.txt does not name: who hears of them, and when."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import apframe as apf
from apframe.exceptions import UnnamedCategoryWarning

WORDS = r"classes\.txt does not name {} of the ground truth \({}\), which {}"


def write(folder: Path, names: str | None, *maps: list[list[int]]) -> Path:
    folder.mkdir()
    for number, values in enumerate(maps):
        Image.fromarray(np.array(values, dtype=np.uint8)).save(folder / f"{number}.png")
    if names is not None:
        (folder / "classes.txt").write_text(names)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize(
    ("maps", "which", "where", "become"),
    [
        ([[[0, 1]], [[77, 77]]], "label 77", "2 pixels, image '1'", "counts as a class"),
        (
            [[[0, 78]], [[77, 77]], [[1, 78]], [[0, 78]]],
            "labels 77, 78",
            "5 pixels, images '0', '1', '2' and 1 more",
            "count as classes",
        ),
    ],
)
def test_evaluation_and_checks_name_them(
    maps: list[list[list[int]]], which: str, where: str, become: str, tmp_path: Path
) -> None:
    truth = write(tmp_path / "truth", "road\nsky\n", *maps)
    message = WORDS.format(which, where, become)
    with pytest.warns(UnnamedCategoryWarning, match=message):
        apf.evaluate(truth, truth, "semantic")
    for findings in (apf.check(truth), apf.check(truth, truth)):
        rows = findings.filter(check="unnamed_label")
        assert rows["severity"].to_list() == ["warning"]
        assert rows["problem"].str.contains(message).all()


@pytest.mark.parametrize(
    ("names", "ignored"),
    [("road\nsky\n", (77, 255)), (None, (255,)), ("\n".join(f"class {k}" for k in range(78)), (255,))],
    ids=["left out", "no names at all", "named"],
)
def test_they_are_as_intended(names: str | None, ignored: tuple[int, ...], tmp_path: Path) -> None:
    truth = write(tmp_path / "truth", names, [[0, 1, 77]], [[255, 255, 0]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        apf.evaluate(truth, truth, "semantic", similarity=apf.similarity.LabelIoU(ignored=ignored))


def test_label_255_is_no_class(tmp_path: Path) -> None:
    truth = write(tmp_path / "truth", "road\nsky\n", [[0, 1, 255]])
    assert "unnamed_label" not in apf.check(truth)["check"].to_list()
