"""Files of WIDER FACE for the tests: MATLAB's, text, and folders of results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from scipy.io import savemat

from tests.formats.folders import written

Faces = Mapping[str, Sequence[tuple[Sequence[float], Sequence[str]]]]
"""The faces of each image, as event/file: the box, and the names of the sets that it is in."""
SETS = ("easy", "medium", "hard")


def cells(values: Sequence[object]) -> np.ndarray:
    array = np.empty((len(values), 1), dtype=object)
    for place, value in enumerate(values):
        array[place, 0] = value
    return array


def write_matlab(folder: Path, faces: Faces, split: str = "val") -> Path:
    """The four MATLAB files of a split."""
    folder.mkdir(parents=True, exist_ok=True)
    events = list(dict.fromkeys(name.split("/")[0] for name in faces))
    of_event = [[name for name in faces if name.split("/")[0] == event] for event in events]
    boxes = [
        cells([np.array([box for box, _ in faces[name]], dtype=float).reshape(-1, 4) for name in names]) for names in of_event
    ]
    files = [cells([name.split("/")[1] for name in names]) for names in of_event]
    whole = {"event_list": cells(events), "file_list": cells(files), "face_bbx_list": cells(boxes)}
    savemat(folder / f"wider_face_{split}.mat", whole)
    for inside in SETS:
        lists = [
            cells(
                [
                    np.array([[k] for k, (_, sets) in enumerate(faces[name], 1) if inside in sets]).reshape(-1, 1)
                    for name in names
                ]
            )
            for names in of_event
        ]
        savemat(folder / f"wider_{inside}_{split}.mat", {"gt_list": cells(lists)})
    return folder


def write_text(path: Path, faces: Faces) -> Path:
    """The text file, with flags of 0; an image without faces has a line of zeros."""
    lines = []
    for name, own in faces.items():
        lines += [f"{name}.jpg", str(len(own)), *(" ".join(f"{side:g}" for side in (*box, *[0] * 6)) for box, _ in own)]
        lines += ["0 0 0 0 0 0 0 0 0 0"] * (not own)
    path.write_text("\n".join(lines) + "\n")
    return path


def write_results(folder: Path, found: Mapping[str, Sequence[Sequence[float]]]) -> Path:
    """A text file for each image, as event/file, with lines of x, y, width, height and score."""
    return written(
        folder,
        {
            f"{name}.txt": "\n".join([name.split("/")[1], str(len(rows)), *(" ".join(map(str, row)) for row in rows)]) + "\n"
            for name, rows in found.items()
        },
    )
