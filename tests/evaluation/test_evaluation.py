"""What an evaluation shows and takes: its lines, its HTML, its summary under other options, its containers, its sample data."""

from __future__ import annotations

import contextlib
import io
import json
import pickle
import subprocess
import sys
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from pycocotools import coco
from pycocotools.cocoeval import COCOeval

import apframe as apf
from apframe.exceptions import ParameterError, UnknownIdError, UnknownImageWarning
from apframe.protocols.ranges import ALL, AreaRange

DATA = Path(__file__).resolve().parents[2] / "data"
STREET = DATA / "street"
TRUTH, RESULTS = STREET / "instances.json", STREET / "model_a.json"
TABLES = ("images", "categories", "annotations")


@pytest.fixture(scope="module")
def evaluation() -> apf.Evaluation:
    return apf.evaluate(TRUTH, RESULTS)


@pytest.fixture(scope="module")
def reference() -> tuple[str, np.ndarray]:
    """What pycocotools prints, and its stats."""
    with contextlib.redirect_stdout(io.StringIO()):
        truth = coco.COCO(str(TRUTH))
        evaluator = COCOeval(truth, truth.loadRes(str(RESULTS)), "bbox")
        evaluator.evaluate()
        evaluator.accumulate()
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        evaluator.summarize()
    return printed.getvalue(), np.asarray(evaluator.stats)


# ---- what is shown


@pytest.mark.slow
def test_str_is_what_pycocotools_prints(evaluation: apf.Evaluation, reference: tuple[str, np.ndarray]) -> None:
    assert f"{evaluation}\n" == reference[0]


@pytest.mark.slow
def test_stats_are_those_of_pycocotools(evaluation: apf.Evaluation, reference: tuple[str, np.ndarray]) -> None:
    assert evaluation.stats.shape == (12,)
    np.testing.assert_allclose(evaluation.stats, reference[1], rtol=0, atol=1e-12)


def test_repr(evaluation: apf.Evaluation) -> None:
    n_detections = len(json.loads(RESULTS.read_text()))
    assert repr(evaluation) == (
        "Evaluation(model_a: Dataset(300 images, 12 categories, 2,400 annotations), "
        f"{n_detections:,} detections, protocol=COCO)"
    )


