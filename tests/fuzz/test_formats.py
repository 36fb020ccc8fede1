"""Mutated files of every format: whatever they hold, a command ends with one line and exit code 1 or 2, or with its answer.

The cases of a format are numbered. Each is made with `random.Random(f"{format} {number}")`, so that it is the same in every
run. A failure names the format and the number: `run("coco", [17], folder)` runs that case alone. `make test-slow` takes those
from 0 to 199 of each format (APFRAME_CASES), `make test-full` 5,000 others each time.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from apframe.formats.catalogue import FORMATS
from tests.fuzz.commands import CASES, problem_of, report, run_cases
from tests.fuzz.mutations import places
from tests.fuzz.valid_sets import IOU_TYPES, SHAPES, write_valid
from tests.share import share

pytestmark = pytest.mark.slow

_PROTOCOLS = {
    "coco": ("coco",), "lvis": ("lvis",), "voc": ("voc2007", "voc2012"),
    "open_images": ("open_images", "open_images_challenge"), "dota": ("dota",), "activitynet": ("activitynet",),
    "yolo": ("coco", "proposals"), "scalabel": ("coco", "bdd100k"), "kitti": ("coco", "kitti"),
    "crowdhuman": ("coco", "crowdhuman"), "nuscenes": ("nuscenes",), "argoverse2": ("argoverse2",),
    "coco_panoptic": ("coco_panoptic",), "label_maps": ("semantic",),
}  # fmt: skip


def commands(name: str, shape: str, truth: str, found: str) -> list[list[str]]:
    """What is run on the files in turn."""
    gt, dt = ["--gt-format", name], ["--dt-format", name]
    others = [other for other in SHAPES if other != name]
    chosen: list[list[str]] = []
    for place, other in enumerate(others):
        protocol = _PROTOCOLS.get(name, ("coco", "voc2012"))[place % len(_PROTOCOLS.get(name, ("", "")))]
        protocol = {"corners": "dota", "angle": "dota", "interval": "activitynet"}.get(shape, protocol)
        compared = ["--iou-type", IOU_TYPES[shape]] if shape in IOU_TYPES and place % 2 else []
        compared = [] if protocol not in ("coco", "lvis") else compared
        by = ["--by", ("name", "scene", "weather", "supercategory")[place % 4], "--csv"] if place % 3 == 0 else []
        chosen += [
            ["eval", truth, found, *gt, *dt, "--protocol", protocol, *compared, *by],
            ["eval", truth, found, "--out", "{}/out", "--drop-unknown-images"],
            ["check", truth, found, *gt, *dt],
            ["convert", truth, "{}/out", "--to", other, "--from", name],
            ["convert", found, "{}/out", "--to", other, "--from", name, "--results-of", truth, *gt],
            ["convert", found, "{}/out", "--to", other],
        ]
    return chosen


@pytest.mark.parametrize("name", SHAPES)
def test_mutated_files(name: str, tmp_path: Path) -> None:
    problems = run(name, CASES, tmp_path)
    assert not problems, report(problems)


ODD = {
    "number": "5", "huge": str(2**70), "text": '"x"', "list": "[]", "object": "{}", "null": "null", "true": "true",
    "fraction": "1.5", "deep list": "[" * 100_000 + "]" * 100_000, "deep object": '{"a":' * 100_000 + "1" + "}" * 100_000,
}  # fmt: skip
WITH_JSON = (
    "coco", "lvis", "open_images", "label_studio", "activitynet", "nuscenes", "scalabel", "labelme", "labelbox", "supervisely",
    "crowdhuman", "coco_panoptic", "ultralytics_ndjson",
)  # fmt: skip


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
@pytest.mark.parametrize("name", WITH_JSON)
def test_every_field_with_an_odd_value(name: str, odd: str, tmp_path: Path) -> None:
    truth, detections = write_valid(name, SHAPES[name][0], tmp_path)
    dt = ["--dt-format", name] if FORMATS[name].kinds_of("results") else []
    chosen = (
        ["eval", str(truth), str(detections), "--gt-format", name, *dt] if dt else ["stats", str(truth), "--format", name],
        ["check", str(truth), "--gt-format", name],
    )
    problems, files = [], [file for file in sorted(tmp_path.rglob("*")) if file.is_file() and file.read_bytes()[:1] in b"[{"]
    assert files
    for file in files:
        text = file.read_text()
        for number, changed in share([*enumerate([odd, *with_each_field_replaced(text, odd)])], f"{file.name} {odd[:9]}"):
            file.write_text(changed)
            problem = problem_of(chosen[number % 2])
            problems += [] if problem is None else [f"{file.name}, place {number}: {problem}"]
        file.write_text(text)
    assert not problems, report(problems)


def with_each_field_replaced(text: str, odd: str) -> Iterator[str]:
    """A document, or the first of its lines, with another value of each field; of items of lists, the first is taken."""
    document, end = json.JSONDecoder().raw_decode(text)
    for parent, key in list(places(document)):
        if key == 0 or isinstance(parent, dict):
            kept, parent[key] = parent[key], "@odd@"
            yield json.dumps(document).replace('"@odd@"', odd) + text[end:]
            parent[key] = kept


def run(name: str, numbers: Sequence[int], folder: Path) -> list[str]:
    """The problems of these cases of a format, in a new folder."""
    sets = []
    for shape in SHAPES[name]:
        (folder / shape).mkdir()
        truth, detections = write_valid(name, shape, folder / shape)
        sets.append((folder / shape, commands(name, shape, f"{{}}/{truth.name}", f"{{}}/{detections.name}")))
    return run_cases(name, numbers, sets, folder)
