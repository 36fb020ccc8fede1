"""Requirements for comparing evaluations: the same rules, categories, images and ground truth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import polars as pl

from apframe.exceptions import ImagesLeftOutWarning, NotComparableError, warn
from apframe.option_values import one_of
from apframe.protocols.given import OPTIONS
from apframe.tables.ids import is_known
from apframe.tables.schemas import SIZE, TABLES
from apframe.tables.shapes.boxes import BOX
from apframe.wording import counted, listed, option_name

if TYPE_CHECKING:
    from apframe.evaluation.evaluation import Evaluation

_KEYS = {"images": ["image_id"], "categories": ["category_id"], "annotations": ["annotation_id", "category_id"]}
_LABELS = (
    "label_map",
    "file_name",
    "supercategory",
    "image_width",
    "image_height",
)  # no number depends on these columns, and not every source has them
_LONGEST, _BEFORE = 60, 20  # the length of a value in a message, and the part of it before the first difference


def agree(
    evaluations: Sequence[Evaluation], names: Sequence[str], on_images: str = "same", *, has_option: bool = True
) -> list[Evaluation]:
    """Return comparable evaluations: with the same protocol, categories, images and ground truth.

    Ground truth is compared by its ids, boxes, shapes, areas and flags, whatever the order of its rows. Attributes, file names
    and image sizes may differ, as may columns that only one side has, such as masks if boxes are compared. Each evaluation is
    compared with the first.

    Parameters
    ----------
    evaluations, names
        the evaluations, and their names in messages
    on_images
        "same": the images must be the same. "common": evaluations are cut to the images that all of them have
    has_option
        whether the caller has the option `on_images`, which messages then suggest

    Raises
    ------
    NotComparableError
        they differ in the protocol, the categories, the images or the ground truth, or have no image in common. The message
        describes the difference, with the first ids and their number
    ParameterError
        `on_images` has another value

    Warns
    -----
    ImagesLeftOutWarning
        images were left out, with on_images="common"; the warning says how many images remain, and how many each evaluation
        lost

    >>> from apframe.evaluation.evaluate import evaluate
    >>> def ev(*image_ids):
    ...     truth = {"images": [{"id": each} for each in image_ids], "categories": [{"id": 1, "name": "cat"}],
    ...              "annotations": [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [0, 0, 9, 9]}]}
    ...     return evaluate(truth, [{"image_id": 1, "category_id": 1, "bbox": [0, 0, 9, 9], "score": 0.5}])
    >>> agree([ev(1, 2), ev(1)], ["a", "b"])
    Traceback (most recent call last):
    apframe.exceptions.NotComparableError: a and b differ in images: 1 only in a (2); use on_images="common" for the 1 in both
    """
    one_of("on_images", on_images, ("same", "common"))
    first, *others = evaluations
    for other, name in zip(others, names[1:], strict=True):
        _refuse_other_rules(first, other, (names[0], name))
        if on_images == "same":
            _refuse_other_images(first, other, (names[0], name), has_option=has_option)
    if on_images == "common":
        evaluations = _on_common_images(evaluations, names)
    first, *others = evaluations
    for other, name in zip(others, names[1:], strict=True):
        _refuse_other_truth(first, other, f"{names[0]} and {name}")
    return list(evaluations)


def _refuse_other_rules(first: Evaluation, other: Evaluation, names: tuple[str, str]) -> None:
    """Raise an error if the protocols or the evaluated categories differ.

    Citations are not compared: they change with the version that stored an evaluation, as do the subsets of a protocol.
    """
    pair = " and ".join(names)
    values = {
        field.name: [getattr(each.protocol, field.name) for each in (first, other)]
        for field in fields(first.protocol)
        if field.compare and field.name != "citation"
    }
    changed = {OPTIONS.get(name, name): _briefly(a, b) for name, (a, b) in values.items() if a != b}
    if changed:
        what = "; ".join(f"{name} {a} and {b}" for name, (a, b) in changed.items())
        remedy = "evaluate both by the same rules"
        ranges = [each.protocol.range_names for each in (first, other)]
        alone = [[name for name in one if name not in two] for one, two in (ranges, ranges[::-1])]
        if "name" in changed:  # the names of two published protocols are enough
            what = f"name {' and '.join(changed['name'])}"
        elif bool(alone[0]) != bool(alone[1]):
            fuller = int(bool(alone[1]))
            what = f"only {names[fuller]} has the area ranges or subsets {', '.join(alone[fuller])}"
            remedy = f"evaluate {names[1 - fuller]} again, by the rules of {names[fuller]}"
        raise NotComparableError(f"{pair} differ in their protocols: {what}", remedy)
    mine, theirs = _category_ids(first), _category_ids(other)
    if mine.dtype == theirs.dtype and mine.equals(theirs):
        return
    if mine.dtype != theirs.dtype:
        raise _different_types(pair, "category_id", mine, theirs)
    alone = _called(first, mine.filter(~is_known(mine, theirs))) + _called(other, theirs.filter(~is_known(theirs, mine)))
    raise NotComparableError(
        f"{pair} differ in the categories that were evaluated: only one of them has {listed(alone)}",
        "evaluate both on the same categories",
    )


def _called(self: Evaluation, category_ids: pl.Series) -> list[Any]:
    """Return the categories' names, or otherwise their ids."""
    categories_of_truth = self.dataset.core("categories")
    categories = categories_of_truth.filter(is_known(categories_of_truth["category_id"], category_ids)).sort("category_id")
    return [key if name is None else name for key, name in categories.select("category_id", "name").rows()]


