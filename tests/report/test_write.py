"""`write_report`: the page of the sample set, its numbers, and what cannot be reported on."""

from __future__ import annotations

import math
import os
import re
import subprocess
import sys
from collections import Counter
from html import unescape
from pathlib import Path
from unittest.mock import patch
from urllib.parse import parse_qsl

import polars as pl
import pytest

import apframe as apf
from apframe.exceptions import NotComparableError, OutputError, ParameterError
from apframe.report.compared import Compared
from apframe.report.write import about, sections_of
from tests.report.conftest import STREET
from tests.report.read_back import number, read_tables


@pytest.mark.slow
def test_numbers_equal_the_tables_they_come_from(models: list[apf.Evaluation], tmp_path: Path) -> None:
    a, b = models
    text = apf.write_report(tmp_path / "report.html", a, b, by="weather").read_text()
    tables = read_tables(text)
    head, *rows = tables["Headline numbers and their differences"]
    expected = a.compare(b)
    for column, name in [("model_a", "estimate_a"), ("model_b", "estimate_b"), ("difference", "difference"), ("to", "high")]:
        at = head.index(column)
        assert [number(row[at]) for row in rows] == [None if value is None else round(value, 3) + 0 for value in expected[name]]
    by_weather = a.compare(b, by="weather", metrics="AP")
    head, *rows = tables["AP by weather"]
    differences = [expected.filter(metric="AP")["difference"].item(), *by_weather["difference"]]
    assert [row[0] for row in rows] == ["all", *by_weather["weather"]]
    assert [number(row[head.index("difference")]) for row in rows] == [round(value, 3) for value in differences]


@pytest.mark.slow
def test_numbers_of_errors_and_confusions_equal_their_tables(models: list[apf.Evaluation], tmp_path: Path) -> None:
    tables = read_tables(apf.write_report(tmp_path / "report.html", *models, n_resamples=100).read_text())
    head, *rows = tables["Errors at IoU 0.5, and AP that each type costs"]
    head_listed, *listed = tables["Categories predicted as others, the most frequent first"]
    for name, each in zip(("model_a", "model_b"), models, strict=True):
        impact = each.error_impact(0.5).filter(pl.col("name").is_null())
        assert [number(row[head.index(f"errors, {name}")]) for row in rows] == impact["n"].to_list()
        assert [number(row[head.index(f"AP lost, {name}")]) for row in rows] == [round(cost, 3) for cost in impact["delta_ap"]]
        best = each.operating_points("f1", 0.5, per_category=False)["score_threshold"].item()
        cells = each.confusion(0.5, min_score=best)
        n = {(true, found): count for true, found, count in cells.select("true_name", "found_name", "n").iter_rows()}
        assert [number(row[head_listed.index(name)]) for row in listed] == [n.get((row[0], row[1]), 0) for row in listed]
        (caption,) = (each for each in tables if each.startswith(f"{name}: annotated as (rows), predicted as (columns)"))
        columns, *drawn = tables[caption]
        assert (columns[-1], drawn[-1][0]) == ("missed", "background") and len(drawn) == len(columns) - 1 == 13
        for row in drawn:
            counts = [
                n.get((row[0] if row[0] != "background" else None, at if at != "missed" else None), 0) for at in columns[1:]
            ]
            assert [int(text.replace(",", "") or 0) for text in row[1:]] == counts


def rows_behind(selection: dict[str, str], rows: pl.DataFrame, cells: pl.DataFrame, best: dict[str, float]) -> int:
    """How many rows of the file a selection has, as the query says that the page shows."""
    name = selection.get("model")
    at = selection.get("at", best.get(name or "", 0.0))
    at = -math.inf if at == "all" else float(at)
    if "true" in selection:
        is_there = (pl.col("score_from") <= at) & (pl.col("score_to") >= at)
        return cells.filter(is_there, model=name, true=selection["true"], found=selection["found"]).height
    is_kept = (pl.col("score") >= at).fill_null(False)
    outcome = selection.get("outcome")
    by_outcome = {
        None: pl.col("error").is_not_null(),
        "all": pl.lit(True),
        "fn": (pl.col("outcome") == "fn") | ((pl.col("outcome") == "tp") & ~is_kept),
    }
    conditions = [by_outcome[outcome] if outcome in by_outcome else (pl.col("outcome") == outcome) & is_kept]
    for key, value in selection.items():
        column = {"category": "name", "image": "image_id"}.get(key, key)
        if key == "from":
            conditions.append((pl.col("score") >= float(value)) & (pl.col("score") < float(selection["to"])))
        elif column in rows.columns and key not in ("outcome", "at", "to"):
            is_list = rows.schema[column] == pl.List
            conditions.append(pl.col(column).list.contains(value) if is_list else pl.col(column).cast(pl.String) == value)
    return rows.filter(conditions).height


