"""nuScenes: a folder of tables, and results as JSON."""

from __future__ import annotations

from collections.abc import Collection
from itertools import chain
from pathlib import Path
from typing import Any

import polars as pl

from apframe.benchmarks.driving.nuscenes.nuscenes_tables import read_tables
from apframe.benchmarks.driving.nuscenes.object_places import places_in, with_places
from apframe.benchmarks.driving.quaternions import QUATERNION, yaw_of_quaternion
from apframe.exceptions import FormatError, MissingResultsWarning, warn
from apframe.formats.documents import read_json
from apframe.formats.format import ReadOnly
from apframe.formats.json_fields import OF_SAMPLES, Fields
from apframe.formats.looks import Look, looks
from apframe.tables.dataset import Dataset
from apframe.tables.names import labels_of, places_of
from apframe.tables.shapes.declarations import CUBOID
from apframe.wording import counted, listed, option_name

_TABLES = ("sample.json", "sample_annotation.json", "sample_data.json", "ego_pose.json")  # names unique to this data set


class NuScenesFormat(ReadOnly):
    """nuScenes: ground truth in the tables of a folder such as v1.0-trainval, results in the JSON that its program reads.

    Each sample is an image, with its token as `image_id`. Their attributes are `scene` (its name) and its `description`,
    `timestamp` (microseconds), `ego_x, ego_y` (metres, the car at the key frame of the lidar) and `bicycle_racks` (seven
    numbers for the cuboid of each). `split` chooses the scenes: val, train, mini_val, mini_train, or one of splits.json.

    Annotations are those of the 14 categories that make up the ten classes, in the order of the file. Cuboids are in the global
    frame. Their attributes are `velocity_x, velocity_y` (m/s, null if the annotations before and after are too far apart),
    `attribute` (a name), `n_points` (of lidar and radar), `ego_distance` (metres in x and y), `in_rack` (bicycles and
    motorcycles), `visibility` (1 to 4, the least to the most visible) and `instance` (the token of the object).

    Detections have the same cuboids, `velocity_x, velocity_y`, `attribute`, and the score. They also have `ego_distance` and
    `in_rack` if the images of their data set have the positions of the car and the racks, even if joined by name. An empty
    attribute_name is null, and so is NaN as a velocity. Samples without an entry in the results have no detections, with a
    `MissingResultsWarning`; nuScenes' own program stops then. Empty entries for unknown samples are an error, and so is a box
    whose sample_token is not that of its list.

    Source: nuscenes-devkit, docs/schema_nuscenes.md, eval/detection/README.md and eval/common/loaders.py.
    """

    name = "nuscenes"
    title = "nuScenes"
    dataset_is = "a folder of tables: sample.json, sample_annotation.json, instance.json, ..."
    results_are = "a JSON file, plain or gzip, with an object results: a list of boxes for each sample_token"
    dataset_looks = looks(Look("folder", names=_TABLES, n_names=2))  # so that the reader can name one that is missing
    results_looks = looks(Look("file", begins="{", keys=("results",), any_keys=OF_SAMPLES))
    options = ("split",)
    asks_for_images = True

    def read_tables(self, path: Path, *, split: str | None = None, **options: Any) -> dict[str, pl.DataFrame]:
        """Read the tables of a data set: see `Format.read_tables`."""
        return read_tables(path, split)

    def read_results(self, path: Path, dataset: Dataset | None) -> pl.DataFrame:
        """Read detections: see `Format.read_results`."""
        samples = _samples(path)
        detections = _detections(path, samples)
        if dataset is None:
            return detections
        images = dataset.core("images")
        rows = _rows_of(samples, images)
        if images["image_id"].dtype != pl.String and not rows:  # an error reported elsewhere, if there are boxes
            return detections
        _refuse_empty_entries(path, rows, samples)
        _warn_of_missing_samples(path, images["image_id"], set(rows.values()))
        tokens = pl.Series("image_id", list(rows), dtype=pl.String)
        meant = places_in(images)[pl.Series(list(rows.values()), dtype=pl.UInt32)]
        return with_places(detections, meant.with_columns(tokens))


