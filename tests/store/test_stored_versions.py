"""Evaluations that 0.5.0 stored are read, stand beside those of today, and can be rewritten."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import apframe as apf
from apframe.exceptions import FormatError, ParameterError, QueryError
from apframe.protocols.protocol import Protocol
from apframe.store.parquet import read_manifest
from tests.cli.test_command import command
from tests.stored.write import evaluations

STORED = Path(__file__).parents[1] / "stored" / "0.5"
QUERY = "SELECT outcome, count(*) AS n FROM matches GROUP BY ALL ORDER BY ALL"


def manifest_of(folder: Path) -> dict[str, Any]:
    return dict(json.loads((folder / "manifest.json").read_text()))


def assert_same_detection(stored: apf.Evaluation) -> None:
    today, _ = evaluations()
    assert stored.protocol == today.protocol and stored.conditions == ()
    assert_frame_equal(stored.summary, today.summary, rel_tol=0, abs_tol=1e-15)  # means are added up in another order
    for name in ("metrics", "pairs", "assignments", "detections"):
        assert_frame_equal(getattr(stored, name), getattr(today, name), check_exact=True)
    assert_frame_equal(stored.dataset.annotations, today.dataset.annotations, check_exact=True)
    assert_frame_equal(stored.by("weather"), today.by("weather"), check_exact=True)
    assert_frame_equal(stored.sql(QUERY), today.sql(QUERY), check_exact=True)


def assert_same_search(stored: apf.RunEvaluation) -> None:
    _, today = evaluations()
    assert stored.measures == today.measures and stored.options == today.options
    for name in ("per_query", "summary", "coverage", "matches", "judgements", "queries"):
        assert_frame_equal(getattr(stored, name), getattr(today, name), check_exact=True)
    assert_frame_equal(stored.by("topic"), today.by("topic"), check_exact=True)


@pytest.mark.slow
def test_what_an_earlier_version_stored_is_read() -> None:
    written_by = {kind: manifest_of(STORED / kind) for kind in ("detection", "search")}
    assert all(each["versions"]["apframe"] == "0.5.0" and "set_id" not in each for each in written_by.values())
    assert all(each["schema_version"] == 4 for each in written_by.values())
    assert_same_detection(apf.read_evaluation(STORED / "detection"))
    assert_same_search(apf.read_run_evaluation(STORED / "search"))


@pytest.mark.slow
def test_runs_of_both_versions_can_be_compared(tmp_path: Path) -> None:
    shutil.copytree(STORED / "detection", tmp_path / "earlier")
    evaluations()[0].write_parquet(tmp_path / "today")
    runs = apf.scan_runs(tmp_path / "*")  # without a warning that they differ
    assert runs.runs["data"].n_unique() == 1
    numbers = runs.leaderboard().select(pl.selectors.numeric().round(14))
    assert numbers.n_unique() == 1 and numbers.height == 2
    assert runs.sql("SELECT count(*) FROM detections").item() == 10


OF_0_5 = (
    "COCO", "VOC2007", "VOC2012", "LVIS", "OPEN_IMAGES", "OPEN_IMAGES_CHALLENGE", "PROPOSALS", "DOTA", "ACTIVITYNET",
    "CROWDPOSE",
)  # fmt: skip


def as_of_0_5(protocol: Protocol) -> dict[str, Any]:
    """A protocol of today as 0.5.0 stored it, by flags."""
    today, rules = json.loads(json.dumps(protocol.as_dict())), {type(rule).__name__ for rule in protocol.rules}
    same = {
        name: today[name] for name in ("citation", "iou_type", "similarity", "iou_thresholds", "max_detections", "agnostic")
    }
    crowds = {"CrowdsIgnored": "ignored", "CrowdsCountOnce": "counted"}
    definition = today["metrics"][0]["definition"]
    return same | {
        "name": protocol.name,
        "matching": protocol.matcher.name,
        "strict": protocol.matcher.strict,
        "ties": protocol.matcher.ties,
        "crowds": next((crowd for rule, crowd in crowds.items() if rule in rules), "ordinary"),
        "ignores": [
            flag for flag, rule in (("ignore", "IgnoreFlagged"), ("no_keypoints", "IgnoreWithoutKeypoints")) if rule in rules
        ],
        "definition": {"name": definition.pop("definition")} | definition,
        "area_ranges": [[each["name"], each["low"], each["high"]] for each in today["ranges"]],
        "per_image": "LimitPerImage" in rules,
        "judged_only": "JudgedOnly" in rules,
        "expands_hierarchy": "ExpandHierarchy" in rules,
        "detected_images_only": False,
        "with_area_only": "AnnotationsWithArea" in rules,
        "parts": [line for line in today["headlines"] if not isinstance(line, str)],
        "report": [line for line in today["headlines"] if isinstance(line, str)],
    }


@pytest.mark.slow
def test_a_protocol_of_ones_own_keeps_its_malformed_rows(tmp_path: Path) -> None:
    shutil.copytree(STORED / "detection", tmp_path, dirs_exist_ok=True)
    manifest = manifest_of(tmp_path)
    assert as_of_0_5(apf.COCO) == manifest["protocol"]
    for published in (apf.PUBLISHED[name] for name in OF_0_5):
        own = as_of_0_5(published) | {"name": "OWN", "max_detections": [300]}
        (tmp_path / "manifest.json").write_text(json.dumps(manifest | {"protocol": own}))
        read = Protocol.from_dict(read_manifest(tmp_path)["protocol"])
        assert read.malformed == published.malformed, published.name
        lacking = {rule for rule in published.rules if rule not in read.rules}
        assert {type(rule).__name__ for rule in lacking} <= {"DetectionsWithArea", "RequireKnownCategories"}  # not of 0.5.0


@pytest.mark.slow
def test_upgrade_rewrites_what_an_earlier_version_stored(tmp_path: Path) -> None:
    for kind in ("detection", "search"):
        folder = Path(shutil.copytree(STORED / kind, tmp_path / kind))
        before = manifest_of(folder)
        assert apf.upgrade_evaluation(folder)
        after = manifest_of(folder)
        assert after["schema_version"] == 4 and len(after["set_id"]) == 32
        kept = ("created", "versions", "tables", "kind", *(["category_ids"] if kind == "detection" else ["measures"]))
        assert {key: after[key] for key in kept} == {key: before[key] for key in kept}
        assert not apf.upgrade_evaluation(folder)
        assert manifest_of(folder) == after
    assert_same_detection(apf.read_evaluation(tmp_path / "detection"))
    assert_same_search(apf.read_run_evaluation(tmp_path / "search"))
    today, _ = evaluations()
    today.write_parquet(tmp_path / "today")
    names = ("format", "schema_version", "kind", "protocol", "inputs", "category_ids", "conditions", "tables")
    upgraded, written = manifest_of(tmp_path / "detection"), manifest_of(tmp_path / "today")
    assert {name: upgraded[name] for name in names} == {name: written[name] for name in names}


@pytest.mark.slow
def test_upgrade_from_the_shell(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    folders = [str(shutil.copytree(STORED / kind, tmp_path / kind)) for kind in ("detection", "search")]
    code, out, err = command(capsys, monkeypatch, "upgrade", *folders)
    assert (code, err) == (0, "") and out == "".join(f"{folder}: rewritten\n" for folder in folders)
    code, out, err = command(capsys, monkeypatch, "upgrade", folders[0])
    assert (code, out, err) == (0, f"{folders[0]}: already up to date\n", "")
    code, out, err = command(capsys, monkeypatch, "upgrade", str(tmp_path))
    assert (code, out) == (1, "") and "not an apframe evaluation" in err


def test_a_set_that_is_too_early_is_left_alone(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(STORED / "detection", tmp_path / "run"))
    text = (folder / "manifest.json").read_text().replace('"schema_version": 4', '"schema_version": 3')
    (folder / "manifest.json").write_text(text)
    with pytest.raises(FormatError, match=r"has schema version 3; this apframe reads version 4; evaluate again$"):
        apf.upgrade_evaluation(folder)
    assert (folder / "manifest.json").read_text() == text


def labelled_runs(folder: Path) -> apf.RunSets:
    evaluation, _ = evaluations()
    evaluation.write_parquet(folder / "a", name="baseline", tags={"lr": 1, "epoch": 3, "note": "x", "run": "r", "AP": True})
    evaluation.write_parquet(folder / "b", tags={"lr": 0.1, "epoch": 7, "note": 5})
    evaluation.write_parquet(folder / "c")
    return apf.scan_runs(folder / "*")


@pytest.mark.slow
def test_names_and_tags_are_columns_of_the_leaderboard(tmp_path: Path) -> None:
    runs = labelled_runs(tmp_path)
    table = runs.leaderboard()
    shown = ["run", "name", "lr", "epoch", "note", "tags.run", "tags.AP", "AP"]
    assert table.columns[:8] == shown
    assert table.select(shown[:-1]).rows() == [
        ("a", "baseline", 1.0, 3, "x", "r", True),
        ("b", None, 0.1, 7, "5", None, None),
        ("c", None, None, None, None, None, None),
    ]
    assert runs.runs["name"].to_list() == ["baseline", None, None]
    assert runs.sql("SELECT run FROM runs WHERE lr < 1").rows() == [("b",)]
    assert "<td>baseline</td>" in runs._repr_html_()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("where", "selected"),
    [
        ("epoch > 5", ["b"]), ("name = 'baseline'", ["a"]), ("lr IS NULL -- none", ["c"]), ("epoch < 0", []),
        ("apframe = (SELECT max(apframe) FROM runs) AND n_images = 2", ["a", "b", "c"]), ("run = 'a' OR epoch = 7", ["a", "b"]),
    ],
)  # fmt: skip
def test_a_leaderboard_of_selected_runs(where: str, selected: list[str], tmp_path: Path) -> None:
    runs = labelled_runs(tmp_path)
    table = runs.leaderboard(where=where)
    assert table["run"].to_list() == selected
    assert table.columns == runs.leaderboard().columns


@pytest.mark.slow
def test_conditions_that_cannot_be_taken(tmp_path: Path) -> None:
    runs = labelled_runs(tmp_path)
    with pytest.raises(QueryError, match=r'"epcoh" not found'):
        runs.leaderboard(where="epcoh > 5")
    with pytest.raises(ParameterError, match=r"where is a condition in SQL, not 5"):
        runs.leaderboard(where=5)  # type: ignore[arg-type]


@pytest.mark.slow(every=True)
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"name": ""}, r"name must be a non-empty text, not ''"),
        ({"name": 7}, r"name must be a non-empty text, not 7"),
        ({"tags": ["a"]}, r"tags is a dict such as .*, not \['a'\]"),
        ({"tags": {1: "a"}}, r"tags: names must be texts, not 1"),
        ({"tags": {"lr": float("nan")}}, r"tags: lr must be a text, a finite number below 2\^63 or a flag, not nan"),
        ({"tags": {"lr": None}}, r"tags: lr must be a text, a finite number below 2\^63 or a flag, not None"),
        ({"tags": {"n": 2**64}}, r"tags: n must be a text, a finite number below 2\^63 or a flag"),
    ],
)
def test_names_and_tags_that_cannot_be_stored(options: dict[str, Any], message: str, tmp_path: Path) -> None:
    for evaluation in evaluations():
        with pytest.raises(ParameterError, match=message):
            evaluation.write_parquet(tmp_path / "run", **options)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_tags_that_were_damaged_are_told(tmp_path: Path) -> None:
    labelled_runs(tmp_path)
    path = tmp_path / "b" / "manifest.json"
    path.write_text(path.read_text().replace('"epoch": 7', '"epoch": [7]'))
    with pytest.raises(
        FormatError, match=r"manifest\.json is damaged \(ParameterError: tags: epoch must be a text, a finite number"
    ):
        apf.scan_runs(tmp_path / "*")


@pytest.mark.slow
def test_search_runs_keep_name_and_tags_when_they_are_upgraded(tmp_path: Path) -> None:
    _, evaluation = evaluations()
    evaluation.write_parquet(tmp_path / "run", name="bm25", tags={"k1": 0.9})
    path = tmp_path / "run" / "manifest.json"
    assert (manifest_of(path.parent)["name"], manifest_of(path.parent)["tags"]) == ("bm25", {"k1": 0.9})
    shutil.copytree(STORED / "search", tmp_path / "old")
    old = tmp_path / "old" / "manifest.json"
    old.write_text(old.read_text().replace('"kind"', '"name": "bm25", "kind"'))
    apf.upgrade_evaluation(old.parent)
    assert manifest_of(old.parent)["name"] == "bm25"
