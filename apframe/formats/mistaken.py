"""Recognise paths of no known format: packed files, pictures, search runs, tables without a header, label files of YOLO."""

from __future__ import annotations

from pathlib import Path

from apframe.exceptions import ParameterError
from apframe.formats.files import read_head, reading
from apframe.formats.lines import first_fields, is_number, text_files
from apframe.static_table import FILES
from apframe.wording import same_name

SWAPPED = "are the two swapped?"
"""What to do about results where a data set is needed."""
_N_LABEL, _N_JUDGEMENT, _N_RUN = 5, 4, 6  # fields of a line
_SEARCH = "evaluate search runs with apf.evaluate_run or `apframe rank`"


def refuse_benchmark(name: str) -> None:
    """An error where a format is called as a benchmark whose files are of a format with another name.

    >>> refuse_benchmark("coco")
    """
    if (benchmark := same_name(name, FILES)) is not None:
        remedy = f"files of {benchmark} are of the format {FILES[benchmark]}"
        raise ParameterError(f"no format {name!r}", remedy)


def is_empty(path: Path, kind: str) -> bool:
    """Whether a file or folder has nothing in it."""
    if kind == "folder":
        return not any(path.iterdir())
    with reading(path) as file:
        return not file.read(1)


def is_json(path: Path, kind: str) -> bool:
    """Whether a file is JSON, by its name or how it begins."""
    return kind == "file" and (".json" in path.name or read_head(path, 64).lstrip()[:1] in (b"{", b"["))


def recognized(path: Path, kind: str, role: str) -> tuple[str, str] | None:
    """Return problem and remedy of a file or folder in a role, "dataset" or "results"; None if unknown.

    >>> recognized(Path("README.md"), "file", "dataset")
    """
    return _recognized_folder(path, role) if kind == "folder" else _recognized_file(path)


def names_beside(path: Path) -> list[str]:
    """The names of files and folders beside a path; none if they cannot be listed."""
    try:
        return sorted(each.name for each in path.parent.iterdir())
    except OSError:
        return []


def guessed(path: Path, kind: str) -> tuple[str, str] | None:
    """Return problem and remedy of a text file by its first line, which may as well be a wrong line of a known format."""
    if kind != "file":
        return None
    first = read_head(path, 1 << 12).partition(b"\n")[0].decode(errors="replace")
    fields = first.split()
    if (len(fields) == _N_RUN and fields[1] == "Q0") or (len(fields) == _N_JUDGEMENT and is_number(fields[3])):
        return "this looks like judgements or a run of a search engine", _SEARCH
    if path.suffix.lower() in (".csv", ".tsv") and any(map(is_number, first.replace(";", ",").replace("\t", ",").split(","))):
        return "the first line holds numbers", "it must name the columns, such as image_id,class,x,y,width,height"
    return None


def _recognized_file(path: Path) -> tuple[str, str] | None:
    head = read_head(path, 8)
    if head.startswith(b"PK\x03\x04"):
        return "this is a zip archive", "unpack it, and name what is in it"
    if head.startswith((b"\x89PNG", b"\xff\xd8\xff")):
        return "this is a picture", "name the file or folder that has the boxes"
    return None


def _recognized_folder(path: Path, role: str) -> tuple[str, str] | None:
    fields = first_fields(text_files(path))
    if len(fields) != _N_LABEL or not all(map(is_number, fields)):
        return None
    if role == "dataset":
        return "these look like label files of YOLO", "name the data.yaml that has their classes and folders of images"
    return "these look like label files of YOLO, without scores", "write them with save_conf=True; or are the two swapped?"
