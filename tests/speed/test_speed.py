"""The arithmetic of the measurements; nothing here is timed."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import apframe as apf
from apframe.protocols.headlines import headlines

from . import __main__ as driver
from . import generate_shapes, slices_worker, voc_worker, worker
from .__main__ import command_of, in_order
from .report import ABSOLUTE, OURS, Bar, Run, Topic, all_equal, deviations, disturbance, judge, page, summarize, table
from .retrieval_worker import MEASURES, nested, numbers
from .topics import DETECTION, KEYPOINTS, MASKS, METRICS, RETRIEVAL, SLICES, TOPICS, VOC

# of pycocotools, where it decodes a mask
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:__array__ implementation doesn't accept a copy:DeprecationWarning"),
]

STATS = [k / 12 for k in range(12)]


def cell(tool: str, *walls: float, on: str = "450k", job: str = "warm", peak: float = 100.0) -> list[Run]:
    return [
        {"set": on, "job": job, "tool": tool, "wall": wall, "cpu": 2 * wall, "peak": peak, "stats": STATS} for wall in walls
    ]


def broken(tool: str, error: str) -> Run:
    return {"set": "450k", "job": "warm", "tool": tool, "error": error}


def test_table_has_medians_and_puts_the_fastest_first() -> None:
    runs = [*cell("hotcoco", 0.5, 0.3, 0.4), *cell("apframe", 0.2, 0.1, 0.9), broken("pycocotools", "> 600 s")]
    assert table(summarize(runs), "450k", "warm")[2:] == [
        "| apframe | 3 | 0.200 (0.100 to 0.900) | 0.400 | 100 | 1.00 |",
        "| hotcoco | 3 | 0.400 (0.300 to 0.500) | 0.800 | 100 | 0.50 |",
        "| pycocotools | 1 | > 600 s | | | |",
    ]


ABOUT = {"versions": "apframe 0.5.0, hotcoco 1.3.0, numpy 2.4.6", "date": "2026-11-22", "machine": "2 cores, a CPU"}


def test_the_page_has_a_row_for_each_job_and_its_conditions() -> None:
    runs = [*cell("hotcoco", 0.5, 0.3, 0.4), *cell("apframe", 0.2, peak=1234.5), broken("vernier", "> 600 s")]
    runs += cell("apframe", 0.1, job="loaded")
    lines = page(DETECTION, ABOUT, runs, "make bench").splitlines()
    assert lines[:2] == ["| data | job | apframe | hotcoco 1.3.0 | vernier |", "|---|---|--:|--:|--:|"]
    assert lines[2] == f"| 450k | {DETECTION.jobs['warm'].meaning} | 0.200 / 0.400 (1,234) | 0.400 / 0.800 (100) | > 600 s |"
    assert lines[3] == f"| 450k | {DETECTION.jobs['loaded'].meaning} | 0.100 / 0.200 (100) |  |  |"
    assert " ".join(lines[5:]) == (
        "apframe 0.5.0, 2026-11-22, 2 cores, a CPU: `make bench`. Other processes used 0% of a core meanwhile."
    )


def test_tables_are_written_between_their_marks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "page.md"
    file.write_text("a\n<!-- detection -->\nold\n<!-- end of detection -->\nb\n<!-- voc -->\n<!-- end of voc -->\n")
    monkeypatch.setattr(driver, "PAGE", file)
    options = argparse.Namespace(sets=["45k", "450k"], jobs=None, tools=None, runs=3)
    driver.write_page(DETECTION, ABOUT, cell("apframe", 0.2), options)
    lines = file.read_text().splitlines()
    assert lines[:2] == ["a", "<!-- detection -->"]
    assert lines[-4:] == ["<!-- end of detection -->", "b", "<!-- voc -->", "<!-- end of voc -->"]
    assert 'make bench BENCH="--topics detection --sets 45k 450k --runs 3"' in " ".join(lines)
    assert "old" not in lines
    file.write_text("no marks\n")
    driver.write_page(DETECTION, ABOUT, cell("apframe", 0.2), options)
    assert file.read_text() == "no marks\n"


def test_the_page_has_marks_for_its_tables() -> None:
    text = driver.PAGE.read_text()
    names = (
        "detection",
        "slower",
        "one_cpu",
        "lvis",
        "masks",
        "keypoints",
        "threads",
        "stages",
        "compare",
        "errors",
        "interfaces",
        "shards",
        "sharding",
        "page",
        "driving",
        "fields",
        "slices",
        "voc",
        "retrieval",
        "reading",
    )
    for name in names:
        assert text.count(f"<!-- {name} -->") == text.count(f"<!-- end of {name} -->") == 1


def test_other_work_is_told() -> None:
    runs = cell("hotcoco", 0.5, 0.5)
    runs[0]["elapsed"], runs[0]["others"] = 1.0, 0.5
    runs[1]["elapsed"], runs[1]["others"] = 3.0, 0.5
    assert disturbance(runs) == "Other processes used 25% of a core meanwhile: these times say little."


def test_one_failed_run_fails_its_cell() -> None:
    runs = [*cell("hotcoco", 0.5), broken("hotcoco", "failed: no such file")]
    assert summarize(runs)["450k", "warm", "hotcoco"].error == "failed: no such file"


@pytest.mark.parametrize(
    ("bar", "ours", "expected"),
    [
        (Bar("warm", "450k", 1.0), 0.4, "met** warm, 450k: time ≤ 1.0 × the best peer's; reached 1 (vernier)"),
        (
            Bar("warm", "450k", 1.0, below=True),
            0.4,
            "MISSED** warm, 450k: time < 1.0 × the best peer's; reached 1 (vernier)",
        ),
        (
            Bar("warm", "450k", 2.5, quantity="peak memory"),
            9.0,
            "met** warm, 450k: peak memory ≤ 2.5 × the best peer's; reached 2 (hotcoco)",
        ),
        (Bar("warm", "450k", 1 / 3), 0.1, "met** warm, 450k: time ≤ 0.333 × the best peer's; reached 0.25 (vernier)"),
        (Bar("warm", "450k", 0.5, peer="hotcoco"), 0.2, "met** warm, 450k: time ≤ 0.5 × hotcoco's; reached 0.4"),
        (Bar("warm", "450k", 0.5, peer="pycocotools"), 0.2, "not measured** warm, 450k: time ≤ 0.5 × pycocotools's"),
        (Bar("warm", "450k", 10.0, base="45k"), 0.6, "MISSED** warm, 450k: time ≤ 10.0 × that of 45k; reached 12"),
        (Bar("warm", "450k", 2.0, base_job="loaded"), 0.4, "met** warm, 450k: time ≤ 2.0 × that of loaded; reached 2"),
        (
            Bar("warm", "450k", 2.0, below=True, base_job="loaded", base="45k"),
            0.4,
            "MISSED** warm, 450k: time < 2.0 × that of loaded, 45k; reached 4",
        ),
        (
            Bar("warm", "450k", 50.0, base_job="loaded", peer="hotcoco"),
            0.4,
            "met** warm, 450k: time ≤ 50.0 × hotcoco's of loaded; reached 40",
        ),
        (Bar("warm", "450k", 2.0, base_job="process"), 0.4, "not measured** warm, 450k: time ≤ 2.0 × that of process"),
        (Bar("warm", "450k", 0.5, quantity="seconds"), 0.4, "met** warm, 450k: ≤ 0.5 s; reached 0.4 s"),
        (Bar("warm", "450k", 0.4, below=True, quantity="seconds"), 0.4, "MISSED** warm, 450k: < 0.4 s; reached 0.4 s"),
        (
            Bar("warm", "450k", 0.7, quantity="CPU time"),
            0.2,
            "met** warm, 450k: CPU time ≤ 0.7 × the best peer's; reached 0.5 (vernier)",
        ),
        (Bar("warm", "5m", 1.0), 0.6, "not measured** warm, 5m: time ≤ 1.0 × the best peer's"),
    ],
)
def test_bars(bar: Bar, ours: float, expected: str) -> None:
    runs = [
        *cell("apframe", ours, peak=100.0),
        *cell("apframe", 0.05, on="45k"),
        *cell("apframe", 0.2, job="loaded"),
        *cell("apframe", 0.1, on="45k", job="loaded"),
        *cell("hotcoco", 0.01, job="loaded"),
        *cell("hotcoco", 0.5, peak=50.0),
        *cell("vernier", 0.4, peak=70.0),
        broken("pycocotools", "> 16 GB"),
    ]
    assert judge(bar, summarize(runs)) == f"- **{expected}"


def test_deviations_are_the_largest_of_all_runs_from_pycocotools() -> None:
    runs = [*cell("hotcoco", 1.0, 1.0), *cell("pycocotools", 1.0)]
    runs[1]["stats"] = [STATS[0] + 2.0**-52, *STATS[1:]]
    assert deviations(DETECTION, runs) == {"450k": ("pycocotools", {"hotcoco": 2.0**-52, "pycocotools": 0.0})}
    assert all_equal(DETECTION, runs)


@pytest.mark.parametrize("wrong", [[0.0, *STATS[1:-1], 0.5], STATS[:11], [float("nan"), *STATS[1:]], []])
def test_other_numbers_are_found(wrong: list[float]) -> None:
    runs = [*cell("hotcoco", 1.0), *cell("apframe", 1.0)]
    runs[1]["stats"] = wrong
    assert deviations(DETECTION, runs)["450k"][0] == "hotcoco"  # without pycocotools, the first
    assert not all_equal(DETECTION, runs)


def test_null_is_minus_one_in_the_order_of_pycocotools() -> None:
    summary = dict(zip(reversed(METRICS), [None, *STATS[1:]], strict=True))
    assert in_order(json.dumps(summary), METRICS) == [*reversed(STATS[1:]), -1.0]


VALUES = {"q1": 0.5, "q2": 0.25, "q3": 0.0}


@pytest.mark.parametrize(
    ("values", "equal"),
    [
        (dict(reversed(VALUES.items())), True),
        ({**VALUES, "q3": 2e-7}, True),
        ({**VALUES, "q3": 2e-6}, False),
        ({**VALUES, "q1": 0.25, "q2": 0.5}, False),
    ],
)
def test_one_other_value_of_one_query_is_found(values: dict[str, float], equal: bool) -> None:
    means = dict.fromkeys(MEASURES, 0.25)
    runs = [*cell("ranx", 1.0, job="text"), *cell("pytrec_eval-terrier", 1.0, job="text")]
    for run, per_query in zip(runs, (values, VALUES), strict=True):
        run["stats"] = numbers(means, [(query, name, value) for name in MEASURES for query, value in per_query.items()])
    assert all_equal(RETRIEVAL, runs) is equal


def test_peers_get_all_rows_in_whatever_order() -> None:
    run = pl.DataFrame({"query_id": ["b", "a", "b"], "document_id": ["x", "x", "y"], "score": [2.0, 3.0, 1.0]})
    assert nested(run) == {"b": {"x": 2.0, "y": 1.0}, "a": {"x": 3.0}}


def test_only_jobs_with_the_same_answer_are_compared() -> None:
    runs = [
        *cell("hotcoco", 1.0, job="10 slices"),
        *cell("hotcoco", 1.0, job="100 slices"),
        *cell("apframe", 1.0, job="stored"),
        *cell("apframe", 1.0, job="plain"),
    ]
    for run, value in zip(runs, (0.1, 0.2, 0.2, 0.4), strict=True):
        run["stats"] = [value] * 24
    assert deviations(SLICES, runs) == {
        "450k, 10 slices": ("hotcoco", {"hotcoco": 0.0}),
        "450k, 100 slices": ("hotcoco", {"hotcoco": 0.0, "apframe": 0.0}),
        "450k, no slices": ("apframe", {"apframe": 0.0}),
    }
    assert all_equal(SLICES, runs)
    runs[2]["stats"] = [0.1] * 24
    assert not all_equal(SLICES, runs)


def test_a_job_is_measured_only_with_the_tools_that_can_do_it(monkeypatch: pytest.MonkeyPatch) -> None:
    measured = []

    def measure(_: Topic, set_: str, job: str, tool: str, __: tuple[Path, ...]) -> Run:
        measured.append((job, tool))
        return cell(tool, 1.0, on=set_, job=job)[0]

    monkeypatch.setattr(driver, "measure", measure)
    files = dict.fromkeys(["10 slices", "stored"], (Path("gt.json"), Path("dt.json")))
    assert len(list(driver.measure_set(SLICES, "street", ["apframe", "hotcoco"], files, 2))) == 6
    assert measured == [
        ("10 slices", "apframe"), ("10 slices", "hotcoco"), ("10 slices", "hotcoco"), ("10 slices", "apframe"),
        ("stored", "apframe"), ("stored", "apframe"),
    ]  # fmt: skip


def sliced(values: dict[Any, list[float | None]]) -> list[float]:
    return slices_worker.numbers((key, *of_key) for key, of_key in values.items())


def test_numbers_of_slices() -> None:
    means_and_sums = sliced({0: [0.5, None], 1: [0.25, None]})
    assert means_and_sums[:2] == [0.375, -1.0]
    assert 0.75 <= means_and_sums[2] <= 1.5
    assert -4.0 <= means_and_sums[3] <= -2.0
    assert sliced({"1": [0.25, -1.0], "0": [0.5, -1.0]}) == means_and_sums  # another order, another type, null as -1


@pytest.mark.parametrize(
    "other",
    [{0: [0.5], 1: [0.5 + 1e-8]}, {0: [0.5]}, {0: [0.5], 1: [0.5], 2: [None]}, {0: [0.5], 2: [0.5]}, {0: [0.5], 1: [None]}],
)
def test_one_other_value_of_one_slice_is_found(other: dict[Any, list[float | None]]) -> None:
    gap = max(abs(a - b) for a, b in zip(sliced(other), sliced({0: [0.5], 1: [0.5]}), strict=True))
    assert gap > SLICES.tolerance


HALVES = dict.fromkeys(METRICS, 0.5)
OF_VERNIER = pl.DataFrame({"axis": "slice", "value": ["3", "__unassigned__"], "n_images": 7, "n_detections": 7} | HALVES)


@pytest.mark.parametrize(
    ("rows", "answer"),
    [
        (slices_worker.apframe_rows, pl.DataFrame({"slice_10": [3], "n_images": 7} | HALVES)),
        (slices_worker.hotcoco_rows, {"3": {"num_images": 7, **HALVES}, "_overall": {}}),
        (slices_worker.vernier_rows, OF_VERNIER),
        (slices_worker.vernier_rows, OF_VERNIER.to_struct("").to_frame()),
    ],
)
def test_answers_become_rows_of_slices(rows: Callable[[Any], slices_worker.Rows], answer: Any) -> None:
    assert [(str(key), *values) for key, *values in rows(answer)] == [("3", *HALVES.values())]


def test_a_summary_is_one_row() -> None:
    summary = pl.DataFrame({"metric": METRICS, "value": [None, *STATS[1:]]})
    assert list(slices_worker.apframe_rows(summary)) == [("all", None, *STATS[1:])]


@pytest.mark.parametrize("topic", TOPICS.values(), ids=TOPICS)
def test_bars_name_what_is_measured(topic: Topic) -> None:
    for bar in topic.bars:
        base_set, base_job = bar.reference
        assert {bar.job, base_job} <= set(topic.jobs)
        assert {bar.set, base_set} <= set(topic.sets)
        peers = set(topic.jobs[base_job].tools or topic.tools) - {OURS}
        assert bar.of_its_own or peers or bar.quantity in ABSOLUTE
        assert not bar.peer or bar.peer in peers


@pytest.mark.parametrize("topic", TOPICS.values(), ids=TOPICS)
def test_every_topic_has_a_sample_and_no_bar_on_it(topic: Topic) -> None:
    samples = {name for name, set_ in topic.sets.items() if set_.sample}
    assert samples
    assert not samples & {bar.set for bar in topic.bars}


@pytest.mark.parametrize("topic", [DETECTION, MASKS, KEYPOINTS], ids=lambda topic: topic.name)
def test_numbers_are_those_of_the_summary(topic: Topic) -> None:
    assert [line.metric for line in headlines(apf.COCO.variant(topic.iou_type or "bbox"))] == list(topic.metrics)


FILES = (Path("truth/gt.json"), Path("truth/dt.json"))


@pytest.mark.parametrize(
    ("topic", "job", "tool", "command"),
    [
        (DETECTION, "process", OURS, (True, ["-m", "apframe", "eval", "gt.json", "dt.json", "--json"])),
        (MASKS, "process", OURS, (True, ["-m", "apframe", "eval", "gt.json", "dt.json", "--json", "--iou-type=segm"])),
        (MASKS, "process", "hotcoco", (False, [MASKS.worker, "hotcoco", "process", "gt.json", "dt.json", "segm"])),
        (KEYPOINTS, "warm", OURS, (False, [KEYPOINTS.worker, OURS, "warm", "gt.json", "dt.json", "keypoints"])),
        (VOC, "loaded", "loop", (False, [VOC.worker, "loop", "loaded", "gt.json", "dt.json"])),
    ],
)
def test_the_command_says_what_is_compared(topic: Topic, job: str, tool: str, command: tuple[bool, list[str]]) -> None:
    assert command_of(topic, job, tool, FILES) == command


@pytest.fixture(scope="module")
def shapes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tiny sets of masks and keypoints where a process finds what it evaluates before it is warm."""
    folder = tmp_path_factory.mktemp("shapes")
    for kind, draw in generate_shapes.DRAW.items():
        (folder / kind).mkdir()
        for name, content in zip(worker.SAMPLE, draw(12), strict=True):
            (folder / kind / f"{name}.json").write_text(json.dumps(content))
    return folder


