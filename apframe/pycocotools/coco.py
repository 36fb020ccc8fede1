"""`COCO`: a data set, or results on one, as tables; and as pycocotools' dictionaries once someone looks at them."""
# ruff: noqa: N802, N803, T201 - names and prints are those that training code knows

from __future__ import annotations

import copy
import json
import os
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.request import urlretrieve

import numpy as np
import polars as pl

from apframe.exceptions import FormatError, InputError, ParameterError, UnknownIdError, listed
from apframe.io.coco import read_coco, read_coco_results
from apframe.io.files import read_unpacked, stamp
from apframe.schema import Dataset

Row = dict[str, Any]

_MADE = ("dataset", "anns", "cats", "imgs", "imgToAnns", "catToImgs")
_KEYS = {"images": "image_id", "categories": "category_id"}


class COCO:
    """pycocotools' `COCO`: a file of ground truth with an index of it, or the results that `loadRes` gives.

    A file, plain or gzip, is parsed into tables when they are first needed. `dataset`, `anns`, `cats`, `imgs`, `imgToAnns` and
    `catToImgs` are made when one of them is first looked at. From then on they are the data: what is changed is evaluated.

    Parameters
    ----------
    annotation_file
        path of ground truth, captions and lists of images included; without it, an empty one: assign `dataset`, then
        call `createIndex`

    Raises
    ------
    FormatError
        the file is missing; where it is first used, not JSON, or not an object

    >>> coco = COCO()
    >>> coco.dataset = {"images": [{"id": 7}], "categories": [{"id": 1, "name": "cat"}], "annotations": []}
    >>> coco.createIndex()
    creating index...
    index created!
    >>> coco.getImgIds(), coco.loadCats(1)
    ([7], [{'id': 1, 'name': 'cat'}])
    """

    def __init__(self, annotation_file: str | os.PathLike[str] | None = None) -> None:
        self._source: tuple[Path, Any] | None = None  # a file of ground truth, and its stamp
        self._truth: Dataset | None = None  # its tables, as long as nobody has looked at its dictionaries
        self._found: pl.DataFrame | list[Row] | None = None  # the same of results; a list, where that was given
        self._load: Callable[[], Row] | None = None
        if annotation_file is None:
            self.dataset: Row = {}
            self._index()
            return
        print("loading annotations into memory...")
        tic, path = time.time(), Path(annotation_file)
        self._source, text = (path, stamp(path)), read_unpacked(path)
        self._load = lambda: _parsed(path, text, dict)
        print(f"Done (t={time.time() - tic:0.2f}s)")
        print("creating index...\nindex created!")

    def _tables(self) -> Dataset | None:
        """The tables of a file of ground truth, parsed when first needed; None where dictionaries are the data.

        So are they for captions and lists of images, of which there are no tables; and for a file that was deleted, or written
        again, as tables read some columns later.
        """
        if self._source is None or self._is_made():
            return None
        path, read_at = self._source
        try:
            if stamp(path) == read_at and self._truth is None:
                self._truth = read_coco(path)
        except InputError:
            self._truth = None
        if self._truth is None or stamp(path) != read_at:
            self._make()
        return self._truth

    def __getattr__(self, name: str) -> Any:
        if name not in _MADE or self.__dict__.get("_load") is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        self._make()
        return self.__dict__[name]

    def __getstate__(self) -> Row:
        self._make()
        return self.__dict__

    def _make(self) -> None:
        """Make the dictionaries, if there are still tables in their place."""
        if self._load is not None:
            given = {name: self.__dict__[name] for name in _MADE if name in self.__dict__}
            self.dataset = self._load()
            self._index()
            self.__dict__.update(given)
            self._source = self._truth = self._found = self._load = None

    def _is_made(self) -> bool:
        return any(name in self.__dict__ for name in _MADE)

    def createIndex(self) -> None:
        """Make `anns`, `cats`, `imgs`, `imgToAnns` and `catToImgs` of `dataset`."""
        print("creating index...")
        self._index()
        self._source = self._truth = self._found = self._load = None
        print("index created!")

    def _index(self) -> None:
        sections = {name: self.dataset.get(name, []) for name in ("annotations", "images", "categories")}
        self.anns, self.imgs, self.cats = ({row["id"]: row for row in rows} for rows in sections.values())
        self.imgToAnns, self.catToImgs = defaultdict[Any, list[Row]](list), defaultdict[Any, list[Any]](list)
        for row in sections["annotations"]:
            self.imgToAnns[row["image_id"]].append(row)
        if "categories" in self.dataset:
            for row in sections["annotations"]:
                self.catToImgs[row["category_id"]].append(row["image_id"])

    def info(self) -> None:
        """Print the section `info` of the file."""
        for key, value in self.dataset["info"].items():
            print(f"{key}: {value}")

    def getAnnIds(self, imgIds: Any = (), catIds: Any = (), areaRng: Any = (), iscrowd: Any = None) -> list[Any]:
        """The ids of annotations: of images and categories, of an area between two others (both exclusive), crowds or not."""
        images, categories, areas = _several(imgIds), _several(catIds), list(areaRng)
        rows: Iterable[Row] = self.dataset["annotations"]
        if images:
            rows = [row for image_id in images for row in self.imgToAnns.get(image_id, ())]
        if categories:
            chosen = set(categories)
            rows = [row for row in rows if row["category_id"] in chosen]
        if areas:
            rows = [row for row in rows if areas[0] < row["area"] < areas[1]]
        return [row["id"] for row in rows if iscrowd is None or row["iscrowd"] == iscrowd]

    def getCatIds(self, catNms: Any = (), supNms: Any = (), catIds: Any = ()) -> list[Any]:
        """The ids of categories: by their names, those of their supercategories, or ids."""
        wanted = [("name", _several(catNms)), ("supercategory", _several(supNms)), ("id", _several(catIds))]
        wanted = [(field, values) for field, values in wanted if values]
        if not wanted:
            return self._ids("categories")
        return [row["id"] for row in self.dataset["categories"] if all(row[field] in values for field, values in wanted)]

    def getImgIds(self, imgIds: Any = (), catIds: Any = ()) -> list[Any]:
        """The ids of images: those given, or all of them, that have annotations of every category given."""
        images, categories = _several(imgIds), _several(catIds)
        if not images and not categories:
            return self._ids("images")
        sets = [set(images)] if images else []
        return list(set.intersection(*sets, *(set(self.catToImgs.get(category_id, ())) for category_id in categories)))

    def _ids(self, section: str) -> list[Any]:
        """All ids of a section as the file has them."""
        if (truth := self._tables()) is not None:
            return truth.core(section)[_KEYS[section]].to_list()
        return list(self.imgs) if section == "images" else [row["id"] for row in self.dataset["categories"]]

    def loadAnns(self, ids: Any = ()) -> list[Row]:
        """The annotations of some ids, or of one."""
        return [self.anns[key] for key in _several(ids)]

    def loadCats(self, ids: Any = ()) -> list[Row]:
        """The categories of some ids, or of one."""
        return [self.cats[key] for key in _several(ids)]

    def loadImgs(self, ids: Any = ()) -> list[Row]:
        """The images of some ids, or of one."""
        return [self.imgs[key] for key in _several(ids)]

    def loadRes(self, resFile: Any) -> COCO:
        """Results on this data set: a path, a list of dictionaries, or an array as `loadNumpyAnnotations` takes it.

        In the dictionaries, which are those of a list, `id` counts from 1; `area`, and `bbox` or `segmentation` where there is
        none, are made of the shape that the first result has, as pycocotools does.

        Raises
        ------
        FormatError, RowError, UnknownIdError
            no list; results that cannot be right; of images that the data set does not have

        >>> coco = COCO()
        >>> coco.dataset = {"images": [{"id": 7}], "categories": [{"id": 1}], "annotations": []}
        >>> coco.createIndex()
        creating index...
        index created!
        >>> found = coco.loadRes([{"image_id": 7, "category_id": 1, "bbox": [1, 2, 3, 4], "score": 0.5}])  # doctest: +ELLIPSIS
        Loading and preparing results...
        DONE (t=...s)
        creating index...
        index created!
        >>> found.anns[1]["area"], found.anns[1]["segmentation"]
        (12, [[1, 2, 1, 6, 4, 6, 4, 2]])
        """
        print("Loading and preparing results...")
        tic, results = time.time(), COCO()
        for name in _MADE:
            del results.__dict__[name]
        if isinstance(resFile, (str, os.PathLike)):
            path = Path(resFile)
            load: Callable[[], Any] = _rereader(path)
            with ThreadPoolExecutor(1) as other_thread:  # the two files are parsed side by side, as by `apframe.evaluate`
                parsing = other_thread.submit(self._tables)
                results._found = _results_of(path)
                parsing.result()
        else:
            rows = self.loadNumpyAnnotations(resFile) if isinstance(resFile, np.ndarray) else resFile
            if not isinstance(rows, list):
                raise FormatError(f"results are a path, a list of dictionaries or an array, not a {type(rows).__name__}")
            results._found, load = rows, lambda: rows
        self._refuse_unknown_images(results._found)
        results._load = lambda: self._results(load())
        print(f"DONE (t={time.time() - tic:0.2f}s)")
        print("creating index...\nindex created!")
        return results

    def _refuse_unknown_images(self, found: pl.DataFrame | list[Row]) -> None:
        each: Any = found["image_id"] if isinstance(found, pl.DataFrame) else [row["image_id"] for row in found]
        if unknown := set(each.unique() if isinstance(each, pl.Series) else each) - set(self._ids("images")):
            rows = [number for number, image_id in enumerate(each, 1) if image_id in unknown]
            remedy = f"unknown: {listed(sorted(unknown))}; give the ground truth of these results, or remove them"
            raise UnknownIdError("results", "image_id is not among the images", "row", rows, remedy)

    def _results(self, rows: list[Row]) -> Row:
        """Results as a data set, with what pycocotools adds to them."""
        dataset = {"info": copy.deepcopy(self.dataset.get("info", {})), "images": list(self.dataset["images"])}
        first = rows[0] if rows else {}
        for number, row in enumerate(rows, 1):
            row["id"] = number
        if "caption" in first:
            captioned = {row["image_id"] for row in rows}
            dataset["images"] = [row for row in dataset["images"] if row["id"] in captioned]
        else:
            dataset["categories"] = copy.deepcopy(self.dataset["categories"])
            _complete(rows, first)
        return dataset | {"annotations": rows}

    def loadNumpyAnnotations(self, data: np.ndarray) -> list[Row]:
        """An array of rows image, x, y, width, height, score, category as results."""
        if not (isinstance(data, np.ndarray) and data.ndim == 2 and data.shape[1] == 7):
            raise ParameterError(f"results as an array have seven columns, not the shape {np.shape(data)}")
        print("Converting ndarray to lists...")
        print(data.shape)
        return [
            {"image_id": int(image), "bbox": box, "score": score, "category_id": int(category)}
            for image, *box, score, category in data.tolist()
        ]

    def annToRLE(self, ann: Row) -> Row:
        """The mask of an annotation as compressed run lengths; of polygons, all of them together."""
        from apframe.pycocotools import mask

        image, segmentation = self.imgs[ann["image_id"]], ann["segmentation"]
        if isinstance(segmentation, list):
            return mask.merge(mask.frPyObjects(segmentation, image["height"], image["width"]))
        if isinstance(segmentation["counts"], list):
            return mask.frPyObjects(segmentation, image["height"], image["width"])
        return segmentation

    def annToMask(self, ann: Row) -> np.ndarray:
        """The mask of an annotation as an array of 0 and 1, of shape (height, width)."""
        from apframe.pycocotools import mask

        return mask.decode(self.annToRLE(ann))

    def showAnns(self, anns: list[Row], draw_bbox: bool = False) -> int | None:
        """Draw annotations onto matplotlib's current axes; print captions. Needs matplotlib."""
        if not anns:
            return 0
        from apframe.pycocotools.drawing import draw

        draw(self, anns, draw_bbox)
        return None

    def download(self, tarDir: str | None = None, imgIds: Any = ()) -> int | None:
        """Download images from their `coco_url` into a folder; those that are there already are left alone."""
        if tarDir is None:
            print("Please specify target directory")
            return -1
        images = self.loadImgs(imgIds) if len(imgIds) else list(self.imgs.values())
        folder = Path(tarDir)
        folder.mkdir(parents=True, exist_ok=True)
        for number, image in enumerate(images):
            tic, path = time.time(), folder / image["file_name"]
            if not path.exists():
                urlretrieve(image["coco_url"], path)
            print(f"downloaded {number}/{len(images)} images (t={time.time() - tic:0.1f}s)")
        return None