class Tags(HTMLParser):
    """The texts of an HTML document whose tags are all closed in order."""

    def __init__(self, document: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.texts: list[tuple[str, str]] = []
        self.feed(document)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in {"p", "table", "thead", "tbody", "tr", "th", "td"}, f"<{tag} {attrs}> was not meant"
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append((self.open[-1] if self.open else "", data))


def test_html(evaluation: apf.Evaluation) -> None:
    texts = Tags(evaluation._repr_html_()).texts
    cells = [text for tag, text in texts if tag == "td"]
    assert cells[::5] == evaluation.summary["metric"].to_list()
    assert cells[1::5] == [f"{value:.3f}" for value in evaluation.summary["value"]]
    assert texts[0][0] == "p" and "2,400 annotations" in texts[0][1]


def test_html_escapes_names() -> None:
    protocol = apf.Protocol("<script>a & b</script>", "", ranges=(ALL, AreaRange("<b>tiny & small</b>", 0, 100)))
    texts = [text for _, text in Tags(apf.evaluate(TRUTH, RESULTS, protocol)._repr_html_()).texts]
    assert "<b>tiny & small</b>" in texts
    assert "AP_<b>tiny & small</b>" in texts
    assert texts[0].startswith("<script>a & b</script>: ")


def test_missing_values_are_a_dash_in_html_and_minus_one_in_text() -> None:
    evaluation = apf.evaluate(TRUTH, RESULTS, iou_thresholds=[0.6])
    assert [text for tag, text in Tags(evaluation._repr_html_()).texts if tag == "td"][6] == "–"
    assert str(evaluation).splitlines()[1].endswith("= -1.000")


# ---- summary under other options

# options -> metrics of the summary, and those of them that are null
SUMMARIES: dict[str, tuple[dict[str, Any], str, str]] = {
    "as published": ({}, "AP AP50 AP75 APs APm APl AR1 AR10 AR100 ARs ARm ARl", ""),
    "one max_detections": ({"max_detections": [50]}, "AP AP50 AP75 APs APm APl AR50 ARs ARm ARl", ""),
    "four max_detections": ({"max_detections": [1, 2, 3, 500]}, "AP AP50 AP75 APs APm APl AR1 AR2 AR3 AR500 ARs ARm ARl", ""),
    "own area ranges": (
        {"area_ranges": {"tiny": (0, 256), "rest": (256, 1e10)}},
        "AP AP50 AP75 AP_tiny AP_rest AR1 AR10 AR100 AR_tiny AR_rest",
        "",
    ),
    "some of COCO's area ranges": ({"area_ranges": {"large": (9216, 1e10)}}, "AP AP50 AP75 APl AR1 AR10 AR100 ARl", ""),
    "an area range without objects": (
        {"area_ranges": {"none": (1e9, 2e9)}}, "AP AP50 AP75 AP_none AR1 AR10 AR100 AR_none", "AP_none AR_none",
    ),
    "no area ranges": ({"area_ranges": {}}, "AP AP50 AP75 AR1 AR10 AR100", ""),
    "without .75": ({"iou_thresholds": [0.5]}, "AP AP50 AP75 APs APm APl AR1 AR10 AR100 ARs ARm ARl", "AP75"),
    "without .5": ({"iou_thresholds": [0.7, 0.75]}, "AP AP50 AP75 APs APm APl AR1 AR10 AR100 ARs ARm ARl", "AP50"),
    "agnostic": ({"agnostic": True}, "AP AP50 AP75 APs APm APl AR1 AR10 AR100 ARs ARm ARl", ""),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("options", "metrics", "nulls"), SUMMARIES.values(), ids=SUMMARIES)
def test_summary(options: dict[str, Any], metrics: str, nulls: str) -> None:
    evaluation = apf.evaluate(TRUTH, RESULTS, **options)
    assert evaluation.summary.schema == {"metric": pl.String, "value": pl.Float64}
    assert evaluation.summary["metric"].to_list() == metrics.split()
    assert evaluation.summary.filter(pl.col("value").is_null())["metric"].to_list() == nulls.split()
    lines = str(evaluation).splitlines()
    if options:
        assert lines.pop().startswith(f" not COCO as published: other {next(iter(options))}")
    assert len(lines) == len(metrics.split())
    assert [value == -1 for value in evaluation.stats] == evaluation.summary["value"].is_null().to_list()


def test_summary_is_the_mean_of_metrics(evaluation: apf.Evaluation) -> None:
    values = dict(evaluation.summary.rows())
    whole = evaluation.metrics.filter(pl.col("area_range") == "all", pl.col("max_detections") == 100)
    assert whole["ap"].mean() == pytest.approx(values["AP"], abs=1e-12)
    assert whole.filter(pl.col("iou_threshold") == 0.75)["ap"].mean() == pytest.approx(values["AP75"], abs=1e-12)
    assert whole["recall"].mean() == pytest.approx(values["AR100"], abs=1e-12)


@pytest.mark.slow
def test_ap_of_an_own_range_that_is_coco_s() -> None:
    evaluation = apf.evaluate(TRUTH, RESULTS, area_ranges={"mine": (0, 1024)})
    mine, small = dict(evaluation.summary.rows()), dict(apf.evaluate(TRUTH, RESULTS).summary.rows())
    assert (mine["AP_mine"], mine["AR_mine"], mine["AP"]) == (small["APs"], small["ARs"], small["AP"])


@pytest.mark.slow
def test_categories_by_name_and_id_have_the_same_metrics(evaluation: apf.Evaluation) -> None:
    names = dict(evaluation.dataset.categories.select("name", "category_id").rows())
    chosen = [names["bus"], names["car"]]
    for some in (apf.evaluate(TRUTH, RESULTS, categories=c) for c in (["car", "bus"], chosen, ["car", names["bus"], "car"])):
        assert_frame_equal(some.metrics, evaluation.metrics.filter(pl.col("category_id").is_in(chosen)), check_exact=True)


# ---- computed when asked for, once


@pytest.mark.slow
def test_each_table_is_computed_once() -> None:
    evaluation = apf.evaluate(TRUTH, RESULTS)
    assert not {"_pipeline", "metrics", "summary"} & vars(evaluation).keys()
    assert evaluation.metrics is evaluation.metrics
    assert evaluation.summary is evaluation.summary


@pytest.mark.slow
@pytest.mark.parametrize(
    "options", [{}, {"agnostic": True}, {"max_detections": [2, 7]}, {"area_ranges": {"a": (0, 500)}}], ids=str
)
def test_stats_before_and_after_metrics_are_equal(options: dict[str, Any]) -> None:
    before, after = apf.evaluate(TRUTH, RESULTS, **options), apf.evaluate(TRUTH, RESULTS, **options)
    first = before.stats
    _ = after.metrics
    assert first.tolist() == after.stats.tolist()
    assert_frame_equal(before.metrics, after.metrics, check_exact=True)


@pytest.mark.slow
def test_inputs_are_left_as_they_were() -> None:
    truth, results = json.loads(TRUTH.read_text()), json.loads(RESULTS.read_text())
    frame = apf.read_coco_results(results).reverse()
    before = frame.clone()
    _ = apf.evaluate(truth, frame, agnostic=True).metrics
    _ = apf.evaluate(truth, results).metrics
    assert_frame_equal(frame, before, check_exact=True)
    assert truth == json.loads(TRUTH.read_text()) and results == json.loads(RESULTS.read_text())


def test_matches_of_a_threshold_account_for_every_row(evaluation: apf.Evaluation) -> None:
    matches = evaluation.matches(0.75, "all")
    assert matches["match_id"].is_unique().all()
    assert matches["detection_id"].drop_nulls().n_unique() == matches["detection_id"].count() == evaluation.detections.height
    annotations = evaluation.dataset.annotations
    counted = annotations.filter(~pl.col("is_crowd")).height
    outcomes = dict(matches["outcome"].value_counts().rows())
    assert outcomes["tp"] + outcomes["fn"] == counted
    crowds = matches.filter(pl.col("annotation_id").is_in(annotations.filter("is_crowd")["annotation_id"].implode()))
    assert set(crowds["outcome"]) == {"ignored"}
    assert matches.filter(pl.col("outcome") == "fn")["detection_id"].count() == 0
    assert matches.equals(evaluation.matches(0.75))
    assert evaluation.matches().equals(evaluation.matches(0.5, "all"))


# ---- containers


def as_parquet(frame: pl.DataFrame, folder: Path) -> Path:
    path = folder / f"{'-'.join(frame.columns[:2])}.parquet"
    frame.write_parquet(path)
    return path


CONTAINERS: dict[str, Callable[[pl.DataFrame, Path], Any]] = {
    "Polars": lambda frame, _: frame,
    "lazy": lambda frame, _: frame.lazy(),
    "dict": lambda frame, _: frame.to_dict(as_series=False),
    "Parquet": as_parquet,
    "Parquet as text": lambda frame, folder: str(as_parquet(frame, folder)),
    "pyarrow": lambda frame, _: frame.to_arrow(),
    "pyarrow reader": lambda frame, _: frame.to_arrow().to_reader(),
    "pandas": lambda frame, _: frame.to_pandas(),
    "DuckDB": lambda frame, folder: duckdb.read_parquet(str(as_parquet(frame, folder))),
}


@pytest.mark.slow
@pytest.mark.parametrize("contain", CONTAINERS.values(), ids=CONTAINERS)
def test_containers(contain: Callable[[pl.DataFrame, Path], Any], evaluation: apf.Evaluation, tmp_path: Path) -> None:
    dataset = apf.Dataset(**{name: contain(getattr(evaluation.dataset, name), tmp_path) for name in TABLES})
    for name in TABLES:
        assert_frame_equal(getattr(dataset, name), getattr(evaluation.dataset, name), check_exact=True)
    again = apf.evaluate(dataset, contain(evaluation.detections, tmp_path))
    assert_frame_equal(again.metrics, evaluation.metrics, check_exact=True)


def test_fewest_columns(evaluation: apf.Evaluation) -> None:
    boxes = ["image_id", "category_id", "x", "y", "width", "height"]
    annotations = evaluation.dataset.annotations
    dataset = apf.Dataset(
        images=evaluation.dataset.images.select("image_id"),
        categories=evaluation.dataset.categories.select("category_id"),
        annotations=annotations.select(*boxes, "area", "is_crowd"),
    )
    detections = evaluation.detections.select("score", *boxes).cast(
        {"image_id": pl.Int32, "score": pl.Float64, "category_id": pl.UInt8}
    )
    assert apf.evaluate(dataset, detections).stats.tolist() == evaluation.stats.tolist()
    assert dataset.annotations["annotation_id"].to_list() == list(range(1, annotations.height + 1))
    assert repr(dataset) == "Dataset(300 images, 12 categories, 2,400 annotations)"


# ---- the sample data


@pytest.mark.slow
def test_sample_data_is_what_the_generator_makes(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, str(DATA / "generate.py"), "--out", str(tmp_path / "made")], check=True, capture_output=True
    )
    new_files = {path.name: path.read_bytes() for path in (tmp_path / "made").iterdir()}
    committed = {path.name: path.read_bytes() for path in STREET.glob("*.json")}
    assert new_files.keys() == committed.keys() == {"instances.json", "model_a.json", "model_b.json"}
    assert [name for name in new_files if new_files[name] != committed[name]] == []


