"""The section of the report: the errors as cards."""

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
from apframe.evaluation.gallery.cards import choose_cards, find_cards
from apframe.evaluation.gallery.gallery import MOST_OBJECTS, _near
from apframe.evaluation.gallery.objects import objects_of
from apframe.evaluation.gallery.pictures import Pictures
from apframe.exceptions import ApframeWarning
from apframe.report.compared import Compared
from apframe.report.section import Fragment, Section
from apframe.report.sections import labels, look
from tests.conformance.tiny import ELSEWHERE, ONE_HIT, ONE_OF_TWO
from tests.protocols.test_protocol_values import RANKED, tiny
from tests.report.sections.test_kinds import of

BAD = "<img src=x onerror=alert(1)>"


def markup(section: Section) -> str:
    return "".join(str(block.markup) for block in section.blocks if isinstance(block, Fragment))


def test_every_chosen_error_has_its_card(pair: Compared, models: list[apf.Evaluation]) -> None:
    few = replace(pair, max_images=40)
    section = look.section(few)
    text = markup(section)
    cards = choose_cards(find_cards(models, 0.5), 40)
    shown = re.findall(r'data-kind="(\w+)" data-category="([^"]+)" data-model="([^"]+)" data-change="(\w+)"', text)
    names = {"a": "model_a", "b": "model_b"}
    wanted = [
        (kind, name, [*names.values()] if (kind, change) == ("miss", "both") else [names[model]], change)
        for kind, name, model, change in cards.select("kind", "name", "model", "change").rows()
    ]
    assert [(kind, name, json.loads(unescape(of)), change) for kind, name, of, change in shown] == wanted
    assert text.count('class="ids"') == 40
    assert text.count(" subject") >= 40
    assert section.sentences[0].startswith(f"40 of {find_cards(models, 0.5).height:,} errors are shown: ")
    assert "No folder of pictures was given" in section.sentences[1]


def test_words_of_errors_of_both_models() -> None:
    """Both miss one object of two, and have one more detection where nothing is; both find the other one twice."""
    found = [*ONE_HIT, *ONE_HIT[:1], ONE_HIT[0] | {"bbox": ELSEWHERE}]
    text = markup(look.section(of(*[apf.evaluate(ONE_OF_TWO, found)] * 2)))
    cards = re.findall(r"<article.*?</article>", text, re.DOTALL)
    missed = [each for each in cards if 'data-kind="miss"' in each]
    assert len(missed) == 1 and "by both models" in missed[0] and "are wrong" not in text
    assert 'data-model="[&quot;model_0&quot;, &quot;model_1&quot;]"' in missed[0]
    others = [each for each in cards if 'data-model="[&quot;model_0&quot;]"' in each]
    assert others and all("also a false positive of model_1" in each for each in others)


def test_true_positives_are_beside_their_annotations(models: list[apf.Evaluation]) -> None:
    """Only the last one, at which the objects are cut, may be without its detections."""
    cards = choose_cards(find_cards(models, 0.5), 100).with_row_index("card")
    near = _near(cards, objects_of(models, ["a", "b"], cards["image_id"].unique(maintain_order=True), 0.5))
    assert near.group_by("card").len()["len"].max() == MOST_OBJECTS
    found = near.filter(pl.col("role") != "truth", outcome="tp").select("card", "annotation_id")
    drawn = near.filter(role="truth").select("card", "annotation_id")
    assert found.join(drawn, on=["card", "annotation_id"], how="anti").is_empty()


def test_slices_are_filters(pair: Compared) -> None:
    text = markup(look.section(replace(pair, max_images=20)))
    assert '<label>weather<select name="slice0">' in text and 'data-slice0="[&quot;clear&quot;]"' in text
    assert '<option value="lost">lost by model_b</option>' in text


def test_pictures_are_linked_and_missing_ones_counted(one: Compared, tmp_path: Path) -> None:
    errors = choose_cards(find_cards(one.evaluations, 0.5), 10)
    names = errors["file_name"].unique(maintain_order=True).to_list()
    (tmp_path / "pictures #1").mkdir()
    (tmp_path / "pictures #1" / names[0]).write_text("x")
    linked = replace(one, pictures=Pictures(tmp_path / "pictures #1", tmp_path), max_images=10)
    section = look.section(linked)
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
        text = markup(look.section(compared))
    assert text.count("<article") == find_cards(compared.evaluations, compared.iou_threshold).height
    assert isinstance(labels.section(compared), Section)


def test_names_are_text() -> None:
    truth = ONE_OF_TWO | {"categories": [{"id": 1, "name": "a"}, {"id": 2, "name": BAD}]}
    section = look.section(of(apf.evaluate(truth, ONE_HIT)))
    assert BAD not in markup(section)
    assert "&lt;img src=x onerror=alert(1)&gt;" in markup(section)


