"""YOLO's data.yaml, or darknet's obj.data: classes, parts of the data set, and the image and label files of a part."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from apframe.exceptions import FormatError, ParameterError, import_optional
from apframe.folders import files_in
from apframe.formats.files import read_text, write_text
from apframe.formats.path_contents import PathContents, is_number
from apframe.formats.text_lines import first_fields
from apframe.paths import is_file, is_folder, is_inside, is_utf8, kind_at
from apframe.wording import counted, listed, option_name, shown

_SPLITS = ("val", "train", "test")
IMAGES = {
    ".avif", ".bmp", ".dng", ".heic", ".jp2", ".jpeg", ".jpg", ".mpo", ".pfm", ".png", ".tif", ".tiff", ".webp",
}  # fmt: skip
"""The endings of image files."""
_LARGEST, _DEEPEST = 1 << 22, 20  # bytes and levels of a data.yaml; PyYAML takes seconds for a megabyte
_MOST_CLASSES, _MOST_KEYPOINTS = 1_000_000, 1_000
_YAML, _DARKNET = (".yaml", ".yml"), ".data"
ENDINGS = (*_YAML, _DARKNET)
"""Of the files that name the classes and parts of a data set."""
_KEYS = re.compile(rb"^(names|nc)[ \t]*:|^[ \t]*(names|classes)[ \t]*=", re.MULTILINE)


@dataclass(frozen=True)
class Config:
    """The content of a data.yaml.

    Attributes
    ----------
    path
        the file
    names
        those of the classes, by number
    splits
        paths of images by the name of the part: folders, or text files that list them
    roots
        where these may be found
    keypoints
        how many there are, and how many numbers for each of them, 2 or 3; None where there are none
    """

    path: Path
    names: dict[int, str]
    splits: dict[str, list[str]]
    roots: tuple[Path, ...]
    keypoints: tuple[int, int] | None


def find_config(seen: PathContents) -> Path | None:
    """The file itself; or that of a folder: data.yaml, or the only one there that names classes."""
    if seen.kind == "folder":
        files = [*seen.children(*(f"*{ending}" for ending in ENDINGS))]
        likely = [file for file in files if file.path.stem == "data"] or files
    else:
        likely = [seen] if seen.path.suffix in ENDINGS else []
    likely = [file for file in likely if _KEYS.search(file.head)]
    return likely[0].path if len(likely) == 1 else None


def read_config(path: Path) -> Config:
    """Read a data.yaml.

    Raises
    ------
    ParameterError
        PyYAML is not installed
    FormatError
        what cannot be read, is missing or given twice; more than 4 MB, 20 levels of nesting, 1,000,000 classes, 1,000 keypoints
    """
    if path.suffix == _DARKNET:
        return _read_darknet(path)
    fields = _read_yaml(path)
    given = _text(path, fields, "path")
    # the trainer keeps data sets in a folder `datasets`, beside that of the file or beside where it runs
    shared = [folder / "datasets" / given for folder in (path.parent, path.parent.parent, Path(), Path(".."))]
    roots = [path.parent / given, path.parent, *shared] if given else [path.parent]
    splits = {name: _texts(path, fields, name) for name in _SPLITS}
    return Config(
        path,
        names=names_of(path, fields),
        splits={name: entries for name, entries in splits.items() if entries},
        roots=tuple(dict.fromkeys(roots)),
        keypoints=shape_of_keypoints(path, fields),
    )


def _read_darknet(path: Path) -> Config:
    """Read an obj.data: lines of `classes`, `names`, `train` and `valid`, paths from where darknet runs: see `_spellings`."""
    pairs = (line.partition("=") for line in read_text(path).split("\n") if not line.lstrip().startswith("#"))
    fields = {key.strip(): value.strip() for key, equals, value in pairs if equals}
    roots = tuple(dict.fromkeys((path.parent.parent, path.parent)))
    names: Any = None
    if "names" in fields:
        places = [root / each for root in roots for each in _spellings(path, fields["names"])]
        file = next(filter(is_file, places), None)
        if file is None:
            raise FormatError(f"there is no {fields['names']}", "correct names, or add the file", path=path)
        names = names_in_lines(file)
    named = {"nc": fields.get("classes"), "names": names}
    splits = {split: [fields[key]] for split, key in (("val", "valid"), ("train", "train"), ("test", "test")) if key in fields}
    return Config(path, names=names_of(path, named), splits=splits, roots=roots, keypoints=None)


def names_in_lines(path: Path) -> list[str]:
    """The names of classes in a text file, one in each line."""
    lines = [line.strip() for line in read_text(path).split("\n")]
    while lines and not lines[-1]:
        lines.pop()
    return lines


def find_files(config: Config, split: str | None) -> dict[Path, Path | None]:
    """The label files of a part, there or not, with their image files; None where there is a label file alone.

    A label file is called as its image, ends in .txt, and lies in the folder `labels` instead of `images`. `split` is "val"
    where there is one, else the only one.

    data.yaml says where the data set lies, which may be anywhere: its `path`, folders and lists are trusted as given. Lists of
    images come with downloaded data, so what they name must lie in the data set, or in the folder of the list.

    Raises
    ------
    ParameterError
        no such part, or several of which none is said
    FormatError
        images that are listed and not there, lie outside the data set, or have one name in two folders; no files at all
    """
    if not config.splits:
        raise FormatError("names no images (val, train or test)", path=config.path)
    chosen = chosen_split(config.path, config.splits, split)
    found: dict[Path, Path | None] = {}
    for entry in config.splits[chosen]:
        place = _place(config, chosen, entry)
        found |= _listed_files(place, config) if place.suffix == ".txt" else _files_in(place)
    if not found:
        raise FormatError(f"{chosen}: no images or labels in {', '.join(config.splits[chosen])}", path=config.path)
    by_name: dict[str, Path] = {}
    for label, image in sorted(found.items()):
        other = by_name.setdefault(label.stem, image or label)
        if other != (image or label):
            raise FormatError(
                f"two images of {chosen} have the same name: {other} and {image or label}", "rename one", path=config.path
            )
    return dict(sorted(found.items()))


def chosen_split(path: Path, splits: Collection[str], split: str | None) -> str:
    """The part of a data set that was asked for: of all there are, else "val", else the only one.

    Raises
    ------
    ParameterError
        no such part, or several of which none is said
    """
    chosen = split or ("val" if "val" in splits else next(iter(splits), ""))
    if chosen not in splits or (split is None and chosen != "val" and len(splits) > 1):
        problem = f"no split {split!r}" if split else "several splits, but no val"
        raise ParameterError(problem, f"choose one with {option_name('split', '')}: {', '.join(splits)}", path=path)
    return chosen


def write_config(path: Path, names: dict[int, str], n_keypoints: int | None) -> None:
    """Write a data.yaml with one part, val."""
    yaml = _import_yaml()
    fields: dict[str, Any] = {"val": "images/val", "names": names}
    if n_keypoints is not None:
        fields["kpt_shape"] = [n_keypoints, 3]
    write_text(path, yaml.safe_dump(fields, sort_keys=False, allow_unicode=True))


def _place(config: Config, split: str, entry: str) -> Path:
    """Where a folder or list of images is: the first place at which there is one, or its labels."""
    places = [root / each for root in config.roots for each in _spellings(config.path, entry)]
    for place in places:
        if kind_at(place) is not None or (place.suffix != ".txt" and is_folder(_labels_of(place))):
            return place
    raise FormatError(f"{split}: there is neither {places[0]} nor labels for it", f"correct path or {split}", path=config.path)


def _spellings(file: Path, entry: str) -> list[str]:
    """A path in the file of a data set, and what it may mean beside that.

    Roboflow writes ../val/images for what lies beside data.yaml, and the trainer takes it so. An obj.data lies in the folder
    `data` of darknet, from which it names all: CVAT writes data/train.txt for what lies beside it in the archive.
    """
    beside = re.sub("^(.*/)?data/", "", entry) if file.suffix == _DARKNET else entry.removeprefix("../")
    return list(dict.fromkeys([entry, beside]))


def _files_in(folder: Path) -> dict[Path, Path | None]:
    labels = (file for file in files_in(_labels_of(folder), ".txt", deep=True) if is_label(file))
    images = files_in(folder, *IMAGES, deep=True)
    by_label = {_label_of(image): image for image in images}
    doubled = [image for image in images if by_label[_label_of(image)] != image]
    if doubled:
        names = f"{doubled[0].name} and {by_label[_label_of(doubled[0])].name}"
        raise FormatError(f"{doubled[0].parent}: {names} have the same label file", "rename one of them")
    return {**dict.fromkeys(labels), **by_label}


def is_label(path: Path, fields: Sequence[str] | None = None) -> bool:
    """Whether it is neither hidden nor the list of classes that labelling programs leave among the labels.

    An image may be called so too: then there are numbers, at least those of a class and a box. `fields` are those of the first
    line, where it was looked at.
    """
    if path.name != "classes.txt":
        return not path.name.startswith(".")
    fields = first_fields([path]) if fields is None else fields
    return len(fields) > 4 and all(map(is_number, fields))


def _listed_files(path: Path, config: Config) -> dict[Path, Path | None]:
    """The files of images that a text file lists, relative to it or to the data set."""
    found: dict[Path, Path | None] = {}
    missing, outside = [], []
    roots, is_darknet = (path.parent, *config.roots), config.path.suffix == _DARKNET
    for name in filter(None, map(str.strip, read_text(path).split("\n"))):
        ways = _spellings(config.path, name) if is_darknet else [name]
        candidates = [image for way in ways for root in roots if is_inside(image := root / way, roots)]
        if not candidates:
            outside.append(name)
            continue
        for image in candidates:
            if is_file(image):
                found[_label_of(image)] = image
                break
            if is_file(_label_of(image)):
                found.setdefault(_label_of(image))
                break
        else:
            missing.append(name)
    if outside:
        remedy = "correct the list, or set path in data.yaml to the folder that holds them"
        raise FormatError(f"lists images outside the data set: {listed(outside)}", remedy, path=path)
    if missing:
        raise FormatError(f"lists images that do not exist: {listed(missing)}", "correct the list, or add them", path=path)
    return found


def _labels_of(folder: Path) -> Path:
    """The folder of labels for one of images: the last `images` of its path is `labels`; the same one where there is none."""
    parts = list(folder.parts)
    if "images" in parts:
        parts[len(parts) - 1 - parts[::-1].index("images")] = "labels"
    return Path(*parts)


def _label_of(image: Path) -> Path:
    return _labels_of(image.parent) / f"{image.stem}.txt"


def names_of(path: Path, fields: dict[str, Any]) -> dict[int, str]:
    """The names of classes by their numbers, of the fields `names` and `nc`."""
    names = fields.get("names")
    n_classes = _whole(path, "nc", _text(path, fields, "nc"), _MOST_CLASSES) if fields.get("nc") else None
    if names is None and n_classes is not None:
        return {number: f"class{number}" for number in range(n_classes)}
    if isinstance(names, list):
        names = dict(enumerate(names))
    if not isinstance(names, dict) or any(isinstance(name, (dict, list)) for name in names.values()):
        raise FormatError("names must be a list of class names, or a mapping from numbers to names", path=path)
    numbered = {_whole(path, "a class of names", number, _MOST_CLASSES): name for number, name in names.items()}
    if n_classes is not None and n_classes != len(numbered):
        raise FormatError(
            f"nc is {n_classes}, but names has {counted(len(numbered), 'name')}", "correct one of them", path=path
        )
    return numbered


def shape_of_keypoints(path: Path, fields: dict[str, Any]) -> tuple[int, int] | None:
    """The numbers of keypoints and of values for each, from the field `kpt_shape`; None without it."""
    shape = [_whole(path, "kpt_shape", number, _MOST_KEYPOINTS) for number in _texts(path, fields, "kpt_shape")]
    if not shape:
        return None
    if len(shape) != 2 or shape[0] < 1 or shape[1] not in (2, 3):
        raise FormatError(f"kpt_shape must be [number of keypoints, 2 or 3], not {shape}", path=path)
    return shape[0], shape[1]


def _whole(path: Path, what: str, text: str | int, most: int) -> int:
    if re.fullmatch("[0-9]+", str(text)) is None:
        raise FormatError(f"{what} is {shown(text)}, not a whole number from 0", path=path)
    if len(str(text)) > len(str(most)) or int(text) > most:
        raise FormatError(f"{what} is {shown(text)}; the limit is {most:,}", path=path)
    return int(text)


def _text(path: Path, fields: dict[str, Any], key: str) -> str:
    text = fields.get(key, "")
    if not isinstance(text, str):
        raise FormatError(f"{key} must be one value", path=path)
    return text


def _texts(path: Path, fields: dict[str, Any], key: str) -> list[str]:
    texts = fields.get(key) or []
    texts = texts if isinstance(texts, list) else [texts]
    if not all(isinstance(text, str) for text in texts):
        raise FormatError(f"{key} must be one value or a list of values", path=path)
    return texts


def _read_yaml(path: Path) -> dict[str, Any]:
    """The mapping of a YAML file, all values as texts: a class may be called `no`, which YAML takes for false."""
    yaml = _import_yaml()
    made: dict[int, Any] = {}  # by node: what has several aliases is made once, also if it contains itself

    def plain(node: Any) -> Any:
        if id(node) in made:
            return made[id(node)]
        if isinstance(node, yaml.ScalarNode):
            if not is_utf8(node.value):
                raise FormatError(
                    f"half of a character (\\ud800 to \\udfff), in line {node.start_mark.line + 1}", "correct it", path=path
                )
            return node.value
        if isinstance(node, yaml.SequenceNode):
            items = made[id(node)] = []
            items += map(plain, node.value)
            return items
        fields = made[id(node)] = {}
        for key, value in node.value:
            name = plain(key) if isinstance(key, yaml.ScalarNode) else None
            if name is None or name in fields:
                problem = "a key that is not text" if name is None else f"{name!r} stands twice"
                raise FormatError(f"{problem}, in line {key.start_mark.line + 1}", "correct it", path=path)
            fields[name] = plain(value)
        return fields

    text = read_text(path)
    if len(text) > _LARGEST:
        raise FormatError(f"larger than {_LARGEST >> 20} MB", "is it the data.yaml of a data set?", path=path)
    try:
        root = yaml.compose(text, Loader=_loader(yaml)) if text.strip() else None
    except (yaml.YAMLError, ValueError, OverflowError) as error:  # of a \U that stands for no character
        mark = getattr(error, "problem_mark", None)
        where = "" if mark is None else f", in line {mark.line + 1}"
        raise FormatError(
            f"cannot be read as YAML ({getattr(error, 'problem', None) or getattr(error, 'reason', error)}{where})", path=path
        ) from error
    fields = None if root is None else plain(root)
    if not isinstance(fields, dict):
        raise FormatError(
            f"{'is empty' if fields is None else 'has no keys'}", "it needs names, and val, train or test", path=path
        )
    return fields


def _loader(yaml: Any) -> Any:
    """A loader that refuses what is nested too deep, before Python does."""

    class Loader(yaml.BaseLoader):  # type: ignore[misc]
        level = 0

        def compose_node(self, parent: Any, index: Any) -> Any:
            self.level += 1
            if self.level > _DEEPEST:
                problem = f"nested deeper than {_DEEPEST} levels"
                raise yaml.composer.ComposerError(None, None, problem, self.peek_event().start_mark)
            node = super().compose_node(parent, index)
            self.level -= 1
            return node

    return Loader


def _import_yaml() -> Any:
    return import_optional("yaml", "data.yaml is read and written by PyYAML", "pyyaml", "yolo")
