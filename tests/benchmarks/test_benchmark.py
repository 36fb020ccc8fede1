"""The benchmark's arithmetic; nothing here is timed."""

from __future__ import annotations

import json

import polars as pl
import pytest

from .__main__ import twelve
from .report import Bar, Run, Topic, all_equal, deviations, disturbance, judge, summarize, table
from .retrieval_worker import MEASURES, nested, numbers
from .topics import DETECTION, METRICS, RETRIEVAL, TOPICS

STATS = [k / 12 for k in range(12)]


def cell(tool: str, *walls: float, on: str = "450k", peak: float = 100.0) -> list[Run]:
    return [
        {"set": on, "job": "warm", "tool": tool, "wall": wall, "cpu": 2 * wall, "peak": peak, "stats": STATS} for wall in walls
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
        (Bar("warm", "450k", 10.0, base="45k"), 0.6, "MISSED** warm, 450k: time ≤ 10.0 × that of 45k; reached 12"),
        (Bar("warm", "5m", 1.0), 0.6, "not measured** warm, 5m: time ≤ 1.0 × the best peer's"),
    ],
)
def test_bars(bar: Bar, ours: float, expected: str) -> None:
    runs = [
        *cell("apframe", ours, peak=100.0),
        *cell("apframe", 0.05, on="45k"),
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
    assert twelve(json.dumps(summary)) == [*reversed(STATS[1:]), -1.0]


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
    runs = [*cell("ranx", 1.0), *cell("pytrec_eval-terrier", 1.0)]
    for run, per_query in zip(runs, (values, VALUES), strict=True):
        run["stats"] = numbers(means, [(query, name, value) for name in MEASURES for query, value in per_query.items()])
    assert all_equal(RETRIEVAL, runs) is equal


def test_peers_get_all_rows_in_whatever_order() -> None:
    run = pl.DataFrame({"query_id": ["b", "a", "b"], "document_id": ["x", "x", "y"], "score": [2.0, 3.0, 1.0]})
    assert nested(run) == {"b": {"x": 2.0, "y": 1.0}, "a": {"x": 3.0}}


@pytest.mark.parametrize("topic", TOPICS.values(), ids=TOPICS)
def test_bars_name_what_is_measured(topic: Topic) -> None:
    assert all(bar.job in topic.jobs and {bar.set, bar.base or bar.set} <= set(topic.sets) for bar in topic.bars)
