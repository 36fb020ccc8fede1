"""CrowdHuman's .odgt files: a JSON object for each image in each line, with people or with detections."""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import Any

import polars as pl

from apframe.benchmarks.missing_results import warn_of_missing
from apframe.exceptions import FormatError
from apframe.formats.documents import parse_json
from apframe.formats.files import read_unpacked
from apframe.formats.format import ReadOnly
from apframe.formats.json_fields import Fields
from apframe.formats.looks import Look, looks
from apframe.tables.box_formats import warn_of_pixels
from apframe.tables.dataset import Dataset
from apframe.tables.schemas import SIZE
from apframe.tables.shapes.boxes import BOX

_PERSON = "person"

_ODGT = (".odgt", ".odgt.gz")


class CrowdHumanFormat(ReadOnly):
    """CrowdHuman's ground truth and results: lines of JSON, one for each image.

    The image id is the ID. The box is the full box, `fbox`. All objects are of the category `person`; those with another `tag`,
    or with an `ignore` in `extra` that is not 0, are ignored. As in CrowdDet, null is not 0. `tag` is a column. If there is a
    visible box, `vbox`, `vis_ratio` is its share of the full box.

    Results have `dtboxes` with box and score; their `gtboxes` are not read. The `width` and `height` of an image in the results
    are its size if the ground truth has none, as the protocol CROWDHUMAN clips boxes at the edges. Images without a line have
    no detections, with a `MissingResultsWarning`; CrowdDet's own evaluation stops there.

    Source: the data format on the pages of CrowdHuman; CrowdDet.
    """

    name = "crowdhuman"
    title = "CrowdHuman odgt"
    dataset_is = "a file (.odgt) of JSON objects in lines, one for each image: ID and gtboxes with fbox, vbox, tag and extra"
    results_are = "the same, with dtboxes of box and score, and width and height of the image"
    dataset_looks = looks(
        Look("file", begins="{", keys=("ID", "gtboxes"), no_keys=("dtboxes",)),
        Look("file", endings=_ODGT, no_keys=("dtboxes",)),
    )
    results_looks = looks(
        Look("file", begins="{", keys=("ID", "dtboxes")),
        Look("file", endings=_ODGT, keys=("dtboxes",)),
        Look("file", endings=_ODGT, no_keys=("gtboxes",)),
    )
    asks_for_images = True

    def read_tables(self, path: Path, **options: Any) -> dict[str, pl.DataFrame]:
        """Read the tables of a data set: see `Format.read_tables`."""
        records = _records(path)
        boxes = _boxes(records, "gtboxes")
        x, y, width, height = boxes.numbers("fbox", 4)
        visible = boxes.numbers("vbox", 4, optional=True)
        extra = boxes.objects("extra")
        tag = boxes.text("tag")
        read = pl.DataFrame(
            {
                "image_id": pl.Series(boxes.places, dtype=pl.String),
                "category_id": pl.Series([_PERSON] * len(tag), dtype=pl.String),
                **dict(zip(BOX, (x, y, width, height), strict=True)),
                "ignore": (tag != _PERSON) | pl.Series([each.get("ignore", 0) != 0 for each in extra], dtype=pl.Boolean),
                "tag": tag,
                "vis_ratio": visible[2] * visible[3] / (width * height),
            }
        )
        annotations = boxes.sound(read)
        warn_of_pixels(path, annotations)
        images = pl.DataFrame({"image_id": records.text("ID")} | _sizes(records))
        categories = pl.DataFrame({"category_id": [_PERSON], "name": [_PERSON]})
        return {"images": images, "categories": categories, "annotations": annotations}

    def read_results(self, path: Path, dataset: Dataset | None) -> pl.DataFrame:
        """Read detections: see `Format.read_results`."""
        records = _records(path)
        named = records.text("ID")
        boxes = _boxes(records, "dtboxes")
        read = pl.DataFrame(
            {
                "image_id": pl.Series(boxes.places, dtype=pl.String),
                "category_id": pl.Series([_PERSON] * len(boxes.rows), dtype=pl.String),
                "score": boxes.number("score"),
                **dict(zip(BOX, boxes.numbers("box", 4), strict=True)),
            }
        )
        detections = boxes.sound(read)
        warn_of_pixels(path, detections)
        sizes = pl.DataFrame({"image_id": named} | _sizes(records))
        warn_of_missing(path, dataset, named, "line", "CrowdDet's own evaluation stops here")
        if all(sizes[name].null_count() == sizes.height for name in SIZE):
            return detections
        return detections.join(sizes, on="image_id", how="left", maintain_order="left")


def _records(path: Path) -> Fields:
    """Return the objects in the lines of a file."""
    lines = [line for line in read_unpacked(path).removeprefix(b"\xef\xbb\xbf").split(b"\n") if line.strip()]
    if not lines:
        raise FormatError("the file is empty", path=path)
    records = Fields("", path, "line", "", parse_json(path, b"[" + b",\n".join(lines) + b"]"))
    records.refuse_repeated(records.text("ID"), "several lines have the ID")
    return records


def _boxes(records: Fields, name: str) -> Fields:
    """Return the boxes of the lines, with the IDs of their images."""
    lists = [row.get(name) or [] for row in records.rows]
    records.refuse_each([not isinstance(each, list) for each in lists], f"{name} is not a list")
    ids = records.text("ID")
    places = ids.gather(
        pl.Series(range(len(lists)), dtype=pl.UInt32).repeat_by(pl.Series(map(len, lists), dtype=pl.UInt32)).explode()
    )
    table = "annotations" if name == "gtboxes" else "detections"
    return Fields(table, records.path, name.removesuffix("es"), "ID", list(chain.from_iterable(lists)), places.to_list())


def _sizes(records: Fields) -> dict[str, pl.Series]:
    """Return the sizes of the images; null if missing."""
    sides = [records.number(name, optional=True) for name in ("width", "height")]
    return {name: side.cast(pl.Int64, strict=False) for name, side in zip(SIZE, sides, strict=True)}
