"""Aligned lines: labels to the left, numbers to the right, blocks within a width."""

from __future__ import annotations

from apframe.show.aligned import aligned

TABLE = [["class", "level", "AP", "a long name"], ["cat", "easy", "0.25", "–"], ["elephant", "hard", "12.50", "100.00"]]


def test_labels_and_numbers() -> None:
    assert aligned(TABLE, n_labels=2) == [
        "class     level       AP  a long name",
        "cat       easy      0.25            –",
        "elephant  hard     12.50       100.00",
    ]


def test_blocks_repeat_the_labels() -> None:
    assert aligned(TABLE, 26, n_labels=2) == [
        "class     level       AP",
        "cat       easy      0.25",
        "elephant  hard     12.50",
        "",
        "class     level  a long name",
        "cat       easy             –",
        "elephant  hard        100.00",
    ]


def test_numbers_alone() -> None:
    assert aligned([["AP", "AR"], ["0.5", "–"]], n_labels=0) == ["     AP       AR", "    0.5        –"]