def content_of(folder: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    truth, results = (json.loads((folder / f"{name}.json").read_bytes()) for name in worker.SAMPLE)
    return truth, results


@pytest.mark.parametrize(("kind", "per_image"), [("masks", (7.2, 20)), ("keypoints", (11 / 2.7, 40 / 2.7))])
def test_sets_come_out_the_same_and_of_their_size(shapes: Path, kind: str, per_image: tuple[float, float]) -> None:
    truth, results = content_of(shapes / kind)
    assert (truth, results) == generate_shapes.DRAW[kind](12)
    assert len(truth["annotations"]) == round(per_image[0] * 12)
    assert 0.99 * per_image[1] * 12 - 1 < len(results) <= round(per_image[1] * 12)  # masks without a pixel are left out
    images, categories = ({row["id"] for row in truth[name]} for name in ("images", "categories"))
    for row in (*truth["annotations"], *results):
        assert row["image_id"] in images
        assert row["category_id"] in categories
    assert not any("bbox" in row for row in results)


def test_masks_are_polygons_and_crowds_plain_runs() -> None:
    from pycocotools import mask

    truth, _ = generate_shapes.draw_masks(40)
    outlines: list[list[float]] = []
    for row in truth["annotations"]:
        code = mask.frPyObjects(row["segmentation"], 480, 640)
        area = mask.area(code if row["iscrowd"] else mask.merge(code))
        assert row["area"] == area > 0
        outlines += [] if row["iscrowd"] else row["segmentation"]
    assert 0 < sum(row["iscrowd"] for row in truth["annotations"]) < 10
    assert len(outlines) > len(truth["annotations"])  # some have two
    assert 25 < sum(len(outline) / 2 for outline in outlines) / len(outlines) < 35


@pytest.mark.parametrize(
    ("columns", "runs"),
    [([[0, 0], [1, 1], [0, 1]], [2, 2, 1, 1]), ([[1, 0], [0, 0]], [0, 1, 3]), ([[0, 0]], [2]), ([[1, 1]], [0, 2])],
)
def test_plain_runs_go_down_columns_and_begin_with_background(columns: list[list[int]], runs: list[int]) -> None:
    assert generate_shapes.plain_runs(np.array(columns, np.uint8).T) == runs


def test_rows_of_the_parts_of_chosen_objects() -> None:
    rows, owner = generate_shapes.rows_of(np.array([1, 3, 2]), np.array([2, 0, 2, 1]))
    assert rows.tolist() == [4, 5, 0, 4, 5, 1, 2, 3]
    assert owner.tolist() == [0, 0, 1, 2, 2, 3, 3, 3]


def test_keypoints_are_counted_and_some_persons_have_none() -> None:
    truth, _ = generate_shapes.draw_keypoints(60)
    for row in truth["annotations"]:
        assert len(row["keypoints"]) == 3 * 17
        assert row["num_keypoints"] == sum(state > 0 for state in row["keypoints"][2::3])
        assert not (row["iscrowd"] and row["num_keypoints"])
    assert {state for row in truth["annotations"] for state in row["keypoints"][2::3]} == {0, 1, 2}
    assert any(row["num_keypoints"] == 0 and not row["iscrowd"] for row in truth["annotations"])
    assert any(row["iscrowd"] for row in truth["annotations"])


def test_vernier_gets_boxes(shapes: Path) -> None:
    results = (shapes / "masks" / "results_60.json").read_bytes().replace(b": ", b":")
    _, plain = content_of(shapes / "masks")
    boxed = worker.with_boxes(results, loaded=True)
    assert boxed == [{**row, "bbox": [0, 0, 0, 0]} for row in plain] == json.loads(worker.with_boxes(results, loaded=False))

    _, plain = content_of(shapes / "keypoints")
    poses = worker.read_poses(str(shapes / "keypoints" / "results_60.json"))
    assert [image["image_id"] for image in poses] == sorted({row["image_id"] for row in plain})
    assert [score for image in poses for score in image["scores"]] == [row["score"] for row in plain]
    assert np.concatenate([image["keypoints"] for image in poses]).reshape(-1, 51).tolist() == [
        row["keypoints"] for row in plain
    ]
    x, y = plain[0]["keypoints"][::3], plain[0]["keypoints"][1::3]
    assert poses[0]["boxes"][0].tolist() == [min(x), min(y), max(x) - min(x), max(y) - min(y)]


def stats_of(capsys: pytest.CaptureFixture[str]) -> list[float]:
    stats: list[float] = json.loads(capsys.readouterr().out.splitlines()[-1])["stats"]
    return stats


@pytest.mark.parametrize("job", DETECTION.jobs)
@pytest.mark.parametrize(("topic", "kind"), [(MASKS, "masks"), (KEYPOINTS, "keypoints")])
def test_shapes_have_the_numbers_of_pycocotools(
    topic: Topic, kind: str, job: str, shapes: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gt, dt = (str(shapes / kind / f"{name}.json") for name in worker.SAMPLE)
    worker.main("pycocotools", job, gt, dt, topic.iou_type)
    expected = stats_of(capsys)
    assert len(expected) == topic.numbers == len(topic.metrics)
    assert 0.1 < min(expected) <= max(expected) < 0.95  # of every kind there are some, and neither none nor all are found
    worker.main(OURS, job, gt, dt, topic.iou_type)
    assert stats_of(capsys) == pytest.approx(expected, abs=topic.tolerance)


@pytest.mark.parametrize("job", VOC.jobs)
def test_voc_has_the_numbers_of_the_loop(job: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(Path(__file__).parent)  # as for a script
    files = worker.sample_beside("", "bbox")
    voc_worker.main("loop", job, *files)
    expected = stats_of(capsys)
    assert len(expected) == VOC.numbers
    assert 0.1 < expected[0] < 0.95
    voc_worker.main(OURS, job, *files)
    assert stats_of(capsys) == pytest.approx(expected, abs=VOC.tolerance)
