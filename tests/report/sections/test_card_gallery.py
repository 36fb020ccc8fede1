"""The section of the report: the gallery of cards."""

from __future__ import annotations

import json
import re
import warnings
from dataclasses import replace
from html import unescape
from pathlib import Path

import polars as pl
import pytest

import apframe as apf
from apframe.evaluation.gallery.cards import find_cards, find_rows
from apframe.evaluation.gallery.gallery import MOST_OBJECTS, _near
from apframe.evaluation.gallery.objects import objects_of
from apframe.evaluation.gallery.pictures import Pictures
from apframe.exceptions import ApframeWarning
from apframe.report.compared import Compared
from apframe.report.page import page
from apframe.report.section import Fragment, Section
from apframe.report.sections import card_gallery, label_candidates
from apframe.report.write import sections_of
from tests.conformance.tiny import ELSEWHERE, ONE_HIT, ONE_OF_TWO
from tests.protocols.test_protocol_values import RANKED, tiny
from tests.report.sections.test_error_types import of

BAD = "<img src=x onerror=alert(1)>"


def data_of(tag: str) -> dict[str, str]:
    """What the page's script reads of a card."""
    return {name: unescape(value) for name, value in re.findall(r' data-(\w+)="([^"]*)"', tag)}


def markup(section: Section) -> str:
    return "".join(str(block.markup) for block in section.blocks if isinstance(block, Fragment))


@pytest.mark.slow
def test_every_chosen_error_has_its_card(pair: Compared, models: list[apf.Evaluation]) -> None:
    """What a card says is what the table says, in the row whose number it has."""
    few = replace(pair, max_images=40)
    section = card_gallery.section(few)
    text = markup(section)
    cards = [data_of(each) for each in re.findall(r"<article[^>]*>", text)]
    table = few.rows.table()
    assert [int(card["row"]) for card in cards] == few.chosen["row"].to_list() and len({*few.chosen["row"]}) == 40
    for card in cards:
        row = table.row(int(card["row"]), named=True)
        assert [card[name] or None for name in ("error", "outcome", "category", "change")] == [
            row[name] for name in ("error", "outcome", "name", "change")
        ]
        assert json.loads(card["model"]) == row["model"] and json.loads(card["slice0"]) == row["weather"]
        assert (card["image"], card["score"]) == (str(row["image_id"]), str(row["score"] or ""))
    assert text.count('class="ids"') == 40
    assert text.count(" subject") >= 40
    n_errors = find_cards(models, 0.5).height
    assert section.sentences[0].startswith(f"40 cards for {table.height:,} detections and missed annotations, {n_errors:,} of")
    assert "No folder of pictures was given" in section.sentences[1]


@pytest.mark.slow
def test_cells_of_cards_are_those_of_the_matrix(pair: Compared) -> None:
    few = replace(pair, max_images=40)
    cards = [data_of(each) for each in re.findall(r"<article[^>]*>", markup(card_gallery.section(few)))]
    assert few.cells is not None
    for card in cards:
        own = few.cells.filter(row=int(card["row"])).select("model", "true", "found", "score_from", "score_to")
        shown = [(*names, float(low), float(high)) for *names, low, high in json.loads(card["cells"])]
        assert sorted(shown) == sorted(own.rows())
    assert any(json.loads(card["cells"]) for card in cards)


@pytest.mark.slow
def test_words_of_errors_of_both_models() -> None:
    """Both miss one object of two, and have one more detection where nothing is; both find the other one twice."""
    detections = [*ONE_HIT, *ONE_HIT[:1], ONE_HIT[0] | {"bbox": ELSEWHERE}]
    text = markup(card_gallery.section(of(*[apf.evaluate(ONE_OF_TWO, detections)] * 2)))
    cards = re.findall(r"<article.*?</article>", text, re.DOTALL)
    missed = [each for each in cards if 'data-error="miss"' in each]
    assert len(missed) == 1 and "by both models" in missed[0] and "are wrong" not in text
    assert 'data-model="[&quot;model_0&quot;, &quot;model_1&quot;]"' in missed[0]
    others = [each for each in cards if 'data-model="[&quot;model_0&quot;]"' in each and 'data-outcome="fp"' in each]
    assert others and all("also a false positive of model_1" in each for each in others)