@pytest.mark.slow
def test_sample_data_is_as_described() -> None:
    assert sum(path.stat().st_size for path in DATA.rglob("*") if path.is_file()) < 4e6
    truth = apf.read_coco(TRUTH)
    assert (truth.images.height, truth.categories.height, truth.categories["supercategory"].n_unique()) == (300, 12, 4)
    assert {"weather", "time_of_day", "camera", "city"} <= set(truth.images.columns)
    assert truth.annotations["occlusion"].drop_nulls().is_between(0, 1).all()
    assert truth.annotations["truncated"].dtype == pl.Boolean
    assert truth.annotations["is_crowd"].any()


@pytest.mark.slow
def test_headline_is_of_all_areas_wherever_that_range_is_named() -> None:
    ranges = {"small": (0.0, 1024.0), "all": (0.0, 1e10)}
    plain = dict(apf.evaluate(STREET / "instances.json", STREET / "model_a.json").summary.rows())
    named = dict(apf.evaluate(STREET / "instances.json", STREET / "model_a.json", area_ranges=ranges).summary.rows())
    assert (named["AP"], named["APs"]) == (plain["AP"], plain["APs"])


@pytest.mark.slow
def test_a_number_is_a_list_of_one_and_limits_have_no_order() -> None:
    files = STREET / "instances.json", STREET / "model_a.json"
    one = apf.evaluate(*files, max_detections=100, iou_thresholds=0.5, categories="car").summary
    assert one.equals(apf.evaluate(*files, max_detections=[100], iou_thresholds=[0.5], categories=["car"]).summary)
    turned = apf.evaluate(*files, max_detections=[100, 10, 1]).summary
    assert turned.equals(apf.evaluate(*files).summary)


