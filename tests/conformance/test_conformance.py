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
# without scores; with ranges and classes that are similar; with lists of a whole image; of a package of its own
QUICK = {"COCO_PANOPTIC-panoptic", "KITTI-bbox", "VISUAL_GENOME_MEAN-relation", "TOY_LAMPS-bbox"}
CASES = [pytest.param(each, marks=() if str(each) in QUICK else pytest.mark.slow) for each in VARIANTS]
each_variant = pytest.mark.parametrize("variant", CASES, ids=str)


@pytest.fixture(autouse=True)
def _installed(variant: Variant) -> Iterator[None]:
    """The toy benchmark is that of another package, which is there for its own tests alone."""
    with installed(TOY) if variant.name == TOY_NAME else nullcontext():
        yield


N_PARTS = 3
ERRORS = ("ATE", "ASE", "AOE", "AVE", "AAE", "LAMR")


def parts_of(image_ids: pl.Series) -> list[pl.Series]:
    """The ids of the images of each part, of rows that are sorted by image."""
    ids = image_ids.unique(maintain_order=True)
    n_each = -(-len(ids) // N_PARTS)
    return [ids[begin : begin + n_each].implode() for begin in range(0, len(ids), n_each)]


def of_images(frame: pl.DataFrame, ids: pl.Series) -> pl.DataFrame:
    return frame.filter(pl.col("image_id").is_in(ids))


def copied(variant: Variant, copies: pl.Series) -> tuple[apf.Dataset, pl.DataFrame]:
    """The set with so many copies of each image."""
    images = variant.dataset.images
    names = images.select("image_id", copy=pl.int_ranges(copies)).explode("copy").drop_nulls()

    def each(frame: pl.DataFrame) -> pl.DataFrame:
        joined = frame.join(names, on="image_id", maintain_order="left")
        name = pl.format("{}/{}", "image_id", "copy")
        return joined.with_columns(image_id=name).drop("copy", "annotation_id", "detection_id", strict=False)

    return apf.Dataset(each(images), variant.dataset.categories, each(variant.dataset.annotations)), each(variant.found)


def plain(variant: Variant) -> list[str]:
    """The headline numbers that slices and intervals have."""
    return [line.metric for line in headlines(variant.protocol) if not line.kind.table]


@each_variant
def test_stored_and_read_back(variant: Variant, tmp_path: Path) -> None:
    evaluation = variant.with_ties
    evaluation.write_parquet(tmp_path / "run")
    again = apf.read_evaluation(tmp_path / "run")
    assert again.protocol == evaluation.protocol
    of_variants = any(table.iou_types for table in variant.protocol.tables)  # whose columns need the original data
    assert of_variants or str(again) == str(evaluation)
    for compute in (lambda ev: ev.summary, lambda ev: ev.metrics, lambda ev: ev.by("fold"), lambda ev: ev.matches()):
        assert_frame_equal(compute(again), compute(evaluation), check_exact=True)


@each_variant
def test_fed_in_updates(variant: Variant) -> None:
    """Scores are equal here, and stay in their order."""
    detections = variant.found_with_ties
    evaluator = apf.Evaluator(variant.dataset, protocol=variant.protocol)
    for ids in parts_of(detections["image_id"]):
        evaluator.update(of_images(detections, ids))
    assert_frame_equal(evaluator.compute().summary, variant.with_ties.summary)


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
    assert any(row[name] not in (0, 1, None) for row in table.rows(named=True) for name in named)
    for row in table.filter(pl.col("rolled_up") == "").rows(named=True):
        inside = pl.col("fold").eq_missing(row["fold"])
        part = dict(variant.evaluation.where(inside).summary.rows())
        assert {name: row[name] for name in named} == pytest.approx({name: part[name] for name in named}, abs=1e-12)
        ids = variant.dataset.images.filter(inside)["image_id"].implode()
        images, annotations = (of_images(frame, ids) for frame in (variant.dataset.images, variant.dataset.annotations))
        alone = dict(variant.evaluate(variant.dataset.part(images, annotations), of_images(variant.found, ids)).summary.rows())
        assert part == pytest.approx(alone, abs=1e-9)
    (all_,) = table.filter(pl.col("rolled_up") != "").rows(named=True)
    whole = dict(variant.evaluation.summary.rows())
    assert {name: all_[name] for name in named} == pytest.approx({name: whole[name] for name in named}, abs=1e-12)


@each_variant
def test_weights_of_images_are_copies_of_them(variant: Variant) -> None:
    # by the definition `step`, a row of weight 2 is one point, and its copies are two: weights are 0 and 1
    averages = [metric.average_precision for metric in variant.protocol.metrics]
    most = 1 if any(each is not None and isinstance(each.definition, Step) for each in averages) else 2
    images = variant.dataset.images.with_columns(pl.col("copies").clip(upper_bound=most))
    dataset = variant.dataset.with_images_changed(lambda _: images)
    weighted = variant.evaluate(dataset).intervals(weights="copies", n_resamples=2, method="bootstrap")
    expected = dict(variant.evaluate(*copied(variant, images["copies"])).summary.rows())
    estimates = dict(weighted.select("metric", "estimate").rows())
    assert {*estimates} >= {*plain(variant)}
    assert estimates == pytest.approx({name: expected[name] for name in estimates}, abs=1e-9)


@each_variant
def test_intervals_hold_their_estimates(variant: Variant) -> None:
    """Of ten copies of each image, as few images have no intervals."""
    copies = pl.repeat(10, variant.dataset.images.height, eager=True)
    evaluation = variant.evaluate(*copied(variant, copies))
    table = evaluation.intervals(n_resamples=20, seed=0, by="fold", method="bootstrap")
    by = {row["fold"]: row for row in evaluation.by("fold").rows(named=True)}
    for row in table.filter(pl.col("metric").is_in(plain(variant))).rows(named=True):
        expected = by[row["fold"]][row["metric"]]
        assert row["estimate"] == (None if expected is None else pytest.approx(expected, abs=1e-9)), row
    intervals = table.drop_nulls(["low", "high"])
    assert (intervals["low"] <= intervals["high"]).all() and (intervals["low"] < intervals["high"]).any()


@each_variant
def test_nothing_found(variant: Variant) -> None:
    """Rates are 0, errors at least 1; null where nothing was to be found."""
    summary = variant.evaluate(found=variant.found.clear()).summary
    for (metric, value), (same, other) in zip(summary.rows(), variant.evaluation.summary.rows(), strict=True):
        is_error = metric.split("_")[0] in ERRORS
        assert metric == same and (other is None if value is None else value >= 1 if is_error else value == 0), metric


@each_variant
def test_compared(variant: Variant) -> None:
    one = variant.evaluation
    # label maps say which segments there are
    other = variant.evaluate(found=variant.found.gather_every(2 if variant.protocol.has_scores else 1))
    same = one.compare(variant.evaluate(), n_resamples=5, seed=0)
    assert same["difference"].drop_nulls().abs().max() in (0, None)
    table = one.compare(other, n_resamples=5, seed=0)
    assert table["metric"].to_list() == same["metric"].to_list() and {*table["metric"]} >= {*plain(variant)}
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
    assert variant.protocol.tables or len(lines) >= evaluation.summary.height
    if variant.protocol.tables:
        assert "<table>" in page
    else:
        assert all(metric in page for metric in evaluation.summary["metric"])
    assert f"protocol={variant.name}" in repr(evaluation)
    marked_up = evaluation.to_markdown()
    if variant.protocol.tables:  # tests/evaluation/test_pivot.py looks at their numbers
        titles = [column.title for table in variant.protocol.tables for column in table.columns if not column.iou_type]
        assert all(f" {title} |" in marked_up for title in titles)
    else:
        assert all(f"| {metric} " in marked_up for metric in evaluation.summary["metric"])


@each_variant
def test_bad_columns_are_refused(variant: Variant) -> None:
    """Numbers and flags that a rule reads are no texts, also where they are not there as a rule."""
    read = {name for rule in variant.protocol.rules for name in rule.reads}
    read |= {name for each in variant.protocol.ranges for name in each.reads}
    tables: dict[str, Any] = {
        "images": variant.dataset.images, "annotations": variant.dataset.annotations, "detections": variant.found
    }  # fmt: skip
    tried = []
    for place in sorted(read):
        table, _, column = place.partition(" ")[0].partition(".")  # what follows is how files call it
        dtype = tables[table].schema.get(column, pl.Float64()) if table in tables else pl.String()
        if not (dtype.is_numeric() or dtype == pl.Boolean) or not tables[table].height:
            continue
        tried.append(column)
        changed = tables | {table: tables[table].with_columns(pl.lit("what").alias(column))}
        with pytest.raises(ApframeError, match=column):
            dataset = apf.Dataset(changed["images"], variant.dataset.categories, changed["annotations"])
            variant.evaluate(dataset, changed["detections"]).summary  # noqa: B018
    if not tried:
        pytest.skip("no rule reads a number or a flag")


@each_variant
def test_drawn_in_a_report(variant: Variant, tmp_path: Path) -> None:
    apf.write_report(tmp_path / "page.html", variant.evaluation, max_images=0, n_resamples=5)
    page = (tmp_path / "page.html").read_text()
    assert variant.name in page and all(metric in page for metric in variant.evaluation.summary["metric"])
