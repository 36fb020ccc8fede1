"""A data set in a notebook: the rows and columns of its tables."""

from __future__ import annotations

import apframe as apf

BOX = {"image_id": [1], "category_id": [1], "x": [0], "y": [0], "width": [9], "height": [9]}


def test_columns_of_all_tables_are_listed_and_escaped() -> None:
    page = apf.Dataset({"image_id": [1], "<b>fog": [True]}, {"category_id": [1]}, BOX | {"occluded": [0]})._repr_html_()
    assert page.startswith("<p>Dataset(1 image, 1 category, 1 annotation)</p><table>")
    assert "&lt;b&gt;fog" in page and "<b>" not in page
    assert "area, is_crowd, occluded</td>" in page


def test_annotations_that_are_read_again_are_not_read() -> None:
    def read() -> None:
        raise AssertionError

    dataset = apf.Dataset({"image_id": [1]}, {"category_id": [1]}, {}).with_late_annotations(read, 7)  # type: ignore[arg-type]
    page = dataset._repr_html_()
    assert "7 annotations" in page and "category_id, name" in page and ">annotations<" not in page
