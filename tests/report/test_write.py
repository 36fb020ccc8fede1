"""`write_report`: the page of the sample set, its numbers, and what cannot be reported on."""

from __future__ import annotations

from pathlib import Path

import pytest

import apframe as apf
from apframe.exceptions import NotComparableError, ParameterError
from tests.report.read_back import number, read_tables


def test_numbers_equal_the_tables_they_come_from(models: list[apf.Evaluation], tmp_path: Path) -> None:
    a, b = models
    text = apf.write_report(tmp_path / "report.html", a, b, by="weather", n_resamples=500).read_text()
    tables = read_tables(text)
    head, *rows = tables["Headline numbers and their differences"]
    wanted = a.compare(b, n_resamples=500)
    for column, name in [("model_a", "estimate_a"), ("model_b", "estimate_b"), ("difference", "difference"), ("to", "high")]:
        at = head.index(column)
        assert [number(row[at]) for row in rows] == [round(value, 3) + 0 for value in wanted[name]]
    by_weather = a.compare(b, by="weather", metrics="AP", n_resamples=500)
    head, *rows = tables["AP by weather"]
    assert [row[0] for row in rows] == by_weather["weather"].to_list()
    assert [number(row[head.index("difference")]) for row in rows] == [round(value, 3) for value in by_weather["difference"]]


def test_the_same_input_gives_the_same_bytes(models: list[apf.Evaluation], tmp_path: Path) -> None:
    once, again = (apf.write_report(tmp_path / f"{n}.html", *models, n_resamples=500, title="x").read_bytes() for n in range(2))
    assert once == again


def test_what_cannot_be_reported_on(models: list[apf.Evaluation], tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="nothing to report on"):
        apf.write_report(tmp_path / "report.html")
    with pytest.raises(NotComparableError):
        apf.write_report(tmp_path / "report.html", models[0], models[1].where(apf_weather("fog")))
    assert not (tmp_path / "report.html").exists()


def apf_weather(value: str) -> str:
    return f"weather = '{value}'"
