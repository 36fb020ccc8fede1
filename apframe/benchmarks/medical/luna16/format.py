"""LUNA16's CSV: nodules and excluded findings of scans, and marks with probabilities."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from apframe.exceptions import FormatError, ImagesLeftOutWarning, warn
from apframe.formats.documents import read_csv
from apframe.formats.format import ReadOnly
from apframe.formats.looks import Look, looks
from apframe.formats.text_lines import Lines, refuse_lines
from apframe.paths import is_file, refuse_pipe
from apframe.tables.dataset import Dataset
from apframe.tables.ids import is_known
from apframe.tables.shapes.spheres import CENTRE, DIAMETER
from apframe.wording import counted, listed

_SCAN, _PLACES = "seriesuid", ("coordX", "coordY", "coordZ")
_NODULES, _EXCLUDED, _SCANS = "annotations.csv", "annotations_excluded.csv", "seriesuids.csv"
_NODULE = "nodule"


class Luna16(ReadOnly):
    """LUNA16's annotations: a folder with `annotations.csv` and optionally two more files.

    Each scan is an image, whose id is the seriesuid. Objects are spheres in millimetres, in the columns `sphere_x`, `sphere_y`,
    `sphere_z` and `sphere_diameter`, all of the category `nodule`; those of `annotations_excluded.csv` have the flag `ignore`.
    `seriesuids.csv`, without a header, lists one evaluated scan in each line. Objects of other scans are left out, with an
    `ImagesLeftOutWarning`. Without that file the scans are those of the other two, and scans without any finding are unknown.

    Results are a CSV file with the columns seriesuid, coordX, coordY, coordZ and probability.

    Source: the files of LUNA16 and its evaluation script.
    """

    name = "luna16"
    title = "LUNA16 CSV"
    dataset_is = (
        "a folder with annotations.csv (seriesuid, coordX, coordY, coordZ, diameter_mm), optionally with "
        "annotations_excluded.csv and seriesuids.csv"
    )
    results_are = "a CSV file with seriesuid, coordX, coordY, coordZ, probability"
    dataset_looks = looks(Look("folder", names=(_NODULES,), columns=(_SCAN,)))
    results_looks = looks(Look("file", columns=(_SCAN, *_PLACES, "probability")))
    results_ending = ".csv"

    def read_tables(self, path: Path, **options: Any) -> dict[str, pl.DataFrame]:
        """Read the tables of a data set: see `Format.read_tables`."""
        refuse_pipe(path / _NODULES)
        nodules = _read(path / _NODULES, "diameter_mm").with_columns(ignore=pl.lit(False))
        if is_file(path / _EXCLUDED):
            excluded = _read(path / _EXCLUDED, "diameter_mm").with_columns(ignore=pl.lit(True))
            nodules = pl.concat([nodules, excluded], how="diagonal")
        scans = nodules.select(pl.col("image_id").drop_nulls().unique(maintain_order=True))
        if is_file(path / _SCANS):
            scans = _scans(path / _SCANS)
            counts = is_known(nodules["image_id"], scans["image_id"])
            _warn_of_others(path / _SCANS, nodules.filter(~counts)["image_id"])
            nodules = nodules.filter(counts)
        return {
            "images": scans,
            "categories": pl.DataFrame({"category_id": [_NODULE], "name": [_NODULE]}),
            "annotations": nodules.rename({"diameter_mm": DIAMETER}),
        }

    def read_results(self, path: Path, dataset: Dataset | None) -> pl.DataFrame:
        """Read detections: see `Format.read_results`."""
        return _read(path, "probability").rename({"probability": "score"})


def _read(path: Path, last: str) -> pl.DataFrame:
    """Return image_id, category_id, the centre, and one more column of numbers."""
    texts = read_csv(path).rename(lambda name: name.strip())
    columns = (_SCAN, *_PLACES, last)
    if missing := [name for name in columns if name not in texts.columns]:
        raise FormatError(f"no column {', '.join(missing)}", f"the columns are {', '.join(texts.columns)}", path=path)
    places = texts.select(file=pl.repeat(0, pl.len()), line=pl.int_range(2, pl.len() + 2))
    lines = Lines("detections" if last == "probability" else "annotations", [path], places)
    scans = texts[_SCAN].str.strip_chars().replace("", None)
    lines.refuse(scans.is_null(), f"{_SCAN} is missing")
    numbers = lines.numbers(texts.select(pl.col(columns[1:]).str.strip_chars()), required=True)
    marks = numbers.select(
        scans.alias("image_id"),
        pl.lit(_NODULE).alias("category_id"),
        *(pl.col(name).alias(ours) for name, ours in zip(_PLACES, CENTRE, strict=True)),
        last,
    )
    return lines.marked(marks)


def _warn_of_others(path: Path, scans: pl.Series) -> None:
    """Warn of objects whose scans are not in the list."""
    if len(scans):
        others = scans.unique(maintain_order=True)
        warn(
            f"{path}: left out {counted(len(scans), 'annotation')} of {counted(len(others), 'scan')} that it does not list "
            f"({listed(others.to_list())}); add these scans if they count",
            ImagesLeftOutWarning,
        )


def _scans(path: Path) -> pl.DataFrame:
    """Return the scans listed in a file without a header, as image_id."""
    names = read_csv(path, has_header=False).to_series(0).str.strip_chars()
    lines = pl.DataFrame({"file": 0, "line": pl.int_range(1, len(names) + 1, eager=True)})
    refuse_lines([path], lines, names.fill_null("") == "", "a scan is missing")
    refuse_lines([path], lines, ~names.is_first_distinct(), "the scan is repeated")
    return names.filter(names != _SCAN).alias("image_id").to_frame()
