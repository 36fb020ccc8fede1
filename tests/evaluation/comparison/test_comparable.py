"""Which evaluations can be compared, and what is said of those that cannot."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import apframe as apf
from apframe.evaluation.comparison.comparable import agree
from apframe.exceptions import ImagesLeftOutWarning, NotComparableError, ParameterError
from apframe.protocols.levels import Level

STREET = Path(__file__).resolve().parents[3] / "data" / "street"
BOX = {"x": 0.0, "y": 0.0, "width": 10.0, "height": 10.0}
IMAGES = [{"image_id": 1, "weather": "fog"}, {"image_id": 2, "weather": "clear"}]
CATEGORIES = [{"category_id": 1, "name": "cat"}, {"category_id": 2, "name": "dog"}]
ANNOTATIONS = [
    {"annotation_id": 1, "image_id": 1, "category_id": 1, **BOX},
    {"annotation_id": 2, "image_id": 2, "category_id": 2, **BOX},
]
FOUND = [{"image_id": 1, "category_id": 1, "score": 0.5, **BOX}]


def made(
    images: list[dict[str, Any]] = IMAGES,
    categories: list[dict[str, Any]] = CATEGORIES,
    annotations: list[dict[str, Any]] = ANNOTATIONS,
    detections: list[dict[str, Any]] = FOUND,
    **options: Any,
) -> apf.Evaluation:
    return apf.evaluate(apf.Dataset(images, categories, annotations), pl.DataFrame(detections), **options)


def with_texts(rows: list[dict[str, Any]], *columns: str) -> list[dict[str, Any]]:
    return [row | {name: str(row[name]) for name in columns if name in row} for row in rows]


def in_texts(column: str) -> apf.Evaluation:
    return made(*(with_texts(rows, column) for rows in (IMAGES, CATEGORIES, ANNOTATIONS, FOUND)))


def changed(**values: Any) -> list[dict[str, Any]]:
    return [ANNOTATIONS[0], ANNOTATIONS[1] | values]


@pytest.mark.parametrize("other", [
    made(),
    made(IMAGES[::-1], CATEGORIES[::-1], ANNOTATIONS[::-1]),
    made([row | {"file_name": f"{row['image_id']}.jpg", "image_width": 9, "image_height": 9} for row in IMAGES]),
    made(annotations=[row | {"is_crowd": False, "ignore": False, "occluded": True} for row in ANNOTATIONS]),
    made(detections=[]),
    made(protocol=replace(apf.COCO, citation="as an earlier version cited it")),
], ids=["itself", "other order", "file names and sizes", "flags that say nothing", "no detections", "citation"])  # fmt: skip
def test_the_same_ground_truth(other: apf.Evaluation) -> None:
    first = made()
    for one, two in ((first, other), (other, first)):
        assert agree([one, two], ["a", "b"]) == [one, two]
        assert agree([one, two], ["a", "b"], "common") == [one, two]


@pytest.mark.parametrize(("other", "message"), [
    (lambda: made(max_detections=[10]), "a and b differ in their protocols: max_detections (1, 10, 100) and (10,); "),
    (lambda: made(iou_thresholds=[0.5]), "a and b differ in their protocols: iou_thresholds (0.5, 0.55, 0.6, "),
    (lambda: made(area_ranges={"tiny": (0, 100)}),
     "area_ranges ...0), AreaRange(name='small', low=0.0, high=1024.0), AreaRange... and ...0), AreaRange(name='tiny', "),
    (lambda: made(protocol="voc2007"), "a and b differ in their protocols: name COCO and VOC2007; "),
    (lambda: made(categories=CATEGORIES[:1], annotations=ANNOTATIONS[:1]),
     "a and b differ in the categories that were evaluated: only one of them has 'dog'; evaluate both on the same"),
    (lambda: made([*IMAGES, {"image_id": 7}, {"image_id": 8}]),
     'a and b differ in images: 2 only in b (7, 8); use on_images="common" for the 2 in both'),
    (lambda: made([IMAGES[0], {"image_id": 7}], annotations=ANNOTATIONS[:1]),
     'a and b differ in images: 1 only in a (2), 1 only in b (7); use on_images="common" for the 1 in both'),
    (lambda: made([{"image_id": 7}], annotations=[], detections=[]),
     "a and b differ in images: 2 only in a (1, 2), 1 only in b (7); they have no image in common"),
    (lambda: in_texts("image_id"), "a and b differ in the type of image_id: numbers and texts; evaluate both"),
    (lambda: in_texts("category_id"), "a and b differ in the type of category_id: numbers and texts"),
    (lambda: in_texts("annotation_id"), "a and b differ in the type of annotation_id: numbers and texts"),
    (lambda: made(annotations=ANNOTATIONS[:1]),
     "a and b differ in the ground truth: annotations: 2 and 1 rows, only one of them has annotation_id 2"),
    (lambda: made(annotations=changed(width=11.0)),
     "annotations: width differs for annotation_id 2; evaluate both against the same file"),
    (lambda: made(annotations=changed(image_id=1)), "annotations: image_id differs for annotation_id 2"),
    (lambda: made(annotations=changed(area=7.0)), "annotations: area differs for annotation_id 2"),
    (lambda: made(annotations=changed(is_crowd=True)), "annotations: is_crowd differs for annotation_id 2"),
    (lambda: made(annotations=changed(ignore=True)), "annotations: ignore differs for annotation_id 2"),
    (lambda: made(images=[IMAGES[0], IMAGES[1] | {"neg_category_ids": [1]}]),
     "images: neg_category_ids differs for image_id 2"),
    (lambda: made(categories=[CATEGORIES[0], {"category_id": 2, "name": "cow"}]),
     "categories: name differs for category_id 2"),
    (lambda: made(annotations=[row | {"ignore": None} for row in changed()]).where("annotations.area > 1000"),
     "annotations: outside_subset differs for annotation_id 1, 2; compare the same subset of both"),
])  # fmt: skip
@pytest.mark.filterwarnings("ignore::apframe.exceptions.NoAnnotationsWarning")
def test_what_differs(other: Callable[[], apf.Evaluation], message: str) -> None:
    with pytest.raises(NotComparableError) as caught:
        agree([made(), other()], ["a", "b"])
    assert message in str(caught.value)


@pytest.mark.slow
def test_an_earlier_version_of_a_protocol_lacks_subsets() -> None:
    people = [{"category_id": 1, "name": "pedestrian"}, {"category_id": 2, "name": "dog"}]
    heights = [row | {"vis_ratio": 1.0} for row in ANNOTATIONS]

    def by(levels: tuple[Level, ...]) -> apf.Evaluation:
        rules = replace(apf.CITYPERSONS, ranges=levels)
        return made(categories=people, annotations=heights, protocol=rules)

    levels = apf.CITYPERSONS.levels
    old, new = by(levels[:4]), by(levels)
    for pair, names in (([old, new], ["old", "new"]), ([new, old], ["new", "old"])):
        with pytest.raises(NotComparableError) as caught:
            agree(pair, names)
        assert str(caught.value) == (
            f"{names[0]} and {names[1]} differ in their protocols: only new has the area ranges or subsets bare, partial, "
            "heavy_2019; evaluate old again, by the rules of new"
        )
    other = by((*levels[:-1], replace(levels[-1], annotations=(("height", 40.0, 99.0),))))
    message = r": area_ranges \.\.\..*\('height', 50, inf\).* and \.\.\..*\('height', 40.0, 99.0\).*; evaluate both by"
    with pytest.raises(NotComparableError, match=message):
        agree([new, other], ["new", "other"])


@pytest.mark.slow
def test_every_evaluation_is_compared_with_the_first() -> None:
    with pytest.raises(NotComparableError, match=r"^a and c differ in the ground truth"):
        agree([made(), made(), made(annotations=changed(width=11.0))], ["a", "b", "c"])


@pytest.mark.slow
def test_common_images() -> None:
    wide = made([*IMAGES, {"image_id": 7}])
    with pytest.warns(ImagesLeftOutWarning) as caught:
        evaluations = agree([wide, made(), wide], ["a", "b", "c"], "common")
    assert str(caught[0].message) == "compared on 2 images that all have; left out: 1 of a, 1 of c"
    assert [each.dataset.images["image_id"].sort().to_list() for each in evaluations] == [[1, 2]] * 3
    assert [each.conditions for each in evaluations] == [("2 images",), (), ("2 images",)]


def test_common_images_have_the_same_ground_truth() -> None:
    other = made([*IMAGES, {"image_id": 7}], annotations=changed(width=11.0))
    with (
        pytest.warns(ImagesLeftOutWarning),
        pytest.raises(NotComparableError, match="width differs for annotation_id 2"),
    ):
        agree([made(), other], ["a", "b"], "common")


@pytest.mark.filterwarnings("ignore::apframe.exceptions.NoAnnotationsWarning")
def test_no_common_image() -> None:
    with pytest.raises(NotComparableError, match=r"^a and b have no image in common; evaluate them on the same images$"):
        agree([made(), made([{"image_id": 7}], annotations=[], detections=[])], ["a", "b"], "common")


def test_callers_without_the_option_do_not_name_it() -> None:
    with pytest.raises(NotComparableError, match=r"; evaluate both on the same images, such as the 2 in both$"):
        agree([made(), made([{"image_id": n} for n in (1, 2, 9)])], ["a", "b"], has_option=False)


def test_another_choice() -> None:
    with pytest.raises(ParameterError, match='on_images is "same" or "common"'):
        agree([made(), made()], ["a", "b"], "union")


@pytest.mark.slow
def test_the_sample_is_the_same_from_files_and_stored(tmp_path: Path) -> None:
    """A stored evaluation has all columns of the ground truth, one of files only those that are needed."""
    evaluations = [apf.evaluate(STREET / "instances.json", STREET / f"model_{name}.json") for name in "ab"]
    evaluations[0].write_parquet(tmp_path / "a")
    agree([apf.read_evaluation(tmp_path / "a"), *evaluations], ["stored", "a", "b"])
    foggy = [each.where(pl.col("weather") == "fog") for each in evaluations]
    agree(foggy, ["a", "b"])
    with pytest.raises(NotComparableError, match=r"^a and b differ in images: .* only in a"):
        agree([evaluations[0], foggy[1]], ["a", "b"])


@pytest.mark.slow
def test_masks_are_compared() -> None:
    square = {"size": [20, 20], "counts": [0, 100, 300]}
    larger = {"size": [20, 20], "counts": [0, 120, 280]}

    def masked(mask: dict[str, Any]) -> apf.Evaluation:
        truth = {
            "images": [{"id": 1, "width": 20, "height": 20}],
            "categories": [{"id": 1, "name": "cat"}],
            "annotations": [
                {"id": 1, "image_id": 1, "category_id": 1, "bbox": [0, 0, 9, 9], "area": 81, "iscrowd": 0, "segmentation": mask}
            ],
        }
        detections = [{"image_id": 1, "category_id": 1, "score": 0.5, "segmentation": square}]
        return apf.evaluate(truth, detections, iou_type="segm")

    agree([masked(square), masked(square)], ["a", "b"])
    with pytest.raises(NotComparableError, match="annotations: mask differs for annotation_id 1"):
        agree([masked(square), masked(larger)], ["a", "b"])
