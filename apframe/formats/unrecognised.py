"""Errors for paths of no known format: archives, pictures, search runs, tables without a header, label files of YOLO."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from pathlib import Path

from apframe.exceptions import FormatError, ParameterError
from apframe.formats.files import reading
from apframe.formats.format import Format
from apframe.formats.looks import Look
from apframe.formats.path_contents import PathContents, is_number, see
from apframe.static_table import FILES
from apframe.wording import same_name

SWAPPED = "are the two swapped?"
"""The remedy for results in place of a data set."""
_N_JUDGEMENT, _N_RUN = 4, 6  # fields of a line
_SEARCH = "evaluate search runs with apf.evaluate_run or `apframe rank`"
_ENDINGS = (
    ".json",
    ".jsonl",
    ".csv",
    ".parquet",
    ".xml",
    ".yaml",
    ".data",
)  # extensions of files in a folder that may be meant
_MOST = 10
_IN_FOLDERS = {
    "dataset": (".csv", ".mat"),
    "results": (".txt",),
}  # extensions of files that users name in place of their folder
_MAGIC = (
    (b"PK\x03\x04", "this is a zip archive", "unpack it, and name what is in it"),
    (b"\x89PNG", "this is a picture", "name the file or folder that has the boxes"),
    (b"\xff\xd8\xff", "this is a picture", "name the file or folder that has the boxes"),
)


def refuse_benchmark(name: str) -> None:
    """Raise an error if a name is that of a benchmark whose files have a format with another name.

    >>> refuse_benchmark("coco")
    """
    if (benchmark := same_name(name, FILES)) is not None:
        remedy = f"files of {benchmark} are of the format {FILES[benchmark]}"
        raise ParameterError(f"no format {name!r}", remedy)


def refuse_mistaken(
    seen: PathContents, role: str, likely: Callable[[PathContents, str], list[Format]], other: PathContents | None = None
) -> None:
    """Raise an error if a path of no format in this role is recognised otherwise; `likely` returns the formats in a role.

    `other` are the contents of the ground truth for results, or the reverse, if there are both.

    >>> refuse_mistaken(see(Path("README.md")), "dataset", lambda seen, role: [])
    """
    path, one_file = seen.path, seen.kind == "file"
    _refuse_empty(seen)
    if others := likely(seen, "results" if role == "dataset" else "dataset"):
        are_swapped = other is None or bool(likely(other, role))
        if _names(others) == "yolo_labels":
            problem = "these look like label files of YOLO, without scores"
            remedy = f"write them with save_conf=True{'; or are the two swapped?' if are_swapped else ''}"
            raise FormatError(problem, remedy, path=path)
        what, needed = ("results", "a data set is") if role == "dataset" else ("a data set", "results are")
        if role == "dataset":
            remedy = (
                SWAPPED
                if are_swapped
                else "annotations have no scores: name the ground truth first, then the results, or remove its scores"
            )
        else:
            remedy = f"{'are the two swapped, or ' if are_swapped else ''}do the results lack their scores?"
        raise FormatError(f"looks like {what} of {_names(others)}, but {needed} needed here", remedy, path=path)
    is_one_of_many = one_file and path.suffix.lower() in _IN_FOLDERS[role]
    if around := likely(see(path.parent), role) if is_one_of_many else []:
        what = "results, which are" if role == "results" else "ground truth, which is"
        raise FormatError(f"this is one file of {_names(around)} {what} a folder", f"name the folder: {path.parent}", path=path)
    for begins, problem, remedy in _MAGIC:
        if seen.head.startswith(begins):
            raise FormatError(problem, remedy, path=path)
    files = (seen.child(each.name) for each in seen.files(*_ENDINGS)[:_MOST])
    inside = [each for each in (*files, *seen.folders[:_MOST]) if each is not None]
    if meant := [each.path for each in inside if likely(each, role)]:
        remedy = f"name what is in it: {' or '.join(map(str, meant[:5]))}"
        raise FormatError(f"no format's {role} can be read from this folder", remedy, path=path)
    documents = seen.files(".json")
    if len(documents) == 1:
        raise FormatError("this is a folder", f"to read its only JSON file, name that file: {documents[0]}", path=path)


def _names(formats: list[Format]) -> str:
    return " or ".join(each.name for each in formats)


def _refuse_empty(seen: PathContents) -> None:
    """Raise an error if a file or folder is empty, or cannot be read."""
    if seen.kind == "folder":
        if not seen.names and not any(seen.path.iterdir()):
            raise FormatError("the folder is empty", path=seen.path)
    elif not seen.head:
        with reading(seen.path) as file:
            if not file.read(1):
                raise FormatError("the file is empty", path=seen.path)


def names_beside(path: Path) -> list[str]:
    """Return the names of files and folders beside a path; none if they cannot be listed."""
    try:
        return sorted(each.name for each in path.parent.iterdir())
    except OSError:
        return []


def near_misses(seen: PathContents, looks: Mapping[str, Sequence[Look]]) -> str:
    """Name up to three formats, given with their looks, of which only one condition is unmet, in words.

    >>> near_misses(see(Path("README.md")), {"lamps": [Look("file", columns=("image", "lit"))]})
    ''
    """
    first = ((name, next(filter(None, (look.near(seen) for look in ways)), "")) for name, ways in looks.items())
    return "".join(islice((f"; {name} needs {lacking}" for name, lacking in first if lacking), 3))


def guessed(seen: PathContents) -> tuple[str, str] | None:
    """Return a problem and remedy for a text file by its first line, which may also be a wrong line of a known format."""
    fields = seen.fields
    if (len(fields) == _N_RUN and fields[1] == "Q0") or (len(fields) == _N_JUDGEMENT and is_number(fields[3])):
        return "this looks like judgements or a run of a search engine", _SEARCH
    if seen.path.suffix.lower() in (".csv", ".tsv") and any(map(is_number, seen.columns)):
        return "the first line holds numbers", "it must name the columns, such as image_id,class,x,y,width,height"
    return None
