"""The scenes of the splits of nuScenes."""

from __future__ import annotations

from pathlib import Path

from apframe.exceptions import FormatError, ParameterError
from apframe.formats.documents import read_json
from apframe.paths import is_file
from apframe.wording import counted, did_you_mean

# numbers of scenes; all scenes of v1.0-trainval that are not validation are training
_VALIDATION = (
    "3 12-18 35 36 38 39 92-110 221 268-278 329-332 344-346 519-524 552-565 625-627 629 630 632-638 770 771 775 777 778 "
    "780-784 794-800 802 904-917 919-931 962 963 966-969 971 972 1059-1073"
)
_NUMBERS = {"val": _VALIDATION, "mini_train": "61 553 655 757 796 1077 1094 1100", "mini_val": "103 916"}
_TRAIN, _FILE = "train", "splits.json"


def scenes_of(split: str, names: set[str], folder: Path) -> set[str]:
    """Return the names of the scenes of a split, all of which are in the folder.

    Parameters
    ----------
    split
        val, train (of v1.0-trainval), mini_val, mini_train, or a custom split that the folder's splits.json defines, as in
        nuscenes-devkit
    names
        all scenes of the folder

    Raises
    ------
    ParameterError
        no such split, or the folder lacks scenes of it
    FormatError
        splits.json is not an object with a list of names for each split

    >>> sorted(scenes_of("mini_val", {"scene-0061", "scene-0103", "scene-0916"}, Path("v1.0-mini")))
    ['scene-0103', 'scene-0916']
    """
    scenes_by_split = {name: _scenes(numbers) for name, numbers in _NUMBERS.items()} | _custom(folder / _FILE)
    if split == _TRAIN and split not in scenes_by_split:
        return names - scenes_of("val", names, folder)
    if split not in scenes_by_split:
        raise ParameterError(f"no split {split!r}", did_you_mean(split, [*scenes_by_split, _TRAIN]), path=folder)
    missing = scenes_by_split[split] - names
    if missing:
        there = [name for name, scenes in scenes_by_split.items() if scenes <= names]
        problem = f"lacks {counted(len(missing), 'scene')} of the split {split!r}, such as {min(missing)}"
        raise ParameterError(problem, f"it has all scenes of {', '.join(there) or 'no split'}", path=folder)
    return scenes_by_split[split]


def _scenes(numbers: str) -> set[str]:
    ends = [part.partition("-") for part in numbers.split()]
    return {f"scene-{number:04d}" for first, _, last in ends for number in range(int(first), int(last or first) + 1)}


def _custom(path: Path) -> dict[str, set[str]]:
    """Return the splits that a file defines; none if there is no such file."""
    splits = read_json(path) if is_file(path) else {}
    lists = splits.values() if isinstance(splits, dict) else [splits]
    if not all(isinstance(names, list) and all(isinstance(name, str) for name in names) for names in lists):
        raise FormatError("not an object with a list of scene names for each split", "correct the file", path=path)
    return {name: set(names) for name, names in splits.items()}
