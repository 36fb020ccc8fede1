"""The images of a page, the worst first."""

from __future__ import annotations

import polars as pl
import pytest

import apframe as apf
from apframe.report.compared import Compared
from apframe.report.worst_images import counts_of_images, errors_of_images, filter_values
from tests.conformance.tiny import ONE_HIT, ONE_OF_TWO
from tests.report.sections.test_error_types import of


@pytest.mark.slow
def test_counts_at_every_position_are_those_of_per_image(pair: Compared, models: list[apf.Evaluation]) -> None:
    assert pair.point is not None
    ids = pair.worst_images["image_id"].head(40)
    counts = counts_of_images(pair.rows, ids, pair.point)
    for k, each in enumerate(models):
        for position, score in enumerate(pair.point.scores(k)):
            expected = pl.DataFrame({"image_id": ids}).join(
                each.per_image(0.5, min_score=score), on="image_id", how="left", maintain_order="left"
            )
            assert counts[:, k, :, position].tolist() == [[*row] for row in expected.select("tp", "fp", "fn").rows()], position


def test_counts_of_all_images_are_those_of_the_operating_point(pair: Compared) -> None:
    assert pair.point is not None
    totals = counts_of_images(pair.rows, pair.worst_images["image_id"], pair.point).sum(axis=0)
    for k, each in enumerate(pair.point.counts):
        assert totals[k].T.tolist() == [[*row] for row in each.select("tp", "fp", "fn").rows()]


def test_one_model_has_the_order_of_its_influence(one: Compared, models: list[apf.Evaluation]) -> None:
    table, wanted = one.worst_images, models[0].influence("AP").select("image_id", wanted="influence")
    assert table["influence"].is_sorted()
    both = table.join(wanted, on="image_id", how="left", maintain_order="left")
    assert both["influence"].to_list() == pytest.approx(both["wanted"].to_list(), abs=1e-15)


def test_two_models_have_the_order_of_their_difference(pair: Compared, models: list[apf.Evaluation]) -> None:
    a, b = (each.influence("AP").select("image_id", pl.col("influence").alias(f"of_{k}")) for k, each in enumerate(models))
    both = pair.worst_images.join(a, on="image_id").join(b, on="image_id", maintain_order="left")
    expected = both.select(pl.col("of_1") - pl.col("of_0")).to_series()
    assert both["influence"].to_list() == pytest.approx(expected.to_list(), abs=1e-15) and both.height > 200
    assert pair.worst_images["influence"].is_sorted()


def test_errors_are_those_of_the_rows(pair: Compared) -> None:
    n_of = dict(pair.rows.errors.group_by("image_id").len().rows())
    assert all(n == n_of.get(image, 0) for image, n in pair.worst_images.select("image_id", "n_errors").rows())


def test_without_a_derivative_most_errors_come_first() -> None:
    detections = [*ONE_HIT, ONE_HIT[0] | {"bbox": [60, 60, 9, 9], "image_id": 2}]
    table = of(apf.evaluate(ONE_OF_TWO, detections, "voc2007")).worst_images
    assert table["influence"].null_count() == table.height == 2
    assert table["n_errors"].is_sorted(descending=True)


def test_without_a_point_all_detections_count() -> None:
    compared = of(apf.evaluate(ONE_OF_TWO, ONE_HIT))
    counts = counts_of_images(compared.rows, pl.Series([1, 2]), None)
    expected = compared.first.per_image(0.5).sort("image_id").select("tp", "fp", "fn").rows()
    assert counts[:, 0, :, 0].tolist() == [[*row] for row in expected]


def test_errors_of_images_are_told_apart_once(pair: Compared) -> None:
    ids, values = pair.worst_images["image_id"].head(5), filter_values(pair.rows)
    table = pair.rows.table().filter(pl.col("error").is_not_null())
    for image_id, text in zip(ids, errors_of_images(pair.rows, ids), strict=True):
        expected = table.filter(image_id=image_id).select(
            "error", "name", "model", pl.col("change").fill_null(""), "weather", "area"
        )
        read = [
            tuple(tuple(values[at][int(code)] for code in codes.split(",")) for at, codes in enumerate(error.split(".")))
            for error in text.split(" ")
        ]
        assert len(read) == len(set(read))
        assert set(read) == {tuple(tuple(v) if isinstance(v, list) else (v,) for v in row) for row in expected.rows()}
