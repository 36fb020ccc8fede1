"""COCO's panoptic format: JSON that lists the segments of images, and a folder of label maps beside it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from apframe.exceptions import FormatError, ImagesLeftOutWarning, warn
from apframe.formats.coco.truth import coco_in_memory
from apframe.formats.documents import read_json
from apframe.formats.format import ReadOnly
from apframe.formats.json_fields import Fields
from apframe.formats.looks import Look, looks
from apframe.paths import is_file, is_folder, is_inside
from apframe.tables.dataset import Dataset
from apframe.tables.ids import is_known
from apframe.wording import counted, listed, option_name

_SEGMENTS = "segments_info"


class CocoPanoptic(ReadOnly):
    """COCO's panoptic JSON, also written by Cityscapes' kit: the segments of each image, whose pixels are in a label map.

    The label maps are PNGs in the folder beside the file that has its name without `.json`, or else in the folder of the file.
    They are opened when pixels are counted, not when the JSON is read. Given that folder of PNGs, the file beside it is read.

    `images` have the full path of their `label_map`. Annotations have `segment_id`, the number of the segment in the label map,
    area and is_crowd as in the file, consecutive numbers as `annotation_id`, and boxes only if all segments have a bbox. Other
    fields of images, categories (`isthing`) and segments are attributes. Detections have `segment_id` and `label_map`; their
    other fields, such as a score, are not read. Images without an entry in the annotations are left out, with an
    `ImagesLeftOutWarning`.

    Source: cocodataset.org, format-data, 4; panopticapi, which raises the same errors about results.
    """

    name = "coco_panoptic"
    title = "COCO panoptic JSON"
    dataset_is = "a JSON file with images, categories and annotations that list segments_info, and PNGs in a folder of its name"
    results_are = "the same with annotations alone: image_id, file_name, segments_info with id and category_id"
    dataset_looks = looks(
        Look("file", begins="{", keys=(_SEGMENTS, "images")),
        Look("folder", names=("*.png",), beside=True, begins="{", keys=(_SEGMENTS, "images")),
    )
    results_looks = looks(
        Look("file", begins="{", keys=(_SEGMENTS,)),
        Look("folder", names=("*.png",), beside=True, begins="{", keys=(_SEGMENTS,)),
    )
    results_ending = ".json"
    asks_for_images = True

    def read_tables(self, path: Path, **options: Any) -> dict[str, pl.DataFrame]:
        """Read the tables of a data set: see `Format.read_tables`."""
        path = _json_of(path)
        document, images = _document(path)
        segments, fields = _segments(path, images)
        fields.number("area")
        rows = [
            {("segment_id" if name == "id" else name): value for name, value in segment.items()}
            | {"image_id": image["image_id"]}
            for image, segment in segments
        ]
        have_boxes = all(row.get("bbox") for row in rows)
        rows = [{"id": k} | {name: row[name] for name in row if name != "bbox" or have_boxes} for k, row in enumerate(rows, 1)]
        tables = coco_in_memory({name: document.get(name) for name in ("images", "categories")} | {"annotations": rows}).tables
        maps = _label_maps(path, images).cast({"image_id": tables["images"]["image_id"].dtype})
        named = tables["images"].drop("label_map", strict=False)
        with_segments = named.join(maps, on="image_id", maintain_order="left")
        if lost := named.height - with_segments.height:
            which = listed(named.join(maps, on="image_id", how="anti")["image_id"].to_list())
            warn(f"{path}: left out {counted(lost, 'image')} without an annotation ({which})", ImagesLeftOutWarning)
        return {**tables, "images": with_segments}

    def read_results(self, path: Path, dataset: Dataset | None) -> pl.DataFrame:
        """Read detections: see `Format.read_results`."""
        path = _json_of(path)
        _, images = _document(path)
        segments, fields = _segments(path, images)
        maps = _label_maps(path, images)
        detections = pl.DataFrame(
            {
                "image_id": pl.Series([image["image_id"] for image, _ in segments], dtype=maps["image_id"].dtype),
                "category_id": fields.whole("category_id"),
                "segment_id": fields.whole("id"),
            }
        ).join(maps, on="image_id", how="left", maintain_order="left")
        if dataset is not None:
            _refuse_missing_images(path, maps["image_id"], dataset)
            _check_empty([image for image in images if not image[_SEGMENTS]], maps, dataset)
            if dataset.merged is None:
                _refuse_unknown_categories(path, detections, dataset)
        return detections


def _json_of(path: Path) -> Path:
    """Return the file itself, or the file beside a folder of PNGs."""
    if not is_folder(path):
        return path
    beside = path.absolute().with_name(f"{path.absolute().name}.json")
    if not is_file(beside):
        raise FormatError("this is a folder of PNGs, without the JSON file of its name beside it", f"add {beside}", path=path)
    return beside


def _document(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Read the file; return the document, and its entries of images with segments."""
    document = read_json(path)
    images = document.get("annotations") if isinstance(document, dict) else None
    if not isinstance(images, list):
        raise FormatError("no list named annotations", "is it COCO's panoptic JSON?", path=path)
    entries = Fields("", path, "annotation", "", images)
    entries.refuse_each([not _is_id(row.get("image_id")) for row in images], "image_id is missing or no id")
    entries.refuse_each([not isinstance(row.get(_SEGMENTS), list) for row in images], f"{_SEGMENTS} is missing or not a list")
    entries.text("file_name")
    ids = pl.Series([str(row["image_id"]) for row in images], dtype=pl.String)
    entries.refuse_repeated(ids, "several annotations have the image_id")
    return document, images


