"""WIDER FACE's files: ground truth as MATLAB files or text, results as a folder of a text file for each image."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from apframe.benchmarks.missing_results import warn_of_missing
from apframe.exceptions import FormatError, ParameterError, UnsortedScoresWarning, import_optional, warn
from apframe.folders import files_in
from apframe.formats.format import OPEN, ReadOnly
from apframe.formats.looks import Look, looks
from apframe.formats.path_contents import PathContents, is_number
from apframe.formats.text_lines import Lines, read_lines, refuse_lines
from apframe.paths import is_file, is_folder
from apframe.rows import OF_SOURCE
from apframe.tables.dataset import Dataset
from apframe.tables.shapes.boxes import BOX
from apframe.wording import counted, listed

if TYPE_CHECKING:
    import numpy as np

_FACE = "face"
_FLAGS = ("blur", "expression", "illumination", "invalid", "occlusion", "pose")
_SETS = ("easy", "medium", "hard")
_MAT = re.compile(r"wider_face_(\w+)\.mat")
_LOOKED_AT = 10  # the number of result files inspected, as some may be empty or broken
_PICTURE = r"(?i)\.(jpe?g|png|bmp|webp)$"


class WiderFaceFormat(ReadOnly):
    """WIDER FACE's ground truth and results. The image id is the folder and the file name without its extension.

    Ground truth is a folder with `wider_face_val.mat` and the sets `wider_easy_val.mat`, `wider_medium_val.mat` and
    `wider_hard_val.mat`, which become the columns `easy`, `medium` and `hard`; it requires SciPy, the extra `faces`. Or it is
    the text file `wider_face_val_bbx_gt.txt`, or the folder `wider_face_split` that contains it. These have no sets, so the
    protocol WIDER_FACE rejects them. The flags blur, expression, illumination, invalid, occlusion and pose are attributes. All
    faces are of the category `face`. In a folder, `split` chooses train or val, which is the default.

    Results are `EVENT/IMAGE.txt`: a line with the name of the image, one with the number of boxes, and then lines of x y width
    height score. Images without a file have no detections, with a `MissingResultsWarning`. The kit's Python port keeps the
    order of lines, and its MATLAB code sorts them by score. Here they are sorted, with an `UnsortedScoresWarning`.

    Source: the files of WIDER FACE and its evaluation tools.
    """

    name = "wider_face"
    title = "WIDER FACE"
    dataset_is = (
        "a folder with wider_face_val.mat and wider_easy_val.mat, wider_medium_val.mat, wider_hard_val.mat; or the text file "
        "wider_face_val_bbx_gt.txt, or the folder with it"
    )
    results_are = (
        "a folder of folders of text files, one for each image: name, number of boxes, lines of x y width height score"
    )
    dataset_looks = looks(
        Look("folder", names=("wider_face_?*.mat", "wider_face_?*_bbx_gt.txt")), Look("file", endings=(".txt",))
    )
    results_looks = looks(Look("folder", names=("*.txt", "*/")))
    results_ending = ".txt"
    options = ("split",)
    boxes_of_results = OPEN
    asks_for_images = True

    def recognizes(self, seen: PathContents, role: str) -> bool:
        """Look for text that begins with a picture's name and a number; in results, in one of the first files."""
        if role == "results":
            return any(map(_has_heading, islice(seen.deep(".txt"), _LOOKED_AT)))
        return seen.kind == "folder" or _begins_with_picture(seen)

    def read_tables(self, path: Path, *, split: str | None = None, **options: Any) -> dict[str, pl.DataFrame]:
        """Read the tables of a data set: see `Format.read_tables`."""
        if split is not None and not is_folder(path) and f"_{split}_" not in path.name:
            raise ParameterError(f"{path.name} is not of this split", "name the folder, or the other file", option="split")
        chosen = split or "val"
        text = path / f"wider_face_{chosen}_bbx_gt.txt" if is_folder(path) else path
        has_sets = is_file(path / f"wider_{_SETS[0]}_{chosen}.mat")
        images, annotations = _of_matlab(path, split) if has_sets or not is_file(text) else _of_text(text)
        categories = pl.DataFrame({"category_id": [_FACE], "name": [_FACE]})
        return {"images": images, "categories": categories, "annotations": annotations}

    def read_results(self, path: Path, dataset: Dataset | None) -> pl.DataFrame:
        """Read detections: see `Format.read_results`."""
        paths = files_in(path, ".txt", deep=True)
        if not paths:
            raise FormatError("holds no text file (.txt)", path=path)
        names = pl.Series("image_id", [each.relative_to(path).with_suffix("").as_posix() for each in paths], dtype=pl.String)
        _, boxes = _blocks("detections", paths, (*BOX, "score"))
        detections = boxes.select(names.gather(boxes["file"]), pl.lit(_FACE).alias("category_id"), "score", *BOX, OF_SOURCE)
        _warn_of_unsorted(path, detections)
        warn_of_missing(path, dataset, names, "result file", "The kit's Python port stops here")
        return detections


