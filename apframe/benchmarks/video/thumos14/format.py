"""THUMOS14's text: a file of intervals for each action, and results in one file."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import polars as pl

from apframe.exceptions import FormatError, ParameterError
from apframe.formats.format import ReadOnly
from apframe.formats.looks import NAME, Look, looks
from apframe.formats.path_contents import PathContents, is_number
from apframe.formats.text_lines import Lines, some_text_files
from apframe.tables.dataset import Dataset
from apframe.tables.shapes.declarations import INTERVAL
from apframe.wording import did_you_mean, listed, option_name

_FILE = re.compile(r"(.+)_(test|val)", re.DOTALL)
_OF_THE_KIT = ("detclasslist", "readme")  # other text in its folder
_ENDING = r"(?i)\.(mpe?g|mp4|avi|mkv|webm)$"  # the extension of a video in some results
_NUMBERS = {
    "7": "BaseballPitch", "9": "BasketballDunk", "12": "Billiards", "21": "CleanAndJerk", "22": "CliffDiving",
    "23": "CricketBowling", "24": "CricketShot", "26": "Diving", "31": "FrisbeeCatch", "33": "GolfSwing", "36": "HammerThrow",
    "40": "HighJump", "45": "JavelinThrow", "51": "LongJump", "68": "PoleVault", "79": "Shotput", "85": "SoccerPenalty",
    "92": "TennisSwing", "93": "ThrowDiscus", "97": "VolleyballSpiking",
}  # fmt: skip


class Thumos14(ReadOnly):
    """THUMOS14's annotations of actions: a folder of files `CLASS_test.txt`, lines of video, start and end (seconds).

    Files `CLASS_val.txt` are those of the validation set: if a folder has both, like the kit's, `split` chooses "test" or
    "val". `Ambiguous_test.txt` is a category too, to which the protocol THUMOS14 applies a special rule. Only videos with
    intervals are known. The kit's `detclasslist.txt` and `readme.txt` are skipped. Extensions of videos, such as .mpeg, are
    left out in ground truth and results.

    Results are one text file, lines of video, start, end, class and score. The class is a name, or a number of the kit's list,
    which uses the numbers of UCF101 (7 is BaseballPitch, 97 VolleyballSpiking).

    Source: the files of THUMOS14 and its evaluation kit (detclasslist.txt).
    """

    name = "thumos14"
    title = "THUMOS14 text"
    dataset_is = "a folder of text files CLASS_test.txt (or CLASS_val.txt), one for each action, lines of video start end"
    results_are = "a text file, lines of video start end class score"
    dataset_looks = looks(Look("folder", names=("?*_test.txt", "?*_val.txt"), line=NAME + " # #"))
    results_looks = looks(Look("file", line=NAME + r" # # \S+ #"))
    results_ending = ".txt"
    options = ("split",)

    def recognizes(self, seen: PathContents, role: str) -> bool:
        """Check that the fourth field of results is a class: its number, or a name."""
        return role == "dataset" or seen.fields[3] in _NUMBERS or not is_number(seen.fields[3])

    def read_tables(self, path: Path, *, split: str | None = None, **options: Any) -> dict[str, pl.DataFrame]:
        """Read the tables of a data set: see `Format.read_tables`."""
        named = [(file, _FILE.fullmatch(file.stem)) for file in some_text_files(path)]
        if others := [file.name for file, name in named if name is None and file.stem.lower() not in _OF_THE_KIT]:
            raise FormatError(f"not named CLASS_test.txt: {listed(others)}", "rename or remove them", path=path)
        files = [(file, name[1], name[2]) for file, name in named if name is not None]
        if not files:
            raise FormatError("holds no file CLASS_test.txt", path=path)
        splits = sorted({each for _, _, each in files})
        if split is None and len(splits) > 1:
            raise ParameterError("has files of test and of val", f"choose one with {option_name('split', 'test')}", path=path)
        if split not in (None, *splits):
            raise ParameterError(f"no split {split!r}", did_you_mean(str(split), splits), path=path)
        paths, classes, _ = zip(*(each for each in files if split in (None, each[2])), strict=True)
        source = Lines("annotations", paths)
        lines = _named_videos(source.take(("image_id", *INTERVAL), INTERVAL))
        source.refuse_malformed(lines["end_time"] < lines["start_time"], "the interval ends before it starts")
        names = pl.Series("category_id", classes, dtype=pl.String)
        return {
            "images": lines.select(pl.col("image_id").drop_nulls().unique().sort()),
            "categories": names.to_frame().with_columns(name="category_id"),
            "annotations": source.sound(lines.select("image_id", names.gather(lines["file"]), *INTERVAL)),
        }

    def read_results(self, path: Path, dataset: Dataset | None) -> pl.DataFrame:
        """Read detections: see `Format.read_results`."""
        source = Lines("detections", [path])
        lines = _named_videos(source.take(("image_id", *INTERVAL, "category_id", "score"), (*INTERVAL, "score")))
        names = lines["category_id"].replace_strict(_NUMBERS, default=None, return_dtype=pl.String)
        unknown = names.is_null() & lines["category_id"].str.contains(r"^[-+.\d]+$")
        source.refuse(unknown, "the class is not a number of THUMOS14's list, 7 to 97, and not a name")
        source.refuse_malformed(lines["end_time"] < lines["start_time"], "the interval ends before it starts")
        return source.sound(lines.select("image_id", names.fill_null(lines["category_id"]), "score", *INTERVAL))


def _named_videos(lines: pl.DataFrame) -> pl.DataFrame:
    """Remove extensions from the names of videos."""
    return lines.with_columns(pl.col("image_id").str.replace(_ENDING, ""))
