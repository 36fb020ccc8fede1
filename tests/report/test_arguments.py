"""What `write_report` does not take: typed errors, before the work."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

import apframe as apf
from apframe.exceptions import ParameterError
from apframe.report.arguments import keys_of_slices

SEARCH = Path(__file__).parents[2] / "data" / "search"


@pytest.fixture(scope="module")
def run() -> apf.RunEvaluation:
    return apf.evaluate_run(SEARCH / "qrels.txt", SEARCH / "run_lexical.txt", queries=SEARCH / "queries.csv")


@pytest.mark.parametrize("others", [["model_b.json"], [None], [["model_a"]], [3, None]])
def test_only_evaluations_are_reported_on(models: list[apf.Evaluation], tmp_path: Path, others: list[Any]) -> None:
    """None of them may be dropped silently."""
    page = tmp_path / "report.html"
    for given in ([models[0], *others], [*others, models[0]], others):
        with pytest.raises(ParameterError, match=r"a report is about evaluations, not .*; call evaluate or evaluate_run first"):
            apf.write_report(page, *given)
    assert not page.exists()


def test_other_sets_of_evaluations(models: list[apf.Evaluation], run: apf.RunEvaluation, tmp_path: Path) -> None:
    for given in ([models], [tuple(models)], [models[0], models[1:]]):
        with pytest.raises(ParameterError, match="put a \\* in front of the list"):
            apf.write_report(tmp_path / "report.html", *given)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="write a report for each"):
        apf.write_report(tmp_path / "report.html", models[0], run)


@pytest.mark.parametrize("value", [True, 2.5, "x", None, -3])
def test_numbers_of_cards(models: list[apf.Evaluation], tmp_path: Path, value: Any) -> None:
    with pytest.raises(ParameterError, match="max_images is a whole number of at least 0, not"):
        apf.write_report(tmp_path / "report.html", models[0], max_images=value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"title": 3}, "title is a text or None, not 3"),
        ({"sections": ["x"]}, "sections is a list of Section"),
        ({"sections": "xy"}, "sections is a list of Section"),
        ({"embed": True}, "embed needs the folder of the pictures, images="),
        ({"embed": 1}, "embed is True or False, not 1"),
        ({"tables": "x"}, "tables is True or False, not 'x'"),
        ({"by": 3}, "by is a key of slices or a list of them, not 3"),
        ({"names": "x"}, "names is a list of texts"),
    ],
)
def test_other_options(models: list[apf.Evaluation], tmp_path: Path, options: dict[str, Any], message: str) -> None:
    with patch("apframe.report.write.sections_of") as work, pytest.raises(ParameterError, match=message):
        apf.write_report(tmp_path / "report.html", models[0], **options)
    work.assert_not_called()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"by": [["topic"]]}, "by is a column of the queries or a list of columns for search runs, not"),
        ({"by": {"a": "topic = 'x'"}}, "by is a column of the queries or a list"),
        ({"by": "nope"}, "the queries have no column 'nope'"),
        ({"names": "xy"}, "names is a list of texts, one for each run, not 'xy'"),
        ({"names": [3]}, "names is a list of texts, one for each run"),
        ({"names": ["x", "y"]}, "needs 1 name"),
        ({"names": 3}, "names is a list of texts, one for each run"),
    ],
)
def test_search_runs(run: apf.RunEvaluation, tmp_path: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        apf.write_report(tmp_path / "report.html", run, n_resamples=100, **options)


def test_keys_of_slices() -> None:
    assert keys_of_slices({"near": "occlusion < 0.5"}) == [{"near": "occlusion < 0.5"}]
    assert keys_of_slices(bins := apf.bins("occlusion", [0.0, 0.5])) == [bins]
    assert keys_of_slices(("weather", ["weather", "city"])) == ["weather", ["weather", "city"]]
