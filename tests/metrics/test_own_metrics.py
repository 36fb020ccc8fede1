"""Metrics from outside the package have tables, slices, intervals, comparisons, SQL and stored sets without code for them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import apframe as apf
from apframe.benchmarks.pixels.panoptic.metric import PanopticQuality
from apframe.exceptions import FormatError, ParameterError
from apframe.matching.matchers import LargestSum
from apframe.metrics.average_precision import AveragePrecision
from apframe.metrics.cells import Cells
from apframe.metrics.definitions import COCO_101
from apframe.metrics.list_sums import sums_of_weights
from apframe.metrics.metric import KINDS, Metric
from apframe.metrics.miss_rates import MissRates
from apframe.metrics.score_cutoffs import AtCutOffs
from apframe.metrics.weights import Weights
from apframe.protocols.rules.ignored import IgnoreFlagged
from apframe.protocols.rules.standard import STANDARD_RULES
from tests.metrics.reading import under_weights
from tests.protocols import generated

pytestmark = pytest.mark.filterwarnings("ignore::apframe.exceptions.ApframeWarning")


@dataclass(frozen=True)
class FScore(Metric):
    """A sum: the F score of all detections of a list, with `beta`."""

    beta: float = 1.0
    columns: ClassVar = ("f_score",)
    lines: ClassVar = {"F": "f_score"}

    def read(self, cells: Cells, weights: Weights) -> Mapping[str, np.ndarray]:
        """The F score; NaN without annotations and detections."""

        def at(some: Weights, t: int, k: int, m: int) -> dict[str, np.ndarray]:
            counted, own = cells.counted(t, k, m), self.beta**2
            true = counted.is_true
            n = sums_of_weights(some.given, counted.image, counted.list, cells.n_lists)
            tp = sums_of_weights(some.given, counted.image[true], counted.list[true], cells.n_lists)
            return {"f_score": (1 + own) * tp / (n + own * cells.expected(k, some.given))}

        with np.errstate(invalid="ignore"):
            return cells.means(self.columns, at, weights)


class Stairs(AtCutOffs, Metric):
    """Ranks, an envelope and score cut-offs: the area under the envelope, a step for each of four fixed cut-offs."""

    name = "stairs"
    formula = "sum over the cut-offs of what each adds to recall, times the best precision from there on"
    chooses = False
    cut_offs = (0.0, 0.25, 0.5, 0.75)
    columns = ("stairs",)
    lines: ClassVar = {"Stairs": "stairs"}

    def area(self, precision: np.ndarray, recall: np.ndarray) -> np.ndarray:
        """The area under the stairs, from the highest cut-off to the lowest."""
        best = np.maximum.accumulate(precision[::-1], axis=0)[::-1]
        area: np.ndarray = (best * np.diff(recall, axis=0, prepend=0)).sum(axis=0)
        return area

    def read(self, cells: Cells, weights: Weights) -> Mapping[str, np.ndarray]:
        """The area."""
        return {"stairs": self.average(cells, weights, addend=0.0, absent=np.nan)}


AP = AveragePrecision(COCO_101)
AREAS = (("all", 0.0, 1e10), ("small", 0.0, 1024.0))
SUM = apf.Protocol(
    "SUM", "", metrics=(FScore(2.0), "coco101"), headlines=("F", "F50", "F{area}", "AP"), ranges=AREAS,
    rules=(*STANDARD_RULES, IgnoreFlagged()),
)  # fmt: skip
RANKED = apf.Protocol(
    "RANKED", "", matcher=LargestSum(), metrics=(Stairs(), AveragePrecision(Stairs())),
    headlines=("Stairs", "Stairs{area}", "AP"),
    iou_thresholds=(0.5,), ranges=AREAS, max_detections=(None,),
)  # fmt: skip
TOYS = [(SUM, "F", "f_score"), (RANKED, "Stairs", "stairs")]
each_toy = pytest.mark.parametrize(("protocol", "name", "column"), TOYS, ids=["sum", "ranked"])
Tables = tuple[dict[str, Any], list[dict[str, Any]]]


def scenes(seed: int = 1, n_images: int = 8) -> Tables:
    """Images with boxes, half of them at night; scores are multiples of .05, so that many are equal."""
    truth, detections = generated.boxes(np.random.default_rng(seed), n_images)
    images = sorted(truth["images"], key=lambda row: row["id"])  # as weights are
    truth["images"] = [row | {"light": ("day", "night")[at % 2]} for at, row in enumerate(images)]
    truth["annotations"] = [row | {"tag": ("x", "y")[at % 2], "iscrowd": 0} for at, row in enumerate(truth["annotations"])]
    return truth, [row | {"score": round(row["score"] * 20) / 20} for row in detections]


def evaluate(protocol: apf.Protocol, tables: Tables | None = None) -> apf.Evaluation:
    truth, detections = tables or scenes()
    return apf.evaluate(truth, detections, protocol)


def headline(evaluation: apf.Evaluation, name: str) -> float:
    value: float = evaluation.summary.row(by_predicate=pl.col("metric") == name)[1]
    return value


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    """The one line for each metric, by which stored sets name it."""
    monkeypatch.setitem(KINDS, "f_score", f"{__name__}:FScore")
    monkeypatch.setitem(KINDS, "stairs", f"{__name__}:Stairs")


def in_a_row(*scores: tuple[float, bool]) -> Tables:
    """An image with four boxes far apart, of which detections of these scores find the next one, or nothing."""
    boxes = [[100 * at, 0, 10, 10] for at in range(4)]
    truth = {
        "images": [{"id": 1}],
        "categories": [{"id": 1, "name": "cup"}],
        "annotations": [{"id": at, "image_id": 1, "category_id": 1, "bbox": box, "area": 100} for at, box in enumerate(boxes)],
    }
    hits = [sum(is_hit for _, is_hit in scores[:at]) for at in range(len(scores))]
    detections = [
        {"image_id": 1, "category_id": 1, "bbox": boxes[hit] if is_hit else [50, 50, 10, 10], "score": score}
        for hit, (score, is_hit) in zip(hits, scores, strict=True)
    ]
    return truth, detections


SIX = in_a_row((0.9, True), (0.8, False), (0.6, True), (0.3, True), (0.3, False), (0.1, False))


def test_one_metric_stands_for_itself() -> None:
    one: Any = {"metrics": [FScore(2.0), COCO_101]}
    assert replace(SUM, **one) == replace(SUM, metrics=[FScore(2.0), AP]) == SUM  # type: ignore[arg-type]
    assert [type(metric).__name__ for metric in SUM.all_metrics] == ["FScore", "AveragePrecision", "Recall", "DetectionCount"]


@pytest.mark.slow
def test_a_sum_by_hand() -> None:
    assert headline(evaluate(SUM, SIX), "F") == pytest.approx(5 * 3 / (6 + 4 * 4), abs=1e-12)
    assert headline(evaluate(replace(SUM, metrics=(FScore(), AP)), SIX), "F") == pytest.approx(2 * 3 / (6 + 4), abs=1e-12)
    truth, detections = SIX
    nothing = evaluate(SUM, (truth | {"annotations": []}, [])).metrics["f_score"]
    assert nothing.is_null().all() and len(nothing) == 20
    assert headline(evaluate(SUM, (truth, [])), "F") == 0
    assert headline(evaluate(SUM, (truth | {"annotations": []}, detections)), "F") == 0


def test_stairs_by_hand() -> None:
    """Precision 1/2, 2/3, 3/5 and 3/6 at recall 1/4, 2/4, 3/4 and 3/4; so the best from there on is 2/3, 2/3, 3/5 and 1/2."""
    expected = (2 / 3 + 2 / 3 + 3 / 5) / 4
    assert headline(evaluate(RANKED, SIX), "Stairs") == pytest.approx(expected, abs=1e-12)
    assert headline(evaluate(RANKED, SIX), "AP") == pytest.approx(expected, abs=1e-12)


def stairs_of(tables: Tables, category: int) -> float:
    """As a plain loop, from evaluations of the detections above each cut-off."""
    truth, detections = tables
    precision, recall = [], []
    for cut_off in sorted(Stairs.cut_offs, reverse=True):
        above = [row for row in detections if row["score"] >= cut_off and row["category_id"] == category]
        rows = evaluate(RANKED, (truth, above)).metrics.filter(category_id=category, area_range="all").row(0, named=True)
        tp = round(rows["recall"] * rows["n_positives"])
        precision.append(tp / rows["n_detections"] if rows["n_detections"] else 0.0)
        recall.append(rows["recall"])
    total = 0.0
    for at in range(4):
        total += (recall[at] - (recall[at - 1] if at else 0)) * max(precision[at:])
    return total


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_the_ranked_one_is_its_plain_loop(seed: int) -> None:
    tables = scenes(seed)
    metrics = evaluate(RANKED, tables).metrics.filter(pl.col("area_range") == "all", pl.col("n_positives") > 0)
    assert len(metrics) > 1
    for category, value in metrics.select("category_id", "stairs").rows():
        assert value == pytest.approx(stairs_of(tables, category), abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_the_sum_is_its_plain_loop_under_any_weights(seed: int) -> None:
    evaluation = evaluate(SUM, scenes(seed))
    weights = np.random.default_rng(seed).random((8, 3)).round(2)
    ids, categories = (
        evaluation.dataset.images["image_id"].to_list(),
        evaluation.metrics["category_id"].unique(maintain_order=True),
    )
    for t, threshold in enumerate(SUM.iou_thresholds):
        for k, area in enumerate(("all", "small")):
            f_scores = under_weights(evaluation, "f_score", weights, threshold=t, area_range=k)
            matches = evaluation.matches(threshold, area)
            assert len(matches) > 5
            for number, category in enumerate(categories):
                for column, weighting in enumerate(weights.T):
                    sums = {"tp": 0.0, "fp": 0.0, "fn": 0.0, "ignored": 0.0}
                    for image, outcome in matches.filter(category_id=category).select("image_id", "outcome").rows():
                        sums[outcome] += weighting[ids.index(image)]
                    below = 5 * sums["tp"] + sums["fp"] + 4 * sums["fn"]
                    expected = 5 * sums["tp"] / below if below else np.nan
                    assert f_scores[number, column] == pytest.approx(expected, abs=1e-12, nan_ok=True)


def copied(tables: Tables, weights: list[int]) -> Tables:
    """Each image as often as its weight says."""
    truth, detections = tables
    copies = [
        (row["id"], at * 9 + n) for at, (row, n) in enumerate(zip(truth["images"], weights, strict=True)) for n in range(n)
    ]

    def of_copies(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [row | {"image_id": new} for old, new in copies for row in rows if row["image_id"] == old]

    annotations = [row | {"id": number} for number, row in enumerate(of_copies(truth["annotations"]), 1)]
    return truth | {"images": [{"id": new} for _, new in copies], "annotations": annotations}, of_copies(detections)


@pytest.mark.slow
@each_toy
@pytest.mark.parametrize("seed", range(3))
def test_whole_weights_are_copies_of_images(protocol: apf.Protocol, name: str, column: str, seed: int) -> None:
    tables, weights = scenes(seed), np.random.default_rng(seed).integers(0, 4, 8)
    values = under_weights(evaluate(protocol, tables), column, weights[:, None])[:, 0]
    metrics = evaluate(protocol, copied(tables, weights.tolist())).metrics
    threshold = protocol.iou_thresholds[0]
    expected = metrics.filter(pl.col("area_range") == "all", pl.col("iou_threshold") == threshold)[column]
    np.testing.assert_allclose(values, expected.fill_null(float("nan")), rtol=0, atol=1e-12)
    assert np.isfinite(values).any(), name


@pytest.mark.slow
@each_toy
def test_tables_have_it(protocol: apf.Protocol, name: str, column: str) -> None:
    evaluation = evaluate(protocol)
    metrics = evaluation.metrics
    assert metrics.columns[-1] == column and metrics.schema[column] == pl.Float64
    mean = metrics.filter(pl.col("area_range") == "all").group_by("category_id").agg(pl.col(column).mean())[column].mean()
    assert headline(evaluation, name) == pytest.approx(mean, abs=1e-12)
    assert f" {name:<23} @[" in str(evaluation)
    assert f"metrics     {protocol.metrics[0]!r}\n" in str(protocol)
    query = f"SELECT avg({column}) FROM metrics WHERE area_range = 'all'"
    assert evaluation.sql(query).item() == pytest.approx(mean, abs=1e-12)


@pytest.mark.slow
@each_toy
def test_slices_have_it(protocol: apf.Protocol, name: str, column: str) -> None:
    truth, detections = scenes()
    evaluation = evaluate(protocol)
    for light, value in evaluation.by("light").select("light", name).rows():
        images = [row for row in truth["images"] if row["light"] == light]
        ids = [row["id"] for row in images]
        rows = [[row for row in each if row["image_id"] in ids] for each in (truth["annotations"], detections)]
        assert value == pytest.approx(
            headline(evaluate(protocol, (truth | {"images": images, "annotations": rows[0]}, rows[1])), name)
        )
    assert column not in evaluation.by("light").columns


@pytest.mark.slow
def test_slices_of_objects_have_it() -> None:
    """Others are ignored there, as annotations with `ignore` are."""
    truth, detections = scenes()
    for tag, value in evaluate(SUM).by("tag").select("tag", "F").rows():
        annotations = [row | {"ignore": int(row["ignore"] or row["tag"] != tag)} for row in truth["annotations"]]
        assert value == pytest.approx(
            headline(evaluate(SUM, (truth | {"annotations": annotations}, detections)), "F"), abs=1e-12
        )


@pytest.mark.slow
@each_toy
def test_intervals_and_comparisons_have_it(protocol: apf.Protocol, name: str, column: str) -> None:
    truth, detections = scenes()
    evaluation, other = evaluate(protocol), evaluate(protocol, (truth, detections[::2]))
    row = evaluation.intervals(n_resamples=50, seed=0).row(by_predicate=pl.col("metric") == name, named=True)
    assert row["estimate"] == headline(evaluation, name)
    assert 0 < row["low"] < row["estimate"] < row["high"] < 1
    metrics = evaluation.metrics.filter(pl.col("area_range") == "all")
    assert metrics[column].null_count() == 0  # so that the mean of a resample is of as many numbers
    row = evaluation.compare(other, n_resamples=50, seed=0).row(by_predicate=pl.col("metric") == name, named=True)
    assert row["estimate_a"] == headline(evaluation, name) != headline(other, name) == row["estimate_b"]


@pytest.mark.slow
@each_toy
@pytest.mark.usefixtures("known")
def test_stored_sets_have_it(protocol: apf.Protocol, name: str, column: str, tmp_path: Path) -> None:
    evaluation = evaluate(protocol)
    evaluation.write_parquet(tmp_path / "set")
    again = apf.read_evaluation(tmp_path / "set")
    assert again.protocol == protocol and again.protocol is not protocol
    assert_frame_equal(again.summary, evaluation.summary, check_exact=True)
    assert_frame_equal(again.metrics, evaluation.metrics, check_exact=True)
    assert_frame_equal(again.by("light"), evaluation.by("light"), check_exact=True)
    assert_frame_equal(again.where(pl.col("light") == "day").metrics, evaluation.where(pl.col("light") == "day").metrics)
    assert again.sql(f"SELECT max({column}) FROM metrics").item() == evaluation.metrics[column].max()
    assert headline(again, name) == headline(evaluation, name)


@pytest.mark.slow
@each_toy
@pytest.mark.usefixtures("known")
def test_shards_runs_and_batches_have_it(protocol: apf.Protocol, name: str, column: str, tmp_path: Path) -> None:
    truth, detections = scenes()
    evaluation, other = evaluate(protocol), evaluate(protocol, (truth, detections[::2]))
    for file, rows in {"truth": truth, "found": detections}.items():
        (tmp_path / f"{file}.json").write_text(json.dumps(rows))
    apf.write_shards(tmp_path / "truth.json", tmp_path / "found.json", tmp_path / "shards", n=2)
    assert_frame_equal(apf.evaluate_shards(tmp_path / "shards", protocol=protocol).metrics, evaluation.metrics)

    for run, each in {"a": evaluation, "b": other}.items():
        each.write_parquet(tmp_path / "runs" / run)
    runs = apf.scan_runs(tmp_path / "runs" / "*")
    leaderboard = dict(runs.leaderboard().select("run", name).rows())
    assert leaderboard == {"a": headline(evaluation, name), "b": headline(other, name)}
    assert runs.sql(f"SELECT max({column}) FROM metrics WHERE run = 'a'").item() == evaluation.metrics[column].max()

    batches = apf.Evaluator(apf.read_coco(truth), protocol)
    batches.update(apf.read_coco_results(detections))
    assert headline(batches.compute(), name) == headline(evaluation, name)


@pytest.mark.slow
def test_a_stored_set_imports_only_what_is_registered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The name in a manifest is looked up; it is never a module."""
    evaluation = evaluate(SUM)
    remedy = r'add it first: apframe\.metrics\.metric\.KINDS\["a_name"\] = "tests\.metrics\.test_own_metrics:FScore"$'
    with pytest.raises(ParameterError, match=rf"^metrics: FScore\(beta=2\.0\) has no name to be stored by; {remedy}"):
        evaluation.write_parquet(tmp_path / "unnamed")
    with monkeypatch.context() as patch:
        patch.setitem(KINDS, "f_score", f"{__name__}:FScore")
        evaluation.write_parquet(tmp_path / "set")
    text = (tmp_path / "set" / "manifest.json").read_text()
    assert __name__ not in text and '"f_score"' in text
    with pytest.raises(FormatError) as caught:
        apf.read_evaluation(tmp_path / "set")
    assert str(caught.value) == (
        f"{tmp_path / 'set'}: the metric 'f_score' is not known here; it is from the package 'tests': add it before you read: "
        "apframe.metrics.metric.KINDS['f_score'] = \"its_module:ItsClass\""
    )
    wrong = {"nowhere:FScore": "No module named 'nowhere'", "FScore": "No module named 'FScore'"}
    for home, why in wrong.items():
        with monkeypatch.context() as patch, pytest.raises(FormatError) as caught:
            patch.setitem(KINDS, "f_score", home)
            apf.read_evaluation(tmp_path / "set")
        assert str(caught.value) == (
            f"{tmp_path / 'set'}: the metric 'f_score' cannot be made ({why}); "
            f"check apframe.metrics.metric.KINDS['f_score'], which is {home!r}, or evaluate again"
        )


