"""What a confusion matrix says in a line and a list."""

from __future__ import annotations

import polars as pl

from apframe.show.mistakes import confusion_totals, mistakes

CELLS = pl.DataFrame(
    {
        "true_category_id": [1, 1, 1, 2, 2, None],
        "true_name": ["cat", "cat", "cat", None, None, None],
        "found_category_id": [1, 2, None, 1, 2, 1],
        "found_name": ["cat", None, None, "cat", None, "cat"],
        "n": [1500, 3, 7, 4, 1, 2],
    }
)


def test_largest_mistakes_first_and_ids_where_names_are_missing() -> None:
    assert mistakes(CELLS).select("true", "found", "n").rows() == [("2", "cat", 4), ("cat", "2", 3)]
    assert mistakes(CELLS.clear()).columns[:2] == ["true", "found"]


def test_totals_count_every_cell_once() -> None:
    assert confusion_totals(CELLS) == (
        "1,501 detections right, 7 predicted as another category, 2 on background; 7 annotations missed"
    )
    assert confusion_totals(CELLS.clear()).startswith("0 detections right")