@pytest.mark.slow
def test_frame_with_a_box_column() -> None:
    rows = json.loads((STREET / "model_a.json").read_text())
    detections = pl.DataFrame(rows)
    assert "bbox" in detections.columns
    truth = apf.read_coco(STREET / "instances.json")
    assert apf.evaluate(truth, detections).summary.equals(apf.evaluate(truth, rows).summary)
    assert apf.evaluate(truth, pl.DataFrame([])).stats[0] == 0


@pytest.mark.slow
def test_pooled_categories_have_one_curve() -> None:
    evaluation = apf.evaluate(STREET / "instances.json", STREET / "model_a.json", agnostic=True)
    assert evaluation.curves(0.5)["category_id"].unique().to_list() == [None]
    with pytest.raises(ParameterError, match="pooled"):
        evaluation.curves(0.5, category="car")


def test_protocol_prints_in_one_readable_line() -> None:
    assert repr(apf.COCO) == (
        "Protocol(COCO, bbox: matcher score; IoU 0.5 to 0.95 in 10 steps; coco101, recall levels 0 to 1 in 101 steps; "
        "areas all 0–1e+10, small 0–1024, medium 1024–9216, large 9216–1e+10; max_detections (1, 10, 100))"
    )


# ---- files of any format


def as_boxes(folder: Path) -> tuple[Path, Path]:
    """The sample as class-and-box text, which knows no numbers; its class names without blanks."""
    (folder / "truth.json").write_text(TRUTH.read_text().replace("traffic ", "traffic_"))
    apf.write_dataset(folder / "truth.json", folder / "truth", "boxes")
    apf.write_results(RESULTS, folder / "found", "boxes", dataset=folder / "truth.json")
    return folder / "truth", folder / "found"


