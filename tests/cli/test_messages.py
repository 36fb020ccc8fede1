"""--strict: exit status 3 where a warning says that the number is probably wrong, after the number was printed and written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from apframe import exceptions
from apframe.exceptions import ApframeWarning, DoubtfulNumberWarning
from tests.cli.test_command import RESULTS, STREET, TRUTH, command

GOOD = json.loads(Path(RESULTS).read_text())
BAD: dict[str, Any] = {
    "filtered": [row for row in GOOD if row["score"] >= 0.5],
    "empty": [],
    "shifted": [row | {"image_id": row["image_id"] + 1} for row in GOOD if row["image_id"] < 1000],
    "one_class": [row for row in GOOD if row["category_id"] == 1],
    "few_of_one_class": [row for row in GOOD if row["category_id"] == 1][:5],
    "other_categories": [row | {"category_id": row["category_id"] + 100} for row in GOOD],
    "most_other_categories": [row | {"category_id": 99 if row["category_id"] < 12 else 12} for row in GOOD],
    "other_images": [row | {"image_id": row["image_id"] + 1_000_000} for row in GOOD],
    "no_scooter": [row for row in GOOD if row["category_id"] != 10],
}


@pytest.fixture
def bad(tmp_path: Path) -> Path:
    for name, rows in BAD.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(rows))
    lines = {"qrels": ["1 0 a 1", "1 0 b 0"], "run": ["1 Q0 a 1 0.9 r", "1 Q0 b 2 0.5 r"], "other": ["1 Q0 x 1 0.9 r"] * 1}
    lines["rising"] = [f"1 Q0 {name} {rank} {rank / 9} r" for rank, name in enumerate("abcdefgh", 1)]
    for name, text in lines.items():
        (tmp_path / name).write_text("\n".join(text) + "\n")
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("style", [[], ["--json"], ["--by", "name", "--csv"]])
@pytest.mark.parametrize("name", ["filtered", "empty", "one_class"])
def test_a_doubtful_number_is_printed_and_written_first(
    name: str, style: list[str], bad: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ("eval", TRUTH, f"{bad / name}.json", *style)
    code, out, err = command(capsys, monkeypatch, *arguments)
    assert (code, err.count("warning: ")) == (0, err.count("\n"))
    assert command(capsys, monkeypatch, *arguments, "--strict", "--out", str(bad / "stored")) == (3, out, err)
    assert (bad / "stored" / "summary.parquet").is_file()


@pytest.mark.slow(every=True)
@pytest.mark.parametrize(
    ("name", "options", "said"),
    [("other_categories", [], "2,075 of 2,075 detections have an unknown category_id and were dropped"),
     ("other_images", ["--drop-unknown-images"], "2,075 of 2,075 detections have an unknown image_id and were dropped"),
     ("no_scooter", ["--categories", "scooter"], "no detection is left of 2,039 in no_scooter, so everything is missed (43 "),
     ("few_of_one_class", [], "11 of 12 annotated categories have no detections")],
)  # fmt: skip
def test_few_detections_or_none_are_said_once(
    name: str, options: list[str], said: str, bad: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    code, _, err = command(capsys, monkeypatch, "eval", TRUTH, f"{bad / name}.json", *options, "--strict")
    assert (code, err.count("\n"), err.startswith(f"warning: {said}")) == (3, 1, True)


@pytest.mark.slow
def test_most_detections_dropped_are_a_doubt(
    bad: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    few = ["--categories", "12", "--strict"]
    code, _, err = command(capsys, monkeypatch, "eval", TRUTH, str(bad / "most_other_categories.json"), *few)
    assert (code, err.startswith("warning: 1,"), err.count("\n")) == (3, True, 1)


@pytest.mark.slow
@pytest.mark.parametrize("condition", ["weather = 'rain'", "annotations.occlusion < .5"])
def test_a_part_is_as_doubtful_as_the_whole(
    condition: str, bad: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    part, filtered, stored = ("--where", condition, "--strict"), str(bad / "filtered.json"), (str(bad / "a"), str(bad / "b"))
    for path, out in zip((RESULTS, filtered), stored, strict=True):
        command(capsys, monkeypatch, "eval", TRUTH, path, "--out", out)
    few = ("--n-resamples", "40", "--metrics", "AP")
    for arguments in (("eval", TRUTH, filtered), ("compare", TRUTH, RESULTS, filtered, *few), ("compare", *stored, *few)):
        code, _, err = command(capsys, monkeypatch, *arguments, *part)
        assert (code, err.count("was a threshold applied before evaluation?")) == (3, 1)
    assert command(capsys, monkeypatch, "eval", TRUTH, RESULTS, *part)[::2] == (0, "")


@pytest.mark.slow
def test_a_warning_that_is_no_doubt_is_none(
    bad: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A category that the ground truth does not have, and none at all."""
    (bad / "more.json").write_text(json.dumps([*GOOD, GOOD[0] | {"category_id": 99}]))
    code, _, err = command(capsys, monkeypatch, "eval", TRUTH, str(bad / "more.json"), "--strict")
    assert (code, "unknown category_id" in err) == (0, True)
    assert command(capsys, monkeypatch, "eval", TRUTH, RESULTS, "--strict")[::2] == (0, "")


