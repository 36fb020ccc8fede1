"""Many runs as one set of tables: their names, what is read and when, what is told of runs that differ, and what is refused."""

from __future__ import annotations

import json
import shutil
import warnings
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import apframe as apf
from apframe.exceptions import (
    ColumnError,
    FormatError,
    ParameterError,
    QueryError,
    RunsDifferWarning,
    RunsLeftOutWarning,
)
from apframe.runs.run_sets import RunSets, scan_runs

STREET = Path(__file__).resolve().parents[2] / "data" / "street"
TABLES = ["images", "categories", "annotations", "detections", "pairs", "assignments", "metrics", "summary"]
METRICS = ["AP", "AP50", "AP75", "APs", "APm", "APl", "AR1", "AR10", "AR100", "ARs", "ARm", "ARl"]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The two sample models, evaluated; not to be changed."""
    folder = tmp_path_factory.mktemp("runs")
    for name in ("model_a", "model_b"):
        apf.evaluate(STREET / "instances.json", STREET / f"{name}.json").write_parquet(folder / name)
    return folder


@pytest.fixture
def runs(written: Path, tmp_path: Path) -> Path:
    """The same two, to be damaged at will."""
    return Path(shutil.copytree(written, tmp_path / "runs"))


def write(
    folder: Path, width: float = 8, *, images: dict[str, Any] | None = None, detected: str = "cat", **options: Any
) -> Path:
    """A run of one image with one annotation and one detection."""
    truth = apf.Dataset(
        images={"image_id": [1], **(images or {})},
        categories={"category_id": [1, 2], "name": ["cat", "dog"]},
        annotations={"image_id": [1], "category_id": [1], "x": [0], "y": [0], "width": [10], "height": [10]},
    )
    detections = {"image_id": [1], "category_id": [1 if detected == "cat" else 2], "score": [0.5],
                  "x": [0], "y": [0], "width": [width], "height": [10]}  # fmt: skip
    apf.evaluate(truth, detections, **options).write_parquet(folder)
    return folder


def write_search(folder: Path) -> Path:
    apf.evaluate_run({"q": {"d": 1}}, {"q": {"d": 0.5}}, "AP").write_parquet(folder)
    return folder


def edit_manifest(folder: Path, **changes: Any) -> None:
    path = folder / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def listing(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.slow
def test_runs_are_one_table(written: Path) -> None:
    sets = scan_runs(written / "*")
    assert len(sets) == 2 and repr(sets) == "RunSets(2 runs: 'model_a', 'model_b')"
    expected = pl.DataFrame(
        {
            "run": ["model_a", "model_b"],
            "folder": [str(written / "model_a"), str(written / "model_b")],
            "protocol": ["COCO", "COCO"],
            "n_images": [pl.read_parquet(written / "model_a" / "images.parquet").height] * 2,
            "n_annotations": [pl.read_parquet(written / "model_a" / "annotations.parquet").height] * 2,
            "n_detections": [pl.read_parquet(written / name / "detections.parquet").height for name in ("model_a", "model_b")],
            "apframe": [json.loads((written / "model_a" / "manifest.json").read_text())["versions"]["apframe"]] * 2,
            "name": pl.Series([None, None], dtype=pl.String),
        }
    )
    assert_frame_equal(sets.runs.drop("created", "data"), expected)
    assert sets.runs.columns[2] == "created" and sets.runs["created"].dtype == pl.Datetime("us", "UTC")
    age = datetime.now(UTC) - sets.runs["created"].min()  # type: ignore[operator]
    assert timedelta(0) <= age < timedelta(hours=1)
    assert sets.runs["data"].n_unique() == 1 and sets.runs["data"].str.len_chars().unique().to_list() == [12]


@pytest.mark.slow
def test_summary_and_leaderboard(written: Path) -> None:
    sets = scan_runs(str(written / "*"))
    parts = {name: apf.read_evaluation(written / name).summary for name in ("model_a", "model_b")}
    expected = pl.concat(part.select(pl.lit(name).alias("run"), "metric", "value") for name, part in parts.items())
    assert_frame_equal(sets.summary, expected, check_exact=True)
    rows = {name: dict(part.rows()) for name, part in parts.items()}
    for metric in ("AP", "ARs"):
        board = sets.leaderboard(metric)
        assert board.columns == ["run", *METRICS]
        best_first = sorted(rows, key=lambda name: -rows[name][metric])
        assert board.to_dicts() == [{"run": name} | rows[name] for name in best_first]
    assert sets.leaderboard()["run"].to_list() == ["model_b", "model_a"] != sets.leaderboard("ARs")["run"].to_list()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::apframe.exceptions.NoAnnotationsWarning")
@pytest.mark.filterwarnings("ignore::apframe.exceptions.ResampledWarning")
def test_runs_are_ranked_by_the_number_of_their_benchmark(tmp_path: Path) -> None:
    driving = STREET.parent / "driving"
    for truth, ending, protocol, metric in (
        ("kitti/label_2", "", "kitti", "AP_moderate"),
        ("scenes", ".json", "nuscenes", "NDS"),
    ):
        for model in ("model_a", "model_b"):
            results = (driving / truth).parent / f"{model}{ending}"
            apf.evaluate(driving / truth, results, protocol).write_parquet(tmp_path / protocol / model)
        sets = scan_runs(tmp_path / protocol / "*")
        board = sets.leaderboard()
        assert board[metric].is_sorted(descending=True) and board.rows() == sets.leaderboard(metric).rows()
        assert sets._board.columns[sets._board.columns.index(metric) + 1] == "low"


@pytest.mark.slow
def test_a_leaderboard_of_other_metrics_and_of_equal_runs(tmp_path: Path) -> None:
    write(tmp_path / "few", max_detections=[3])
    write(tmp_path / "none", 1)
    write(tmp_path / "one")
    with pytest.warns(RunsDifferWarning):
        sets = scan_runs(tmp_path / "*")
    board = sets.leaderboard()
    assert board.columns == [
        "run",
        *(m for m in METRICS if not m.startswith("AR")),
        "AR3",
        *METRICS[-3:],
        "AR1",
        "AR10",
        "AR100",
    ]
    assert board["run"].to_list() == ["few", "one", "none"]
    assert sets.leaderboard("AR10").select("run", "AR10", "AR3").rows() == [
        ("one", pytest.approx(0.7), None), ("none", 0.0, None), ("few", None, pytest.approx(0.7)),
    ]  # fmt: skip


@pytest.mark.slow
def test_an_unknown_metric_or_run_is_told_with_near_ones(written: Path) -> None:
    sets = scan_runs(written / "*")
    with pytest.raises(ParameterError, match=r"^sort_by: no metric 'AP5'; did you mean .*AP50"):
        sets.leaderboard("AP5")
    with pytest.raises(ParameterError, match=r"^no run 'modela'; did you mean model_a, model_b\?$"):
        sets.evaluation("modela")


def test_every_table_with_the_run_in_front(written: Path) -> None:
    sets = scan_runs(written / "*")
    assert list(sets.tables) == [*TABLES, "runs"] and len(sets.tables) == 9
    for name in TABLES:
        table = sets.tables[name].collect()
        assert table.columns[0] == "run" and not any(isinstance(dtype, pl.Enum) for dtype in table.dtypes)
        expected = [pl.read_parquet(written / run / f"{name}.parquet") for run in ("model_a", "model_b")]
        assert table["run"].to_list() == ["model_a"] * expected[0].height + ["model_b"] * expected[1].height
        assert_frame_equal(table.drop("run"), pl.concat(expected), check_exact=True, check_dtypes=False)
    assert_frame_equal(sets.tables["runs"].collect(), sets.runs)
    assert "nope" not in sets.tables
    with pytest.raises(KeyError):
        sets.tables["nope"]


@pytest.mark.slow
def test_tables_of_different_columns_ranges_and_ids_are_joined(tmp_path: Path) -> None:
    write(tmp_path / "a", images={"weather": ["rain"]})
    write(tmp_path / "b", images={"weather": [3], "city": ["Ulm"]}, area_ranges={"tiny": (0, 50)})
    with pytest.warns(RunsDifferWarning, match="area_ranges"):
        sets = scan_runs(tmp_path / "*")
    images = sets.tables["images"].select("run", "image_id", "weather", "city").collect()
    assert images.rows() == [("a", 1, "rain", None), ("b", 1, "3", "Ulm")]
    ranges = sets.tables["metrics"].select("run", "area_range").unique().sort("run", "area_range").collect()
    assert ranges.rows() == [*(("a", name) for name in ("all", "large", "medium", "small")), ("b", "all"), ("b", "tiny")]


def test_an_attribute_called_run_is_kept(tmp_path: Path) -> None:
    sets = scan_runs(write(tmp_path / "a", images={"run": ["monday"]}))
    assert sets.tables["images"].select("run", "images.run").collect().rows() == [("a", "monday")]


@pytest.mark.slow
@pytest.mark.parametrize(("first", "second"), [([[1.5]], ["rain"]), (["rain"], [[1.5]]), ([[1.5]], [{"x": 1}]), ([7], [[1.5]])])
def test_columns_that_cannot_stand_below_each_other(first: list[Any], second: list[Any], tmp_path: Path) -> None:
    write(tmp_path / "a", images={"attribute": first})
    write(tmp_path / "b", images={"attribute": second})
    sets = scan_runs(tmp_path / "*")
    with pytest.raises(ColumnError, match=r"^images\.attribute is .* in run 'a', .* in run 'b'; read them one by one$"):
        sets.tables["images"]
    assert sets.leaderboard().height == 2


@pytest.mark.slow
def test_sql(written: Path) -> None:
    sets = scan_runs(written / "*")
    best = sets.sql("SELECT run, value FROM summary WHERE metric = $metric ORDER BY value DESC", metric="AP")
    assert best.rows() == sets.leaderboard().select("run", "AP").rows()
    query = """SELECT run, n_images, count(*) AS n FROM runs JOIN detections USING (run) GROUP BY ALL ORDER BY run"""
    assert sets.sql(query).rows() == sets.runs.select("run", "n_images", n="n_detections").rows()
    assert sorted(sets.sql("SHOW TABLES")["name"]) == sorted([*sets.tables, "differences"])
    columns = sets.sql("SELECT table_name, count(*) FROM information_schema.columns GROUP BY ALL")
    widths = {name: len(table.collect_schema()) for name, table in sets.tables.items()}
    assert dict(columns.rows()) == widths | {"differences": 19}
    with pytest.raises(QueryError, match=f"the tables are {', '.join(sets.tables)}, differences$"):
        sets.sql("SELECT * FROM nope")


def test_a_connection_over_the_tables(written: Path) -> None:
    with scan_runs(written / "*").connection() as connection:
        counted = connection.sql("SELECT run, count(*) FROM metrics GROUP BY run ORDER BY run").fetchall()
    n_rows = pl.read_parquet(written / "model_a" / "metrics.parquet").height
    assert counted == [("model_a", n_rows), ("model_b", n_rows)]


@pytest.mark.slow
def test_only_what_is_asked_for_is_read(runs: Path) -> None:
    sets = scan_runs(runs / "*")
    for path in runs.rglob("*.parquet"):
        if path.name != "summary.parquet":
            path.write_bytes(b"")
    assert sets.leaderboard().height == 2 and "model_b" in sets._repr_html_()
    assert (
        sets.sql("SELECT max(value) FROM SUMMARY JOIN runs USING (run) WHERE n_images > 0").item()
        == sets.summary["value"].max()
    )
    with pytest.raises(FormatError, match=r"model_a/pairs\.parquet: cannot be read as Parquet"):
        sets.sql("SELECT * FROM pairs")
    with pytest.raises(FormatError, match=r"model_a/images\.parquet: cannot be read as Parquet"):
        sets.tables["images"]


def test_scanning_reads_manifests_alone(runs: Path) -> None:
    for path in runs.rglob("*.parquet"):
        path.write_bytes(b"")
    sets = scan_runs(runs / "*")
    assert sets.runs["n_annotations"].to_list() == [2400, 2400]
    with pytest.raises(FormatError, match=r"model_a/summary\.parquet: cannot be read as Parquet"):
        sets.leaderboard()


def test_damage_within_a_file_is_told_when_it_is_read(runs: Path) -> None:
    path = runs / "model_a" / "summary.parquet"
    whole = path.read_bytes()
    path.write_bytes(b"PAR1" + bytes(200) + whole[204:])
    with pytest.raises(FormatError, match=r"^the summary of a run cannot be read \(.*\); evaluate again$"):
        scan_runs(runs / "*").leaderboard()


def test_an_evaluation_of_one_run(written: Path) -> None:
    evaluation = scan_runs(written / "*").evaluation("model_b")
    assert isinstance(evaluation, apf.Evaluation)
    assert_frame_equal(evaluation.summary, apf.read_evaluation(written / "model_b").summary, check_exact=True)


def test_relative_folders_outlast_a_change_of_folder(written: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(written)
    sets = scan_runs(["model_a", Path("model_b")])
    monkeypatch.chdir(tmp_path)
    assert sets.runs["folder"].to_list() == ["model_a", "model_b"]
    assert sets.leaderboard().height == 2 and sets.evaluation("model_a").detections.height > 0


def test_a_notebook_shows_the_leaderboard(tmp_path: Path) -> None:
    write(tmp_path / "<one>")
    shown = scan_runs(tmp_path / "<one>")._repr_html_()
    assert "<td>&lt;one&gt;</td><td>0.700</td><td>1.000</td>" in shown and "<one>" not in shown
    assert shown.count("<th>") == 13 and "<td>–</td>" in shown


def names(sets: RunSets) -> list[str]:
    return sets.runs["run"].to_list()


@pytest.mark.slow
def test_names(tmp_path: Path) -> None:
    for place in ("one/a", "two/a", "b", "x/one/a"):
        write(tmp_path / place)
    assert names(scan_runs(tmp_path / "b")) == ["b"]
    assert names(scan_runs([tmp_path / "two/a", tmp_path / "b"])) == ["a", "b"]
    assert names(scan_runs([tmp_path / "two/a", tmp_path / "b", tmp_path / "one/a"])) == ["two/a", "b", "one/a"]
    at = tmp_path.name
    assert names(scan_runs(tmp_path / "**")) == ["b", f"{at}/one/a", "two/a", "x/one/a"]
    assert scan_runs(tmp_path / "**").leaderboard().height == 4


@pytest.mark.slow
def test_patterns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for place in ("b", "a", "deep/c", ".hidden"):
        write(tmp_path / place)
    (tmp_path / "notes.txt").write_text("mine")
    assert names(scan_runs(f"{tmp_path}/[ab]")) == ["a", "b"]
    assert names(scan_runs(f"{tmp_path}/**")) == ["a", "b", "c"]
    assert names(scan_runs(f"{tmp_path}/?")) == ["a", "b"]
    write(tmp_path / "b" / "within")
    assert names(scan_runs(f"{tmp_path}/b/**")) == ["b", "within"]
    shutil.rmtree(tmp_path / "b" / "within")
    shutil.rmtree(tmp_path / "deep")
    assert names(scan_runs(tmp_path / "*")) == ["a", "b"]
    monkeypatch.chdir(tmp_path)
    assert names(scan_runs("*")) == ["a", "b"] and names(scan_runs("a")) == ["a"]
    Path("latest").symlink_to("a")
    assert names(scan_runs("*")) == ["a", "b", "latest"]
    write(tmp_path / "run[1]")
    assert names(scan_runs("run[1]")) == ["run[1]"]
    assert scan_runs(f"{tmp_path}/run[1]").leaderboard()["run"].to_list() == ["run[1]"]


def a_folder(path: Path) -> Path:
    path.mkdir(parents=True)
    return path


# what is scanned, the error, and what it says
REFUSED: dict[str, tuple[Callable[[Path], Any], type[Exception], str]] = {
    "no match": (lambda at: at / "x*", FormatError, r"x\*: nothing matches; name folders written"),
    "files alone": (
        lambda at: at / "*.txt",
        FormatError,
        r"\*\.txt: matches only files \('.*notes\.txt'\); name folders written",
    ),
    "no folder": (lambda at: at / "none", FormatError, r"none: there is no such folder$"),
    "a file": (lambda at: at / "notes.txt", FormatError, r"notes\.txt: is a file; name the folder"),
    "a file in a list": (lambda at: [at / "a", at / "notes.txt"], FormatError, r"notes\.txt: is a file; name the folder"),
    "no run": (lambda at: a_folder(at / "empty"), FormatError, "empty: not an apframe evaluation"),
    "no run in a pattern": (lambda at: a_folder(at / "empty").parent / "*", FormatError, "empty: not an apframe evaluation"),
    "a pattern in a list": (lambda at: [at / "*"], FormatError, r"\*: there is no such folder$"),
    "a search run": (
        lambda at: write_search(at / "s"),
        FormatError,
        "s: holds an evaluation of retrieval, not an evaluation of detection$",
    ),
    "a search run in a list": (lambda at: [at / "a", write_search(at / "s")], FormatError, "s: holds an evaluation of retr"),
    "search runs alone": (
        lambda at: write_search(at / "search" / "s").parent / "*",
        FormatError,
        r"search/\*: no evaluation of detection is among them, only of retrieval: '.*/s'$",
    ),
    "nothing": (lambda _: [], ParameterError, r"scan_runs takes a folder, .* not \[\]$"),
    "a number": (lambda _: 3, ParameterError, r"scan_runs takes a folder, .* not 3$"),
    "numbers": (lambda _: [3], ParameterError, r"scan_runs takes a folder, .* not \[3\]$"),
    "twice": (
        lambda at: [at / "a", str(at / "x" / ".." / "a")],
        ParameterError,
        "a folder is named twice .*; name each folder once$",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize(("make", "error", "message"), REFUSED.values(), ids=REFUSED)
def test_what_is_no_run_is_refused(make: Callable[[Path], Any], error: type[Exception], message: str, tmp_path: Path) -> None:
    write(tmp_path / "a")
    (tmp_path / "notes.txt").write_text("mine")
    folders = make(tmp_path)
    before = listing(tmp_path)
    with pytest.raises(error, match=message) as caught:
        scan_runs(folders)
    assert "\n" not in str(caught.value) and listing(tmp_path) == before


# what happens to a run among others, and what is said of it
DAMAGE: dict[str, tuple[Callable[[Path], object], str]] = {
    "tables gone": (
        lambda at: [(at / f"{name}.parquet").unlink() for name in ("pairs", "metrics")],
        r"pairs\.parquet, metrics\.parquet is missing; evaluate again$",
    ),
    "manifest gone": (lambda at: (at / "manifest.json").unlink(), "not an apframe evaluation"),
    "earlier version": (
        lambda at: edit_manifest(at, schema_version=3),
        "has schema version 3; this apframe reads version 4",
    ),
    "no hashes": (
        lambda at: edit_manifest(at, inputs={}),
        r"manifest\.json is damaged \(KeyError: 'images'\); evaluate again$",
    ),
    "inputs a list": (lambda at: edit_manifest(at, inputs=[]), r"manifest\.json is damaged, inputs is not an object of texts"),
    "hash a number": (
        lambda at: edit_manifest(at, inputs=dict.fromkeys(TABLES, 1)),
        r"manifest\.json is damaged, inputs is not an object of texts",
    ),
    "no date": (lambda at: edit_manifest(at, created="yesterday"), r"manifest\.json is damaged \(ValueError"),
    "no protocol": (lambda at: edit_manifest(at, protocol=None), r"manifest\.json is damaged \(TypeError"),
    "no name": (lambda at: edit_manifest(at, protocol={}), r"manifest\.json is damaged \(KeyError: 'name'\)"),
    "no height": (
        lambda at: edit_manifest(at, tables=dict.fromkeys(TABLES)),
        r"manifest\.json is damaged, tables is not an object of names and numbers of rows",
    ),
    "no tables": (lambda at: edit_manifest(at, tables={}), r"manifest\.json has no table images, .*, summary; evaluate again$"),
}


@pytest.mark.parametrize(("damage", "message"), DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_run_is_named(damage: Callable[[Path], object], message: str, runs: Path) -> None:
    damage(runs / "model_b")
    before = listing(runs)
    for folders in (runs / "*", [runs / "model_a", runs / "model_b"], runs / "**"):
        with pytest.raises(FormatError, match=message) as caught:
            scan_runs(folders)
        assert str(caught.value).startswith(f"{runs / 'model_b'}: ") and "\n" not in str(caught.value)
    assert listing(runs) == before


def test_search_runs_among_others_are_left_out_with_a_warning(runs: Path) -> None:
    write_search(runs / "search")
    with pytest.warns(
        RunsLeftOutWarning, match=r"^left out evaluations of retrieval, because only evaluations of .*: '.*/search'$"
    ) as told:
        sets = scan_runs(runs / "*")
    assert names(sets) == ["model_a", "model_b"] and told[0].filename == __file__


# what the second of three runs is like, and in what they differ
DIFFERENCES: dict[str, tuple[dict[str, Any], str]] = {
    "data": ({"images": {"image_width": [9]}}, r"data: a, c \| b"),
    "protocol": ({"max_detections": [3]}, r"protocol \(max_detections\): a, c \| b"),
    "two choices": (
        {"iou_thresholds": [0.5], "agnostic": True}, r"protocol \(iou_thresholds, agnostic\): a, c \| b"
    ),
    "categories": ({"categories": ["cat"]}, r"the categories that were evaluated: a, c \| b"),
    "data and protocol": (
        {"images": {"image_width": [9]}, "max_detections": [3]},
        r"data: a, c \| b, and in protocol \(max_detections\): a, c \| b",
    ),
}  # fmt: skip


@pytest.mark.slow
def test_subset_beside_the_whole_is_told(tmp_path: Path) -> None:
    whole = apf.evaluate(STREET / "instances.json", STREET / "model_a.json")
    whole.write_parquet(tmp_path / "whole")
    whole.where(pl.col("score") > 0.5).write_parquet(tmp_path / "sure")  # of the same ground truth
    with pytest.warns(RunsDifferWarning, match=r"differ in the evaluated subset: sure \| whole"):
        apf.scan_runs(str(tmp_path / "*"))


@pytest.mark.slow
@pytest.mark.parametrize(("options", "difference"), DIFFERENCES.values(), ids=DIFFERENCES)
def test_runs_that_differ_are_told_in_one_warning(options: dict[str, Any], difference: str, tmp_path: Path) -> None:
    write(tmp_path / "a")
    write(tmp_path / "b", **options)
    write(tmp_path / "c", 6)
    with pytest.warns(RunsDifferWarning, match=f"^runs differ in {difference}; their numbers cannot be compared$") as told:
        sets = scan_runs(tmp_path / "*")
    assert len(told) == 1 and told[0].filename == __file__
    of = dict(sets.runs.select("run", "data").iter_rows())
    assert of["a"] == of["c"] and (of["a"] == of["b"]) == ("images" not in options)


@pytest.mark.slow
def test_many_runs_that_differ_are_not_all_listed(tmp_path: Path) -> None:
    for number in range(7):
        write(tmp_path / f"r{number}")
    write(tmp_path / "s", images={"image_width": [9]})
    with pytest.warns(RunsDifferWarning, match=r"data: r0, r1, r2, r3, r4 and 2 more \| s;"):
        scan_runs(tmp_path / "*")


@pytest.mark.slow
def test_runs_of_one_data_and_protocol_give_no_warning(tmp_path: Path) -> None:
    write(tmp_path / "a")
    write(tmp_path / "b", 3, detected="dog")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(scan_runs(tmp_path / "*")) == 2


@pytest.mark.slow
def test_runs_that_are_replaced_after_the_scan_are_not_mixed(tmp_path: Path) -> None:
    write(tmp_path / "a", 8), write(tmp_path / "b", 8)
    runs = scan_runs([tmp_path / "a", tmp_path / "b"])
    plan = runs.tables["detections"]
    write(tmp_path / "b", 6)
    for ask in (lambda: runs.summary, lambda: runs.evaluation("b"), lambda: runs.sql("FROM detections"), plan.collect):
        with pytest.raises(
            FormatError, match=r"b: another evaluation was written to this folder while it was being read; read it"
        ):
            ask()
    assert runs.evaluation("a").detections["width"].to_list() == [8]


@pytest.mark.slow
@pytest.mark.parametrize("pattern", ["runs/*", "runs/a*", "*/a", "**"])
def test_a_pattern_matches_a_run_that_was_killed_in_its_swap(
    pattern: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "runs" / "b"), write(tmp_path / "runs" / "ab")
    left = tmp_path / "runs" / ".a.0123abcd.part"
    write(left / "new" / "a"), write(left / "earlier")
    assert "a" in scan_runs(pattern).runs["run"].to_list()