def _briefly(mine: Any, theirs: Any) -> list[str]:
    """Shorten different values for a message: long ones to the part where they begin to differ.

    >>> _briefly((1, 2), (1, 3)), _briefly((*range(20), 7), (*range(20), 8))
    (['(1, 2)', '(1, 3)'], ['...15, 16, 17, 18, 19, 7)', '...15, 16, 17, 18, 19, 8)'])
    """
    texts = [str(value) if isinstance(value, (str, int)) else repr(value) for value in (mine, theirs)]
    length = min(map(len, texts))
    equal = next((k for k in range(length) if texts[0][k] != texts[1][k]), length)
    start = max(0, equal - _BEFORE) if max(map(len, texts)) > _LONGEST else 0
    parts = [text[start : start + _LONGEST] for text in texts]
    return [
        f"{'...' if start else ''}{part}{'...' if start + len(part) < len(text) else ''}"
        for part, text in zip(parts, texts, strict=True)
    ]


def _different_types(pair: str, column: str, mine: pl.Series, theirs: pl.Series) -> NotComparableError:
    kinds = " and ".join("texts" if each.dtype == pl.String else "numbers" for each in (mine, theirs))
    return NotComparableError(f"{pair} differ in the type of {column}: {kinds}", "evaluate both with the same ids")


def _refuse_other_images(first: Evaluation, other: Evaluation, names: tuple[str, str], *, has_option: bool) -> None:
    a, b = names
    mine, theirs = _image_ids(first), _image_ids(other)
    if mine.dtype != theirs.dtype:
        raise _different_types(f"{a} and {b}", "image_id", mine, theirs)
    if mine.equals(theirs):
        return
    parts = [
        f"{len(alone):,} only in {name} ({listed(alone.to_list())})"
        for name, alone in ((a, mine.filter(~is_known(mine, theirs))), (b, theirs.filter(~is_known(theirs, mine))))
        if len(alone)
    ]
    n_both = int(is_known(mine, theirs).sum())
    remedy = (
        f"use {option_name('on_images', 'common')} for the {n_both:,} in both" if n_both else "they have no image in common"
    )
    if n_both and not has_option:
        remedy = f"evaluate both on the same images, such as the {n_both:,} in both"
    raise NotComparableError(f"{a} and {b} differ in images: {', '.join(parts)}", remedy)


def _on_common_images(evaluations: Sequence[Evaluation], names: Sequence[str]) -> list[Evaluation]:
    """Return the evaluations on the images that all of them have, and warn how many these are if others were left out."""
    ids = [_image_ids(each) for each in evaluations]
    common = ids[0]
    for each, name in zip(ids[1:], names[1:], strict=True):
        if each.dtype != common.dtype:
            raise _different_types(f"{names[0]} and {name}", "image_id", common, each)
        common = common.filter(is_known(common, each))
    if not len(common):
        raise NotComparableError(f"{' and '.join(names)} have no image in common", "evaluate them on the same images")
    lost = [f"{len(each) - len(common):,} of {name}" for each, name in zip(ids, names, strict=True) if len(each) > len(common)]
    if lost:
        warn(f"compared on {counted(len(common), 'image')} that all have; left out: {', '.join(lost)}", ImagesLeftOutWarning)
    return [
        each if len(own) == len(common) else each.where(common.to_list()) for each, own in zip(evaluations, ids, strict=True)
    ]