def _begins_with_picture(seen: PathContents) -> bool:
    fields = " ".join(seen.lines[:2]).split(maxsplit=2)[:2]
    return len(fields) == 2 and re.search(_PICTURE, fields[0]) is not None and fields[1].isdecimal()


def _has_heading(seen: PathContents) -> bool:
    """Return True if a text file begins with a name and a number, each alone in its line."""
    lines = [line.split() for line in seen.lines[:2]]
    return [len(line) for line in lines] == [1, 1] and not is_number(lines[0][0]) and lines[1][0].isdecimal()


def _blocks(table: str, paths: Sequence[Path], layout: Sequence[str], optional: int = 0) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Read the blocks of text files: a name, a number of boxes, and a line for each box; or a line of zeros if there are none.

    Returns
    -------
    `file`, `line`, `block` and `name` of the headings; `file`, `line`, `block` and the fields of the boxes.

    Raises
    ------
    FormatError
        a file does not begin with a name, a heading has no number, or the number of boxes is wrong; with file and line
    """
    lines = read_lines(paths)
    first, is_alone = pl.col("fields").list.first(), pl.col("fields").list.len() == 1
    numbers = first.cast(pl.Float64, strict=False)
    lines = lines.with_columns(is_name=is_alone & numbers.is_null()).with_columns(block=pl.col("is_name").cum_sum())
    lines = lines.with_columns(place=pl.int_range(pl.len()).over("block", "file"))
    refuse_lines(paths, lines, (lines["place"] == 0) & ~lines["is_name"], "no image name precedes this")
    names = lines.filter("is_name").select("file", "line", "block", name=first)
    counts = lines.filter(pl.col("place") == 1).select("file", "line", "block", is_alone.alias("is_alone"), n=first)
    whole = counts["n"].cast(pl.Int64, strict=False)
    refuse_lines(paths, counts, ~counts["is_alone"] | whole.is_null(), "not the number of boxes, which follows a name")
    boxes = lines.filter(pl.col("place") > 1)
    n_boxes = names.join(boxes.group_by("block").len(), on="block", how="left", maintain_order="left")["len"].fill_null(0)
    declared = names.join(counts.with_columns(n=whole), on="block", how="left", maintain_order="left")["n"]
    refuse_lines(paths, names, declared.is_null(), "no number of boxes follows the name")
    refuse_lines(
        paths,
        names,
        (n_boxes != declared) & ~((declared == 0) & (n_boxes == 1)),
        "the number of boxes differs from the declared one",
    )
    empty = names["block"].filter(declared == 0)
    boxes = boxes.filter(~pl.col("block").is_in(empty.implode()))
    of_boxes = Lines(table, paths, boxes.select("file", "line", "fields"))
    fields = of_boxes.take(layout, layout, optional)
    for name in layout[len(layout) - optional :]:
        of_boxes.refuse(fields[name] != fields[name].floor(), f"{name} is not a whole number")
    return names, of_boxes.sound(fields.with_columns(boxes["block"]))


def _of_text(path: Path) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the images and the faces of the text file."""
    names, boxes = _blocks("annotations", [path], (*BOX, *_FLAGS), len(_FLAGS))
    ids = names.select("block", image_id=pl.col("name").str.replace(_PICTURE, ""))
    faces = boxes.join(ids, on="block", maintain_order="left")
    flags = [pl.col(name).cast(pl.Int64, strict=False) for name in _FLAGS]
    return ids.select("image_id"), faces.select("image_id", pl.lit(_FACE).alias("category_id"), *BOX, *flags, OF_SOURCE)


