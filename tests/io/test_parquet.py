"""An evaluation as a folder of Parquet files: whole or not there, the same when read again, and nothing else's place."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import apframe as apf
from apframe.exceptions import FormatError, OutputError

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
    area_range = evaluation.protocol.area_ranges[1][0]
    assert_frame_equal(again.matches(0.75, area_range), evaluation.matches(0.75, area_range), check_exact=True)
    assert_frame_equal(again.curves(0.75), evaluation.curves(0.75), check_exact=True)
    assert_frame_equal(again.sql(QUERY), evaluation.sql(QUERY), check_exact=True)


def test_files_are_plain_parquet_and_counted_in_the_manifest(tmp_path: Path) -> None:
    evaluation = street()
    evaluation.write_parquet(tmp_path / "run")
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert (manifest["format"], manifest["schema_version"]) == ("apframe evaluation", 2)
    for name in TABLES:
        assert pl.read_parquet(tmp_path / "run" / f"{name}.parquet").height == manifest["tables"][name]
    assert pl.read_parquet(tmp_path / "run" / "images.parquet")["weather"].null_count() == 0


def test_an_earlier_run_is_replaced_whole(tmp_path: Path) -> None:
    street().write_parquet(tmp_path / "run")
    small().write_parquet(tmp_path / "run")
    assert set(listing(tmp_path)) == {f"run/{name}" for name in FILES}
    assert apf.read_evaluation(tmp_path / "run").summary.equals(small().summary)


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


@pytest.mark.parametrize(("make", "message"), TAKEN.values(), ids=TAKEN)
def test_a_place_that_is_taken_is_left_alone(make: Callable[[Path], Path], message: str, tmp_path: Path) -> None:
    folder = make(tmp_path)
    before = listing(tmp_path)
    with pytest.raises(OutputError, match=message) as caught:
        small(0.8).write_parquet(folder)
    assert str(caught.value).startswith(f"{folder}: ") and "\n" not in str(caught.value)
    assert listing(tmp_path) == before


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


def test_interrupted_replacing_puts_the_earlier_run_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    street().write_parquet(tmp_path / "run")
    before, rename = listing(tmp_path), Path.rename

    def fails_on_the_new_one(path: Path, target: Path) -> Path:
        if path.name == "new":
            raise OSError(5, "Input/output error")
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", fails_on_the_new_one)
    with pytest.raises(OutputError, match=r"cannot be written \(Input/output error\)"):
        small().write_parquet(tmp_path / "run")
    assert listing(tmp_path) == before


def edit_manifest(folder: Path, **changes: Any) -> None:
    path = folder / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


# what happens to a run, and what reading it says
DAMAGE: dict[str, tuple[Callable[[Path], object], str]] = {
    "a table gone": (lambda at: (at / "pairs.parquet").unlink(), r"pairs\.parquet is missing; evaluate again$"),
    "no manifest": (lambda at: (at / "manifest.json").unlink(), r"not an apframe evaluation, it has no manifest\.json of one"),
    "manifest not JSON": (lambda at: (at / "manifest.json").write_text("{"), "not an apframe evaluation"),
    "manifest a list": (lambda at: (at / "manifest.json").write_text("[]"), "not an apframe evaluation"),
    "another's manifest": (lambda at: edit_manifest(at, format="other"), "not an apframe evaluation"),
    "later version": (lambda at: edit_manifest(at, schema_version=3), "written with schema version 3, this apframe reads 2; "),
    "empty file": (lambda at: (at / "metrics.parquet").write_bytes(b""), r"metrics\.parquet: cannot be read as Parquet \("),
    "damaged file": (lambda at: (at / "images.parquet").write_bytes(b"PAR1 no PAR1"), r"images\.parquet: cannot be read as"),
    "cut file": (
        lambda at: (at / "detections.parquet").write_bytes((at / "detections.parquet").read_bytes()[:-20]),
        r"detections\.parquet: cannot be read as Parquet",
    ),
    "manifest without tables": (
        lambda at: (at / "manifest.json").write_text('{"format": "apframe evaluation", "schema_version": 2}'),
        "evaluate again|not an apframe evaluation",
    ),
    "manifest without version": (
        lambda at: (at / "manifest.json").write_text('{"format": "apframe evaluation"}'),
        "evaluate again|not an apframe evaluation",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("damage", "message"), DAMAGE.values(), ids=DAMAGE)
def test_damaged_run(damage: Callable[[Path], object], message: str, tmp_path: Path) -> None:
    small().write_parquet(tmp_path / "run")
    damage(tmp_path / "run")
    with pytest.raises(FormatError, match=message) as caught:
        apf.read_evaluation(tmp_path / "run")
    assert str(caught.value).startswith(str(tmp_path / "run")) and "\n" not in str(caught.value)


def test_no_run(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"nowhere: there is no such folder$"):
        apf.read_evaluation(tmp_path / "nowhere")
    (tmp_path / "file").write_text("")
    with pytest.raises(FormatError, match=r"file: (there is no such folder|this is a file)"):
        apf.read_evaluation(tmp_path / "file")
    with pytest.raises(FormatError, match="not an apframe evaluation"):
        apf.read_evaluation(tmp_path)
