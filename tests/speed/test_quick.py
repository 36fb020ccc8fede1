"""The table of `make bench-quick` has the ratios beside those of the table before it."""

from __future__ import annotations

from . import __main__ as driver
from .quick import BEGIN, END, PARTS, before, ratios, table
from .report import Run
from .topics import TOPICS


def runs(tool: str, *walls: float) -> list[Run]:
    return [{"set": "45k", "job": "warm", "tool": tool, "wall": wall, "cpu": wall, "peak": 1.0} for wall in walls]


def test_a_rise_is_seen() -> None:
    times = ratios([*runs("apframe", 0.3, 0.2), *runs("hotcoco", 0.4, 0.5), *runs("ultrafast-pycocotools", 0.25)])
    assert times == {("45k", "warm"): (0.2, "ultrafast-pycocotools", 0.25)}
    first = table(times, before("no table"), "On top of commit 1234abcd, today.")
    assert before(f"a\n{first}\nb") == ("1234abcd", {("45k", "warm"): "0.80"})
    second = table({("45k", "warm"): (0.3, "hotcoco", 0.2), ("5m", "text"): (1, "hotcoco", 2)}, before(first), "On top.")
    assert second.splitlines() == [
        BEGIN,
        "",
        "| data | job | apframe s | fastest peer s | ratio | at 1234abcd |",
        "|---|---|--:|--:|--:|--:|",
        "| 45k | warm | 0.300 | 0.200 (hotcoco) | 1.50 | 0.80 |",
        "| 5m | text | 1.000 | 2.000 (hotcoco) | 0.50 |  |",
        "",
        "On top.",
        "",
        END,
    ]


def test_a_failed_peer_is_left_out() -> None:
    failed: Run = {"set": "45k", "job": "warm", "tool": "hotcoco", "error": "failed"}
    assert ratios([*runs("apframe", 0.3), failed]) == {}


def test_it_measures_what_the_topics_have() -> None:
    for name, sets, tools in PARTS:
        assert set(sets) <= set(TOPICS[name].sets)
        assert set(tools) <= set(TOPICS[name].tools)


def test_the_page_has_its_marks() -> None:
    text = driver.PAGE.read_text()
    assert text.count(BEGIN) == text.count(END) == 1