@pytest.mark.slow
def test_true_positives_are_beside_their_annotations(pair: Compared, models: list[apf.Evaluation]) -> None:
    """Only the last one, at which the objects are cut, may be without its detections."""
    cards = replace(pair, max_images=100).chosen.with_row_index("card")
    near = _near(cards, objects_of(models, ["a", "b"], cards["image_id"].unique(maintain_order=True), 0.5))
    assert near.group_by("card").len()["len"].max() == MOST_OBJECTS
    true_positives = near.filter(pl.col("role") != "truth", outcome="tp").select("card", "annotation_id")
    drawn = near.filter(role="truth").select("card", "annotation_id")
    assert true_positives.join(drawn, on=["card", "annotation_id"], how="anti").is_empty()


@pytest.mark.slow
def test_slices_are_filters(pair: Compared) -> None:
    text = markup(card_gallery.section(replace(pair, max_images=20)))
    assert '<label>weather<select name="weather">' in text and 'data-slice0="[&quot;clear&quot;]"' in text
    assert 'data-slices="{&quot;weather&quot;: &quot;slice0&quot;, &quot;area&quot;: &quot;slice1&quot;}"' in text
    assert '<option value="lost">lost by model_b</option>' in text


@pytest.mark.slow
def test_pictures_are_linked_and_missing_ones_counted(one: Compared, tmp_path: Path) -> None:
    cards = replace(one, max_images=10).chosen
    cards = cards.join(one.rows.images, on="image_id", maintain_order="left")
    names = cards["file_name"].unique(maintain_order=True).to_list()
    (tmp_path / "pictures #1").mkdir()
    (tmp_path / "pictures #1" / names[0]).write_text("x")
    linked = replace(one, pictures=Pictures(tmp_path / "pictures #1", tmp_path), max_images=10)
    section = card_gallery.section(linked)
    assert f'src="pictures%20%231/{names[0]}"' in markup(section)
    n = len(names) - 1
    assert section.sentences[-1] == (
        f"The pictures of {n} of {n + 1} images are missing: {n} not in the folder (such as {min(names[1:])})."
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", RANKED)
def test_every_protocol_has_the_section(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ApframeWarning)
        compared = of(tiny(name), tiny(name))
        text = markup(card_gallery.section(compared))
    rows = find_rows(compared.evaluations, compared.iou_threshold)
    assert text.count("<article") == (rows.height if rows["kind"].count() else 0)  # without errors there are no cards
    assert rows.height == compared.rows.frame.height
    assert isinstance(label_candidates.section(compared), Section)


@pytest.mark.slow
def test_names_are_text() -> None:
    truth = ONE_OF_TWO | {"categories": [{"id": 1, "name": "a"}, {"id": 2, "name": BAD}]}
    section = card_gallery.section(of(apf.evaluate(truth, ONE_HIT)))
    assert BAD not in markup(section)
    assert "&lt;img src=x onerror=alert(1)&gt;" in markup(section)


@pytest.mark.slow
def test_without_errors_there_are_no_cards() -> None:
    whole = ONE_OF_TWO | {"annotations": ONE_OF_TWO["annotations"][:1]}
    compared = of(apf.evaluate(whole, ONE_HIT[:1]))
    section = card_gallery.section(compared)
    assert (section.blocks, section.sentences) == ((), ("There are no errors.",))
    assert 'data-select="' not in page("x", sections_of(compared)), "a link to cards that are not there"


def queries(text: str) -> list[str]:
    """Those of cards: that of the gallery is written by the page's script."""
    return [unescape(each) for each in re.findall(r'class="sql">([^<]+)', text)]


@pytest.mark.slow
@pytest.mark.parametrize("name", RANKED)
def test_queries_give_the_rows_in_question(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ApframeWarning)
        evaluation = tiny(name)
        compared = of(evaluation)
        section = card_gallery.section(compared)
        rows = [evaluation.sql(each) for each in queries(markup(section))]
    ids_by_query = [set(each["detection_id"]) | set(each["annotation_id"]) for each in rows]
    ids = compared.chosen.select("detection_id", "annotation_id").rows()
    if not compared.has_gallery:
        assert compared.rows.errors.is_empty() and not ids_by_query
        return
    assert all(set(pair) - {None} <= row_ids for pair, row_ids in zip(ids, ids_by_query, strict=True))


@pytest.mark.slow
def test_ids_of_text_are_quoted() -> None:
    truth = {
        "images": [{"id": "it's", "width": 90, "height": 90}],
        "categories": [{"id": 1, "name": "a"}],
        "annotations": [{"id": "o'clock", "image_id": "it's", "category_id": 1, "bbox": [0, 0, 40, 40]}],
    }
    evaluation = apf.evaluate(truth, {"image_id": ["it's"], "category_id": [1], "score": [0.5], "bbox": [[50, 50, 9, 9]]})
    text = markup(card_gallery.section(of(evaluation)))
    assert [evaluation.sql(each).height for each in queries(text)] == [1, 1]
    assert "annotation_id o&#x27;clock" in text
    assert "on image it&#x27;s" in text


@pytest.mark.slow
def test_keys_of_slices_may_be_called_anything() -> None:
    odd = ['x" onclick=alert(1) y', "error", "time_of_day", "Wetter"]
    images = [image | dict.fromkeys(odd, f"slice {image['id']}") for image in ONE_OF_TWO["images"]]
    compared = of(apf.evaluate(ONE_OF_TWO | {"images": images}, []), by=odd)
    assert compared.rows.keys == [odd[0], "error_", "time_of_day", "Wetter", "area"]  # `error` is selected already
    section = card_gallery.section(compared)
    text = markup(section)
    assert "<article" in text
    assert set(re.findall(r" (data-[^=]*)=", text)) == {
        "data-row", "data-error", "data-outcome", "data-category", "data-model", "data-change", "data-image", "data-score",
        "data-cells", "data-tables", "data-file", "data-slices", "data-values", "data-rows", "data-all",
        *(f"data-slice{n}" for n in range(5)),
    }  # fmt: skip
    assert "onclick=alert(1) y" not in text.replace("&quot; onclick=alert(1) y", "")


@pytest.mark.slow
def test_many_categories_are_cut_in_words() -> None:
    n = 1203
    categories = [{"id": k, "name": f"category {k}"} for k in range(n)]
    box = {"image_id": 1, "bbox": [0, 0, 9, 9]}
    truth = {"images": [{"id": 1, "width": 90, "height": 90}], "categories": categories}
    truth["annotations"] = [{"id": k, "category_id": k} | box for k in range(n)]
    section = card_gallery.section(of(apf.evaluate(truth, [])))
    assert section.sentences[0].startswith("300 cards for 1,203 ")
    assert "1,203 of them errors. Every mark of this page has some if possible, " in section.sentences[0]
    assert len(markup(section)) < 1_500_000
    assert "The pictures" not in " ".join(section.sentences)


@pytest.mark.slow
def test_of_several_models_the_first_two_are_shown(models: list[apf.Evaluation]) -> None:
    three = of(models[0], models[1], models[0], max_images=10)
    for section in (card_gallery.section(three), label_candidates.section(three)):
        assert "The cards are about the first two models, model_0 and model_1." in section.notes


@pytest.mark.slow
def test_queries_name_the_model_that_they_are_about() -> None:
    """The second model misses what the first one finds, and the query gives the row of the second one."""
    models = [apf.evaluate(ONE_OF_TWO, ONE_HIT[:1]), apf.evaluate(ONE_OF_TWO, [])]
    cards = re.findall(
        r'data-model="([^"]+)" data-change="lost".*?class="sql">([^<]*)', markup(card_gallery.section(of(*models)))
    )
    assert [unescape(model) for model, _ in cards] == ['["model_1"]']
    query = unescape(cards[0][1])
    assert query.startswith("-- model_1\nSELECT * FROM matches")
    assert models[1].sql(query)["outcome"].to_list() == ["fn"]


@pytest.mark.slow
def test_no_cards_if_none_are_wanted(pair: Compared) -> None:
    none = replace(pair, max_images=0)
    section = card_gallery.section(none)
    n = find_cards(pair.evaluations, 0.5).height
    assert (section.blocks, section.sentences) == ((), (f"There are {n:,} errors. No cards were requested.",))
    assert "<article" not in markup(label_candidates.section(none))
    assert label_candidates.section(none).notes[0].startswith("0 of ")
    assert markup(label_candidates.section(replace(pair, max_images=1))).count("<article") == 1
