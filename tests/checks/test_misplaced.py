"""Boxes written in another way than they are taken for: check says which, and what it says to do makes them fit."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import apframe as apf

BOX = ["x", "y", "width", "height"]
N = 60
_random = np.random.default_rng(5)
IMAGES = pl.DataFrame({"image_id": range(N), "image_width": _random.choice([640, 480, 1000], N),
                       "image_height": _random.choice([480, 640, 333], N)})  # fmt: skip
OBJECTS = pl.DataFrame({"image_id": np.repeat(np.arange(N), 2), "category_id": [1, 2] * N}).join(IMAGES, on="image_id")
OBJECTS = OBJECTS.with_columns(
    width=pl.Series(_random.uniform(20, 90, 2 * N)), height=pl.Series(_random.uniform(30, 120, 2 * N)),
    x=pl.Series(_random.uniform(0.0, 0.8, 2 * N)) * pl.col("image_width"),
    y=pl.Series(_random.uniform(0.0, 0.6, 2 * N)) * pl.col("image_height"),
)  # fmt: skip
CATEGORIES = {"category_id": [1, 2], "name": ["cat", "dog"]}
ANNOTATIONS = OBJECTS.select("image_id", "category_id", *BOX)
TRUTH = apf.Dataset(IMAGES, CATEGORIES, ANNOTATIONS, box_format="xywh")
W, H = pl.col("image_width"), pl.col("image_height")
CORNERS = {"width": pl.col("x") + pl.col("width"), "height": pl.col("y") + pl.col("height")}
CENTRES = {"x": pl.col("x") + pl.col("width") / 2, "y": pl.col("y") + pl.col("height") / 2}
SWAPPED = {"x": pl.col("y"), "y": pl.col("x"), "width": pl.col("height"), "height": pl.col("width")}
FRACTIONS = {"x": pl.col("x") / W, "y": pl.col("y") / H, "width": pl.col("width") / W, "height": pl.col("height") / H}


def times(across: Any, down: Any) -> dict[str, pl.Expr]:
    return {side: pl.col(side) * (across if side in ("x", "width") else down) for side in BOX}


def found(*changes: dict[str, pl.Expr]) -> pl.DataFrame:
    frame = OBJECTS.with_columns(score=pl.int_range(pl.len()) / pl.len())
    for change in changes:
        frame = frame.with_columns(**change)
    return frame.select("image_id", "category_id", "score", *BOX)


def findings(detections: pl.DataFrame, truth: Any = TRUTH) -> list[tuple[str, str, str]]:
    warning = apf.check(truth, detections).filter(pl.col("severity") == "warning")
    named = {"corners", "centres", "swapped_axes", "fractions", "scaled", "resized_images", "no_overlap"}
    return warning.filter(pl.col("check").is_in(named)).select("check", "problem", "remedy").rows()


OPTIONS: dict[str, tuple[list[dict[str, pl.Expr]], str, str, dict[str, Any]]] = {
    "corners": ([CORNERS], "corners", 'Give box_format="xyxy".', {"box_format": "xyxy"}),
    "centres": ([CENTRES], "centres", 'Give box_format="cxcywh".', {"box_format": "cxcywh"}),
    "fractions": ([FRACTIONS], "fractions", "Give relative=True.", {"relative": True}),
    "corners as fractions": ([FRACTIONS, CORNERS], "corners", 'Give box_format="xyxy" and relative=True.',
                             {"box_format": "xyxy", "relative": True}),
    "centres as fractions": ([FRACTIONS, CENTRES], "centres", 'Give box_format="cxcywh" and relative=True.',
                             {"box_format": "cxcywh", "relative": True}),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::apframe.exceptions.BoxFormatWarning")
@pytest.mark.parametrize(("changes", "check", "remedy", "options"), OPTIONS.values(), ids=OPTIONS)
def test_the_option_is_named_and_helps(
    changes: list[dict[str, pl.Expr]], check: str, remedy: str, options: dict[str, Any]
) -> None:
    detections = found(*changes)
    ((name, problem, said),) = findings(detections)
    assert (name, said) == (check, remedy)
    assert "100% of the annotations then have a detection that fits" in problem
    assert apf.evaluate(TRUTH, detections, **options).summary["value"][0] == pytest.approx(1)


@pytest.mark.slow
def test_swapped_axes_are_exchanged_by_the_expression() -> None:
    detections = found(SWAPPED)
    ((name, _, remedy),) = findings(detections)
    assert name == "swapped_axes"
    expression = remedy.removeprefix("Exchange x and y: ").removesuffix(".")
    again = eval(expression, {"detections": detections})
    assert apf.evaluate(TRUTH, again).summary["value"][0] == pytest.approx(1)
    both = found(CORNERS, SWAPPED)
    assert findings(both)[0][2].endswith(', then give box_format="xyxy".')


@pytest.mark.slow
@pytest.mark.parametrize(("across", "down", "words"), [(0.5, 0.5, "0.5 times"), (2.0, 3.0, r"2 (x) and 3 (y) times")])
def test_scales(across: float, down: float, words: str) -> None:
    detections = found(times(across, down))
    ((name, problem, remedy),) = findings(detections)
    assert name == "scaled"
    assert f"seem to be {words} as large" in problem
    expression = remedy.removeprefix("Scale them: ").removesuffix(".")
    again = eval(expression, {"detections": detections, "pl": pl})
    assert apf.evaluate(TRUTH, again).summary["value"][0] == pytest.approx(1)


_LONG = 640 / pl.max_horizontal(W, H)
RESIZED: dict[str, tuple[dict[str, pl.Expr], str]] = {
    "to a square": (times(320 / W, 320 / H), "resized to 320 x 320"),
    "by the longer side": (times(_LONG / 2, _LONG / 2), "their longer side is 320"),
    "by the shorter side": (times(800 / pl.min_horizontal(W, H), 800 / pl.min_horizontal(W, H)), "their shorter side is 800"),
    "padded": (times(_LONG, _LONG) | {"x": pl.col("x") * _LONG + (640 - W * _LONG) / 2,
                                      "y": pl.col("y") * _LONG + (640 - H * _LONG) / 2}, "padded to 640 x 640"),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("change", "words"), RESIZED.values(), ids=RESIZED)
def test_resized_images(change: dict[str, pl.Expr], words: str) -> None:
    ((name, problem, _),) = findings(found(change))
    assert name == "resized_images"
    assert words in problem


@pytest.mark.slow
def test_ground_truth_may_be_what_is_written_otherwise() -> None:
    truth = apf.Dataset(IMAGES, CATEGORIES, ANNOTATIONS.with_columns(**CORNERS), box_format="xywh")
    checked = apf.check(truth, found()).filter(pl.col("check") == "corners")
    assert checked["table"].to_list() == ["annotations"]
    assert 'Read the ground truth with box_format="xyxy" (read_dataset, apframe convert).' in checked["remedy"].to_list()


@pytest.mark.parametrize("changes", [{}, {"x": pl.col("x") + 25}, {"x": pl.col("x") + 5000}])
def test_what_fits_or_fits_in_no_way_is_not_explained(changes: dict[str, pl.Expr]) -> None:
    assert {name for name, *_ in findings(found(changes))} <= {"no_overlap"}


@pytest.mark.slow
@pytest.mark.parametrize("change", [CORNERS, times(0.5, 0.5)], ids=["corners", "scaled"])
def test_many_detections_of_low_scores_hide_nothing(change: dict[str, pl.Expr]) -> None:
    """299 small false ones on each image, where a share of the detections would be less than 1 %."""
    n = 299 * N
    away = pl.DataFrame(
        {"x": _random.uniform(0, 600, n), "y": _random.uniform(0, 400, n), "width": [4.0] * n, "height": [5.0] * n}
    )
    false = away.with_columns(image_id=pl.int_range(n) % N, category_id=1, score=pl.int_range(n) / n / 1000)
    hits = found(change).with_columns(score=pl.col("score") + 0.01)
    everything = pl.concat([hits, false.select(pl.col(name).cast(dtype) for name, dtype in hits.schema.items())])
    assert [name for name, *_ in findings(everything)] == ["corners" if change is CORNERS else "scaled"]


ORDERS = {
    "class score x y width height": ((5, 1, 2, 3, 4), "$3, $4, $5, $6, $2"),
    "class x y score width height": ((1, 2, 5, 3, 4), "$2, $3, $5, $6, $4"),
    "class left top right bottom score": ((6, 7, 8, 9, 5), "($2 + $4) / 2, ($3 + $5) / 2, $4 - $2, $5 - $3, $6"),
    "class score left top right bottom": ((5, 6, 7, 8, 9), "($3 + $5) / 2, ($4 + $6) / 2, $5 - $3, $6 - $4, $2"),
    "class left top width height score": ((6, 7, 3, 4, 5), "$2 + $4 / 2, $3 + $5 / 2, $4, $5, $6"),
    "class score left top width height": ((5, 6, 7, 3, 4), "$3 + $5 / 2, $4 + $6 / 2, $5, $6, $2"),
}


def lines(folder: Path, places: tuple[int, ...]) -> Path:
    """YOLO's text, a file for each image: the class, and those of x y width height score left top right bottom."""
    centre = found(FRACTIONS, CENTRES).with_columns(score=0.05 + pl.int_range(pl.len()) / 2 / pl.len())
    corners = found(FRACTIONS, CORNERS).select(BOX)
    folder.mkdir()
    for image, rows in centre.hstack(corners.rename({name: f"{name}_2" for name in BOX})).group_by("image_id"):
        numbers = rows.select("category_id", *BOX, "score", *(f"{name}_2" for name in BOX)).rows()
        text = "".join(" ".join([str(row[0]), *(f"{row[place]:.6f}" for place in places)]) + "\n" for row in numbers)
        (folder / f"{image[0]}.txt").write_text(text)
    return folder


