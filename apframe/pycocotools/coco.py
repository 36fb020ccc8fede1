"""`COCO`: a data set, or results on one, as tables, and as pycocotools' dictionaries once they are used."""
# ruff: noqa: N802, N803, N812, T201 - names and prints are those that training code knows

from __future__ import annotations

import copy
import os
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from threading import RLock
from typing import Any
from urllib.request import urlretrieve

import numpy as np
import polars as pl

from apframe.adapters.arrays import tabulate_rows
from apframe.exceptions import FormatError, RowError, UnknownIdError
from apframe.formats.coco.results import read_coco_results
from apframe.paths import is_inside
from apframe.pycocotools import mask as maskUtils
from apframe.pycocotools.coco_files import JsonFile, ResultList, Row
from apframe.tables.column_sources import kind_of
from apframe.tables.dataset import Dataset
from apframe.tables.schemas import KEYS
from apframe.threads import pool
from apframe.wording import listed

PYTHON_VERSION = sys.version_info[0]
_MADE = ("dataset", "anns", "cats", "imgs", "imgToAnns", "catToImgs")
_MAKING = RLock()  # one lock for all objects, because objects with their own lock could not be pickled


class COCO:
    """pycocotools' `COCO`: a file of ground truth with its index, or the results that `loadRes` returns.

    A file, plain or gzip, is parsed into tables when they are first needed. `dataset`, `anns`, `cats`, `imgs`, `imgToAnns` and
    `catToImgs` are created at the first use of one of them. From then on they are the data: changes in them are evaluated.

    Differences from pycocotools: invalid data are rejected, while pycocotools continues and returns numbers (NaN scores,
    negative sizes, and ids that are not unique, at evaluation or in `loadRes` of a file; ids in an array that are not whole);
    `loadRes` accepts an empty list; and `loadAnns`, `loadCats` and `loadImgs` accept an id of any type, while pycocotools
    returns None for a NumPy id.

    Parameters
    ----------
    annotation_file
        path of ground truth, including captions and lists of images; without it the object is empty: assign `dataset`, then
        call `createIndex`

    Raises
    ------
    FormatError
        the file is missing; at its first use, not JSON, or not an object

    >>> coco = COCO()
    >>> coco.dataset = {"images": [{"id": 7}], "categories": [{"id": 1, "name": "cat"}], "annotations": []}
    >>> coco.createIndex()
    creating index...
    index created!
    >>> coco.getImgIds(), coco.loadCats(1)
    ([7], [{'id': 1, 'name': 'cat'}])
    """

    _source: JsonFile | ResultList | None = None  # set as long as its tables replace the dictionaries

    def __init__(self, annotation_file: str | os.PathLike[str] | None = None) -> None:
        if annotation_file is None:
            self._publish({})
            return
        print("loading annotations into memory...")
        tic = time.time()
        self._source = JsonFile(Path(annotation_file), dict, dict)
        print(f"Done (t={time.time() - tic:0.2f}s)")
        print("creating index...\nindex created!")

    def __getattr__(self, name: str) -> Any:
        if name in _MADE:
            self._make()
        if name not in self.__dict__:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return self.__dict__[name]

    def __getstate__(self) -> Row:
        self._make()
        return self.__dict__

    def _make(self) -> None:
        """Create the dictionaries, if tables still replace them, and keep those that were assigned."""
        with _MAKING:
            if self._source is not None:
                assigned = {name: self.__dict__[name] for name in _MADE if name in self.__dict__}
                self._publish(self._source.load(), assigned)

    def createIndex(self) -> None:
        """Create `anns`, `cats`, `imgs`, `imgToAnns` and `catToImgs` from `dataset`."""
        print("creating index...")
        self._publish(self.dataset)
        print("index created!")

    def _publish(self, dataset: Row, assigned: Row | None = None) -> None:
        """Publish the data set and its index in one step, because other threads may be reading."""
        sections = [dataset.get(name, []) for name in ("annotations", "images", "categories")]
        anns, imgs, cats = ({row["id"]: row for row in rows} for rows in sections)
        of_images, of_categories = defaultdict[Any, list[Row]](list), defaultdict[Any, list[Any]](list)
        for row in sections[0]:
            of_images[row["image_id"]].append(row)
        if "categories" in dataset:
            for row in sections[0]:
                of_categories[row["category_id"]].append(row["image_id"])
        dictionaries = dict(zip(_MADE, (dataset, anns, cats, imgs, of_images, of_categories), strict=True))
        self.__dict__.update(dictionaries | (assigned or {}), _source=None)

    def info(self) -> None:
        """Print the section `info` of the file."""
        for key, value in self.dataset["info"].items():
            print(f"{key}: {value}")

    def getAnnIds(self, imgIds: Any = (), catIds: Any = (), areaRng: Any = (), iscrowd: Any = None) -> list[Any]:
        """Return the ids of annotations by images, categories, a range of areas (both ends exclusive), and crowds or not."""
        images, categories, areas = _several(imgIds), _several(catIds), list(areaRng)
        rows: Iterable[Row]
        if images:
            rows = [row for image_id in images for row in self.imgToAnns.get(image_id, ())]
        else:
            rows = self.dataset["annotations"]
        if categories:
            selected = set(categories)
            rows = [row for row in rows if row["category_id"] in selected]
        if areas:
            rows = [row for row in rows if areas[0] < row["area"] < areas[1]]
        return [row["id"] for row in rows if iscrowd is None or row["iscrowd"] == iscrowd]

    def getCatIds(self, catNms: Any = (), supNms: Any = (), catIds: Any = ()) -> list[Any]:
        """Return the ids of categories by names, names of supercategories, or ids.

        A text in place of a list selects all names that it contains, as in pycocotools: "cart" also selects "car".
        """
        each = [("name", catNms), ("supercategory", supNms), ("id", _several(catIds))]
        filters = [(field, values if _isArrayLike(values) else [values]) for field, values in each]
        filters = [(field, values) for field, values in filters if len(values)]
        if not filters:
            return self._ids("categories")
        return [row["id"] for row in self.dataset["categories"] if all(row[field] in values for field, values in filters)]

    def getImgIds(self, imgIds: Any = (), catIds: Any = ()) -> list[Any]:
        """Return the ids of images, of these or of all, that have annotations of every one of these categories."""
        images, categories = _several(imgIds), _several(catIds)
        if not images and not categories:
            return self._ids("images")
        sets = [set(images)] if images else []
        return list(set.intersection(*sets, *(set(self.catToImgs.get(category_id, ())) for category_id in categories)))

    def _ids(self, section: str) -> list[Any]:
        """Return all ids of a section as in the file."""
        if isinstance(truth := tables_of(self), Dataset):
            return truth.core(section)[KEYS[section]].to_list()
        return list(self.imgs) if section == "images" else [row["id"] for row in self.dataset["categories"]]

    def loadAnns(self, ids: Any = ()) -> list[Row]:
        """Return the annotations with these ids, or with one id."""
        return [self.anns[key] for key in _several(ids)]

    def loadCats(self, ids: Any = ()) -> list[Row]:
        """Return the categories with these ids, or with one id."""
        return [self.cats[key] for key in _several(ids)]

    def loadImgs(self, ids: Any = ()) -> list[Row]:
        """Return the images with these ids, or with one id."""
        return [self.imgs[key] for key in _several(ids)]

    def loadRes(self, resFile: Any) -> COCO:
        """Load results on this data set: a path, a list of dictionaries, or an array as for `loadNumpyAnnotations`.

        `id`, which counts from 1, `area`, and missing `bbox` or `segmentation` are derived from the shape of the first result,
        as in pycocotools, and added to the dictionaries of a list at once. The list itself may change afterwards.

        Raises
        ------
        FormatError, RowError, UnknownIdError
            not a list; invalid results; results on images that the data set does not contain

        >>> coco = COCO()
        >>> coco.dataset = {"images": [{"id": 7}], "categories": [{"id": 1}], "annotations": []}
        >>> coco.createIndex()
        creating index...
        index created!
        >>> rows = [{"image_id": 7, "category_id": 1, "bbox": [1, 2, 3, 4], "score": 0.5}]
        >>> results = coco.loadRes(rows)  # doctest: +ELLIPSIS
        Loading and preparing results...
        DONE (t=...s)
        creating index...
        index created!
        >>> results.anns[1]["area"], results.anns[1]["segmentation"]
        (12, [[1, 2, 1, 6, 4, 6, 4, 2]])
        """
        print("Loading and preparing results...")
        tic, results = time.time(), COCO()
        if isinstance(resFile, (str, os.PathLike)):
            source = JsonFile(Path(resFile), list, lambda rows: self._results(_completed(rows)))
            with pool() as others:  # the two files are parsed in parallel, as in `apframe.evaluate`
                parsing = others.submit(tables_of, self)
                tables = source.tables()
                parsing.result()
            self._refuse_unknown_images(_completed(source.parsed()) if tables is None else tables)
            results._source = source
        else:
            items = self.loadNumpyAnnotations(resFile) if isinstance(resFile, np.ndarray) else resFile
            if not isinstance(items, list):
                raise FormatError(f"results must be a path, a list of dictionaries or an array, not {kind_of(items)}")
            try:
                self._refuse_unknown_images(items)
            except (KeyError, TypeError):
                read_coco_results(items)  # its error names the row
                raise
            results._source = ResultList(_completed(items), self._results)
        for name in _MADE:
            del results.__dict__[name]
        print(f"DONE (t={time.time() - tic:0.2f}s)")
        print("creating index...\nindex created!")
        return results

    def _refuse_unknown_images(self, results: Any) -> None:
        each: Any = results["image_id"] if isinstance(results, pl.DataFrame) else [row["image_id"] for row in results]
        known_ids = self.imgs if tables_of(self) is None else set(self._ids("images"))
        if unknown := {
            image_id for image_id in (each.unique() if isinstance(each, pl.Series) else set(each)) if image_id not in known_ids
        }:
            rows = [number for number, image_id in enumerate(each, 1) if image_id in unknown]
            remedy = f"unknown: {listed(sorted(unknown))}; use the ground truth of these results, or remove these rows"
            raise UnknownIdError("results", "image_id is not among the images", "row", rows, remedy)

    def _results(self, rows: list[Row]) -> Row:
        """Return results as a data set."""
        dataset = {"info": copy.deepcopy(self.dataset.get("info", {})), "images": list(self.dataset["images"])}
        if rows and "caption" in rows[0]:
            captioned = {row["image_id"] for row in rows}
            dataset["images"] = [row for row in dataset["images"] if row["id"] in captioned]
        else:
            dataset["categories"] = copy.deepcopy(self.dataset["categories"])
        return dataset | {"annotations": rows}

    def loadNumpyAnnotations(self, data: np.ndarray) -> list[Row]:
        """Convert an array of rows (image, x, y, width, height, score, category) to results; ids must be whole numbers."""
        tabulate_rows(data)
        print("Converting ndarray to lists...")
        print(data.shape)
        rows = data.tolist() if data.dtype == np.float64 else data  # areas are computed in the type of the array
        return [
            {"image_id": int(image), "bbox": box, "score": score, "category_id": int(category)}
            for image, *box, score, category in rows
        ]

    def annToRLE(self, ann: Row) -> Row:
        """Return the mask of an annotation as compressed run lengths, the union of its polygons."""
        image, segmentation = self.imgs[ann["image_id"]], ann["segmentation"]
        if isinstance(segmentation, list):
            return maskUtils.merge(maskUtils.frPyObjects(segmentation, image["height"], image["width"]))
        if isinstance(segmentation["counts"], list):
            return maskUtils.frPyObjects(segmentation, image["height"], image["width"])
        return segmentation

    def annToMask(self, ann: Row) -> np.ndarray:
        """Return the mask of an annotation as an array of 0 and 1, of shape (height, width)."""
        return maskUtils.decode(self.annToRLE(ann))

    def showAnns(self, anns: list[Row], draw_bbox: bool = False) -> int | None:
        """Draw annotations onto matplotlib's current axes, or print captions. Requires matplotlib."""
        if not anns:
            return 0
        from apframe.pycocotools.drawing import draw

        draw(anns, draw_bbox, self.annToMask, self.loadCats)
        return None

    def download(self, tarDir: str | None = None, imgIds: Any = ()) -> int | None:
        """Download images from their `coco_url` into a folder, except images that exist already.

        Unlike in pycocotools, a file name that leads out of the folder is a FormatError, and nothing is downloaded.
        """
        if tarDir is None:
            print("Please specify target directory")
            return -1
        images = self.loadImgs(imgIds) if len(imgIds) else list(self.imgs.values())
        folder = Path(tarDir)
        outside = [image["file_name"] for image in images if not is_inside(folder / image["file_name"], [folder])]
        if outside:
            raise FormatError(f"images: file_name points outside {tarDir}: {listed(outside)}", "correct it")
        folder.mkdir(parents=True, exist_ok=True)
        for number, image in enumerate(images):
            tic, path = time.time(), folder / image["file_name"]
            if not path.exists():
                urlretrieve(image["coco_url"], path)
            print(f"downloaded {number}/{len(images)} images (t={time.time() - tic:0.1f}s)")
        return None


