"""The same steps taken by pycocotools 2.0.11 and by the drop-in, and what they must agree in."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from copy import deepcopy
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pycocotools.coco
import pycocotools.cocoeval

import apframe.pycocotools
from tests.protocols.generated import references_at_work

Row = dict[str, Any]
REFERENCE = pycocotools.coco.COCO, pycocotools.cocoeval.COCOeval
CELLS = apframe.pycocotools.COCO, apframe.pycocotools.COCOeval
"""The drop-in, which judges few rows cell by cell."""


class ByTables(apframe.pycocotools.COCOeval):
    """The drop-in on few rows as it is on many."""

    _few = -1


OURS = apframe.pycocotools.COCO, ByTables
ARRAYS = ("precision", "recall", "scores")


@contextmanager
def printed() -> Iterator[StringIO]:
    """What is printed, without the lines that tell times."""
    text = StringIO()
    with references_at_work(), redirect_stdout(text):
        yield text


def lines(text: StringIO) -> list[str]:
    return [line for line in text.getvalue().splitlines() if "t=" not in line]


def as_coco(kind: Any, dataset: Mapping[str, Any]) -> Any:
    """A COCO object as training code makes it: an empty one, a copy of the data set assigned, the index made."""
    coco = kind()
    coco.dataset = deepcopy(dict(dataset))
    with printed():
        coco.createIndex()
    return coco


def evaluated(
    kinds: tuple[Any, Any],
    truth: Mapping[str, Any] | Path,
    results: Any,
    iou_type: str = "bbox",
    *,
    change: Callable[[Any], None] | None = None,
    after: Callable[[Any], None] | None = None,
) -> Any:
    """The COCOeval after evaluate, `after`, accumulate; `change` is given the params before."""
    make, evaluate = kinds
    with printed():
        expected = make(truth) if isinstance(truth, Path) else as_coco(make, truth)
        # pycocotools' loadRes looks at the first result, so it fails without any
        detections = (
            expected.loadRes(deepcopy(results)) if len(str(results)) > 2 else as_coco(make, {**truth, "annotations": []})
        )
        coco_eval = evaluate(expected, detections, iou_type)
        if change:
            change(coco_eval.params)
        coco_eval.evaluate()
        if after:
            after(coco_eval)
        coco_eval.accumulate()
    return coco_eval


def summary(coco_eval: Any) -> tuple[list[str], list[float]]:
    """What summarize prints, and stats."""
    with printed() as text:
        coco_eval.summarize()
    return lines(text), list(coco_eval.stats)


def assert_same(ours: Any, reference: Any) -> None:
    """Printed lines, stats and arrays are equal, to the last bit, and stats are so before `eval` is looked at and after."""
    (our_lines, our_stats), (their_lines, their_stats) = summary(ours), summary(reference)
    assert our_stats == their_stats
    assert our_lines == their_lines
    assert_same_arrays(ours, reference)
    assert summary(ours) == (their_lines, their_stats)


def assert_same_arrays(ours: Any, reference: Any) -> None:
    for name in ARRAYS:
        np.testing.assert_array_equal(ours.eval[name], reference.eval[name], err_msg=name, strict=True)
    assert ours.eval["counts"] == reference.eval["counts"]
    assert ours.eval.keys() == reference.eval.keys()


def assert_same_cells(ours: Any, reference: Any) -> None:
    """`evalImgs` and `ious` hold the same."""
    assert len(ours.evalImgs) == len(reference.evalImgs)
    for mine, theirs in zip(ours.evalImgs, reference.evalImgs, strict=True):
        assert (mine is None) == (theirs is None)
        if theirs is not None:
            assert list(mine) == list(theirs)
            for name, value in theirs.items():
                assert np.array_equal(mine[name], value), (name, mine[name], value)  # which is faster than np.testing
    assert ours.ious.keys() == reference.ious.keys()
    for key, value in reference.ious.items():
        assert np.array_equal(ours.ious[key], value), (key, ours.ious[key], value)


def in_files(folder: Path, truth: Any, results: Any) -> tuple[Path, str]:
    paths = folder / "truth.json", folder / "results.json"
    for path, content in zip(paths, (truth, results), strict=True):
        path.write_text(json.dumps(content))
    return paths[0], str(paths[1])
