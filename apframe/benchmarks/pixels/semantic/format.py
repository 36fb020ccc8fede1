"""Folders of label maps for semantic segmentation: images in which each pixel has the number of a class."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import polars as pl

from apframe.exceptions import FormatError
from apframe.folders import files_in
from apframe.formats.files import read_text
from apframe.formats.format import ReadOnly
from apframe.formats.looks import Look, looks
from apframe.formats.path_contents import PathContents
from apframe.paths import is_file
from apframe.tables.dataset import Dataset
from apframe.tables.ids import is_known
from apframe.tables.names import bare
from apframe.wording import counted, listed

_CLASSES = "classes.txt"
# endings that Cityscapes appends to the name of an image: in the ground truth, and in the image itself and often in results
_APPENDED = re.compile(r"_(gtFine|gtCoarse)_(labelIds|labelTrainIds)$|_leftImg8bit$")
_OTHER_TASKS = re.compile(r"_(gtFine|gtCoarse)_(color|instanceIds|instanceTrainIds)\.png$")  # beside its label maps
_GREY = 1 + (1 << 8) + (1 << 16)  # a color image whose channels are all 2 has the number 2 * _GREY
_OTHERS = ("*.json", "*.txt", "*.xml", "*.csv", "*.yaml", "*.parquet")


class LabelMaps(ReadOnly):
    """A folder of PNGs with the number of a class in each pixel, and one with the same names for the results.

    The image id is the file name without its extension, including folders below the first one. Endings of Cityscapes
    (`_gtFine_labelIds`, `_leftImg8bit`) are left out, and its colors and instances are skipped. The folders of results may
    differ from those of the ground truth if the names without folders are unique.

    There is one annotation for each class of an image: `segment_id` and `category_id` are the label, and the area is the number
    of pixels. All files are opened to count them. Detections are the same, without an area or a score. A file `classes.txt`
    beside the PNGs of the ground truth names a class in each line, starting with label 0, and so makes classes without pixels
    known.

    The similarity defines the labels of pixels without a class: see `apframe.similarity.LabelIoU`.
    """

    name = "label_maps"
    title = "Label maps"
    dataset_is = "a folder of PNGs with the number of a class in each pixel; optionally classes.txt with the names"
    results_are = "a folder of such PNGs of the same names"
    dataset_looks = results_looks = looks(Look("folder", names=("*.png", "*/"), no_names=("*.jpg", "*.jpeg")))
    only_for = ("semantic", "panoptic", "panoptic_boundary")
    asks_for_images = True

    def recognizes(self, seen: PathContents, role: str) -> bool:
        """Look for PNGs without other readable files, except the names of classes."""
        others = [name for name in seen.of_names(*_OTHERS) if name != _CLASSES and not name.endswith("_polygons.json")]
        return not others and seen.has_deep(".png")

    def read_tables(self, path: Path, **options: Any) -> dict[str, pl.DataFrame]:
        """Read the tables of a data set: see `Format.read_tables`."""
        regions, maps = _regions(path)
        sizes = regions.unique("image_id").select("image_id", "image_height", "image_width")
        images = maps.join(sizes, on="image_id", how="left", maintain_order="left")
        names = read_text(path / _CLASSES).splitlines() if is_file(path / _CLASSES) else []
        named = pl.DataFrame({"category_id": range(len(names)), "name": names}, {"category_id": pl.Int64, "name": pl.String})
        labels = regions.select("category_id").unique().join(named, on="category_id", how="anti")
        categories = pl.concat([named, labels], how="diagonal").sort("category_id")
        annotations = regions.select("image_id", "category_id", "segment_id", area=pl.col("pixels").cast(pl.Float64))
        return {"images": images, "categories": categories, "annotations": annotations}

    def read_results(self, path: Path, dataset: Dataset | None) -> pl.DataFrame:
        """Read detections: see `Format.read_results`."""
        regions, maps = _regions(path)
        if dataset is not None and (images := dataset.core("images")["image_id"]).dtype == pl.String:
            missing = images.filter(~is_known(images, maps["image_id"]))
            if len(missing):
                regions, maps = (_in_folders_of(images, frame) for frame in (regions, maps))
                missing = images.filter(~is_known(images, maps["image_id"]))
            if len(missing):
                problem = f"no label map for {counted(len(missing), 'image')} of the ground truth ({listed(missing.to_list())})"
                raise FormatError(problem, "names without extension must be the same in ground truth and results", path=path)
            _refuse_grey(regions.join(maps, on="image_id", maintain_order="left"), dataset)
        segments = regions.join(maps.select("image_id", "label_map"), on="image_id", how="left", maintain_order="left")
        return segments.select("image_id", "category_id", "segment_id", "label_map")


def _in_folders_of(images: pl.Series, frame: pl.DataFrame) -> pl.DataFrame:
    """Replace ids by those of images with the same name without folders; change nothing if such names are not unique."""
    names = pl.DataFrame({"named": images}).with_columns(name=bare(pl.col("named")))
    own = frame.select(pl.col("image_id").unique()).with_columns(name=bare(pl.col("image_id")))
    if names["name"].is_duplicated().any() or own["name"].is_duplicated().any():
        return frame
    ids = own.join(names, on="name", how="left").select("image_id", pl.coalesce("named", "image_id").alias("new"))
    return frame.join(ids, on="image_id", how="left", maintain_order="left").with_columns(image_id="new").drop("new")


def _refuse_grey(regions: pl.DataFrame, dataset: Dataset) -> None:
    """Raise an error if unknown labels come from a color image with three equal channels."""
    known_ids = dataset.core("categories")["category_id"]
    if dataset.merged is not None or not known_ids.dtype.is_integer():
        return
    labels = pl.col("category_id")
    are_grey = ((labels % _GREY == 0).all() & (labels > 0).any()).over("image_id")
    grey = regions.filter(are_grey).filter(labels > 0, ~labels.is_in(known_ids.implode()))
    if not grey.is_empty():
        first = grey["label_map"][0]
        which = listed(grey.filter(label_map=first)["category_id"].sort().to_list())
        problem = f"is a color image whose channels are the same, so that its labels are {which}"
        raise FormatError(problem, "save label maps with a single channel", path=first)


def _regions(path: Path) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the classes of each image with their pixels, and the images: image_id, file_name, label_map."""
    files = files_in(path, ".png", deep=True)
    if not files:
        raise FormatError("no PNG in this folder", "label maps are PNGs", path=path)
    files = [file for file in files if _OTHER_TASKS.search(file.name) is None]
    names = [_APPENDED.sub("", file.relative_to(path).with_suffix("").as_posix()) for file in files]
    paths = [str(file.absolute()) for file in files]  # they may be opened in another working directory
    maps = pl.DataFrame({"image_id": names, "file_name": [file.name for file in files], "label_map": paths})
    if (is_double := maps["image_id"].is_duplicated()).any():
        which = listed(maps["file_name"].filter(is_double).to_list())
        raise FormatError(f"several files belong to one image ({which})", "keep one kind of label maps", path=path)
    from apframe.tables.shapes.label_maps import count_labels  # imports NumPy

    counts = count_labels(maps["label_map"].to_list())
    regions = counts.with_columns(image_id=maps["image_id"].gather(counts["image"]), category_id="segment_id")
    return regions, maps