@pytest.mark.slow
def test_every_number_has_as_many_rows_as_it_says(models: list[apf.Evaluation], tmp_path: Path) -> None:
    """All links of a page, against the files that its queries are about."""
    for count in (1, 2):
        path = apf.write_report(tmp_path / "r.html", *models[:count], by=["weather", "time_of_day"], tables=True)
        files = {name: pl.read_parquet(tmp_path / "r_tables" / f"{name}.parquet") for name in ("outcomes", "confusion_cells")}
        labels = pl.read_parquet(tmp_path / "r_tables" / "label_candidates.parquet")
        subject = about(models[:count], None, [])
        assert isinstance(subject, Compared) and subject.point is not None
        best = dict(zip(subject.names, subject.point.best, strict=True))
        seen = Counter[str]()
        for section, attributes, text in re.findall(
            r'<a href="#(gallery|labels)"( data-select[^>]*)>(.*?)</a>', path.read_text()
        ):
            values = {name: unescape(value) for name, value in re.findall(r' data-(\w+)="([^"]*)"', attributes)}
            selection = dict(parse_qsl(values["select"]))
            shown = values.get("rows") or re.sub("<[^>]+>", "", text).replace(",", "")
            if not shown.isdigit():
                continue  # of an image that is named
            if section == "labels":
                n = labels.filter(kind=selection["kind"]).height
            else:
                n = rows_behind(selection, files["outcomes"], files["confusion_cells"], best)
            assert n == int(shown), (selection, text)
            seen.update([" ".join(sorted(selection))])
        assert len(seen) > 8, seen