def _several(values: Any) -> list[Any]:
    """Values as a list; one of them, a text too, as a list of it."""
    is_list = hasattr(values, "__iter__") and hasattr(values, "__len__") and not isinstance(values, str)
    return list(values) if is_list else [values]


def _rereader(path: Path) -> Callable[[], Any]:
    """Reads a file again, as dictionaries, which must not have changed until then."""
    read_at = stamp(path)

    def read_again() -> Any:
        if stamp(path) != read_at:
            raise FormatError(f"{path}: changed or gone since it was read, and no dictionaries were made; load it again")
        return _parsed(path, read_unpacked(path), list)

    return read_again


def _parsed(path: Path, text: bytes, kind: type) -> Any:
    """A file as dictionaries."""
    try:
        content = json.loads(text)
    except ValueError as error:
        raise FormatError(f"{path}: not JSON, or cut off ({error})") from None
    if not isinstance(content, kind):
        raise FormatError(f"{path}: holds a JSON {type(content).__name__}, a {kind.__name__} is needed")
    return content


def _results_of(path: Path) -> pl.DataFrame | list[Row]:
    """Results as a table; captions as dictionaries."""
    try:
        return read_coco_results(path)
    except InputError:
        rows = _parsed(path, read_unpacked(path), list)
        if not (rows and "caption" in rows[0]):
            raise
        return rows


def has_box(row: Row) -> bool:
    """Whether a result has a box, which may be an array."""
    return row.get("bbox") is not None and len(row["bbox"]) > 0


def _complete(rows: list[Row], first: Row) -> None:
    """Give results the area, box and segmentation that follow from the shape of the first; changes the dictionaries."""
    if has_box(first):
        for row in rows:
            x, y, width, height = row["bbox"]
            row.setdefault("segmentation", [[x, y, x, y + height, x + width, y + height, x + width, y]])
            row["area"], row["iscrowd"] = width * height, 0
    elif "segmentation" in first:
        from apframe.pycocotools import mask

        masks = [row["segmentation"] for row in rows]
        for row, area, box in zip(rows, mask.area(masks), mask.toBbox(masks), strict=True):
            row.setdefault("bbox", box)
            row["area"], row["iscrowd"] = area, 0
    elif "keypoints" in first:
        for row in rows:
            x, y = row["keypoints"][0::3], row["keypoints"][1::3]
            width, height = max(x) - min(x), max(y) - min(y)
            row["area"], row["bbox"] = width * height, [min(x), min(y), width, height]
