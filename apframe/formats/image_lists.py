"""Lists of images that alone are evaluated: those that users give, and those that published splits are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from apframe.exceptions import ParameterError
from apframe.formats.files import read_text
from apframe.formats.format import Format
from apframe.paths import files_in, is_file, is_folder, kind_at
from apframe.tables.dataset import Dataset
from apframe.tables.ids import is_known
from apframe.tables.names import called, places_of
from apframe.tables.tables import ID
from apframe.tables.types import with_ids
from apframe.wording import counted, did_you_mean, listed, spelled

_LISTS = ("ImageSets", "ImageSets/Main", "splits", ".")  # folders of lists, beside the labels or up to two folders higher
_HIGHER = 2


def with_only(dataset: Dataset, images: Any) -> Dataset:
    """The data set of some of its images; `Dataset.left_out` has the others, whose detections are left out.

    Parameters
    ----------
    images
        ids or file names, which match with or without folders and ending, or the path of a text file with one in each line

    Raises
    ------
    ParameterError
        no images, or some that the data set does not have

    >>> dataset = Dataset({"image_id": [7, 8], "file_name": ["a.jpg", "b.jpg"]}, {"category_id": [1]}, {})
    >>> with_only(dataset, ["b"]).images["image_id"].to_list(), with_only(dataset, [7]).images["file_name"].to_list()
    ([8], ['a.jpg'])
    """
    is_path = isinstance(images, (str, Path))
    of = str(images) if is_path else spelled("images", "")
    given = pl.DataFrame({"image_id": read_list(Path(images)) if is_path else images}, strict=False)
    asked = with_ids(of, given, "image_id")[1].unique(maintain_order=True)
    if asked.is_empty():
        raise ParameterError(f"{of} names no images", "give their ids or file names")
    known = dataset.core("images")
    ids = known["image_id"]
    texts, named = ids.cast(pl.String), asked.cast(pl.String)
    if asked.dtype == ids.dtype == ID or is_known(named, texts).all():
        is_there, chosen = is_known(named, texts), is_known(texts, named)
    else:
        places = places_of(named, called("images", known), "images")
        is_there = places.list.len() > 0
        rows = pl.int_range(known.height, dtype=pl.UInt32, eager=True)
        chosen = is_known(rows, places.explode(empty_as_null=False, keep_nulls=False))
    if not is_there.all():
        unknown = asked.filter(~is_there)
        problem = f"{of}: {len(unknown):,} of {counted(len(asked), 'image')} are not in the ground truth"
        example = listed(called("images", known).head(2).to_list())
        raise ParameterError(f"{problem} ({listed(unknown.to_list())})", f"its images are called {example}")
    return dataset.of_images(chosen)


def read_list(path: Path) -> list[str]:
    """The names in a text file, one in each line; blank lines are skipped.

    Raises
    ------
    FormatError
        a file that is missing, or no text
    """
    return [name for line in read_text(path).splitlines() if (name := line.strip())]


def without_left_out(detections: pl.DataFrame, dataset: Dataset) -> pl.DataFrame:
    """Detections without those of images that the data set leaves out; see `Dataset.of_images`.

    >>> dataset = Dataset({"image_id": [7, 8]}, {"category_id": [3]}, {}).of_images(pl.Series([True, False]))
    >>> without_left_out(pl.DataFrame({"image_id": [8, 7]}), dataset)["image_id"].to_list()
    [7]
    """
    if dataset.left_out is None or "image_id" not in detections.columns:
        return detections
    detections, ids = with_ids("detections", detections, "image_id")
    others = dataset.left_out["image_id"]
    return detections if ids.dtype != others.dtype else detections.filter(~is_known(ids, others).fill_null(False))


def part_of_split(path: Path, format_: Format, options: Mapping[str, Any]) -> tuple[Path, Mapping[str, Any], Path | None]:
    """Where a split of ground truth is: its folder, the options that its format still needs, and the list of its images.

    A name is for the format if this has splits of its own. Else it stands for the folder of this name inside, or for the list
    `ImageSets/NAME.txt`, beside it or up to two folders higher. It may also be the path of a list, from here or from one of
    these folders.

    Raises
    ------
    ParameterError
        the ground truth is one file, or there is no such split
    """
    split, others = str(options["split"]), {**options, "split": None}
    if Path(split).suffix and (lists := [place / split for place in (Path(), *_around(path)) if is_file(place / split)]):
        return path, others, lists[0]
    if "split" in format_.options:
        return path, options, None
    if kind_at(path) != "folder":
        remedy = f"evaluate some of its images with {spelled('images', '')}"
        raise ParameterError(f"{format_.title} in one file has no splits", remedy, option="split")
    if is_folder(path / split):
        return path / split, others, None
    named = {file.stem: file for folder in _folders_of_lists(path) for file in files_in(folder, ".txt")}
    if split not in named:
        there = sorted({*named, *(folder.name for folder in path.iterdir() if is_folder(folder))})
        remedy = did_you_mean(split, there) if there else "give the path of a text file with an image name in each line"
        raise ParameterError(f"no split {split!r}, neither a folder nor a list of images in ImageSets", remedy, path=path)
    return path, others, named[split]


def _around(path: Path) -> Iterator[Path]:
    here = path.absolute()
    yield from (here, *here.parents[:_HIGHER])


def _folders_of_lists(path: Path) -> list[Path]:
    """The folders that may have lists, the nearest last; never that of the labels, which may be text too."""
    folders = [folder / name for folder in _around(path) for name in _LISTS]
    return [folder for folder in reversed(folders) if folder.resolve() != path.resolve()]
