"""YOLO's data.yaml, or darknet's obj.data: classes, splits of the data set, and the image and label files of a split."""

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
"""The extensions of image files."""
_LARGEST, _DEEPEST = 1 << 22, 20  # bytes and levels of a data.yaml; PyYAML takes seconds for a megabyte
_MOST_CLASSES, _MOST_KEYPOINTS = 1_000_000, 1_000
_YAML, _DARKNET = (".yaml", ".yml"), ".data"
ENDINGS = (*_YAML, _DARKNET)
"""The extensions of files with the classes and splits of a data set."""
_KEYS = re.compile(rb"^(names|nc)[ \t]*:|^[ \t]*(names|classes)[ \t]*=", re.MULTILINE)


@dataclass(frozen=True)
class Config:
    """The content of a data.yaml.

    Attributes
    ----------
    path
        the file
    names
        names of the classes, by number
    splits
        paths of images by the name of the split: folders, or text files that list them
    roots
        folders in which these may be found
    keypoints
        the number of keypoints, and of values for each, 2 or 3; None without keypoints
    """

    path: Path
    names: dict[int, str]
    splits: dict[str, list[str]]
    roots: tuple[Path, ...]
    keypoints: tuple[int, int] | None


def find_config(seen: PathContents) -> Path | None:
    """Return the file itself; or for a folder, its data.yaml, or the only file that names classes."""
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
        the file cannot be read, or has missing or repeated fields, over 4 MB, 20 levels of nesting, 1,000,000 classes or 1,000
        keypoints
    """
    if path.suffix == _DARKNET:
        return _read_darknet(path)
    fields = _read_yaml(path)
    root = _text(path, fields, "path")
    # the trainer keeps data sets in a folder `datasets`, beside the folder of the file or beside the working folder
    shared = [folder / "datasets" / root for folder in (path.parent, path.parent.parent, Path(), Path(".."))]
    roots = [path.parent / root, path.parent, *shared] if root else [path.parent]
    splits = {name: _texts(path, fields, name) for name in _SPLITS}
    return Config(
        path,
        names=names_of(path, fields),
        splits={name: entries for name, entries in splits.items() if entries},
        roots=tuple(dict.fromkeys(roots)),
        keypoints=shape_of_keypoints(path, fields),
    )


def _read_darknet(path: Path) -> Config:
    """Read an obj.data: lines of `classes`, `names`, `train` and `valid`, with paths relative to darknet: see `_variants`."""
    pairs = (line.partition("=") for line in read_text(path).split("\n") if not line.lstrip().startswith("#"))
    fields = {key.strip(): value.strip() for key, equals, value in pairs if equals}
    roots = tuple(dict.fromkeys((path.parent.parent, path.parent)))
    names: Any = None
    if "names" in fields:
        places = [root / each for root in roots for each in _variants(path, fields["names"])]
        file = next(filter(is_file, places), None)
        if file is None:
            raise FormatError(f"there is no {fields['names']}", "correct names, or add the file", path=path)
        names = names_in_lines(file)
    named = {"nc": fields.get("classes"), "names": names}
    splits = {split: [fields[key]] for split, key in (("val", "valid"), ("train", "train"), ("test", "test")) if key in fields}
    return Config(path, names=names_of(path, named), splits=splits, roots=roots, keypoints=None)


def names_in_lines(path: Path) -> list[str]:
    """Read the names of classes in a text file, one in each line."""
    lines = [line.strip() for line in read_text(path).split("\n")]
    while lines and not lines[-1]:
        lines.pop()
    return lines


def find_files(config: Config, split: str | None) -> dict[Path, Path | None]:
    """Return the label files of a split, existing or not, with their image files, or None without an image file.

    A label file has the name of its image, with the extension .txt, in the folder `labels` instead of `images`. `split` is by
    default "val", or else the only one.

    The data set may be anywhere: `path`, folders and lists in data.yaml are trusted as given. Lists of images come with
    downloaded data, so their files must be in the data set, or in the folder of the list.

    Raises
    ------
    ParameterError
        an unknown split, or several splits without a choice
    FormatError
        listed images do not exist, are outside the data set, or have the same name in two folders; or there are no files
    """
    if not config.splits:
        raise FormatError("names no images (val, train or test)", path=config.path)
    split_name = chosen_split(config.path, config.splits, split)
    files: dict[Path, Path | None] = {}
    for entry in config.splits[split_name]:
        place = _place(config, split_name, entry)
        files |= _listed_files(place, config) if place.suffix == ".txt" else _files_in(place)
    if not files:
        raise FormatError(f"{split_name}: no images or labels in {', '.join(config.splits[split_name])}", path=config.path)
    by_name: dict[str, Path] = {}
    for label, image in sorted(files.items()):
        other = by_name.setdefault(label.stem, image or label)
        if other != (image or label):
            raise FormatError(
                f"two images of {split_name} have the same name: {other} and {image or label}", "rename one", path=config.path
            )
    return dict(sorted(files.items()))


def chosen_split(path: Path, splits: Collection[str], split: str | None) -> str:
    """Return the requested split of a data set, by default "val", or else the only one.

    Raises
    ------
    ParameterError
        an unknown split, or several splits without a choice
    """
    name = split or ("val" if "val" in splits else next(iter(splits), ""))
    if name not in splits or (split is None and name != "val" and len(splits) > 1):
        problem = f"no split {split!r}" if split else "several splits, but no val"
        raise ParameterError(problem, f"choose one with {option_name('split', '')}: {', '.join(splits)}", path=path)
    return name


def write_config(path: Path, names: dict[int, str], n_keypoints: int | None) -> None:
    """Write a data.yaml with one split, val."""
    yaml = _import_yaml()
    fields: dict[str, Any] = {"val": "images/val", "names": names}
    if n_keypoints is not None:
        fields["kpt_shape"] = [n_keypoints, 3]
    write_text(path, yaml.safe_dump(fields, sort_keys=False, allow_unicode=True))


def _place(config: Config, split: str, entry: str) -> Path:
    """Return the place of a folder or list of images: the first place where it, or its labels, exists."""
    places = [root / each for root in config.roots for each in _variants(config.path, entry)]
    for place in places:
        if kind_at(place) is not None or (place.suffix != ".txt" and is_folder(_labels_of(place))):
            return place
    raise FormatError(f"{split}: there is neither {places[0]} nor labels for it", f"correct path or {split}", path=config.path)


def _variants(file: Path, entry: str) -> list[str]:
    """Return a path in the file of a data set, and the other path that it may mean.

    Roboflow writes ../val/images for a folder beside data.yaml, and the trainer accepts this. An obj.data is in the folder
    `data` of darknet, and its paths are relative to darknet: CVAT writes data/train.txt for a file beside it in the archive.
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
    """Return True unless a file is hidden or the list of classes that labelling programs leave among the labels.

    An image may have the same name: then its first line has numbers, at least a class and a box. `fields` are the fields of
    the first line, if they are known.
    """
    if path.name != "classes.txt":
        return not path.name.startswith(".")
    fields = first_fields([path]) if fields is None else fields
    return len(fields) > 4 and all(map(is_number, fields))