def tables_of(coco: Any) -> Dataset | pl.DataFrame | list[Row] | None:
    """Return the data of a `COCO`: tables of ground truth, results as a table or a list; None if the dictionaries are the data.

    The dictionaries are the data once they were accessed, if a file has no tables, if a subclass selects the annotations
    itself, and in pycocotools' own objects.
    """
    source: JsonFile | ResultList | None = getattr(coco, "_source", None)
    are_overridden = [
        getattr(getattr(coco, name), "__func__", None) is not getattr(COCO, name) for name in ("getAnnIds", "loadAnns")
    ]
    if source is None or any(are_overridden) or any(name in vars(coco) for name in _MADE):
        return None
    with _MAKING:
        tables = source.tables()
    if tables is None:
        coco._make()
    return tables


def _isArrayLike(obj: Any) -> bool:
    return hasattr(obj, "__iter__") and hasattr(obj, "__len__")


def _several(values: Any) -> Sequence[Any]:
    """Return several values unchanged, and a single one, or a text, as a list."""
    return values if _isArrayLike(values) and not isinstance(values, str) else [values]


def has_box(row: Row) -> bool:
    """Return True if a result has a box, which may be an array."""
    return row.get("bbox") is not None and len(row["bbox"]) > 0


def _completed(rows: list[Row]) -> list[Row]:
    """Complete results by the shape of the first one, and return a new list of the same dictionaries."""
    try:
        _complete(rows, rows[0] if rows else {})
    except (KeyError, TypeError, ValueError) as error:
        read_coco_results(rows)  # its error names the row
        if not isinstance(error, KeyError):
            raise
        name = error.args[0]
        lacking = [number for number, row in enumerate(rows, 1) if name not in row]
        raise RowError("results", f"{name} is missing", "row", lacking, "supply it in all rows, as in the first one") from None
    return list(rows)


def _complete(rows: list[Row], first: Row) -> None:
    for number, row in enumerate(rows, 1):
        row["id"] = number
    if "caption" in first:
        return
    if has_box(first):
        for row in rows:
            x, y, width, height = row["bbox"]
            row.setdefault("segmentation", [[x, y, x, y + height, x + width, y + height, x + width, y]])
            row["area"], row["iscrowd"] = width * height, 0
    elif "segmentation" in first:
        masks = [row["segmentation"] for row in rows]
        for row, area, box in zip(rows, *maskUtils.measure(masks), strict=True):
            row.setdefault("bbox", box)
            row["area"], row["iscrowd"] = area, 0
    elif "keypoints" in first:
        for row in rows:
            x, y = row["keypoints"][0::3], row["keypoints"][1::3]
            width, height = max(x) - min(x), max(y) - min(y)
            row["area"], row["bbox"] = width * height, [min(x), min(y), width, height]
