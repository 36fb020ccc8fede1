"""The section of the report: the images, the worst first."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

import apframe as apf
from apframe.evaluation.gallery.pictures import Pictures
from apframe.exceptions import ApframeWarning
from apframe.report.compared import Compared
from apframe.report.html_tables import table_markup
from apframe.report.operating_point import series
from apframe.report.section import Section, Table
from apframe.report.sections import image_table
from apframe.report.worst_images import counts_of_images
from tests.conformance.rows import HAND as TINY
from tests.conformance.tiny import ONE_HIT, ONE_OF_TWO
from tests.protocols.test_protocol_values import tiny
from tests.report.conftest import STREET
from tests.report.sections.test_error_types import of


def made(compared: Compared) -> tuple[Section, Table]:
    section = image_table.section(compared)
    assert section is not None and isinstance(section.blocks[0], Table)
    return section, section.blocks[0]


def test_counts_are_those_of_the_images(pair: Compared) -> None:
    section, table = made(pair)
    images = pair.worst_images.head(100)
    counts = counts_of_images(pair.rows, images["image_id"], pair.point)
    assert table.frame["image"].to_list() == images["file_name"].to_list()
    assert table.frame["influence"].equals(images["influence"]) and section.scope == "at the operating point"
    for k, name in enumerate(pair.names):
        for number, outcome in enumerate(("tp", "fp", "fn")):
            column = f"{outcome} {k}"
            assert table.frame[column].to_list() == counts[:, k, number, 0].tolist()
            assert table.series[column] == [series(map(str, each)) for each in counts[:, k, number].tolist()]
            assert table.heads[column].endswith(name)
    assert section.sentences == ("The images that speak most against model_b come first.",)


@pytest.mark.slow
def test_images_link_to_their_errors(pair: Compared) -> None:
    _, table = made(pair)
    ids, errors = pair.worst_images["image_id"], pair.rows.errors
    for image, mark in zip(ids, table.links["image"], strict=False):
        n = errors.filter(image_id=image).height
        assert mark is None if n == 0 else mark is not None and (mark.selection, mark.n) == ({"image": str(image)}, n)
    first = table.links["fp 1"][0]
    assert first is not None and first.selection == {"image": str(ids[0]), "model": "model_b", "outcome": "fp"}
    assert not any(any(marks) for marks in made(replace(pair, max_images=0))[1].links.values())


def test_images_that_are_cut_are_said(one: Compared) -> None:
    section, table = made(one)
    assert table.frame.height == 100
    assert section.notes[0] == f"The first 100 of {one.worst_images.height} images are shown."


def test_without_a_derivative_there_is_no_influence() -> None:
    section, table = made(of(apf.evaluate(ONE_OF_TWO, ONE_HIT, "voc2007")))
    assert "influence" not in table.frame.columns and not any("influence" in note for note in section.notes)
    assert section.sentences == ("The images with most errors come first.",)


@pytest.mark.slow
def test_pictures_are_small_and_linked(one: Compared, tmp_path: Path) -> None:
    _, table = made(replace(one, pictures=Pictures(STREET / "images", tmp_path)))
    assert table.frame.columns[:2] == ["image", "picture"] and len(table.drawn["picture"]) == 100
    assert table.drawn["picture"][0].startswith("<img src=")
    assert Path(table.frame["image"][0]).stem in table.drawn["picture"][0]
    assert "picture" not in made(one)[1].frame.columns


@pytest.mark.slow
def test_pictures_inside_the_page_are_those_of_cards(one: Compared, tmp_path: Path) -> None:
    pytest.importorskip("PIL.Image")
    few = replace(one, pictures=Pictures(STREET / "images", tmp_path, embed=True), max_images=10)
    _, table = made(few)
    on_cards = set(few.chosen["image_id"])
    shown = [each in on_cards for each in few.worst_images["image_id"].head(100)]
    assert [drawn.startswith("<svg") for drawn in table.drawn["picture"]] == shown and any(shown)


def test_names_are_text() -> None:
    bad = "<img src=x onerror=alert(1)>"
    images = [image | {"file_name": bad} for image in ONE_OF_TWO["images"]]
    _, table = made(of(apf.evaluate(ONE_OF_TWO | {"images": images}, ONE_HIT)))
    assert bad not in table_markup(table) and "&lt;img src=x" in table_markup(table)


@pytest.mark.slow
def test_nothing_detected_or_annotated() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ApframeWarning)
        assert image_table.section(of(apf.evaluate(ONE_OF_TWO | {"annotations": []}, []))) is None
        section, table = made(of(apf.evaluate(ONE_OF_TWO, [])))
    assert table.frame["fn 0"].to_list() == [1, 1] and section.scope == ""


@pytest.mark.slow
@pytest.mark.parametrize("name", TINY)
def test_every_protocol_with_errors_has_the_section(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ApframeWarning)
        compared = of(tiny(name), tiny(name))
        if not compared.first.protocol.has_precision:
            return
        _, table = made(compared)
        assert table.frame.select(pl.col("tp 0") + pl.col("fn 0")).to_series().sum() > 0
