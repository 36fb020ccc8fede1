"""An evaluation as a folder of Parquet files: whole or not there, the same when read again, and nothing else's place."""

from __future__ import annotations

import hashlib
import json
import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import apframe as apf
from apframe.exceptions import FormatError, OutputError
from apframe.formats import arrow_files as tables
from apframe.formats.arrow_files import Parquet
from apframe.formats.stored_sets import read_table, scan_table
from apframe.store import parquet
from apframe.store.parquet import content_hash, read_manifest, write_tables

STREET = Path(__file__).resolve().parents[2] / "data" / "street"
TABLES = ("images", "categories", "annotations", "detections", "pairs", "assignments", "metrics", "summary")
FILES = {"manifest.json", *(f"{name}.parquet" for name in TABLES)}
QUERY = "SELECT outcome, count(*) AS n FROM matches WHERE iou_threshold = 0.75 AND area_range = 'all' GROUP BY ALL ORDER BY ALL"


def small(score: float = 0.9, **options: Any) -> apf.Evaluation:
    truth = {
        "images": [{"id": "a"}, {"id": "b"}],
        "categories": [{"id": "x", "name": "cat"}, {"id": "y", "name": "dog"}],
        "annotations": [{"id": 1, "image_id": "a", "category_id": "x", "bbox": [0, 0, 40, 40]}],
    }
    results = [
        {"image_id": "a", "category_id": "x", "bbox": [0, 0, 40, 30], "score": score},
        {"image_id": "b", "category_id": "y", "bbox": [0, 0, 40, 30], "score": 0.5},
    ]
    return apf.evaluate(truth, results, **options)


def street(**options: Any) -> apf.Evaluation:
    return apf.evaluate(STREET / "instances.json", STREET / "model_a.json", **options)


EVALUATIONS: dict[str, Callable[[], apf.Evaluation]] = {
    "street": street,
    "string ids": small,
    "agnostic": lambda: street(agnostic=True),
    "some categories": lambda: street(categories=["car", "rider"]),
    "own ranges": lambda: street(
        area_ranges={"tiny": (0, 100), "rest": (100, 1e10)}, max_detections=[3], iou_thresholds=[0.3, 0.75]
    ),
    "no annotations": lambda: apf.evaluate({"images": [{"id": 1}], "categories": [{"id": 1}], "annotations": []}, []),
}