@pytest.mark.slow
def test_published_metrics_can_stand_beside_a_definition() -> None:
    beside = replace(
        apf.COCO, name="mine", metrics=(PanopticQuality(), *apf.COCO.metrics), headlines=("PQ50", "RQ50", "AP"), variants=()
    )
    evaluation = evaluate(beside)
    matches = evaluation.matches(0.5, "all").filter(pl.col("outcome") != "ignored")
    counts = matches.group_by("category_id").agg(
        tp=(pl.col("outcome") == "tp").sum(),
        n=pl.len(),
        similarity=pl.col("similarity").filter(pl.col("outcome") == "tp").sum(),
    )
    quality = counts.select(pl.col("similarity") / (pl.col("tp") + (pl.col("n") - pl.col("tp")) / 2)).to_series().mean()
    assert headline(evaluation, "PQ50") == pytest.approx(quality, abs=1e-12)
    assert headline(evaluation, "AP") == headline(evaluate(replace(apf.COCO, name="mine", variants=())), "AP")
    assert apf.Protocol.from_dict(beside.as_dict()) == beside


@pytest.mark.slow
def test_miss_rates_stand_beside_a_definition() -> None:
    usual = replace(apf.COCO, name="mine", variants=())
    own = replace(usual, metrics=(MissRates(), *usual.metrics), headlines=("AP", "LAMR50"))
    field = replace(usual, metrics=(*usual.metrics, MissRates()), headlines=("AP", "LAMR50"))
    assert_frame_equal(evaluate(own).summary, evaluate(field).summary, check_exact=True)
    assert evaluate(own).summary["value"].null_count() == 0