def _of_matlab(folder: Path, split: str | None) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the images and the faces of the MATLAB files of a folder."""
    import numpy as np  # only MATLAB's files need it

    matlab_files = [(path, named[1]) for path in files_in(folder, ".mat") if (named := _MAT.fullmatch(path.name))]
    matlab_files = [(path, name) for path, name in matlab_files if split in (None, name)]
    if len(matlab_files) != 1:
        names = listed([path.name for path, _ in matlab_files]) or "none"
        raise FormatError(f"needs one file such as wider_face_val.mat, but has {names}", path=folder)
    path, split = matlab_files[0]
    cells = _loaded(path, ("event_list", "file_list", "face_bbx_list"))
    n_files = list(map(np.size, cells["file_list"]))
    events = _names_in(path, "event_list", cells["event_list"])
    files = _names_in(path, "file_list", _flat(cells["file_list"]))
    if len(n_files) != len(events):
        raise FormatError(f"file_list has {counted(len(n_files), 'event')}, but event_list has {len(events)}", path=path)
    of_files = events.gather(np.repeat(np.arange(len(events)), n_files))
    images = (of_files + "/" + files).alias("image_id").to_frame()
    boxes = _flat(cells["face_bbx_list"])
    sizes = np.array(list(map(np.size, boxes)), dtype=np.int64)
    if len(boxes) != images.height or (sizes % len(BOX)).any():
        raise FormatError("face_bbx_list does not have x, y, width and height of the faces of each image", path=path)
    n_faces = sizes // len(BOX)
    values = _numbers_in(path, "face_bbx_list", boxes).reshape(-1, len(BOX))
    faces = pl.DataFrame(values, schema=list(BOX), orient="row").with_columns(
        images["image_id"].gather(np.repeat(np.arange(len(n_faces)), n_faces)), category_id=pl.lit(_FACE)
    )
    sets = {name: _inside(folder / f"wider_{name}_{split}.mat", n_faces) for name in _SETS}
    return images, faces.select("image_id", "category_id", *BOX, **sets)


def _inside(path: Path, n_faces: np.ndarray) -> pl.Series:
    """Flag the faces in the set of a MATLAB file, which numbers them from 1 in each image."""
    import numpy as np  # only MATLAB's files need it

    if not is_file(path):
        raise FormatError(
            f"{path.name}, which lists the faces of this set, is missing", "put it beside the others", path=path.parent
        )
    lists = _flat(_loaded(path, ("gt_list",))["gt_list"])
    n = np.array(list(map(np.size, lists)), dtype=np.int64)
    if len(n) != len(n_faces):
        raise FormatError(f"gt_list has {counted(len(n), 'image')}, not {len(n_faces)}", path=path)
    numbers = _numbers_in(path, "gt_list", lists)
    image = np.repeat(np.arange(len(n)), n)
    wrong = ~((numbers >= 1) & (numbers <= n_faces[image]) & (numbers == np.trunc(numbers)))
    if wrong.any():
        at = image[wrong][0] + 1
        raise FormatError(f"gt_list names face {numbers[wrong][0]:g} of image {at}, which has {n_faces[at - 1]}", path=path)
    flags = np.zeros(int(n_faces.sum()), dtype=bool)
    flags[(np.cumsum(n_faces) - n_faces)[image] + numbers.astype(np.int64) - 1] = True
    return pl.Series(flags)


def _loaded(path: Path, names: Sequence[str]) -> dict[str, Any]:
    """Read cell arrays of a MATLAB file, flattened."""
    io = import_optional("scipy.io", "MATLAB files need SciPy", "scipy", "faces")
    try:
        loaded = io.loadmat(path, variable_names=list(names))
    except (ValueError, TypeError, LookupError, OSError, EOFError, NotImplementedError, io.matlab.MatReadError) as error:
        raise FormatError(f"cannot be read as a MATLAB file ({error})", "save it as version 7 or lower", path=path) from error
    missing = [name for name in names if name not in loaded]
    if missing:
        raise FormatError(f"has no {', '.join(missing)}", path=path)
    return {name: loaded[name].ravel() for name in names}


def _flat(cells: np.ndarray) -> list[Any]:
    """Return the inner cells of cells, one after the other."""
    import numpy as np  # only MATLAB's files need it

    return list(np.concatenate([np.zeros(0, dtype=object), *map(np.ravel, cells)])) if len(cells) else []


def _names_in(path: Path, field: str, cells: Sequence[Any]) -> pl.Series:
    """Return the text of each cell."""
    import numpy as np  # only MATLAB's files need it

    texts = [cell.item() if isinstance(cell, np.ndarray) and cell.size == 1 else None for cell in cells]
    if wrong := [place for place, text in enumerate(texts, 1) if not isinstance(text, str)]:
        raise FormatError(f"{field} is not a list of names in cell {listed(wrong)}", path=path)
    return pl.Series(texts, dtype=pl.String)


def _numbers_in(path: Path, field: str, cells: Sequence[Any]) -> np.ndarray:
    """Return the numbers of all cells, one after the other."""
    import numpy as np  # only MATLAB's files need it

    if wrong := [place for place, cell in enumerate(cells, 1) if np.asarray(cell).dtype.kind not in "uifb"]:
        raise FormatError(f"{field} is not a list of numbers in cell {listed(wrong)}", path=path)
    return np.concatenate([np.zeros(0), *map(np.ravel, cells)], dtype=np.float64)


def _warn_of_unsorted(folder: Path, found: pl.DataFrame) -> None:
    rises = (pl.col("score").diff() > 0) & (pl.col("image_id") == pl.col("image_id").shift())
    images = found.filter(rises)["image_id"].unique(maintain_order=True)
    if len(images):
        warn(
            f"{folder}: the scores of {counted(len(images), 'image')} ({listed(images.to_list())}) are not in descending "
            "order; they are sorted, as by the MATLAB kit. Its Python port keeps the order of lines, and returns other "
            "numbers",
            UnsortedScoresWarning,
        )