def _refuse_other_truth(first: Evaluation, other: Evaluation, pair: str) -> None:
    """Raise an error if images, categories or annotations differ; it names the first column with different values."""
    marks = {_truth_mark(each) for each in (first, other)}
    for table, keys in _KEYS.items():
        if table == "annotations" and len(marks) == 1 and None not in marks:
            continue
        mine, theirs = (_ground_truth(each, table) for each in (first, other))
        if mine is theirs:
            continue
        if mine.schema[keys[0]] != theirs.schema[keys[0]]:
            raise _different_types(pair, keys[0], mine[keys[0]], theirs[keys[0]])
        mine, theirs = mine.sort(keys), theirs.sort(keys)
        if table == "annotations" and any(f"images.{SIZE[0]}" in rule.reads for rule in first.protocol.rules):
            mine, theirs = _clipped_alike(first, other, mine, theirs)
        what = _difference(mine, theirs, table, keys)
        if what:
            subsets = {each.conditions for each in (first, other)}
            remedy = "compare the same subset of both" if len(subsets) > 1 else "evaluate both against the same file"
            raise NotComparableError(f"{pair} differ in the ground truth: {table}: {what}", remedy)


def _clipped_alike(
    first: Evaluation, other: Evaluation, mine: pl.DataFrame, theirs: pl.DataFrame
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Copy boxes of the second evaluation to the first one's annotations if only one of them knows the image size.

    A rule that reads sizes clips boxes at the edges of images. Sizes may come with the detections. Without detections, nothing
    is compared with the boxes, clipped or not.
    """
    unsized = [
        images.filter(pl.any_horizontal(pl.col(SIZE).is_null()))["image_id"]
        for images in (each.dataset.core("images") for each in (first, other))
        if set(SIZE) <= set(images.columns)
    ]
    if len(unsized) < 2 or mine.height != theirs.height:
        return mine, theirs
    of_one = is_known(mine["image_id"], unsized[0]) ^ is_known(mine["image_id"], unsized[1])
    return mine.with_columns(pl.when(of_one).then(theirs[name]).otherwise(name).alias(name) for name in (*BOX, "area")), theirs


def _difference(mine: pl.DataFrame, theirs: pl.DataFrame, table: str, keys: list[str]) -> str:
    """Describe the difference of two tables of the same kind, sorted by their keys; empty if nothing relevant differs."""
    key = keys[0]
    if not mine.select(keys).equals(theirs.select(keys)):
        alone = [one.join(two, on=keys, how="anti")[key].to_list() for one, two in ((mine, theirs), (theirs, mine))]
        counts = " and ".join(f"{frame.height:,}" for frame in (mine, theirs))
        return f"{counts} rows, only one of them has {key} {listed(alone[0] + alone[1])}"
    for column in TABLES[table]:
        name = column.name
        present = [name in frame.columns and frame[name].null_count() < frame.height for frame in (mine, theirs)]
        if name in _LABELS or not any(present):
            continue
        if all(present):
            differs = _unequal(mine[name], theirs[name])
        elif column.dtype == pl.Boolean or column.is_id:  # a flag, or lists of ids, on one side only
            values = (mine if present[0] else theirs)[name]
            differs = values.fill_null(False) if column.dtype == pl.Boolean else values.list.len().fill_null(0) > 0
        else:
            continue
        if differs.any():
            return f"{name} differs for {key} {listed(mine[key].filter(differs).to_list())}"
    return ""


def _unequal(mine: pl.Series, theirs: pl.Series) -> pl.Series:
    """True for rows with different values."""
    if mine.equals(theirs, null_equal=True):
        return pl.repeat(False, len(mine), eager=True)
    if mine.dtype != theirs.dtype:
        return pl.repeat(True, len(mine), eager=True)
    return mine.ne_missing(theirs)


def _category_ids(self: Evaluation) -> pl.Series:
    return self._source.category_ids


def _image_ids(self: Evaluation) -> pl.Series:
    return self._source.image_ids


def _truth_mark(self: Evaluation) -> str | None:
    return self._source.truth_mark


def _ground_truth(self: Evaluation, table: str) -> pl.DataFrame:
    """Return the evaluated part of a table of the ground truth."""
    if table == "annotations":
        return self._inputs.annotations
    frame = self.dataset.core(table)
    key = _KEYS[table][0]
    ids = self._source.image_ids if table == "images" else self._source.category_ids
    return frame if frame.height == len(ids) else frame.filter(is_known(frame[key], ids))