def test_published_metrics_are_read_as_they_are_stored() -> None:
    stored = [
        metric["metric"]
        for protocol in apf.PUBLISHED.values()
        for each in (protocol, *protocol.variants)
        for metric in json.loads(json.dumps(each.as_dict()))["metrics"]
    ]
    assert {*stored} == {*KINDS}


@pytest.mark.slow
def test_own_metrics_change_no_other_number() -> None:
    usual = replace(SUM, metrics=(AP,), headlines=("AP", "AP{area}"))
    beside = replace(SUM, headlines=("AP", "AP{area}", "F"))
    assert_frame_equal(evaluate(beside).metrics.drop("f_score"), evaluate(usual).metrics, check_exact=True)
    assert_frame_equal(evaluate(beside).summary.head(-1), evaluate(usual).summary, check_exact=True)
    impact = [evaluate(protocol).error_impact() for protocol in (beside, usual)]
    assert_frame_equal(*impact, check_exact=True)


class Quality(PanopticQuality):
    """A definition of the tests that does not rank."""

    name = "quality"
    formula = "as PQ"


UNRANKED = replace(SUM, name="UNRANKED", metrics=(Quality(),), headlines=("PQ",))
QUESTIONS: dict[str, tuple[Callable[[apf.Evaluation], Any], str]] = {
    "curves": (lambda ev: ev.curves(), "curves"),
    "thresholds": (lambda ev: ev.thresholds(), "score thresholds"),
    "lrp": (lambda ev: ev.lrp(), "score thresholds"),
    "errors": (lambda ev: ev.errors(), "kinds of errors"),
    "impact": (lambda ev: ev.error_impact(), "effects of errors on average precision"),
    "arrays": (lambda ev: ev.arrays(), "arrays of precision"),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_what_does_not_rank_says_so(question: str) -> None:
    ask, what = QUESTIONS[question]
    instead = "use summary, metrics, by, intervals, compare, matches, per_image, changes or confusion"
    with pytest.raises(ParameterError) as caught:
        ask(evaluate(UNRANKED))
    assert str(caught.value) == f"UNRANKED does not rank detections by score, so it has no {what}; {instead}"


def test_what_matches_at_cut_offs_says_so() -> None:
    evaluation = evaluate(RANKED)
    with pytest.raises(ParameterError, match=r"^protocol: RANKED matches again at every score cut-off, so an error has no"):
        evaluation.error_impact()
    with pytest.raises(ParameterError, match=r"^arrays: stairs has no recall levels, which the reference's arrays require$"):
        evaluation.arrays()
    assert len(evaluation.curves()) > 0


@dataclass(frozen=True)
class Misshapen(Metric):
    """Gives what it is made with."""

    gives: Any = None
    columns: ClassVar = ("x",)

    def read(self, cells: Cells, weights: Weights) -> Mapping[str, np.ndarray]:
        """Without the axes of the cells and weights."""
        del cells, weights
        return {} if self.gives is None else {"x": np.array(self.gives)}


@dataclass
class Loose(Metric):
    """Not frozen."""

    gives: Any = None
    columns: ClassVar = ("x",)
    read = Misshapen.read  # type: ignore[assignment]


@dataclass(frozen=True)
class Text(FScore):
    """Its columns are a text."""

    columns: ClassVar = "f_score"  # type: ignore[assignment]


@dataclass(frozen=True)
class Silent(Metric):
    """Reads nothing."""

    columns: ClassVar = ("silent",)


@dataclass(frozen=True)
class Elsewhere(FScore):
    """Its line is of a column of another."""

    lines: ClassVar = {"F": "ap"}


@dataclass(frozen=True)
class Count(FScore):
    """Its column is one that all protocols have."""

    columns: ClassVar = ("recall",)
    lines: ClassVar = {}


@dataclass(frozen=True)
class OfAnything(FScore):
    """Has a field that no file holds."""

    what: Any = None


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "a class": (
        {"metrics": [FScore]},
        "metrics: <class 'tests.metrics.test_own_metrics.FScore'> is not a metric; "
        "give values of frozen dataclasses with `columns` and `read`, see apframe.metrics.metric.Metric",
    ),
    "a name": (
        {"metrics": [3]},
        "metrics: 3 is not a metric; "
        "give values of frozen dataclasses with `columns` and `read`, see apframe.metrics.metric.Metric",
    ),
    "nothing read": (
        {"metrics": (Silent(), AP)},  # type: ignore[abstract]
        "metrics: Silent() is not a metric; "
        "give values of frozen dataclasses with `columns` and `read`, see apframe.metrics.metric.Metric",
    ),
    "columns in a text": (
        {"metrics": (Text(), AP)},
        "metrics: Text(beta=1.0) has columns='f_score' and lines={'F': 'f_score'}; "
        "columns are a tuple, and lines name some of them",
    ),
    "a line of nothing": (
        {"metrics": (Elsewhere(), AP)},
        "metrics: Elsewhere(beta=1.0) has columns=('f_score',) and lines={'F': 'ap'}; "
        "columns are a tuple, and lines name some of them",
    ),
    "a column twice": (
        {"metrics": (FScore(), FScore(2.0), AP)},
        "metrics: the metrics table already has 'f_score'; rename yours",
    ),
    "a column of all": (
        {"metrics": (Count(), AP), "headlines": ("AP",)},
        "metrics: the metrics table already has 'recall'; rename yours",
    ),
    "other cut-offs": (
        {"metrics": (Stairs(), AP), "headlines": ("AP",)},
        "metrics: Stairs() reads score cut-offs that matching 'score' with coco101 does not have; "
        "choose a definition and a matching with its cut-offs",
    ),
    "no line": (
        {"headlines": ("F", "G")},
        "headlines: 'G' is not AP, F or AR, optionally with a threshold, {area}, {limit} or {part}",
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_wrong_metrics_are_one_error(what: str) -> None:
    changes, text = WRONG[what]
    with pytest.raises(ParameterError) as caught:
        replace(SUM, **changes)
    assert str(caught.value) == text


def test_metrics_that_cannot_be_kept_are_one_error(monkeypatch: pytest.MonkeyPatch) -> None:
    loose = Loose()
    remedy = r"write @dataclass\(frozen=True\) above its class, and use tuples in place of lists$"
    with pytest.raises(ParameterError, match=rf"^metrics: Loose\(gives=None\) is not frozen; {remedy}"):
        replace(SUM, metrics=(loose, AP))
    with pytest.raises(ParameterError, match=rf"^metrics: OfAnything\(beta=1.0, what=\[3\]\) is not frozen; {remedy}"):
        replace(SUM, metrics=(OfAnything(what=[3]), AP))
    monkeypatch.setitem(KINDS, "of_anything", f"{__name__}:OfAnything")
    remedy = "its fields must be numbers, text, flags, None, or tuples of these"
    with pytest.raises(ParameterError) as caught:
        replace(SUM, metrics=(OfAnything(what=frozenset({3})), AP)).as_dict()
    assert str(caught.value) == f"metrics: OfAnything(beta=1.0, what=frozenset({{3}})) cannot be stored; {remedy}"
    monkeypatch.setitem(KINDS, "f_score", f"{__name__}:FScore")
    with pytest.raises(ParameterError, match=r"^definition: f_score is not a definition but a metric; give it as a metric$"):
        replace(SUM, metrics="f_score")


@pytest.mark.parametrize(("gives", "text"), [(None, "no values"), ((1.0,), r"the shape \(1,\)")])
def test_a_metric_must_read_its_columns(gives: Any, text: str) -> None:
    evaluation = evaluate(replace(SUM, metrics=(Misshapen(gives), AP), headlines=("AP",)))
    remedy = r"it must be an array of shape \(cells, lists, weightings\), here \("
    with pytest.raises(ParameterError, match=rf"^Misshapen\(gives=.*\).read gives 'x' {text}; {remedy}"):
        _ = evaluation.metrics
