"""Lists of the images to evaluate: given by users, or from published splits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from apframe.exceptions import ParameterError
from apframe.folders import files_in
from apframe.formats.by_name import with_names_of_numbers
from apframe.formats.files import read_text
from apframe.formats.format import Format
from apframe.paths import is_file, is_folder, kind_at
from apframe.tables.dataset import Dataset
from apframe.tables.ids import is_known
from apframe.tables.names import labels_of, places_of
from apframe.tables.schemas import ID
from apframe.tables.types import with_ids
from apframe.wording import counted, did_you_mean, listed, option_name

_LISTS = ("ImageSets", "ImageSets/Main", "splits", ".")  # folders of lists, beside the labels or up to two levels up
_HIGHER = 2


def with_only(dataset: Dataset, images: Any) -> Dataset:
    """Return the data set of some of its images; `Dataset.left_out` has the others, whose detections are left out.

    Parameters
    ----------
    images
        ids or file names, which match with or without folders and extension, or the path of a text file with one in each
        line

    Raises
    ------
    ParameterError
        no images, or images that are not in the data set

    >>> dataset = Dataset({"image_id": [7, 8], "file_name": ["a.jpg", "b.jpg"]}, {"category_id": [1]}, {})
    >>> with_only(dataset, ["b"]).images["image_id"].to_list(), with_only(dataset, [7]).images["file_name"].to_list()
    ([8], ['a.jpg'])
    """
    is_path = isinstance(images, (str, Path))
    of = str(images) if is_path and str(images) else option_name("images", "")
    values = images if isinstance(images, pl.Series) else read_list(Path(images)) if is_path and str(images) else [*images]
    requested = (
        with_ids(of, pl.DataFrame({"image_id": values}, strict=False), "image_id")[1].drop_nulls().unique(maintain_order=True)
    )
    if requested.is_empty():
        raise ParameterError(f"{of} names no images", "give their ids or file names")
    requested = with_names_of_numbers(requested.to_frame("image_id"), dataset)["image_id"]
    owner, numbers = dataset.core("images"), requested.dtype == ID
    ids, names = owner["image_id"], labels_of("images", owner)
    by_id = places_of(requested.cast(pl.String), ids.cast(pl.String), "categories")  # compared exactly
    by_name = by_id if numbers else places_of(requested.cast(pl.String), names, "images")
    is_id, is_name = (places.list.len() > 0 for places in (by_id, by_name))
    if not numbers and is_id.all() and is_name.all() and not by_id.equals(by_name):
        raise ParameterError(f"{of}: these are ids of some images and file names of others", "add the ending to file names")
    places, is_there = (by_id, is_id) if is_id.all() or numbers else (by_name, is_name)
    if not is_there.all():
        unknown = requested.filter(~is_there)
        problem = f"{of}: {len(unknown):,} of {counted(len(requested), 'image')} not in the ground truth"
        example = listed((ids if numbers else names).head(2).to_list())
        raise ParameterError(f"{problem} ({listed(unknown.to_list())})", f"its images are called {example}")
    if (doubled := places.list.len() > 1).any():
        which = listed(requested.filter(doubled).to_list())
        raise ParameterError(f"{of}: several images are called {which}", "add their folders, or give ids")
    rows = pl.int_range(owner.height, dtype=pl.UInt32, eager=True)
    return dataset.of_images(is_known(rows, places.explode()))


def read_list(path: Path) -> list[str]:
    """Read the names in a text file, one in each line; blank lines are skipped.

    Raises
    ------
    FormatError
        the file does not exist, or is not text
    """
    return [name for line in read_text(path).splitlines() if (name := line.strip())]


def part_of_split(
    source: Path, path: Path, format_: Format, options: Mapping[str, Any]
) -> tuple[Path, Mapping[str, Any], Path | None]:
    """Find a split of ground truth: its folder, the remaining options for its format, and the list of its images, if any.

    If the format has splits of its own, the name is passed to it. Otherwise it names a subfolder, or the list
    `ImageSets/NAME.txt`, beside the path or up to two levels up. It may also be the path of a list, relative to the current
    folder or one of these folders. `path` is the folder inside `source` that is read, see `PathContents.place`.

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
    if split in path.relative_to(source).parts:
        return path, others, None
    if kind_at(path) != "folder":
        remedy = f"evaluate some of its images with {option_name('images', '')}"
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
    """Return the folders that may have lists, the nearest last; not the folder of labels, which may also be text."""
    folders = [folder / name for folder in _around(path) for name in _LISTS]
    return [folder for folder in reversed(folders) if folder.resolve() != path.resolve()]
