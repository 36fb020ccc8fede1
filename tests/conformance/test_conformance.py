"""What holds for every protocol: stored, sharded, fed in updates, sliced, compared, weighted, in SQL, printed, in a report."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import apframe as apf
from apframe.exceptions import ApframeError
from apframe.metrics.definitions import Step
from apframe.protocols.headlines import headlines
from tests.conformance.variants import TOY_NAME, VARIANTS, Variant
from tests.plugins.installed import TOY, installed

pytestmark = pytest.mark.filterwarnings("ignore::apframe.exceptions.ApframeWarning")
each_variant = pytest.mark.parametrize("variant", VARIANTS, ids=str)


@pytest.fixture(autouse=True)
def _installed(variant: Variant) -> Iterator[None]:
    """The toy benchmark is that of another package, which is there for its own tests alone."""
    with installed(TOY) if variant.name == TOY_NAME else nullcontext():
        yield


N_PARTS = 3


def parts_of(variant: Variant) -> list[pl.Series]:
    """The ids of the images of each part."""
    ids = variant.dataset.images["image_id"]
    return [ids[part::N_PARTS].implode() for part in range(N_PARTS)]


def of_images(frame: pl.DataFrame, ids: pl.Series) -> pl.DataFrame:
    return frame.filter(pl.col("image_id").is_in(ids))


def plain(variant: Variant) -> list[str]:
    """The headline numbers that slices and intervals have."""
    return [line.metric for line in headlines(variant.protocol) if not line.kind.table]


@each_variant
def test_stored_and_read_back(variant: Variant, tmp_path: Path) -> None:
    evaluation = variant.evaluation
    evaluation.write_parquet(tmp_path / "run")
    again = apf.read_evaluation(tmp_path / "run")
    assert again.protocol == evaluation.protocol and str(again) == str(evaluation)
    for compute in (lambda ev: ev.summary, lambda ev: ev.metrics, lambda ev: ev.by("fold"), lambda ev: ev.matches()):
        assert_frame_equal(compute(again), compute(evaluation), check_exact=True)


@each_variant
def test_fed_in_updates(variant: Variant) -> None:
    evaluator = apf.Evaluator(variant.dataset, protocol=variant.protocol)
    for ids in parts_of(variant):
        evaluator.update(of_images(variant.found, ids))
    assert_frame_equal(evaluator.compute().summary, variant.evaluation.summary)


@each_variant
def test_cut_into_shards(variant: Variant, tmp_path: Path) -> None:
    apf.write_shards(variant.dataset, variant.found, tmp_path / "shards", n=N_PARTS)
    sharded = apf.evaluate_shards(str(tmp_path / "shards" / "*"), protocol=variant.name, iou_type=variant.iou_type)
    whole = variant.evaluation
    assert_frame_equal(sharded.metrics, whole.metrics)
    expected = whole.summary.filter(pl.col("metric").is_in(plain(variant)))
    assert_frame_equal(sharded.summary.filter(pl.col("metric").is_in(plain(variant))), expected)
    assert_frame_equal(sharded.by("fold"), whole.by("fold"))


@each_variant
def test_slices_are_evaluations_of_their_images(variant: Variant) -> None:
    table, named = variant.evaluation.by("fold", marginals=True), plain(variant)
    for row in table.filter(pl.col("rolled_up") == "").rows(named=True):
        inside = pl.col("fold").eq_missing(row["fold"])
        part = dict(variant.evaluation.where(inside).summary.rows())
        assert {name: row[name] for name in named} == pytest.approx({name: part[name] for name in named}, abs=1e-12)
        ids = variant.dataset.images.filter(inside)["image_id"].implode()
        images, annotations = (of_images(frame, ids) for frame in (variant.dataset.images, variant.dataset.annotations))
        alone = dict(variant.evaluate(variant.dataset.part(images, annotations), of_images(variant.found, ids)).summary.rows())
        assert {name: row[name] for name in named} == pytest.approx({name: alone[name] for name in named}, abs=1e-9)
    (all_,) = table.filter(pl.col("rolled_up") != "").rows(named=True)
    whole = dict(variant.evaluation.summary.rows())
    assert {name: all_[name] for name in named} == pytest.approx({name: whole[name] for name in named}, abs=1e-12)


@each_variant
def test_weights_of_images_are_copies_of_them(variant: Variant) -> None:
    weighted = variant.evaluation.intervals(weights="copies", n_resamples=2, method="bootstrap")
    found = dict(weighted.select("metric", "estimate").rows())
    images = variant.dataset.images
    copies = images.select("image_id", copy=pl.int_ranges(pl.col("copies"))).explode("copy").drop_nulls()

    def copied(frame: pl.DataFrame) -> pl.DataFrame:
        joined = frame.join(copies, on="image_id", maintain_order="left")
        name = pl.format("{}/{}", "image_id", "copy")
        return joined.with_columns(image_id=name).drop("copy", "annotation_id", "detection_id", strict=False)

    dataset = apf.Dataset(copied(images), variant.dataset.categories, copied(variant.dataset.annotations))
    expected = dict(variant.evaluate(dataset, copied(variant.found)).summary.rows())
    # by this definition, a row of weight 2 is one point, and its copies are two
    averages = [metric.average_precision for metric in variant.protocol.metrics]
    is_step = any(each is not None and isinstance(each.definition, Step) for each in averages)
    names = [name for name in found if not (is_step and name.startswith("AP"))]
    assert {name: found[name] for name in names} == pytest.approx({name: expected[name] for name in names}, abs=1e-9)


@each_variant
def test_compared(variant: Variant) -> None:
    one = variant.evaluation
    # label maps say which segments there are
    other = variant.evaluate(found=variant.found.gather_every(2 if variant.protocol.has_scores else 1))
    same = one.compare(variant.evaluate(), n_resamples=5, seed=0)
    assert same["difference"].drop_nulls().abs().max() in (0, None)
    table = one.compare(other, n_resamples=5, seed=0)
    values = [dict(each.summary.rows()) for each in (one, other)]
    for row in table.rows(named=True):
        a, b = (each[row["metric"]] for each in values)
        assert row["difference"] == (None if a is None or b is None else pytest.approx(b - a, abs=1e-9)), row


@each_variant
def test_explained_in_sql(variant: Variant) -> None:
    evaluation = variant.evaluation
    assert evaluation.sql("SELECT metric, value FROM summary").rows() == evaluation.summary.rows()
    outcomes = evaluation.matches()["outcome"].cast(pl.String).value_counts().rows()
    at = evaluation.matches().select("iou_threshold", "area_range").row(0)
    query = (
        f"FROM matches SELECT outcome, count(*) WHERE abs(iou_threshold - {at[0]}) < 1e-9 AND area_range = '{at[1]}' GROUP BY 1"
    )
    assert dict(evaluation.sql(query).rows()) == dict(outcomes)
    mean = evaluation.sql("SELECT count(*) FROM metrics").item()
    assert mean == evaluation.metrics.height


@each_variant
def test_printed(variant: Variant) -> None:
    evaluation = variant.evaluation
    lines, page = str(evaluation).splitlines(), evaluation._repr_html_()
    assert len(lines) >= evaluation.summary.height
    assert all(metric in page for metric in evaluation.summary["metric"])
    assert f"protocol={variant.name}" in repr(evaluation)
    assert all(f"| {metric} " in evaluation.to_markdown() for metric in evaluation.summary["metric"])


@each_variant
def test_bad_columns_are_refused(variant: Variant) -> None:
    """Numbers and flags that a rule reads are no texts."""
    read = {name for rule in variant.protocol.rules for name in rule.reads}
    read |= {name for each in variant.protocol.ranges for name in each.reads}
    tables: dict[str, Any] = {
        "images": variant.dataset.images, "annotations": variant.dataset.annotations, "detections": variant.found
    }  # fmt: skip
    for place in sorted(read):
        table, _, column = place.partition(".")
        if table not in tables or column not in tables[table].columns or not tables[table].height:
            continue
        dtype = tables[table].schema[column]
        if not (dtype.is_numeric() or dtype == pl.Boolean):
            continue
        changed = tables | {table: tables[table].with_columns(pl.lit("what").alias(column))}
        with pytest.raises(ApframeError):
            dataset = apf.Dataset(changed["images"], variant.dataset.categories, changed["annotations"])
            variant.evaluate(dataset, changed["detections"]).summary  # noqa: B018


@each_variant
def test_drawn_in_a_report(variant: Variant, tmp_path: Path) -> None:
    apf.write_report(tmp_path / "page.html", variant.evaluation, max_images=0, n_resamples=5)
    page = (tmp_path / "page.html").read_text()
    assert variant.name in page and all(metric in page for metric in variant.evaluation.summary["metric"])