def _samples(path: Path) -> dict[str, list[Any]]:
    document = read_json(path)
    samples = document.get("results") if isinstance(document, dict) else None
    if not isinstance(samples, dict):
        raise FormatError("no object named results", "is it a submission for nuScenes' detection task?", path=path)
    if wrong := [token for token, rows in samples.items() if not isinstance(rows, list)]:
        raise FormatError(f"no list of boxes for the sample {listed(wrong)}", "use [] for none", path=path)
    return samples


def _detections(path: Path, samples: dict[str, list[Any]]) -> pl.DataFrame:
    places = [token for token, rows in samples.items() for _ in rows]
    fields = Fields("detections", path, "detection", "sample", list(chain.from_iterable(samples.values())), places)
    x, y, z = fields.numbers("translation", 3)
    width, length, height = fields.numbers("size", 3)
    rotation = pl.DataFrame(dict(zip(QUATERNION, fields.numbers("rotation", 4), strict=True)))
    yaw = rotation.select(yaw_of_quaternion()).to_series()
    velocity = fields.numbers("velocity", 2, optional=True)
    attribute = fields.text("attribute_name", optional=True)
    category, score = fields.text("detection_name"), fields.number("detection_score")
    tokens = fields.text("sample_token", optional=True)
    others = [token is not None and token != place for token, place in zip(tokens, places, strict=True)]
    fields.refuse_each(others, "sample_token is not the token of the list")
    detections = pl.DataFrame(
        {
            "image_id": pl.Series(places, dtype=pl.String),
            "category_id": category,
            "score": score,
            **dict(zip(CUBOID, (x, y, z, length, width, height, yaw), strict=True)),
            **{f"velocity_{axis}": values.fill_nan(None) for axis, values in zip("xy", velocity, strict=True)},
            "attribute": attribute.set(attribute == "", None),
        }
    )
    return fields.sound(detections)


def _rows_of(samples: Collection[str], images: pl.DataFrame) -> dict[str, int]:
    """Return the row of each sample's image, found by its id, or by its file name if names find more of them.

    Results that are joined by name still have these names here. Ambiguous names are left out: joining rejects them.
    """
    ids = images["image_id"]
    rows_by_id = dict(zip(ids, range(len(ids)), strict=True)) if ids.dtype == pl.String else {}
    by_id = {token: rows_by_id[token] for token in samples if token in rows_by_id}
    if len(by_id) == len(samples):
        return by_id
    places = places_of(pl.Series(list(samples), dtype=pl.String), labels_of("images", images), "images")
    by_name = {token: rows[0] for token, rows in zip(samples, places, strict=True) if len(rows) == 1}
    return by_name if len(by_name) > len(by_id) else by_id


def _refuse_empty_entries(path: Path, known_tokens: Collection[str], samples: dict[str, list[Any]]) -> None:
    """Raise an error if all entries for unknown samples are empty, as no detection would reveal these entries."""
    unknown = set(samples).difference(known_tokens)
    if unknown and not any(samples[token] for token in unknown):
        what = f"entries without boxes for samples that the ground truth lacks: {listed(sorted(unknown))}"
        remedy = "nuScenes' own program stops here too: remove these entries, or give the ground truth of these results"
        raise FormatError(what, remedy, path=path)


def _warn_of_missing_samples(path: Path, images: pl.Series, rows: Collection[int]) -> None:
    """Warn if some images, but not all, are in none of these rows."""
    missing = [image for row, image in enumerate(images) if row not in rows]
    if 0 < len(missing) < len(images):
        warn(
            f"{path}: {counted(len(missing), 'sample')} without an entry in the results ({listed(missing)}) count as "
            f"images without detections. nuScenes' own program stops here. If these are results of a part of the ground truth, "
            f"choose it with {option_name('split', '')}",
            MissingResultsWarning,
        )
