"""Attributes and masks of annotations, which are read when they are first used."""

from __future__ import annotations

import json
from collections.abc import Iterable
from io import BytesIO

import polars as pl

from apframe.formats.coco.json_rows import FIELDS, SHAPES, canonical_names, fields_of
from apframe.formats.coco.scan import ATTRIBUTES, FLAGS, NOWHERE, first_row, scan_list, with_values


def scan_masks(text: bytes, place: slice) -> pl.DataFrame:
    """Read the column `mask` of a list of annotations, at the place that `scan_truth` returned."""
    masks = scan_list(BytesIO(text), place, {"segmentation": "json"}, {})
    assert masks is not None  # as the list was read before
    return canonical_names("annotations", masks)


def scan_attributes(text: bytes, place: slice, annotations: pl.DataFrame, *, masks: bool) -> pl.DataFrame | None:
    """Read the columns of the list that `scan_truth` has skipped: attributes, and with `masks` the column `mask`.

    The first row determines the attributes. Return None if other rows have further ones, or values of other types, or if only
    `frame_of_rows` can read them.
    """
    file = BytesIO(text)
    file.seek(place.start)
    first = first_row(NOWHERE, file)
    fields = FIELDS["annotations"]
    kinds = {name: ATTRIBUTES.get(type(value), "") for name, value in first.items() if name not in fields}
    kinds = {name: "literal" if kind in ("id", "float") else kind for name, kind in kinds.items()}
    kinds = {name: kind for name, kind in kinds.items() if name not in FLAGS or name not in annotations.columns}
    if "" in kinds.values() or kinds.keys() & FLAGS.keys():
        return None
    if masks:
        kinds["segmentation"] = "json"
    frame = scan_list(file, place, kinds, first) if kinds else pl.DataFrame(height=annotations.height)
    frame = None if frame is None else with_values(frame, kinds)
    if frame is None or frame.height != annotations.height:
        return None
    frame = frame.drop([name for name in SHAPES if name in kinds and not frame[name].count()])
    fields_read = annotations.rename(fields_of("annotations"), strict=False).drop("y", "width", "height", strict=False)
    if not _has_only(text, place, fields_read.rename({"x": "bbox"}, strict=False).hstack(frame), [*fields, *FLAGS]):
        return None
    return canonical_names("annotations", frame)


def _has_only(text: bytes, place: slice, columns: pl.DataFrame, names: Iterable[str]) -> bool:
    """Return True if the keys of a list are surely only those of its columns, of `names`, and of run lengths.

    Keys end with a quote and a colon. Other text that does so is a key of nested objects, or a value: then the result is
    False. A column without nulls means a key in each row; the keys of other columns are counted.
    """

    def n_of(name: str) -> int:
        return text.count(json.dumps(name).encode() + b":", place.start, place.stop)

    has_null = {name: n > 0 for name, n in columns.null_count().row(0, named=True).items()} if columns.width else {}
    others = text.count(b'":', place.start, place.stop) - columns.height * list(has_null.values()).count(False)
    others -= sum(n_of(name) for name in columns.columns if has_null[name])
    if not others:
        return True
    n_lengths = sum(text.count(b'"segmentation":' + space + b'{"', place.start, place.stop) for space in (b"", b" "))
    further = {*names} - {*columns.columns}
    return n_of("size") == n_of("counts") == n_lengths and others == sum(map(n_of, further)) + 2 * n_lengths