def _is_id(value: Any) -> bool:
    return isinstance(value, str) or (isinstance(value, int) and abs(value) < 2**63)


def _segments(path: Path, images: list[dict[str, Any]]) -> tuple[list[tuple[dict[str, Any], dict[str, Any]]], Fields]:
    """Return all segments with the entries of their images, and the fields of segments."""
    segments = [(image, segment) for image in images for segment in image[_SEGMENTS]]
    places = [str(image["image_id"]) for image, _ in segments]
    fields = Fields("", path, "segment", "image", [segment for _, segment in segments], places)
    fields.whole("id")
    return segments, fields


def _label_maps(path: Path, images: list[dict[str, Any]]) -> pl.DataFrame:
    """Return image_id and the path of the label map of each image."""
    folder = path.parent / path.name.removesuffix(".gz").removesuffix(".json")
    folder = folder if folder != path and is_folder(folder) else path.parent
    files = [folder.absolute() / image["file_name"] for image in images]  # they may be opened in another working directory
    entries = Fields("", path, "annotation", "", images)
    entries.refuse_each(
        [not is_inside(file, [folder]) for file in files], "file_name leads out of the folder of the label maps"
    )
    ids: list[Any] = [image["image_id"] for image in images]
    if len(set(map(type, ids))) > 1:
        raise FormatError("some image_id are numbers, others are text", "use one kind", path=path)
    schema = {"image_id": pl.String if ids and isinstance(ids[0], str) else pl.Int64, "label_map": pl.String}
    return pl.DataFrame({"image_id": ids, "label_map": list(map(str, files))}, schema)


def _refuse_missing_images(path: Path, found: pl.Series, dataset: Dataset) -> None:
    """Raise an error if images of the ground truth have no results, where the kit stops too."""
    images = dataset.core("images")["image_id"]
    if images.dtype != found.dtype:
        return  # the comparison of ids reports it
    missing = images.filter(~is_known(images, found))
    if len(missing):
        raise FormatError(
            f"{counted(len(missing), 'image')} of the ground truth without results ({listed(missing.to_list())})",
            f"add them, with an empty list {_SEGMENTS} and a black label map if nothing was found",
            path=path,
        )


def _check_empty(empty: list[dict[str, Any]], maps: pl.DataFrame, dataset: Dataset) -> None:
    """Raise an error, as the kit does, if the label map of an image without segments has some, or is missing or unfit."""
    images = dataset.images
    if not empty or "label_map" not in images.columns or images["image_id"].dtype != maps["image_id"].dtype:
        return
    from apframe.tables.shapes.label_maps import refuse_unlisted, share_pixels  # imports NumPy

    without = maps.filter(pl.col("image_id").is_in([image["image_id"] for image in empty]))
    both = without.join(images.select("image_id", expected="label_map"), on="image_id", maintain_order="left")
    shared = share_pixels(both["expected"].to_list(), both["label_map"].to_list()).rename({"detected": "segment_id"})
    refuse_unlisted(shared, shared.clear(), both)


def _refuse_unknown_categories(path: Path, detections: pl.DataFrame, dataset: Dataset) -> None:
    category_ids = dataset.core("categories")["category_id"]
    if category_ids.dtype != detections["category_id"].dtype:
        return  # the comparison of ids reports it
    unknown = detections.filter(~is_known(detections["category_id"], category_ids))
    if unknown.height:
        ids = unknown["category_id"].unique(maintain_order=True).to_list()
        where = unknown["image_id"].unique(maintain_order=True).to_list()
        remedy = f"give ids of the ground truth's categories, or {option_name('category_map')}"
        raise FormatError(f"unknown category_id {listed(ids)} in image {listed(where)}", remedy, path=path)