def listing(folder: Path) -> dict[str, bytes]:
    """Every file below the folder, hidden ones too, with what it holds."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::apframe.exceptions.NoAnnotationsWarning")
@pytest.mark.parametrize("make", EVALUATIONS.values(), ids=EVALUATIONS)
def test_round_trip(make: Callable[[], apf.Evaluation], tmp_path: Path) -> None:
    evaluation, folder = make(), tmp_path / "runs" / "a"
    evaluation.write_parquet(folder)
    assert {path.name for path in folder.iterdir()} == FILES
    assert [path.name for path in folder.parent.iterdir()] == ["a"]
    again = apf.read_evaluation(folder)
    assert again.protocol == evaluation.protocol
    assert str(again) == str(evaluation) and again.stats.tolist() == evaluation.stats.tolist()
    for name in ("summary", "metrics", "pairs", "assignments", "detections"):
        assert_frame_equal(getattr(again, name), getattr(evaluation, name), check_exact=True)
    for name in ("images", "categories", "annotations"):
        assert_frame_equal(getattr(again.dataset, name), getattr(evaluation.dataset, name), check_exact=True)
    area_range = evaluation.protocol.range_names[1]
    assert_frame_equal(again.matches(0.75, area_range), evaluation.matches(0.75, area_range), check_exact=True)
    assert_frame_equal(again.curves(0.75), evaluation.curves(0.75), check_exact=True)
    assert_frame_equal(again.sql(QUERY), evaluation.sql(QUERY), check_exact=True)


@pytest.mark.slow
def test_files_are_plain_parquet_and_counted_in_the_manifest(tmp_path: Path) -> None:
    evaluation = street()
    evaluation.write_parquet(tmp_path / "run")
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert (manifest["format"], manifest["schema_version"]) == ("apframe evaluation", 4)
    for name in TABLES:
        assert pl.read_parquet(tmp_path / "run" / f"{name}.parquet").height == manifest["tables"][name]
    assert pl.read_parquet(tmp_path / "run" / "images.parquet")["weather"].null_count() == 0


@pytest.mark.slow
def test_an_earlier_run_is_replaced_whole(tmp_path: Path) -> None:
    street().write_parquet(tmp_path / "run")
    small().write_parquet(tmp_path / "run")
    assert set(listing(tmp_path)) == {f"run/{name}" for name in FILES}
    assert apf.read_evaluation(tmp_path / "run").summary.equals(small().summary)


@pytest.mark.slow
def test_an_empty_folder_is_taken(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    small().write_parquet(str(tmp_path / "run"))
    assert set(listing(tmp_path)) == {f"run/{name}" for name in FILES}


def a_run_and(tmp_path: Path, *names: str) -> Path:
    small().write_parquet(tmp_path / "run")
    for name in names:
        (tmp_path / "run" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "run" / name).write_text("mine")
    return tmp_path / "run"


def only(tmp_path: Path, name: str) -> Path:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / name).write_text('{"mine": 1}')
    return tmp_path / "run"


def a_file(tmp_path: Path) -> Path:
    (tmp_path / "run").write_text("mine")
    return tmp_path / "run"


# what makes the place, and why nothing is written there
TAKEN: dict[str, tuple[Callable[[Path], Path], str]] = {
    "something else": (lambda at: only(at, "thesis.txt"), r"holds something else \(thesis\.txt\); name an empty or a new"),
    "another manifest": (lambda at: only(at, "manifest.json"), r"holds something else \(manifest\.json\)"),
    "other Parquet": (lambda at: only(at, "images.parquet"), r"holds something else \(images\.parquet\)"),
    "a run and a file": (lambda at: a_run_and(at, "notes.txt"), r"holds something else \(notes\.txt\)"),
    "a run and a folder": (lambda at: a_run_and(at, "more/notes.txt"), r"holds something else \(more\)"),
    "a run and Parquet": (lambda at: a_run_and(at, "mine.parquet"), r"holds something else \(mine\.parquet\)"),
    "a file": (a_file, "this is a file; name a folder$"),
    "below a file": (lambda at: a_file(at) / "deeper", "cannot be written|is a file"),
}


@pytest.mark.slow(every=True)
@pytest.mark.parametrize(("make", "message"), TAKEN.values(), ids=TAKEN)
def test_a_place_that_is_taken_is_left_alone(make: Callable[[Path], Path], message: str, tmp_path: Path) -> None:
    folder = make(tmp_path)
    before = listing(tmp_path)
    with pytest.raises(OutputError, match=message) as caught:
        small(0.8).write_parquet(folder)
    assert str(caught.value).startswith(f"{folder}: ") and "\n" not in str(caught.value)
    assert listing(tmp_path) == before


@pytest.mark.slow
@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
@pytest.mark.parametrize("with_earlier", [False, True])
def test_interrupted_writing(error: BaseException, with_earlier: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if with_earlier:
        street().write_parquet(tmp_path / "run")
    before = listing(tmp_path)
    write, n_calls = pl.DataFrame.write_parquet, 0

    def interrupted(frame: pl.DataFrame, *args: Any, **options: Any) -> None:
        nonlocal n_calls
        n_calls += 1
        if n_calls == 3:
            raise error
        write(frame, *args, **options)

    monkeypatch.setattr(pl.DataFrame, "write_parquet", interrupted)
    expected = OutputError if isinstance(error, OSError) else KeyboardInterrupt
    with pytest.raises(expected):
        small().write_parquet(tmp_path / "run")
    assert listing(tmp_path) == before
    assert [path.name for path in tmp_path.iterdir()] == ["run"] * with_earlier


@pytest.mark.slow
def test_interrupted_replacing_puts_the_earlier_run_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    street().write_parquet(tmp_path / "run")
    before, rename = listing(tmp_path), Path.rename

    def fails_on_the_new_one(path: Path, target: Path) -> Path:
        if path.parent.name == "new":
            raise OSError(5, "Input/output error")
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", fails_on_the_new_one)
    with pytest.raises(OutputError, match=r"cannot be written \(input/output error\)"):
        small().write_parquet(tmp_path / "run")
    assert listing(tmp_path) == before


def edit_manifest(folder: Path, **changes: Any) -> None:
    path = folder / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


# what happens to a run, and what reading it says
DAMAGE: dict[str, tuple[Callable[[Path], object], str]] = {
    "a table gone": (lambda at: (at / "pairs.parquet").unlink(), r"pairs\.parquet is missing; evaluate again$"),
    "no manifest": (lambda at: (at / "manifest.json").unlink(), r"not an apframe evaluation, it has no manifest\.json of one"),
    "manifest not JSON": (lambda at: (at / "manifest.json").write_text("{"), r"manifest\.json: not JSON, or cut off"),
    "manifest a list": (lambda at: (at / "manifest.json").write_text("[]"), "not an apframe evaluation"),
    "another's manifest": (lambda at: edit_manifest(at, format="other"), "not an apframe evaluation"),
    "earlier version": (
        lambda at: edit_manifest(at, schema_version=3),
        "has schema version 3; this apframe reads version 4; evaluate again$",
    ),
    "later version": (
        lambda at: edit_manifest(at, schema_version=5),
        "has schema version 5; this apframe reads version 4; update apframe$",
    ),
    "tables are a list": (lambda at: edit_manifest(at, tables=["images"]), "tables is not an object of names and numbers"),
    "empty file": (lambda at: (at / "metrics.parquet").write_bytes(b""), r"metrics\.parquet: cannot be read as Parquet \("),
    "damaged file": (lambda at: (at / "images.parquet").write_bytes(b"PAR1 no PAR1"), r"images\.parquet: cannot be read as"),
    "cut file": (
        lambda at: (at / "detections.parquet").write_bytes((at / "detections.parquet").read_bytes()[:-20]),
        r"detections\.parquet: cannot be read as Parquet",
    ),
    "manifest without tables": (
        lambda at: (at / "manifest.json").write_text('{"format": "apframe evaluation", "schema_version": 4}'),
        r"manifest\.json has no .*tables; evaluate again$",
    ),
    "manifest without version": (
        lambda at: (at / "manifest.json").write_text('{"format": "apframe evaluation"}'),
        "has schema version None; this apframe reads version 4; evaluate again$",
    ),
}  # fmt: skip


@pytest.mark.slow(every=True)
@pytest.mark.parametrize(("damage", "message"), DAMAGE.values(), ids=DAMAGE)
def test_damaged_run(damage: Callable[[Path], object], message: str, tmp_path: Path) -> None:
    small().write_parquet(tmp_path / "run")
    damage(tmp_path / "run")
    with pytest.raises(FormatError, match=message) as caught:
        apf.read_evaluation(tmp_path / "run")
    assert str(caught.value).startswith(str(tmp_path / "run")) and "\n" not in str(caught.value)


@pytest.mark.slow
def test_no_run(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"nowhere: there is no such folder$"):
        apf.read_evaluation(tmp_path / "nowhere")
    (tmp_path / "file").write_text("")
    with pytest.raises(FormatError, match=r"file: is a file; name the folder that was written"):
        apf.read_evaluation(tmp_path / "file")
    with pytest.raises(FormatError, match=r"not an apframe evaluation.*; write one with --out or Evaluation.write_parquet$"):
        apf.read_evaluation(tmp_path)
    small().write_parquet(tmp_path / "a")
    with pytest.raises(FormatError, match=r"; name one of them, such as .*a; apframe\.scan_runs reads them together$"):
        apf.read_evaluation(tmp_path)


def test_every_file_says_what_it_is(tmp_path: Path) -> None:
    small().write_parquet(tmp_path / "run")
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert set(manifest.pop("tables")) == set(TABLES)
    for name in TABLES:
        footer = pl.read_parquet_metadata(tmp_path / "run" / f"{name}.parquet")
        identity = {key: footer[f"apframe.{key}"] for key in ("table", "schema_version", "kind")}
        assert identity == {"table": name, "schema_version": "4", "kind": "detection"}
        assert footer["apframe.set_id"] == manifest["set_id"]
        assert json.loads(footer["apframe.manifest"]) == manifest


def test_lazy_tables_are_computed_on_the_way_into_their_files(tmp_path: Path) -> None:
    table = pl.DataFrame({"a": [3, 1, 2], "b": ["x", None, "y"]})
    tables = {"eager": table, "lazy": table.lazy().filter(pl.col("a") > 1)}
    write_tables(tmp_path / "run", tables, {"kind": "detection"})
    manifest = read_manifest(tmp_path / "run")
    assert manifest["tables"] == {"eager": 3, "lazy": 2}
    assert_frame_equal(read_table(tmp_path / "run", "lazy", manifest["set_id"]), table.filter(pl.Series([True, False, True])))
    assert pl.read_parquet_metadata(tmp_path / "run" / "lazy.parquet")["apframe.table"] == "lazy"


def test_a_lazy_table_that_fails_leaves_nothing(tmp_path: Path) -> None:
    failing = pl.LazyFrame({"a": ["x"]}).select(pl.col("a").cast(pl.Int64))
    with pytest.raises(OutputError, match=r"run: cannot be written \(conversion from `str` to `i64` failed") as caught:
        write_tables(tmp_path / "run", {"failing": failing}, {"kind": "detection"})
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_run_can_be_written_to_its_own_place(tmp_path: Path) -> None:
    evaluation = street()
    evaluation.write_parquet(tmp_path / "run")
    apf.read_evaluation(tmp_path / "run").write_parquet(tmp_path / "run")
    assert set(listing(tmp_path)) == {f"run/{name}" for name in FILES}
    assert_frame_equal(apf.read_evaluation(tmp_path / "run").metrics, evaluation.metrics, check_exact=True)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["run[1]", "lr=0.1", "a b*"])
def test_a_folder_name_is_no_pattern(name: str, tmp_path: Path) -> None:
    small().write_parquet(tmp_path / name)
    assert_frame_equal(apf.read_evaluation(tmp_path / name).summary, small().summary, check_exact=True)
    set_id = read_manifest(tmp_path / name)["set_id"]
    assert_frame_equal(scan_table(tmp_path / name, "summary", set_id).collect(), small().summary, check_exact=True)
    assert_frame_equal(read_table(tmp_path / name, "summary", set_id), small().summary, check_exact=True)


@pytest.mark.parametrize("contents", [b"", b"PAR1 no PAR1", None], ids=["empty", "damaged", "gone"])
def test_a_file_that_cannot_be_read_is_told_when_it_is_scanned(contents: bytes | None, tmp_path: Path) -> None:
    path = tmp_path / "images.parquet"
    if contents is not None:
        path.write_bytes(contents)
    for function in (scan_table, read_table):
        with pytest.raises(FormatError, match=r"images\.parquet: cannot be read as Parquet \(.*\); evaluate again$") as caught:
            function(tmp_path, "images", None)
        assert str(caught.value).startswith(str(path)) and "\n" not in str(caught.value)


REPLACED = r"run: another evaluation was written to this folder while it was being read; read it again$"

# what is asked of an evaluation after another one took its place
ASKED: dict[str, Callable[[apf.Evaluation], object]] = {
    "detections": lambda ev: ev.detections,
    "metrics": lambda ev: ev.metrics,
    "dataset": lambda ev: ev.dataset,
    "matches": lambda ev: ev.matches(),
    "sql": lambda ev: ev.sql("SELECT count(*) FROM detections"),
    "written again": lambda ev: ev.write_parquet("again"),
    "a database": lambda ev: ev.write_duckdb("again.duckdb"),
}


@pytest.mark.slow(every=True)
@pytest.mark.parametrize("ask", ASKED.values(), ids=ASKED)
def test_two_evaluations_are_never_mixed(ask: Callable[[apf.Evaluation], object], tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    small(0.9).write_parquet("run")
    evaluation = apf.read_evaluation("run")
    summary = evaluation.summary
    small(0.4).write_parquet("run")
    with pytest.raises(FormatError, match=REPLACED):
        ask(evaluation)
    assert_frame_equal(evaluation.summary, summary)  # what was read before stays
    assert apf.read_evaluation("run").detections["score"].max() == 0.5
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run"]


@pytest.mark.slow
def test_a_plan_that_is_collected_later_is_of_the_same_set(tmp_path: Path) -> None:
    small(0.9).write_parquet(tmp_path / "run")
    set_id = read_manifest(tmp_path / "run")["set_id"]
    plan = scan_table(tmp_path / "run", "detections", set_id).filter(pl.col("score") > 0.6).select("score")
    assert plan.collect().to_series().to_list() == [0.9]
    small(0.8).write_parquet(tmp_path / "run")
    for engine in ("in-memory", "streaming"):
        with pytest.raises(FormatError, match=REPLACED):
            plan.collect(engine=engine)  # type: ignore[call-overload]


@pytest.mark.slow
def test_a_set_that_is_replaced_while_its_manifest_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small(0.9).write_parquet(tmp_path / "run")
    is_file = parquet.is_file

    def replaced_meanwhile(path: Path) -> bool:
        if path.suffix == ".parquet":
            monkeypatch.undo()
            write_tables(tmp_path / "run", {"images": pl.DataFrame({"a": [1]})}, {"kind": "detection"})
        return is_file(path)

    monkeypatch.setattr(parquet, "is_file", replaced_meanwhile)
    with pytest.raises(FormatError, match=REPLACED):
        apf.read_evaluation(tmp_path / "run")


@pytest.mark.slow
@pytest.mark.parametrize("becomes", ["another set", "nothing", "something else"])
def test_a_place_that_changes_while_it_is_looked_at(becomes: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "run"
    small(0.9).write_parquet(folder)
    find = parquet.find_manifest

    def changed_meanwhile(at: Path) -> Any:
        manifest = find(at)
        monkeypatch.undo()
        if becomes == "another set":  # which has files that the first one does not name
            write_tables(folder, {"more": pl.DataFrame({"a": [1]})}, {"kind": "detection"})
        else:
            shutil.rmtree(folder)
            if becomes == "something else":
                only(tmp_path, "thesis.txt")
        return manifest

    monkeypatch.setattr(parquet, "find_manifest", changed_meanwhile)
    if becomes == "something else":
        with pytest.raises(OutputError, match=r"holds something else \(thesis\.txt\)"):
            small(0.8).write_parquet(folder)
        assert {path.name for path in folder.iterdir()} == {"thesis.txt"}
    else:
        small(0.8).write_parquet(folder)
        assert apf.read_evaluation(folder).detections["score"].max() == 0.8


def replace_once_it_is_looked_at(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let another writer replace the set between the reading of its manifest and that of its tables."""
    find = tables.find_manifest

    def replaced_meanwhile(folder: Path) -> Any:
        manifest = find(folder)
        monkeypatch.undo()
        street().write_parquet(run)
        return manifest

    monkeypatch.setattr(tables, "find_manifest", replaced_meanwhile)


