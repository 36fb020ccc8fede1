"""`show` and `show_errors`: what they say, draw and return, for one model and two, and what they refuse."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from PIL import Image

import apframe as apf
from apframe.exceptions import FormatError, NotComparableError, ParameterError, SecondPassWarning
from tests.protocols.test_protocol_values import RANKED
from tests.protocols.test_protocol_values import tiny as tiny_of

STREET = Path(__file__).parents[3] / "data" / "street"
PICTURES = STREET / "images"
OF_DETECTIONS = {"cls", "loc", "both", "dupe", "bkg"}


@pytest.fixture(scope="module")
def models() -> list[apf.Evaluation]:
    return [apf.evaluate(STREET / "instances.json", STREET / f"{name}.json") for name in ("model_a", "model_b")]


def tiny(score: float = 0.9, **options: Any) -> apf.Evaluation:
    truth = {
        "images": [{"id": "left", "file_name": "a b.png", "width": 40, "height": 30}, {"id": "empty", "file_name": "ü#.png"}],
        "categories": [{"id": 1, "name": "<img src=x onerror=alert(1)>"}],
        "annotations": [{"id": 5, "image_id": "left", "category_id": 1, "bbox": [0, 0, 9, 9]}],
    }
    return apf.evaluate(truth, [{"image_id": "left", "category_id": 1, "bbox": [0, 0, 9, 9], "score": score}], **options)


@pytest.mark.slow
def test_the_picture_of_an_image_has_its_objects(models: list[apf.Evaluation]) -> None:
    shown = models[0].show(93, models[1], images=PICTURES)
    assert shown.title.startswith(
        "image 93, street_000093.jpg. model_a: 7 found, 6 missed, 0 false positives; model_b: 5 found"
    )
    assert shown.html.count("<g class=") == shown.table.height + 3, "and those of the legend"
    assert shown.html.count('src="data:image/svg+xml;base64,') == 1
    assert shown._repr_html_() == shown.html
    assert repr(shown).startswith(shown.title)


@pytest.mark.slow
def test_the_counts_are_those_of_the_image(models: list[apf.Evaluation]) -> None:
    per_image = models[0].per_image(0.5, min_score=0.3).filter(image_id=93).row(0, named=True)
    table = models[0].show(93).table
    counts = dict(table.filter(role="a")["outcome"].cast(pl.String).value_counts().rows())
    assert (counts["tp"], counts.get("fp", 0)) == (per_image["tp"], per_image["fp"])
    assert table.filter(role="truth", outcome="fn").height == per_image["fn"]
    every = models[0].show(93, min_score=None)
    assert every.table.filter(role="a").height > table.filter(role="a").height
    assert "of all scores at IoU 0.5" in every.title
    assert models[0].show(93, iou_threshold=0.75).title.endswith("at IoU 0.75")


@pytest.mark.slow
def test_names_from_data_are_text() -> None:
    for shown in (tiny().show("left"), tiny(0.1).show_errors("fp"), tiny().show("empty")):
        assert "<img" not in shown.html


def test_images_without_objects_are_shown() -> None:
    shown = tiny().show("empty")
    assert shown.table.is_empty()
    assert 'viewBox="0 0 640 480"' in shown.html
    assert (
        repr(shown)
        == shown.title
        == "image empty, ü#.png. a: 0 found, 0 missed, 0 false positives, from a score of 0.3 at IoU 0.5"
    )


@pytest.mark.slow
def test_missing_pictures_are_grey_frames(tmp_path: Path) -> None:
    (tmp_path / "a b.png").write_bytes(b"not a picture")
    assert "data:image/png;base64,bm90IGEgcGljdHVyZQ==" in tiny().show("left", images=tmp_path).html
    assert "<img" not in tiny().show("empty", images=tmp_path).html
    with pytest.raises(FormatError, match="nowhere: is not there; name the folder that holds the pictures"):
        tiny().show("left", images=tmp_path / "nowhere")


@pytest.mark.slow(every=True)
@pytest.mark.parametrize("kind", apf.error_kinds()["name"])
def test_errors_of_a_kind(models: list[apf.Evaluation], kind: str) -> None:
    shown = models[0].show_errors(kind, 4)
    assert shown.html.count("<article") == shown.table.height == 4
    if kind == "fn":
        n = models[0].matches(0.5).filter(outcome="fn").height
    else:
        kinds = OF_DETECTIONS if kind == "fp" else {kind}
        n = models[0].errors().filter(pl.col("error").is_in(list(kinds))).height
    assert re.match(rf"{kind} at IoU 0\.5: 4 of {n:,}\. \w+ ", shown.title)
    assert all(picture.count("subject") for picture in shown.html.split("<article")[1:])


@pytest.mark.slow(every=True)
@pytest.mark.parametrize("kind", ["missing", "wrong_class", "misplaced", "duplicate"])
def test_label_errors_of_a_kind(models: list[apf.Evaluation], kind: str) -> None:
    suspects = models[0].label_errors().filter(kind=kind).head(2)
    shown = models[0].show_errors(kind, 2)
    assert shown.table["suspicion"].equals(suspects["suspicion"])
    assert shown.html.count("<article") == suspects.height


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "model"), [("lost", "b"), ("won", "a")])
def test_objects_that_were_lost_and_won(models: list[apf.Evaluation], kind: str, model: str) -> None:
    shown = models[0].show_errors(kind, 5, models[1])
    changes = models[0].changes(models[1], 0.5).filter(change=kind)
    assert f"5 of {changes.height:,}." in shown.title
    assert shown.table["model"].to_list() == [model] * 5
    assert set(shown.table["annotation_id"]) <= set(changes["annotation_id"])
    assert shown.html.count("found it with a score of") == 5


@pytest.mark.slow
def test_errors_of_a_pair_say_what_the_other_model_does(models: list[apf.Evaluation]) -> None:
    shown = models[0].show_errors("bkg", 3, models[1], names=["old", "new"])
    assert shown.table["change"].null_count() == 0
    assert 'class="b ' in shown.html
    assert "new" in shown.html


def test_no_errors() -> None:
    shown = tiny().show_errors("cls")
    assert repr(shown) == "cls at IoU 0.5: 0 of 0. The detection fits an annotation of another category."


@pytest.mark.slow
def test_stored_runs_show_the_same(models: list[apf.Evaluation], tmp_path: Path) -> None:
    models[0].write_parquet(tmp_path / "model_a")
    stored = apf.read_evaluation(tmp_path / "model_a")
    assert stored.show(93).html == models[0].show(93).html
    assert stored.show_errors("cls").html == models[0].show_errors("cls").html


@pytest.mark.slow
def test_shards_are_read_again(models: list[apf.Evaluation], tmp_path: Path) -> None:
    apf.write_shards(STREET / "instances.json", STREET / "model_a.json", tmp_path, n=3)
    sharded = apf.evaluate_shards(tmp_path, name="model_a")
    with pytest.warns(SecondPassWarning):
        shown = sharded.show(93)
    assert shown.title == models[0].show(93).title


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda ev: ev.show("lefd"), "no image 'lefd'; did you mean left?"),
        (lambda ev: ev.show("a b.png"), "no image 'a b.png'; that is the file of image 'left'"),
        (lambda ev: ev.show(7), "no image 7; there are 2 images, such as 'empty'"),
        (lambda ev: ev.show("left", iou_threshold=0.33), "iou_threshold 0.33 was not evaluated"),
        (lambda ev: ev.show("left", min_score="high"), "min_score must be a number, not 'high'"),
        (lambda ev: ev.show("left", names=["a", "b"]), "names has 2 names for 1 evaluation"),
        (lambda ev: ev.show_errors("class"), "no error type 'class'; did you mean"),
        (lambda ev: ev.show_errors("lost"), 'give the other evaluation: show_errors("lost", 6, other)'),
        (lambda ev: ev.show_errors("cls", 0), "n is a whole number of at least 1, not 0"),
        (lambda ev: ev.show_errors("cls", 2.5), "n is a whole number of at least 1, not 2.5"),
    ],
)
def test_what_is_refused(call: Any, message: str) -> None:
    with pytest.raises(ParameterError, match=re.escape(message)):
        call(tiny())


def test_ids_are_of_one_type(models: list[apf.Evaluation]) -> None:
    with pytest.raises(ParameterError, match="no image '93'"):
        models[0].show("93")


def test_other_ground_truth_is_refused(models: list[apf.Evaluation]) -> None:
    with pytest.raises(NotComparableError):
        models[0].show(93, tiny())


@pytest.mark.slow
def test_pictures_are_shown_where_their_size_is_known(tmp_path: Path) -> None:
    """Otherwise objects would be drawn in the wrong places."""
    Image.new("RGB", (64, 48)).save(tmp_path / "a.png")
    (tmp_path / "b.png").write_text("no image")
    truth = {
        "images": [{"id": 1, "file_name": "a.png"}, {"id": 2, "file_name": "b.png"}],
        "categories": [{"id": 1, "name": "cat"}],
        "annotations": [{"id": n, "image_id": n, "category_id": 1, "bbox": [0, 0, 9, 9]} for n in (1, 2)],
    }
    ev = apf.evaluate(truth, [])
    one, two = (ev.show(image_id, images=tmp_path).html for image_id in (1, 2))
    assert 'viewBox="0 0 64 48"' in one and "<img" in one
    assert 'viewBox="0 0 9 9"' in two and "<img" not in two


@pytest.mark.slow
def test_cards_of_one_video_are_independent() -> None:
    video = {"image_id": 1, "category_id": 1}
    times = [{"start_time": float(n), "end_time": n + 0.5} for n in range(4)]
    truth = {
        "images": [{"id": 1}],
        "categories": [{"id": 1, "name": "run"}],
        "annotations": [video | {"id": n} | time for n, time in enumerate(times)],
    }
    shown = apf.evaluate(truth, [], "activitynet").show_errors("miss")
    assert shown.html.count('viewBox="0 0 1000 220"') == 4, "a lane for each of the four objects"


@pytest.mark.slow
def test_cuboids_are_seen_from_above() -> None:
    cuboid = {"image_id": 1, "category_id": 1, "cuboid_x": 3.0, "cuboid_y": -1.0, "cuboid_z": 0.0}
    cuboid |= {"cuboid_length": 4.0, "cuboid_width": 2.0, "cuboid_height": 1.5, "cuboid_yaw": 0.0}
    truth = {"images": [{"id": 1}], "categories": [{"id": 1, "name": "car"}], "annotations": [cuboid | {"id": 1}]}
    ev = apf.evaluate(truth, [cuboid | {"cuboid_y": 3.0, "score": 0.9}], similarity=apf.similarity.BevIoU())
    shown = ev.show(1)
    assert shown.table["cuboid_yaw"].to_list() == [0.0, 0.0]
    # 4 m to the right, 6 m up, and a twentieth of that around; at least 3 to 4
    assert 'viewBox="0 0 750 1000"' in shown.html
    assert 'd="M72 651.5L678 651.5L678 954.5L72 954.5z"' in shown.html


@pytest.mark.slow
@pytest.mark.parametrize("name", RANKED)
def test_every_protocol_has_pictures(name: str) -> None:
    ev = tiny_of(name)
    image_id = ev.dataset.images["image_id"][0]
    assert ev.show(image_id, min_score=None).table.height
    for kind in ("fp", "fn"):
        shown = ev.show_errors(kind, 2)
        assert shown.html.count("<article") == shown.table.height


@pytest.mark.parametrize("min_score", [0.3, None])
def test_segments_have_no_pictures(min_score: float | None) -> None:
    folder = Path(__file__).parents[3] / "data" / "segments" / "panoptic"
    evaluation = apf.evaluate(folder / "truth.json", folder / "model_a.json", "coco_panoptic")
    with pytest.raises(ParameterError, match="does not rank detections by score, so it has no pictures of single images"):
        evaluation.show(1, min_score=min_score)