@pytest.mark.slow
def test_names_are_text_wherever_they_are_shown(tmp_path: Path) -> None:
    bad = "<img src=x onerror=alert(1)>"
    box = {"bbox": [0, 0, 9, 9]}
    rows = [{"id": n, "image_id": n, "category_id": 1 + n % 2} | box for n in range(20)]
    truth = {
        "images": [{"id": n, "weather": bad} for n in range(20)],
        "categories": [{"id": 1, "name": bad}, {"id": 2, "name": "dog"}],
        "annotations": rows,
    }
    detections = [{"image_id": n, "category_id": 1 + n // 10, "score": 0.5} | box for n in range(20)]
    for count in (1, 2, 3):
        models = [apf.evaluate(truth, detections) for _ in range(count)]
        names = [f"{bad}{k}" for k in range(count)]
        text = apf.write_report(tmp_path / "report.html", *models, names=names, by="weather", n_resamples=100).read_text()
        assert bad not in text and text.count("&lt;img src=x") > 20


@pytest.mark.slow
def test_the_same_input_gives_the_same_bytes(models: list[apf.Evaluation], tmp_path: Path) -> None:
    """A page of one name: queries are about the folder of tables beside it, which has its name."""
    once, again = (apf.write_report(tmp_path / "page.html", *models, n_resamples=100, title="x").read_bytes() for _ in range(2))
    assert once == again


PAGES = """
import sys
import apframe as apf
street, search, out = sys.argv[1:]
models = [apf.evaluate(f"{street}/instances.json", f"{street}/model_{name}.json") for name in "ab"]
named = {"near in fog": "weather = 'fog' AND occlusion < 0.5", "night": "time_of_day = 'night'"}
options = {"by": ["weather", named], "images": f"{street}/images", "embed": True, "max_images": 30, "n_resamples": 500}
apf.write_report(f"{out}/two.html", *models, **options)
apf.write_report(f"{out}/three.html", *models, models[0], by="weather", max_images=0)
runs = [f"{search}/run_{name}.txt" for name in ("lexical", "hybrid", "dense")]
evaluation = apf.evaluate_run(f"{search}/qrels.txt", runs, queries=f"{search}/queries.csv")
apf.write_report(f"{out}/search.html", evaluation, by="topic")
"""


@pytest.mark.slow
def test_bytes_depend_neither_on_threads_nor_on_hashes(tmp_path: Path) -> None:
    pages = []
    for threads, seed in (("1", "1"), ("2", "2")):
        folder = tmp_path / threads
        folder.mkdir()
        settings = os.environ | {"POLARS_MAX_THREADS": threads, "PYTHONHASHSEED": seed}
        call = [sys.executable, "-W", "ignore", "-c", PAGES, str(STREET), str(STREET.parent / "search"), str(folder)]
        subprocess.run(call, env=settings, check=True)
        pages.append({page.name: page.read_bytes() for page in folder.iterdir()})
    assert len(pages[0]) == 3 and pages[0] == pages[1]


def test_targets_are_checked_before_the_work(models: list[apf.Evaluation], tmp_path: Path) -> None:
    with (
        patch("apframe.report.write.about") as work,
        pytest.raises(OutputError, match="missing: there is no such folder; create it"),
    ):
        apf.write_report(tmp_path / "missing" / "report.html", models[0])
    work.assert_not_called()


@pytest.mark.slow
def test_pictures_are_put_into_the_page_once(models: list[apf.Evaluation], tmp_path: Path) -> None:
    """Several cards are about one image, of errors and of labels."""
    pytest.importorskip("PIL.Image")
    path = apf.write_report(tmp_path / "r.html", *models, images=STREET / "images", embed=True, max_images=60)
    text = path.read_text()
    held, used = re.findall(r'<image id="([^"]+)" href="data:', text), re.findall(r'<use href="#([^"]+)"', text)
    assert text.count("data:image/") == len(held) == len(set(held)) < len(used)
    assert set(used) == set(held)


def test_what_cannot_be_reported_on(models: list[apf.Evaluation], tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="nothing to report on"):
        apf.write_report(tmp_path / "report.html")
    with pytest.raises(NotComparableError):
        apf.write_report(tmp_path / "report.html", models[0], models[1].where(apf_weather("fog")))
    assert not (tmp_path / "report.html").exists()


def apf_weather(value: str) -> str:
    return f"weather = '{value}'"


@pytest.mark.slow
def test_readers_are_warned_of_shifted_intervals(models: list[apf.Evaluation]) -> None:
    evaluation = apf.evaluate(models[0].dataset, models[0].detections, "voc2007").where(apf_weather("fog"))
    (section,) = sections_of(about([evaluation], None, [], n_resamples=100), ["comparison"])
    assert section.notes[-2].startswith("'AP': intervals are from 100 resamples of the images, as there is no derivative")
    assert section.notes[-1].startswith("The resamples of AP are off from the estimate")


@pytest.mark.slow
def test_warnings_are_on_the_page_once(models: list[apf.Evaluation], tmp_path: Path) -> None:
    """The first screen has the numbers of the sections, whose warnings stand there."""
    fog = apf.evaluate(models[0].dataset, models[0].detections, "voc2007").where(apf_weather("fog"))
    text = apf.write_report(tmp_path / "r.html", fog, n_resamples=100, max_images=0).read_text()
    assert text.count("intervals are from 100 resamples of the images") == text.count("The resamples of AP are off") == 1
    nothing = apf.evaluate(models[0].dataset, [])
    text = apf.write_report(tmp_path / "r.html", nothing, max_images=0).read_text()
    assert text.count("There are no detections, so everything is missed") == 1


@pytest.mark.slow(every=True)
@pytest.mark.parametrize(
    ("protocol", "truth", "found", "has_mistakes"),
    [
        ("coco_panoptic", "panoptic/truth.json", "panoptic/model_a.json", True),
        ("semantic", "semantic/truth", "semantic/model_a", False),
    ],
)
def test_sections_of_scores_are_left_out_in_words(protocol: str, truth: str, found: str, has_mistakes: bool) -> None:
    segments = STREET.parent / "segments"
    evaluation = apf.evaluate(segments / truth, segments / found, protocol=protocol)
    sections = {section.key: section for section in sections_of(about([evaluation], None, [], n_resamples=50))}
    assert [*sections] == ["comparison", "slices", *["confusion"] * has_mistakes, "computed"]
    (note,) = sections["computed"].notes
    assert note.startswith(f"{protocol.upper()} does not rank detections by score, so this page has no error types, ")
    assert ("confusion matrix" in note) != has_mistakes
    if has_mistakes:
        cells = evaluation.confusion(0.5)
        of_true, of_found = pl.col("true_category_id"), pl.col("found_category_id")
        parts = (of_true == of_found, of_true != of_found, of_true.is_null(), of_found.is_null())
        right, others, nothing, missed = (f"{cells.filter(part)['n'].sum():,}" for part in parts)
        assert sections["confusion"].scope == "" and sections["confusion"].sentences[0] == (
            f"model_a: {right} detections right, {others} predicted as another category, {nothing} on background; "
            f"{missed} annotations missed."
        )


@pytest.mark.slow
def test_warnings_stand_in_the_section_that_they_are_about(models: list[apf.Evaluation]) -> None:
    """100 resamples are too few to correct for 12 categories, not for one pair of models. Each warning is there once."""
    drawn = [apf.evaluate(each.dataset, each.detections, "voc2007") for each in models]
    subject = about(drawn, None, ["weather"], n_resamples=100)
    notes_by_section = {section.key: [note for note in section.notes if "p cannot" in note] for section in sections_of(subject)}
    assert {key for key, notes in notes_by_section.items() if notes} == {"slices"}
    assert notes_by_section["slices"][0].startswith(
        "p cannot fall below 0.02 with 100 resamples, which is too coarse for 12 comparisons"
    )
    assert all(len(notes) == len(set(notes)) for notes in notes_by_section.values())