@pytest.mark.slow
def test_a_set_that_is_read_as_a_data_set_is_of_one_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small(0.9).write_parquet(tmp_path / "run")
    replace_once_it_is_looked_at(tmp_path / "run", monkeypatch)
    with pytest.raises(FormatError, match=REPLACED):
        Parquet().read(tmp_path / "run")
    assert apf.read_dataset(tmp_path / "run").images.height == 300


@pytest.mark.slow
def test_a_set_replaced_after_a_look_is_read_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small(0.9).write_parquet(tmp_path / "run")
    before = apf.read_dataset(tmp_path / "run")
    replace_once_it_is_looked_at(tmp_path / "run", monkeypatch)
    assert apf.read_dataset(tmp_path / "run").images.equals(before.images)


@pytest.mark.slow
def test_a_table_of_another_set_is_refused(tmp_path: Path) -> None:
    small(0.9).write_parquet(tmp_path / "run")
    small(0.8).write_parquet(tmp_path / "other")
    shutil.copy(tmp_path / "other" / "detections.parquet", tmp_path / "run")
    with pytest.raises(
        FormatError, match=r"detections\.parquet: does not belong to the evaluation in manifest\.json; evaluate again$"
    ):
        apf.read_evaluation(tmp_path / "run")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["../../secret", "/etc/secret", "..", "a/b", "a\\b", "", "a.b", "c:secret"])