YOLO_TRUTH = TRUTH.part(TRUTH.images.with_columns(pl.col("image_id").cast(pl.String)),
                        TRUTH.annotations.with_columns(pl.col("image_id").cast(pl.String)))  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("order", ORDERS)
def test_the_order_of_the_fields_of_yolo_is_named_and_helps(order: str, tmp_path: Path) -> None:
    places, printed = ORDERS[order]
    folder = lines(tmp_path / "found", places)
    warnings = apf.check(YOLO_TRUTH, folder).filter(severity="warning")
    assert warnings["check"].to_list() == ["field_order"]  # and no filtered results where a coordinate was read as the score
    ((problem, remedy),) = warnings.select("problem", "remedy").rows()
    assert problem.startswith(f"boxes of the detections seem to be in lines of {order}: 100% of the annotations then have a")
    script = f"{{print $1, {printed}}}"
    assert remedy == f"Write class x y width height score: awk '{script}' on each file."
    if shutil.which("awk") is None:
        pytest.skip("there is no awk")
    for path in folder.iterdir():
        path.write_text(subprocess.run(["awk", script, path], capture_output=True, text=True, check=True).stdout)
    assert apf.check(YOLO_TRUTH, folder).filter(severity="warning").is_empty()
    assert apf.evaluate(YOLO_TRUTH, folder)["AP"] > 0.99


@pytest.mark.slow
def test_the_usual_order_of_fields_is_no_finding(tmp_path: Path) -> None:
    folder = lines(tmp_path / "found", (1, 2, 3, 4, 5))
    assert apf.check(YOLO_TRUTH, folder).filter(severity="warning").is_empty()
    moved = found(FRACTIONS, CENTRES, {"x": pl.col("score"), "y": pl.col("x"), "width": pl.col("y"), "height": pl.col("width")})
    assert "field_order" not in apf.check(TRUTH, moved)["check"].to_list()