@pytest.mark.slow
def test_formats_may_be_named(tmp_path: Path) -> None:
    truth, detections = as_boxes(tmp_path)
    named = apf.evaluate(truth, detections, format="boxes", results_format="Boxes")
    assert_frame_equal(named.summary, apf.evaluate(truth, detections).summary)
    with pytest.raises(ParameterError, match="no split 'val', neither a folder nor a list of images"):
        apf.evaluate(truth, detections, split="val")
    with pytest.raises(ParameterError, match="no format 'boxen'"):
        apf.evaluate(truth, detections, results_format="boxen")


@pytest.mark.slow
def test_names_none_of_which_is_known_are_told_with_the_format(tmp_path: Path) -> None:
    truth, detections = as_boxes(tmp_path)
    for path in detections.iterdir():
        path.rename(detections / f"x{path.name}")
    with pytest.raises(UnknownIdError, match=r"image_id is not among the images .*found was read as boxes$"):
        apf.evaluate(truth, detections)
    with pytest.raises(UnknownIdError, match=r"image_id is not among the images .*found was read as boxes$"):
        apf.evaluate(tmp_path / "truth.json", detections, join_by_name=["images", "categories"])
    with pytest.raises(UnknownIdError, match=r"image_id is not among the images .*found was read as boxes$"):
        apf.write_results(detections, tmp_path / "again", "boxes", dataset=truth)
    with pytest.warns(UnknownImageWarning, match=r"^(2,\d+) of \1 detections have an unknown image_id and were dropped: 'x"):
        apf.evaluate(truth, detections, unknown_images="drop")
    some = next(detections.iterdir())
    some.rename(detections / some.name[1:])
    with pytest.raises(UnknownIdError) as error:
        apf.evaluate(truth, detections)
    assert "was read as" not in str(error.value)
    assert apf.evaluate(truth, detections, unknown_images="drop").detections.height > 0


def test_a_data_set_that_was_read_from_a_file_can_be_pickled(tmp_path: Path) -> None:
    path = tmp_path / "truth.json"
    path.write_bytes(TRUTH.read_bytes())
    dataset = apf.read_coco(path)
    again = pickle.loads(pickle.dumps(dataset))
    path.unlink()
    for table in TABLES:
        assert_frame_equal(getattr(again, table), getattr(dataset, table))
    assert (again.other_sections, again.json_columns) == (dataset.other_sections, dataset.json_columns)


@pytest.mark.slow
def test_the_table_of_images_is_the_same_each_time() -> None:
    """To the last bit of the mean similarity, wherever Polars puts the images that it groups."""
    heights = {image: [6.1, 7.3, 8.9, 9.7, 5.3][: 2 + image % 4] for image in range(1, 9)}
    boxes = [(image, 20 * place, height) for image, each in heights.items() for place, height in enumerate(each)]
    columns = {
        "image_id": [image for image, *_ in boxes], "category_id": [1] * len(boxes), "x": [x for _, x, _ in boxes],
        "y": [0] * len(boxes), "width": [10] * len(boxes),
    }  # fmt: skip
    truth = apf.Dataset(
        images={"image_id": list(heights)}, categories={"category_id": [1]}, annotations=columns | {"height": [10] * len(boxes)}
    )
    detections = columns | {"height": [height for *_, height in boxes], "score": [0.5] * len(boxes)}
    evaluation = apf.evaluate(truth, detections)
    first = evaluation.per_image()
    assert all(evaluation.per_image().equals(first) for _ in range(30))