def test_a_manifest_names_tables_in_its_folder_alone(name: str, tmp_path: Path) -> None:
    small().write_parquet(tmp_path / "runs" / "run")
    pl.DataFrame({"a": [1]}).write_parquet(tmp_path / "secret.parquet")
    manifest = tmp_path / "runs" / "run" / "manifest.json"
    tables = json.loads(manifest.read_text())["tables"]
    edit_manifest(manifest.parent, tables=tables | {name: 1})
    with pytest.raises(FormatError, match=r"manifest\.json is damaged, no table is called ") as caught:
        apf.read_evaluation(manifest.parent)
    assert repr(name) in str(caught.value)


@pytest.mark.slow
def test_links_to_tables_are_followed(tmp_path: Path) -> None:
    """Download caches keep files elsewhere, and links to them in the folder."""
    small().write_parquet(tmp_path / "cache")
    (tmp_path / "run").mkdir()
    for path in (tmp_path / "cache").iterdir():
        (tmp_path / "run" / path.name).symlink_to(path)
    assert_frame_equal(apf.read_evaluation(tmp_path / "run").summary, small().summary)


# a frame, and others that hold something else
DIFFERENT: dict[str, tuple[pl.DataFrame, list[pl.DataFrame]]] = {
    "name, dtype, order, length": (
        pl.DataFrame({"a": [1, 2]}),
        [
            pl.DataFrame({"b": [1, 2]}),
            pl.DataFrame({"a": [1, 2]}, {"a": pl.Int32}),
            pl.DataFrame({"a": [1, 2]}, {"a": pl.UInt64}),
            pl.DataFrame({"a": [1.0, 2.0]}),
            pl.DataFrame({"a": ["1", "2"]}),
            pl.DataFrame({"a": [2, 1]}),
            pl.DataFrame({"a": [1, 2, 0]}),
            pl.DataFrame({"a": [1]}),
        ],
    ),
    "columns": (
        pl.DataFrame({"a": [1], "b": [2]}),
        [pl.DataFrame({"b": [2], "a": [1]}), pl.DataFrame({"a": [1]}), pl.DataFrame({"a": [1], "b": [2], "c": [3]})],
    ),
    "no rows": (
        pl.DataFrame(schema={"a": pl.Int64}),
        [pl.DataFrame(), pl.DataFrame(schema={"a": pl.String}), pl.DataFrame(schema={"b": pl.Int64})],
    ),
    "nulls of numbers": (
        pl.DataFrame({"a": [0, None, 0]}),
        [pl.DataFrame({"a": [0, 0, 0]}), pl.DataFrame({"a": [0, 0, None]}), pl.DataFrame({"a": [None, None, 0]})],
    ),
    "nulls and texts": (
        pl.DataFrame({"a": ["ab", "c", ""]}),
        [pl.DataFrame({"a": ["a", "bc", ""]}), pl.DataFrame({"a": ["ab", "c", None]}), pl.DataFrame({"a": ["ab", "", "c"]})],
    ),
    "flags": (pl.DataFrame({"a": [False]}), [pl.DataFrame({"a": [True]}), pl.DataFrame({"a": [None]}, {"a": pl.Boolean})]),
    "lists": (
        pl.DataFrame({"a": [[1], [2, 3], []]}),
        [
            pl.DataFrame({"a": [[1, 2], [3], []]}),
            pl.DataFrame({"a": [[1], [2, 3], None]}),
            pl.DataFrame({"a": [[1], [2, 3], [None]]}),
            pl.DataFrame({"a": [[1], [2, 4], []]}),
            pl.DataFrame({"a": [[1.0], [2.0, 3.0], []]}),
        ],
    ),
    "structs": (
        pl.DataFrame({"a": [{"x": 1}, None]}),
        [
            pl.DataFrame({"a": [{"x": 1}, {"x": None}]}),
            pl.DataFrame({"a": [{"y": 1}, None]}),
            pl.DataFrame({"a": [{"x": 2}, None]}),
        ],
    ),
    "enums": (
        pl.DataFrame({"a": ["x"]}, {"a": pl.Enum(["x", "y"])}),
        [pl.DataFrame({"a": ["y"]}, {"a": pl.Enum(["x", "y"])}), pl.DataFrame({"a": ["x"]}, {"a": pl.Enum(["x"])})],
    ),
    "times": (
        pl.DataFrame({"a": [0]}, {"a": pl.Datetime("us")}),
        [pl.DataFrame({"a": [0]}, {"a": dtype}) for dtype in (pl.Datetime("ms"), pl.Datetime("us", "UTC"), pl.Duration("us"))],
    ),
    "bytes": (pl.DataFrame({"a": [b"ab", b"c"]}), [pl.DataFrame({"a": [b"a", b"bc"]}), pl.DataFrame({"a": ["ab", "c"]})]),
}  # fmt: skip