def _listed_files(path: Path, config: Config) -> dict[Path, Path | None]:
    """Return the files of images that a text file lists, relative to it or to the data set."""
    files: dict[Path, Path | None] = {}
    missing, outside = [], []
    roots, is_darknet = (path.parent, *config.roots), config.path.suffix == _DARKNET
    for name in filter(None, map(str.strip, read_text(path).split("\n"))):
        ways = _variants(config.path, name) if is_darknet else [name]
        candidates = [image for way in ways for root in roots if is_inside(image := root / way, roots)]
        if not candidates:
            outside.append(name)
            continue
        for image in candidates:
            if is_file(image):
                files[_label_of(image)] = image
                break
            if is_file(_label_of(image)):
                files.setdefault(_label_of(image))
                break
        else:
            missing.append(name)
    if outside:
        remedy = "correct the list, or set path in data.yaml to the folder that holds them"
        raise FormatError(f"lists images outside the data set: {listed(outside)}", remedy, path=path)
    if missing:
        raise FormatError(f"lists images that do not exist: {listed(missing)}", "correct the list, or add them", path=path)
    return files


def _labels_of(folder: Path) -> Path:
    """Return the folder of labels for a folder of images: the last `images` of its path becomes `labels`."""
    parts = list(folder.parts)
    if "images" in parts:
        parts[len(parts) - 1 - parts[::-1].index("images")] = "labels"
    return Path(*parts)


def _label_of(image: Path) -> Path:
    return _labels_of(image.parent) / f"{image.stem}.txt"


def names_of(path: Path, fields: dict[str, Any]) -> dict[int, str]:
    """Return the names of classes by number, from the fields `names` and `nc`."""
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
    """Return the numbers of keypoints and of values for each, from the field `kpt_shape`; None without it."""
    shape = [_whole(path, "kpt_shape", number, _MOST_KEYPOINTS) for number in _texts(path, fields, "kpt_shape")]
    if not shape:
        return None
    if len(shape) != 2 or shape[0] < 1 or shape[1] not in (2, 3):
        raise FormatError(f"kpt_shape must be [number of keypoints, 2 or 3], not {shape}", path=path)
    return shape[0], shape[1]


def _whole(path: Path, what: str, text: str | int, limit: int) -> int:
    if re.fullmatch("[0-9]+", str(text)) is None:
        raise FormatError(f"{what} is {shown(text)}, not a whole number from 0", path=path)
    if len(str(text)) > len(str(limit)) or int(text) > limit:
        raise FormatError(f"{what} is {shown(text)}; the limit is {limit:,}", path=path)
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
    """Read the mapping in a YAML file, with all values as texts: a class may be named `no`, which is false in YAML."""
    yaml = _import_yaml()
    values: dict[int, Any] = {}  # by node: a node with several aliases is converted once, even if it contains itself

    def plain(node: Any) -> Any:
        if id(node) in values:
            return values[id(node)]
        if isinstance(node, yaml.ScalarNode):
            if not is_utf8(node.value):
                raise FormatError(
                    f"half of a character (\\ud800 to \\udfff), in line {node.start_mark.line + 1}", "correct it", path=path
                )
            return node.value
        if isinstance(node, yaml.SequenceNode):
            items = values[id(node)] = []
            items += map(plain, node.value)
            return items
        fields = values[id(node)] = {}
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
    except (yaml.YAMLError, ValueError, OverflowError) as error:  # for a \U that is not a character
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
    """Return a loader that rejects deep nesting before Python does."""

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
