"""`apframe eval --shards`: the same output as for files, and one line where something is wrong."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import polars as pl
import pytest

import apframe as apf
from tests.cli.test_command import RESULTS, TRUTH, command

Capture, Patch = pytest.CaptureFixture[str], pytest.MonkeyPatch


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample set in three shards."""
    folder = tmp_path_factory.mktemp("sharded") / "shards"
    apf.write_shards(TRUTH, RESULTS, folder, n=3)
    return folder


@pytest.fixture
def shards(written: Path, tmp_path: Path, monkeypatch: Patch) -> Path:
    """A copy in the working folder, which is called shards."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(written, tmp_path / "shards")
    return tmp_path / "shards"


@pytest.mark.slow
@pytest.mark.parametrize("options", [
    [], ["--json"], ["--rules", "--protocol", "voc2012"], ["--by", "weather,supercategory", "--csv"],
    ["--where", "weather = 'fog' AND name = 'car'"], ["--categories", "car,van", "--agnostic", "--iou-thresholds", "0.5"],
    ["--memory", "1"], ["--work", "work"],
], ids=" ".join)  # fmt: skip
def test_the_output_is_that_of_files(options: list[str], shards: Path, capsys: Capture, monkeypatch: Patch) -> None:
    own = [] if options[:1] in (["--memory"], ["--work"]) else options
    expected = command(capsys, monkeypatch, "eval", TRUTH, RESULTS, *own)
    assert command(capsys, monkeypatch, "eval", "--shards", "shards/*", *options) == expected
    assert expected[0] == 0
    assert (shards.parent / "work").exists() is ("--work" in options)


@pytest.mark.slow
def test_objects_are_read_again_with_a_warning(shards: Path, capsys: Capture, monkeypatch: Patch) -> None:
    expected = command(capsys, monkeypatch, "eval", TRUTH, RESULTS, "--where", "truncated")
    code, out, err = command(capsys, monkeypatch, "eval", "--shards", str(shards), "--where", "truncated")
    assert (code, out) == expected[:2]
    assert all(line.startswith("warning: ") and "3 shards" in line for line in err.splitlines()) and err


@pytest.mark.slow
@pytest.mark.parametrize("paths", [
    ["shards"], ["shards/"], ["shards/*/"], ["./shards/0*"],
    ["shards/00000", "shards/00001", "shards/00002", "shards/categories.parquet", "shards/shards.json"],
    ["shards/00002", "shards/0000[01]"], ["shards/*2", "shards/*0", "shards/*1"],
], ids=" ".join)  # fmt: skip
def test_shards_are_named_as_one_likes(paths: list[str], shards: Path, capsys: Capture, monkeypatch: Patch) -> None:
    (shards / "notes.txt").write_text("what else is there")
    expected = command(capsys, monkeypatch, "eval", TRUTH, RESULTS)
    assert command(capsys, monkeypatch, "eval", "--shards", *paths) == expected


@pytest.mark.slow
def test_two_patterns_are_pairs_of_files(tmp_path: Path, capsys: Capture, monkeypatch: Patch) -> None:
    truth, detections = json.loads(Path(TRUTH).read_text()), json.loads(Path(RESULTS).read_text())
    for number in range(2):
        images = [image for image in truth["images"] if image["id"] % 2 == number]
        annotations = [row for row in truth["annotations"] if row["image_id"] % 2 == number]
        (tmp_path / f"gt{number}.json").write_text(json.dumps(truth | {"images": images, "annotations": annotations}))
        (tmp_path / f"dt{number}.json").write_text(json.dumps([row for row in detections if row["image_id"] % 2 == number]))
    expected = command(capsys, monkeypatch, "eval", TRUTH, RESULTS, "--json")
    patterns = [str(tmp_path / "gt*"), str(tmp_path / "dt*")]
    assert command(capsys, monkeypatch, "eval", "--shards", *patterns, "--json", "--gt-format", "coco") == expected


@pytest.mark.slow
def test_an_evaluation_of_shards_is_stored(shards: Path, capsys: Capture, monkeypatch: Patch) -> None:
    options = ["--name", "a", "--tag", "lr=.1", "--matches", "0.5"]
    command(capsys, monkeypatch, "eval", TRUTH, RESULTS, "--out", "whole", *options)
    code, _, err = command(capsys, monkeypatch, "eval", "--shards", str(shards), "--out", "parts", *options)
    assert code == 0 and all(line.startswith("warning: ") for line in err.splitlines()) and err
    expected, found = (
        command(capsys, monkeypatch, "sql", name, "SELECT * FROM matches", "--csv") for name in ("whole", "parts")
    )
    assert found == expected


@pytest.mark.slow
def test_an_empty_shard(shards: Path, capsys: Capture, monkeypatch: Patch) -> None:
    empty = shards / "00003"
    empty.mkdir()
    for table in ("images", "annotations", "detections"):
        pl.read_parquet(shards / "00000" / f"{table}.parquet").clear().write_parquet(empty / f"{table}.parquet")
    expected = command(capsys, monkeypatch, "eval", TRUTH, RESULTS)
    assert command(capsys, monkeypatch, "eval", "--shards", "shards/*") == expected


@pytest.mark.slow
def test_damaged_shards_stop_it_or_are_left_out(shards: Path, capsys: Capture, monkeypatch: Patch) -> None:
    (shards / "00001" / "detections.parquet").write_bytes(b"PAR1")
    code, out, err = command(capsys, monkeypatch, "eval", "--shards", "shards")
    assert (code, out) == (1, "") and err.count("\n") == 1
    assert err.startswith("error: shard 00001: shards/00001/detections.parquet: cannot be read ")
    code, out, err = command(capsys, monkeypatch, "eval", "--shards", "shards", "--skip-bad-shards")
    assert code == 0 and "left out: 1 damaged shard of 3: '00001'" in out
    assert err.startswith("warning: left out: 1 damaged shard of 3: '00001'; the first one: shard 00001: ")
    code, out, err = command(capsys, monkeypatch, "eval", "--shards", "shards", "--skip-bad-shards", "--json")
    kept = apf.evaluate_shards(["shards/00000", "shards/00002"]).summary
    assert json.loads(out) == dict(kept.rows()) | {"json_version": 1}


@pytest.mark.slow
def test_bad_usage_and_bad_data(shards: Path, capsys: Capture, monkeypatch: Patch) -> None:
    (shards.parent / "empty").mkdir()
    cases = [
        (["--shards"], 2, "the ground truth (GT) is missing: apframe eval GT DT"),
        (["--shards", "shardz/*"], 1, "shardz/*: no file or folder matches this pattern\n"),
        (["--shards", "shardz"], 1, "shardz: there is no such file or folder\n"),
        (["--shards", "empty"], 1, "empty: contains neither shards.json nor images.parquet; name a folder that"),
        (["--shards", "empty/*"], 1, "empty/*: no file or folder matches this pattern\n"),
        (["--shards", TRUTH], 1, f"{TRUTH}: is not a folder with shards; write shards with `apframe shard`"),
        (["--shards", "shards/shards.json"], 1, "shards/shards.json: is not a folder with shards; "),
        (["--shards", "shards", RESULTS], 2, "shards is a folder of shards, which have their detections already; leave out"),
        (["--shards", TRUTH, RESULTS, RESULTS], 2, "3 files were named, and none of them is a folder with a shard; write"),
        (["--shards", "shards", "--split", "val"], 2, "--split is about files; shards are tables, which are read without it"),
        (["--shards", "shards", "--memory", "much"], 2, '--memory is a number of bytes or text such as "4GB", not \'much\'\n'),
        (["--shards", "shards", "--engine", "rai"], 2, '--engine is "local" or "ray", not \'rai\'; did you mean ray?\n'),
        (["--shards", "shards", "--work", "shards/shards.json"], 1, "shards/shards.json: cannot be written (file exists); "
         "name another folder with --work\n"),
        (["--shards", "shards", "--categories", "cra"], 2, "no category 'cra'; did you mean car?\n"),
        (["--shards", "shards", "--by", "wether"], 2, "images, categories, annotations, detections: no column 'wether'; did"),
        (["--shards", "shards", "--image-attributes", "no.csv"], 1, "image attributes: cannot read no.csv as CSV: no such"),
        (["--shards", "shards", "--shard"], 2, "No such option: --shard; did you mean --shards?"),
        ([TRUTH, RESULTS, "--memory", "4GB"], 2, "--memory needs --shards; it applies to data in shards\n"),
        ([TRUTH, RESULTS, "--skip-bad-shards"], 2, "--skip-bad-shards needs --shards; it applies to data in shards\n"),
        ([TRUTH, RESULTS, "--engine", "local"], 2, "--engine needs --shards; it applies to data in shards\n"),
        ([TRUTH, RESULTS, "--work", "work"], 2, "--work needs --shards; it applies to data in shards\n"),
        ([TRUTH, RESULTS, RESULTS], 2, f"eval takes one model, not 2: use apframe compare {TRUTH} {RESULTS} {RESULTS} (see"),
        (["shards", "shards", "shards"], 2, "eval takes one model, not 2: use apframe compare shards shards "
         "shards; shards need --shards (see"),
        (["shards"], 2, "shards has data in shards; evaluate them with apframe eval --shards shards\n"),
        (["shards/00000", RESULTS], 2, "shards/00000 has data in shards; evaluate them with apframe eval --shards"),
        (["shards/*"], 2, "shards/* is a pattern, but GT is one file or folder; evaluate data in shards with apframe eval "
         "--shards 'shards/*'\n"),
        (["gt/*.json", "dt/*.json"], 2, "gt/*.json is a pattern, but GT is one file or folder; evaluate pairs of files with "
         "apframe eval --shards 'gt/*.json' 'dt/*.json'\n"),
        ([TRUTH, "dt/*.json"], 2, "dt/*.json is a pattern, but DT is one file or folder; evaluate pairs of files with"),
        (["--shards", "shards", "voc2012"], 2, "voc2012 is a protocol, not a file of detections; write --protocol voc2012"),
    ]  # fmt: skip
    for arguments, code, message in cases:
        found, out, err = command(capsys, monkeypatch, "eval", *arguments)
        assert (found, out) == (code, "") and err.startswith(f"error: {message}"), err
        assert err.count("\n") == 1
    assert sorted(path.name for path in shards.parent.iterdir()) == ["empty", "shards"]


@pytest.mark.parametrize("arguments", [
    ["errors", "shards"], ["confusion", "shards/*"], ["compare", "shards", "shards"], ["compare", TRUTH, RESULTS, "shards"],
], ids=" ".join)  # fmt: skip
def test_other_commands_take_shards_that_were_evaluated(
    arguments: list[str], shards: Path, capsys: Capture, monkeypatch: Patch
) -> None:
    assert shards.exists()
    code, out, err = command(capsys, monkeypatch, *arguments)
    named = arguments[1] if "shards" in arguments[1] else "shards"
    quoted = f"'{named}'" if "*" in named else named
    remedy = f"store their evaluation with apframe eval --shards {quoted} --out DIR, then name DIR to apframe {arguments[0]}"
    assert (code, out, err) == (2, "", f"error: {named} has data in shards; {remedy}\n")


@pytest.mark.slow
def test_tables_beside_results_are_ground_truth(tmp_path: Path, capsys: Capture, monkeypatch: Patch) -> None:
    dataset = apf.read_dataset(TRUTH)
    for name in ("images", "categories", "annotations"):
        getattr(dataset, name).write_parquet(tmp_path / f"{name}.parquet")
    code, out, err = command(capsys, monkeypatch, "eval", str(tmp_path), str(Path(RESULTS).resolve()), "--json")
    assert (code, err) == (0, "")
    assert json.loads(out) == dict(apf.evaluate(TRUTH, RESULTS).summary.rows()) | {"json_version": 1}