@pytest.mark.parametrize(("frame", "others"), DIFFERENT.values(), ids=DIFFERENT)
def test_content_hash_tells_frames_apart(frame: pl.DataFrame, others: list[pl.DataFrame], tmp_path: Path) -> None:
    hashes = {content_hash(one) for one in [frame, *others]}
    assert len(hashes) == 1 + len(others)
    if frame.width:
        frame.write_parquet(tmp_path / "frame.parquet")
        assert content_hash(pl.read_parquet(tmp_path / "frame.parquet")) == content_hash(frame)
    in_rows = [frame.slice(row, 1) for row in range(frame.height)]
    assert content_hash(pl.concat(in_rows, rechunk=False) if in_rows else frame.clone()) == content_hash(frame)
    padded = pl.concat([frame, frame, frame])
    assert content_hash(padded.slice(frame.height, frame.height)) == content_hash(frame)


def test_content_hash_sees_nothing_below_a_null_and_one_nan() -> None:
    frame = pl.DataFrame({"a": [1.0, 7.0]}).with_columns(b=pl.col("a").cast(pl.String))
    hidden = frame.select(pl.when(pl.col("a") < 5).then(pl.all()))
    assert content_hash(hidden) == content_hash(pl.DataFrame({"a": [1.0, None], "b": ["1.0", None]}))
    quiet, negative = (
        pl.Series("a", struct.unpack("<d", (0x7FF8000000000000 | bits).to_bytes(8, "little"))) for bits in (0, 1 << 63)
    )
    assert content_hash(quiet.to_frame()) == content_hash(negative.to_frame())


def test_content_hash_is_the_same_everywhere() -> None:
    parts = [
        b"[2, 2]",
        b'"a"', b'["Int32", "", "", "", "", "", 2, 1]', b"\x00\x01", struct.pack("<ii", 5, 0),
        b'"b"', b'["String", "", "", "", "", "", 2, 0]',
        b'["Int64", "", "", "", "", "", 2, 0]', struct.pack("<qq", 2, 1), "éx".encode(),
    ]  # fmt: skip
    frame = pl.DataFrame({"a": [5, None], "b": ["é", "x"]}, {"a": pl.Int32, "b": pl.String})
    assert content_hash(frame) == hashlib.sha256(b"".join(parts)).hexdigest()
