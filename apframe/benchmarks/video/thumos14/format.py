"""THUMOS14's text: a file of intervals for each action, and results in one file."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import polars as pl

from apframe.exceptions import FormatError
from apframe.formats.files import read_head
from apframe.formats.format import TEXT, ReadOnly, looks
from apframe.formats.lines import (
    first_fields,
    is_number,
    read_lines,
    refuse_lines,
    refuse_malformed_lines,
    some_text_files,
    take_fields,
    text_files,
)
from apframe.tables.dataset import Dataset
from apframe.tables.shapes.intervals import INTERVAL
from apframe.wording import listed

_FILE = re.compile(r"(.+)_(test|val)", re.DOTALL)
_NUMBERS = {
    "7": "BaseballPitch", "9": "BasketballDunk", "12": "Billiards", "21": "CleanAndJerk", "22": "CliffDiving",
    "23": "CricketBowling", "24": "CricketShot", "26": "Diving", "31": "FrisbeeCatch", "33": "GolfSwing", "36": "HammerThrow",
    "40": "HighJump", "45": "JavelinThrow", "51": "LongJump", "68": "PoleVault", "79": "Shotput", "85": "SoccerPenalty",
    "92": "TennisSwing", "93": "ThrowDiscus", "97": "VolleyballSpiking",
}  # fmt: skip


class Thumos14(ReadOnly):
    """THUMOS14's annotations of actions: a folder of files `CLASS_test.txt`, lines of video, start and end (seconds).

    Files `CLASS_val.txt` are the same, not in one folder with the others. `Ambiguous_test.txt` is a category too, which the
    protocol THUMOS14 treats in a way of its own. The videos are those that the files name: a video without any interval is not
    known.

    Results are one text file, lines of video, start, end, class and score. The class is a number of the kit's list, which are
    those of UCF101 (7 is BaseballPitch, 97 VolleyballSpiking), or a name.

    Source: the files of THUMOS14 and its evaluation kit (detclasslist.txt).
    """

    name = "thumos14"
    title = "THUMOS14 text"
    dataset_is = "a folder of text files CLASS_test.txt (or CLASS_val.txt), one for each action, lines of video start end"
    results_are = "a text file, lines of video start end class score"
    dataset_looks = looks(folder=r"(?im)_(test|val)\.txt$")
    results_looks = looks(file=rf"{TEXT}|\A[^\n]*\n\s*\S+\s+[-\d.e]+\s+[-\d.e]+\s")  # names may begin as JSON does
    results_ending = ".txt"

    def is_dataset(self, path: Path) -> bool:
        """A file is called as a class and a part, and its first line is a name and two numbers."""
        paths = [file for file in text_files(path) if _FILE.fullmatch(file.stem)]
        fields = first_fields(paths)
        return len(fields) == 3 and not is_number(fields[0]) and all(map(is_number, fields[1:]))

    def is_results(self, path: Path) -> bool:
        """The first line is a name, two numbers, a class and a number, parted by blanks."""
        first = next((line for line in read_head(path).decode("utf-8-sig", "replace").splitlines() if line.strip()), "")
        fields = first.split()
        kinds = [is_number(field) for field in fields]
        is_class = len(fields) == 5 and (fields[3] in _NUMBERS or not kinds[3])
        return is_class and not kinds[0] and kinds[1] and kinds[2] and kinds[4]

    def read_tables(self, path: Path, **options: Any) -> dict[str, pl.DataFrame]:
        """Read the tables of a data set: see `Format.read_tables`."""
        paths = some_text_files(path)
        named = [_FILE.fullmatch(file.stem) for file in paths]
        if others := [file.name for file, name in zip(paths, named, strict=True) if name is None]:
            raise FormatError(f"not called CLASS_test.txt: {listed(others)}", "rename or remove them", path=path)
        classes, parts = zip(*(name.groups() for name in named if name), strict=True)
        if len(set(parts)) > 1:
            raise FormatError("holds files of test and of val", "put each into its own folder", path=path)
        lines = take_fields(paths, read_lines(paths), ("image_id", *INTERVAL), INTERVAL)
        is_reversed = lines["end_time"] < lines["start_time"]
        refuse_malformed_lines("annotations", paths, lines, is_reversed, "the interval ends before it starts")
        names = pl.Series("category_id", classes, dtype=pl.String)
        return {
            "images": lines.select(pl.col("image_id").unique().sort()),
            "categories": names.to_frame().with_columns(name="category_id"),
            "annotations": lines.select("image_id", names.gather(lines["file"]), *INTERVAL),
        }

    def read_results(self, path: Path, dataset: Dataset | None) -> pl.DataFrame:
        """Read detections: see `Format.read_results`."""
        lines = take_fields([path], read_lines([path]), ("image_id", *INTERVAL, "category_id", "score"), (*INTERVAL, "score"))
        known = lines["category_id"].replace_strict(_NUMBERS, default=None, return_dtype=pl.String)
        unknown = known.is_null() & lines["category_id"].str.contains(r"^[-+.\d]+$")
        refuse_lines([path], lines, unknown, "the class is not a number of THUMOS14's list, 7 to 97, and not a name")
        is_reversed = lines["end_time"] < lines["start_time"]
        refuse_malformed_lines("detections", [path], lines, is_reversed, "the interval ends before it starts")
        return lines.select("image_id", known.fill_null(lines["category_id"]), "score", *INTERVAL)