def test_without_errors_there_are_no_cards() -> None:
    whole = ONE_OF_TWO | {"annotations": ONE_OF_TWO["annotations"][:1]}
    section = look.section(of(apf.evaluate(whole, ONE_HIT[:1])))
    assert (section.blocks, section.sentences) == ((), ("There are no errors.",))


def queries(text: str) -> list[str]:
    return [unescape(each) for each in re.findall(r'class="sql">([^<]*)', text)]


@pytest.mark.slow
@pytest.mark.parametrize("name", RANKED)
def test_queries_give_the_rows_in_question(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ApframeWarning)
        evaluation = tiny(name)
        section = look.section(of(evaluation))
        errors = find_cards([evaluation], of(evaluation).iou_threshold)
        rows = [evaluation.sql(each) for each in queries(markup(section))]
    asked = [set(each["detection_id"]) | set(each["annotation_id"]) for each in rows]
    ids = choose_cards(errors, 300).select("detection_id", "annotation_id").rows()
    assert [{each for each in pair if each is not None} - found for pair, found in zip(ids, asked, strict=True)] == [
        set()
    ] * len(ids)


def test_ids_of_text_are_quoted() -> None:
    truth = {
        "images": [{"id": "it's", "width": 90, "height": 90}],
        "categories": [{"id": 1, "name": "a"}],
        "annotations": [{"id": "o'clock", "image_id": "it's", "category_id": 1, "bbox": [0, 0, 40, 40]}],
    }
    evaluation = apf.evaluate(truth, {"image_id": ["it's"], "category_id": [1], "score": [0.5], "bbox": [[50, 50, 9, 9]]})
    text = markup(look.section(of(evaluation)))
    assert [evaluation.sql(each).height for each in queries(text)] == [1, 1]
    assert "annotation_id o&#x27;clock" in text
    assert "on image it&#x27;s" in text


def test_keys_of_slices_may_be_called_anything() -> None:
    odd = ['x" onclick=alert(1) y', "kind", "time_of_day", "Wetter"]
    images = [image | dict.fromkeys(odd, f"slice {image['id']}") for image in ONE_OF_TWO["images"]]
    section = look.section(of(apf.evaluate(ONE_OF_TWO | {"images": images}, []), by=odd))
    text = markup(section)
    assert "<article" in text
    assert set(re.findall(r" (data-[^=]*)=", text)) == {
        "data-kind", "data-category", "data-model", "data-change", "data-score", *(f"data-slice{n}" for n in range(4)),
    }  # fmt: skip
    assert "onclick=alert(1) y" not in text.replace("&quot; onclick=alert(1) y", "")


@pytest.mark.slow
def test_many_categories_are_cut_in_words() -> None:
    n = 1203
    categories = [{"id": k, "name": f"category {k}"} for k in range(n)]
    box = {"image_id": 1, "bbox": [0, 0, 9, 9]}
    truth = {"images": [{"id": 1, "width": 90, "height": 90}], "categories": categories}
    truth["annotations"] = [{"id": k, "category_id": k} | box for k in range(n)]
    section = look.section(of(apf.evaluate(truth, [])))
    assert section.sentences[0].startswith("300 of 1,203 errors are shown: kinds take turns, ")
    assert len(markup(section)) < 1_500_000
    assert "The pictures" not in " ".join(section.sentences)


def test_of_several_models_the_first_two_are_shown(models: list[apf.Evaluation]) -> None:
    three = of(models[0], models[1], models[0], max_images=10)
    for section in (look.section(three), labels.section(three)):
        assert "The cards are about the first two models, model_0 and model_1." in section.notes


def test_queries_name_the_model_that_they_are_about() -> None:
    """The second model misses what the first one finds, and the query gives the row of the second one."""
    models = [apf.evaluate(ONE_OF_TWO, ONE_HIT[:1]), apf.evaluate(ONE_OF_TWO, [])]
    cards = re.findall(r'data-model="([^"]+)" data-change="lost".*?class="sql">([^<]*)', markup(look.section(of(*models))))
    assert [unescape(model) for model, _ in cards] == ['["model_1"]']
    query = unescape(cards[0][1])
    assert query.startswith("-- model_1\nSELECT * FROM matches")
    assert models[1].sql(query)["outcome"].to_list() == ["fn"]


@pytest.mark.slow
def test_no_cards_if_none_are_wanted(pair: Compared) -> None:
    none = replace(pair, max_images=0)
    section = look.section(none)
    n = find_cards(pair.evaluations, 0.5).height
    assert (section.blocks, section.sentences) == ((), [f"There are {n:,} errors. No cards were requested."])
    assert "<article" not in markup(labels.section(none))
    assert labels.section(none).notes[0].startswith("0 of ")
    assert markup(labels.section(replace(pair, max_images=1))).count("<article") == 1