@pytest.mark.slow
def test_compare(bad: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Of files, of stored evaluations, and with a gate that fails, whose status is 4 all the same."""
    few = ("--metrics", "AP", "--strict")
    other, filtered = str(STREET / "model_b.json"), str(bad / "filtered.json")
    for name, path in (("a", RESULTS), ("b", other), ("c", filtered)):
        command(capsys, monkeypatch, "eval", TRUTH, path, "--out", str(bad / name))
    assert command(capsys, monkeypatch, "compare", TRUTH, RESULTS, other, *few)[0] == 0
    assert command(capsys, monkeypatch, "compare", str(bad / "a"), str(bad / "b"), *few)[0] == 0
    for pair in ((TRUTH, RESULTS, filtered), (str(bad / "a"), str(bad / "c"))):
        code, out, err = command(capsys, monkeypatch, "compare", *pair, *few)
        assert (code, "was a threshold applied before evaluation?" in err) == (3, True)
        assert "filtered is worse by 0.1" in out or "c is worse by 0.1" in out
    assert command(capsys, monkeypatch, "compare", TRUTH, RESULTS, filtered, *few, "--fail-if-worse", "AP")[0] == 4


@pytest.mark.slow
@pytest.mark.parametrize(("run", "code"), [("run", 0), ("rising", 3), ("other", 3)])
def test_rank(run: str, code: int, bad: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs have few documents and no low scores as a matter of course; their warnings are about ids and the order."""
    for style in ([], ["--json"], ["--per-query"]):
        outcome = command(capsys, monkeypatch, "rank", str(bad / "qrels"), str(bad / run), *style, "--strict")
        assert (outcome[0], outcome[1] != "", outcome[2] != "") == (code, True, code == 3)


@pytest.mark.slow
def test_errors_keep_their_status(bad: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    (bad / "broken.json").write_text("[{]")
    assert command(capsys, monkeypatch, "eval", TRUTH, str(bad / "broken.json"), "--strict")[0] == 1
    assert command(capsys, monkeypatch, "eval", TRUTH, "--strict")[0] == 2


def test_which_warnings_are_doubts() -> None:
    warnings = {name for name in vars(exceptions) if name.endswith("Warning")}
    doubts = {name for name in warnings if issubclass(getattr(exceptions, name), DoubtfulNumberWarning)}
    assert {name for name in warnings if not issubclass(getattr(exceptions, name), ApframeWarning)} == set()
    assert doubts - {"DoubtfulNumberWarning"} == {
        "NothingMatchesWarning", "RisingScoresWarning", "LowPrecisionWarning", "MissedCategoryWarning", "NoAnnotationsWarning",
        "NoDetectionsWarning", "FilteredResultsWarning", "MissingResultsWarning", "UnitWarning", "BoxFormatWarning",
        "RepeatedImageWarning", "MostlyUnknownCategoriesWarning", "MostlyUnknownImagesWarning",
        "OwnDocumentWarning",
    }  # fmt: skip
