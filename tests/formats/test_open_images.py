"""Open Images' CSV: what each file says, an evaluation from files, round trips, and what cannot be read."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import apframe as apf
from apframe.exceptions import (
    FormatError,
    OutputError,
    ParameterError,
    RowError,
    UnitWarning,
    UnknownCategoryWarning,
    UnknownIdError,
)
from apframe.formats.box_text import Boxes
from apframe.formats.coco.format import Coco
from apframe.formats.open_images.format import OpenImages
from apframe.formats.path_contents import see

BOX = ["x", "y", "width", "height"]
EDGES = "XMin,XMax,YMin,YMax"
BOXES = f"""ImageID,Source,LabelName,Confidence,{EDGES},IsOccluded,IsTruncated,IsGroupOf,IsDepiction,IsInside
a,xclick,/m/cat,1,0.1,0.3,0.1,0.3,0,1,0,-1,0
a,activemil,/m/dog,1,0.5,0.9,0.5,0.9,1,0,1,0,0
"""
CLASSES = "/m/animal,Animal\n/m/cat,Cat\n/m/dog,Dog\n/m/tree,Tree\n"
CAT, DOG, ANIMAL = ({"LabelName": f"/m/{name}"} for name in ("cat", "dog", "animal"))
HIERARCHY = json.dumps(
    {"LabelName": "/m/0bl9f", "Subcategory": [ANIMAL | {"Subcategory": [CAT, DOG]}, {"LabelName": "/m/tree"}]}
)
LABELS = "ImageID,Source,LabelName,Confidence\na,verification,/m/cat,1\na,verification,/m/dog,1\nb,verification,/m/dog,0\n"
RESULTS = f"""ImageID,LabelName,Score,{EDGES}
b,/m/cat,0.95,0.1,0.3,0.1,0.3
a,/m/cat,0.9,0.1,0.3,0.1,0.3
a,/m/animal,0.85,0.0,0.1,0.9,1.0
a,/m/animal,0.8,0.1,0.3,0.1,0.3
a,/m/animal,0.75,0.6,0.7,0.6,0.7
a,/m/dog,0.6,0.6,0.7,0.6,0.7
"""
SIZES = "file_name,image_width,image_height\na.jpg,100,50\nb.jpg,200,80\n"
FOLDER = {
    "validation-annotations-bbox.csv": BOXES,
    "class-descriptions-boxable.csv": CLASSES,
    "bbox_labels_600_hierarchy.json": HIERARCHY,
    "validation-annotations-human-imagelabels-boxable.csv": LABELS,
    "image_sizes.csv": SIZES,
}


def written(folder: Path, texts: dict[str, str]) -> Path:
    folder.mkdir(exist_ok=True)
    for name, text in texts.items():
        (folder / name).write_text(text)
    return folder


@pytest.mark.slow
def test_rows_are_boxes_between_their_edges(tmp_path: Path) -> None:
    truth = apf.read_dataset(written(tmp_path, FOLDER))
    attributes = ["source", "confidence", "is_occluded", "is_truncated", "is_crowd", "is_depiction", "is_inside"]
    assert truth.annotations.select("image_id", "category_id", *attributes).rows() == [
        ("a", "/m/cat", "xclick", 1, False, True, False, None, False),
        ("a", "/m/dog", "activemil", 1, True, False, True, False, False),
    ]
    expected = pl.DataFrame([(10, 5, 20, 10), (50, 25, 40, 20)], schema=dict.fromkeys(BOX, pl.Float64), orient="row")
    assert_frame_equal(truth.annotations.select(BOX), expected)


@pytest.mark.slow
def test_images_are_those_of_boxes_and_labels(tmp_path: Path) -> None:
    columns = ["image_id", "image_width", "image_height", "file_name", "pos_category_ids", "neg_category_ids"]
    assert apf.read_dataset(written(tmp_path, FOLDER)).images.select(columns).rows() == [
        ("a", 100, 50, "a.jpg", ["/m/cat", "/m/dog"], []),
        ("b", 200, 80, "b.jpg", [], ["/m/dog"]),
    ]


@pytest.mark.slow
def test_images_that_are_listed_come_first_with_their_attributes(tmp_path: Path) -> None:
    listed = {"validation-images-with-rotation.csv": "ImageID,Subset,OriginalURL,Rotation,Width\nb,validation,u,90,seven\n"}
    images = apf.read_dataset(written(tmp_path, FOLDER | listed)).images
    assert images.select("image_id", "subset", "original_url", "rotation", "width_attribute").rows() == [
        ("b", "validation", "u", 90, "seven"),
        ("a", None, None, None, None),
    ]


def test_classes_have_names_and_parents(tmp_path: Path) -> None:
    assert apf.read_dataset(written(tmp_path, FOLDER)).categories.select("category_id", "name", "parent_ids").rows() == [
        ("/m/animal", "Animal", []),
        ("/m/cat", "Cat", ["/m/animal"]),
        ("/m/dog", "Dog", ["/m/animal"]),
        ("/m/tree", "Tree", []),
    ]


@pytest.mark.parametrize("classes", [f"LabelName,DisplayName\n{CLASSES}", f"\ufeff{CLASSES}"])
def test_descriptions_may_have_a_first_line_of_names(classes: str, tmp_path: Path) -> None:
    truth = apf.read_dataset(written(tmp_path, FOLDER | {"class-descriptions-boxable.csv": classes}))
    assert truth.categories["name"].to_list() == ["Animal", "Cat", "Dog", "Tree"]


def test_the_boxes_alone_name_their_classes(tmp_path: Path) -> None:
    path = written(tmp_path, {"boxes.csv": BOXES}) / "boxes.csv"
    truth = apf.read_dataset(path, image_sizes={"file_name": ["a"], "image_width": [100], "image_height": [50]})
    assert truth.categories.select("category_id", "name").rows() == [("/m/cat", "/m/cat"), ("/m/dog", "/m/dog")]
    assert "parent_ids" not in truth.categories.columns
    assert truth.images["image_id"].to_list() == ["a"]


def test_without_sizes_boxes_stay_fractions_with_one_warning(tmp_path: Path) -> None:
    path = written(tmp_path, {"boxes.csv": BOXES}) / "boxes.csv"
    with pytest.warns(UnitWarning, match=r"boxes\.csv: the image sizes are unknown.*give image_sizes") as warned:
        truth = apf.read_dataset(path)
    assert [warning.filename for warning in warned] == [__file__]
    assert truth.annotations.select(*BOX).row(0) == pytest.approx((0.1, 0.1, 0.2, 0.2))


# what stands in several places or is passed over: node, and the (class, class right above it) that it makes
TREES: dict[str, tuple[Any, set[tuple[str, str]]]] = {
    "in two places": ([ANIMAL | {"Subcategory": [CAT]}, DOG | {"Subcategory": [CAT]}], {("cat", "animal"), ("cat", "dog")}),
    "twice": ([ANIMAL | {"Subcategory": [CAT]}, ANIMAL | {"Subcategory": [CAT]}], {("cat", "animal")}),
    "parts": ([ANIMAL | {"Part": [CAT | {"Subcategory": [DOG]}]}], set()),
    "not described": ([ANIMAL | {"Subcategory": [{"LabelName": "/m/pet", "Subcategory": [CAT]}]}], {("cat", "animal")}),
    "nothing": ([], set()),
}


@pytest.mark.parametrize(("nodes", "edges"), TREES.values(), ids=TREES)
def test_hierarchies_are_subcategories(nodes: Any, edges: set[tuple[str, str]], tmp_path: Path) -> None:
    tree = {"bbox_labels_600_hierarchy.json": json.dumps({"LabelName": "/m/0bl9f", "Subcategory": nodes})}
    categories = apf.read_dataset(written(tmp_path, FOLDER | tree)).categories
    parents = categories.select("category_id", "parent_ids").explode("parent_ids", empty_as_null=False)
    assert sorted(parents.rows()) == sorted((f"/m/{child}", f"/m/{parent}") for child, parent in edges)


@pytest.mark.slow
def test_the_file_of_each_kind_is_chosen_by_split(tmp_path: Path) -> None:
    train = {
        "train-annotations-bbox.csv": f"ImageID,LabelName,{EDGES}\nt,/m/cat,0,1,0,1\n",
        "train-annotations-machine-imagelabels.csv": LABELS,
        "validation-annotations-human-imagelabels.csv": "ImageID,LabelName,Confidence\n",
    }
    sizes = {"file_name": ["t", "a", "b"], "image_width": [9, 9, 9], "image_height": [9, 9, 9]}
    folder = written(tmp_path, FOLDER | train)
    assert apf.read_dataset(folder, split="train", image_sizes=sizes).images["image_id"].to_list() == ["t"]
    validation = apf.read_dataset(folder, split="validation", image_sizes=sizes)
    assert validation.images["image_id"].to_list() == ["a", "b"]
    several = r"several files of boxes: train-annotations-bbox\.csv, validation-annotations-bbox\.csv; choose one with split="
    with pytest.raises(FormatError, match=several):
        apf.read_dataset(folder)
    with pytest.raises(FormatError, match=r"holds no CSV of ImageID, .*, YMax with 'test' in its name$"):
        apf.read_dataset(folder, split="test")
    with pytest.raises(ParameterError, match=r'this is a single file; leave out split="train"$'):
        apf.read_dataset(folder / "train-annotations-bbox.csv", split="train")


@pytest.mark.slow
def test_packed_files_are_read(tmp_path: Path) -> None:
    (tmp_path / "boxes.csv.gz").write_bytes(gzip.compress(BOXES.encode()))
    (tmp_path / "image_sizes.csv").write_text(SIZES)
    assert apf.read_dataset(tmp_path / "boxes.csv.gz").annotations.height == 2


STRING = """ImageId,PredictionString
b,/m/cat .95 .1 .1 .3 .3
a,/m/cat 0.9 0.1 0.1 0.3 0.3  /m/animal 0.85 0.0 0.9 0.1 1.0 /m/animal 0.8 0.1 0.1 0.3 0.3
c,
a,/m/animal 0.75 0.6 0.6 0.7 0.7 /m/dog 0.6 0.6 0.6 0.7 0.7
"""


@pytest.mark.slow
@pytest.mark.parametrize("text", [RESULTS, RESULTS.replace("Score", "Conf"), STRING])
def test_results_are_rows_or_strings(text: str, tmp_path: Path) -> None:
    truth = apf.read_dataset(written(tmp_path / "truth", FOLDER))
    detections = apf.read_results(written(tmp_path / "found", {"found.csv": text}) / "found.csv", dataset=truth)
    assert detections.select("image_id", "category_id", "score").rows() == [
        ("b", "/m/cat", 0.95),
        ("a", "/m/cat", 0.9),
        ("a", "/m/animal", 0.85),
        ("a", "/m/animal", 0.8),
        ("a", "/m/animal", 0.75),
        ("a", "/m/dog", 0.6),
    ]
    assert detections.select(*BOX).row(0) == pytest.approx((20, 8, 40, 16))
    assert detections.select(*BOX).row(2) == pytest.approx((0, 45, 10, 5))


# The cat on b is false, but in the challenge nobody has looked for one there. Animals are the cat and the group of dogs, which
# is ignored, or in the challenge a positive of its own.
@pytest.mark.slow
@pytest.mark.parametrize(
    ("protocol", "expected"),
    [
        (apf.OPEN_IMAGES, {"Animal": 1 / 2, "Cat": 1 / 2, "Dog": None, "Tree": None}),
        (apf.OPEN_IMAGES_CHALLENGE, {"Animal": 2 / 3, "Cat": 1, "Dog": 1, "Tree": None}),
    ],
    ids=["open_images", "open_images_challenge"],
)
def test_an_evaluation_from_files(protocol: apf.Protocol, expected: dict[str, float | None], tmp_path: Path) -> None:
    written(tmp_path / "truth", FOLDER)
    written(tmp_path / "found", {"found.csv": RESULTS})
    ev = apf.evaluate(tmp_path / "truth", tmp_path / "found" / "found.csv", protocol)
    assert dict(ev.by("name").select("name", "AP").rows()) == pytest.approx(expected)
    values = [value for value in expected.values() if value is not None]
    assert ev.summary["value"][0] == pytest.approx(sum(values) / len(values))


SIDES = st.integers(1, 5000)
NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=4)
FLAGS = ["is_occluded", "is_truncated", "is_depiction", "is_inside"]


@st.composite
def datasets(draw: st.DrawFn) -> apf.Dataset:
    ids = st.lists(NAMES, min_size=1, max_size=4, unique=True)
    images, classes = draw(ids), draw(ids)
    some = st.lists(st.sampled_from(classes), max_size=3)
    rows = [
        {
            "image_id": draw(st.sampled_from(images)),
            "category_id": draw(st.sampled_from(classes)),
            **{name: draw(st.floats(-0.5, 0.9) if name in "xy" else st.floats(0, 1)) for name in BOX},
            "is_crowd": draw(st.booleans()),
            **{name: draw(st.none() | st.booleans()) for name in FLAGS},
            "source": draw(st.none() | NAMES),
            "confidence": draw(st.none() | st.floats(0, 1)),
        }
        for _ in range(draw(st.integers(0, 4)))
    ]
    schema = {"image_id": pl.String, "category_id": pl.String, **dict.fromkeys(BOX, pl.Float64)}
    schema |= {"is_crowd": pl.Boolean, **dict.fromkeys(FLAGS, pl.Boolean), "source": pl.String, "confidence": pl.Float64}
    sizes = [(draw(SIDES), draw(SIDES)) for _ in images]
    table = {
        "image_id": images,
        "image_width": [width for width, _ in sizes],
        "image_height": [height for _, height in sizes],
        "pos_category_ids": [draw(some) for _ in images],
        "neg_category_ids": [draw(some) for _ in images],
    }
    # what is above a class stands before it, so that there is no cycle
    above = [draw(st.lists(st.sampled_from(classes[:k]), max_size=2, unique=True)) if k else [] for k in range(len(classes))]
    categories = {"category_id": classes, "name": [draw(NAMES) for _ in classes], "parent_ids": above}
    sides = pl.DataFrame({"image_id": images, "w": [float(w) for w, _ in sizes], "h": [float(h) for _, h in sizes]})
    boxes = pl.DataFrame(rows, schema=schema).join(sides, on="image_id", how="left", maintain_order="left")
    boxes = boxes.with_columns(pl.col("x", "width") * pl.col("w"), pl.col("y", "height") * pl.col("h")).drop("w", "h")
    lists = pl.List(pl.String)
    return apf.Dataset(
        pl.DataFrame(table, schema_overrides={"pos_category_ids": lists, "neg_category_ids": lists}),
        pl.DataFrame(categories, schema_overrides={"parent_ids": lists}),
        boxes,
    )


def same(again: pl.DataFrame, expected: pl.DataFrame) -> None:
    """Equal in the columns that are expected, to 1e-9 of the largest image, and in the same order."""
    if "parent_ids" in expected.columns:  # which come back in any order, and not where there are none
        empty = pl.lit([], pl.List(pl.String))
        parents = pl.col("parent_ids").list.sort()
        again = (again if "parent_ids" in again.columns else again.with_columns(parent_ids=empty)).with_columns(parents)
        expected = expected.with_columns(parents)
    columns = [name for name in expected.columns if name != "area"]
    assert_frame_equal(again.select(columns), expected.select(columns), rel_tol=0, abs_tol=5e-6)


@pytest.mark.slow
@given(datasets())
def test_round_trip(tmp_path_factory: pytest.TempPathFactory, dataset: apf.Dataset) -> None:
    path = tmp_path_factory.mktemp("open_images")
    assert apf.write_dataset(dataset, path / "truth", "open_images").rows() == []
    again = apf.read_dataset(path / "truth", "open_images")
    for table in ("images", "categories", "annotations"):
        same(getattr(again, table), getattr(dataset, table))
    detections = apf.read_results(dataset.annotations.select("image_id", "category_id", *BOX, score=pl.int_range(pl.len()) / 7))
    assert apf.write_results(detections, path / "found.csv", "open_images", dataset=dataset).rows() == []
    same(apf.read_results(path / "found.csv", dataset=again), detections)


def test_what_is_lost_is_said(tmp_path: Path) -> None:
    dataset = apf.Dataset(
        {
            "image_id": [7],
            "file_name": ["x/a.jpg"],
            "image_width": [10],
            "image_height": [20],
            "not_exhaustive_category_ids": [[3]],
        },
        {"category_id": [3, 5], "name": ["cat", None], "supercategory": ["animal", "animal"]},
        {
            "image_id": [7],
            "category_id": [3],
            "x": [1],
            "y": [2],
            "width": [3],
            "height": [4],
            "area": [5],
            "mask": ["[[1, 2, 4, 2, 4, 6]]"],
            "is_occluded": [2],
            "source": [1],
            "is_inside": [True],
            "image_width": [9],
        },
    )
    assert apf.write_dataset(dataset, tmp_path / "truth", "open_images").rows() == [
        ("images", "image_id", 1, "becomes a name"),
        ("images", "not_exhaustive_category_ids", 1, "left out"),
        ("categories", "supercategory", 2, "left out"),
        ("categories", "category_id", 2, "becomes a text"),
        ("categories", "name", 1, "becomes the category_id"),
        ("annotations", "area", 1, "replaced by that of the box"),
        ("annotations", "mask", 1, "left out"),
        ("annotations", "image_width", 1, "left out"),
        ("annotations", "source", 1, "left out: no String"),
        ("annotations", "is_occluded", 1, "left out: no Boolean"),
    ]
    assert {path.name: path.read_text() for path in (tmp_path / "truth").iterdir()} == {
        "annotations-bbox.csv": f"ImageID,LabelName,{EDGES},IsGroupOf,IsInside\na,3,0.1,0.4,0.1,0.3,0,1\n",
        "class-descriptions-boxable.csv": "LabelName,DisplayName\n3,cat\n5,5\n",
        "images.csv": "ImageID\na\n",
        "image_sizes.csv": "image_id,file_name,image_width,image_height\na,x/a.jpg,10,20\n",
    }


HEAD = f"ImageID,LabelName,Confidence,{EDGES},IsGroupOf\n"
SOUND = "a,/m/cat,1,.1,.3,.1,.3,0\n"
TABLES = {
    "empty": (
        "",
        "boxes.csv: the file is empty",
    ),
    "blank": (
        "\n\n\n",
        "boxes.csv: the file is empty",
    ),
    "a missing column": (
        "ImageID,LabelName,XMin,YMin,YMax\n",
        "boxes.csv: no column XMax; there are ImageID, LabelName, XMin, YMin, YMax",
    ),
    "too many fields": (
        HEAD + "a,/m/cat,1,.1,.3,.1,.3,0,7\n",
        "boxes.csv: not 8 fields, as in line 1, in line 2; correct these lines",
    ),
    "too few fields": (
        HEAD + SOUND + "\na,/m/cat,1,.1,.3,.1,.3\n",
        "boxes.csv: not 8 fields, as in line 1, in line 4; correct these lines",
    ),
    "edges the wrong way round": (
        HEAD + SOUND + "a,/m/cat,1,.3,.1,.1,.3,0\n",
        'boxes.csv: XMax is less than XMin in line 3; correct these lines, or evaluate with invalid="drop" or invalid="keep"',
    ),
    "the same column twice": (
        HEAD.replace("Confidence", " LabelName") + SOUND,
        "boxes.csv: the column 'LabelName' is repeated; rename or remove one",
    ),
    "no image": (
        HEAD + ",/m/cat,1,.1,.3,.1,.3,0\n",
        "boxes.csv: ImageID is missing in line 2; correct these lines",
    ),
    "text": (
        HEAD + SOUND + "a,/m/cat,1,left,.3,.1,.3,0\n",
        "boxes.csv: XMin is not a finite number in line 3; correct these lines",
    ),
    "not finite": (
        HEAD + "a,/m/cat,1,.1,inf,.1,.3,0\n",
        "boxes.csv: XMax is not a finite number in line 2; correct these lines",
    ),
    "a flag": (
        HEAD + "a,/m/cat,1,.1,.3,.1,.3,2\n",
        "boxes.csv: IsGroupOf is not 1, 0 or -1 in line 2; correct these lines",
    ),
    "pixels": (
        HEAD + SOUND + "a,/m/cat,1,10,30,10,30,0\n",
        "boxes.csv: these look like pixels in line 3; divide by the image size: boxes must be fractions",
    ),
    "a column twice": (
        f"imageid,{HEAD}b,{SOUND}",
        "boxes.csv: columns differ only in case: imageid, ImageID, LabelName, Confidence, "
        "XMin, XMax, YMin, YMax, IsGroupOf; rename one",
    ),
}


@pytest.mark.parametrize(("text", "message"), TABLES.values(), ids=TABLES)
def test_bad_boxes_are_named(text: str, message: str, tmp_path: Path) -> None:
    folder = written(tmp_path, {"boxes.csv": text, "image_sizes.csv": SIZES})
    with pytest.raises(FormatError, match=f"{re.escape(message)}$"):
        apf.read_dataset(folder / "boxes.csv", "open_images")


OTHERS = {
    "a class without a description": (
        {"validation-annotations-bbox.csv": HEAD + SOUND + "a,/m/cow,1,.1,.3,.1,.3,0\n"},
        "validation-annotations-bbox.csv: LabelName is not among the classes in class-descriptions-boxable.csv in line 3; "
        "add it there, or remove these lines",
    ),
    "classes in three columns": (
        {"class-descriptions-boxable.csv": "/m/cat,Cat,x\n"},
        "class-descriptions-boxable.csv: not two columns, LabelName and DisplayName, but 3",
    ),
    "a class without an id": (
        {"class-descriptions-boxable.csv": "/m/cat,Cat\n,Dog\n"},
        "class-descriptions-boxable.csv: LabelName is missing in line 2; correct these lines",
    ),
    "labels of a machine": (
        {"labels.csv": "ImageID,LabelName,Confidence\na,/m/cat,0.7\n"},
        "labels.csv: Confidence is not 1 or 0 in line 2; use labels verified by people, not machine-generated ones",
    ),
    "a class described twice": (
        {"class-descriptions-boxable.csv": CLASSES + "/m/cat,Kitten\n"},
        "class-descriptions-boxable.csv: a class is described twice in line 5; remove these lines",
    ),
    "an image listed twice": (
        {"images.csv": "ImageID\na\na\nb\n"},
        "images.csv: an image is listed twice in line 3; remove these lines",
    ),
    "a hierarchy that is cut off": (
        {"hierarchy.json": HIERARCHY[:-5]},
        "hierarchy.json: not JSON, or cut off (Unterminated string starting at: line 1 column 152 (char 151))",
    ),
    "a class without a name": (
        {"hierarchy.json": '{"LabelName": "x", "Subcategory": [{"Label": "/m/cat"}]}'},
        "hierarchy.json: each class needs a LabelName, and may have a list Subcategory, not {'Label': '/m/cat'}",
    ),
    "a hierarchy that is a list": (
        {"hierarchy.json": "[]"},
        "hierarchy.json: each class needs a LabelName, and may have a list Subcategory, not []",
    ),
    "an image without a size": (
        {"images.csv": "ImageID\nc\n"},
        "no size, or several, for images 'c'; give image_sizes with their file_name",
    ),
}


@pytest.mark.slow(every=True)
@pytest.mark.parametrize(("texts", "message"), OTHERS.values(), ids=OTHERS)
def test_what_is_wrong_beside_the_boxes_is_named(texts: dict[str, str], message: str, tmp_path: Path) -> None:
    kept = {name: text for name, text in FOLDER.items() if "labels" not in name}
    with pytest.raises(FormatError, match=f"{re.escape(message)}$"):
        apf.read_dataset(written(tmp_path, kept | texts))


def test_files_that_are_no_text_are_named(tmp_path: Path) -> None:
    (tmp_path / "boxes.csv").write_bytes(HEAD.encode() + b"\xff,/m/cat,1,.1,.3,.1,.3,0\n")
    with pytest.raises(FormatError, match=r"boxes\.csv: line 2 is not UTF-8 text \(invalid start byte\); convert the file$"):
        apf.read_dataset(tmp_path / "boxes.csv")


def test_labels_of_unknown_classes_are_dropped_with_a_warning(tmp_path: Path) -> None:
    labels = {"validation-annotations-human-imagelabels-boxable.csv": LABELS + "a,machine,/m/cow,1\nc,verification,/m/cow,0\n"}
    sizes = {"image_sizes.csv": SIZES + "c.jpg,10,10\n"}
    dropped = r"dropped 2 labels of classes that are not in class-descriptions-boxable\.csv: '/m/cow'$"
    with pytest.warns(UnknownCategoryWarning, match=dropped) as warned:
        truth = apf.read_dataset(written(tmp_path, FOLDER | labels | sizes))
    assert [warning.filename for warning in warned] == [__file__]
    assert truth.images.select("image_id", "pos_category_ids", "neg_category_ids").rows() == [
        ("a", ["/m/cat", "/m/dog"], []),
        ("b", [], ["/m/dog"]),
        ("c", [], []),
    ]


LOOSE = {
    "blank lines": BOXES.replace("\na,xclick", "\n\na,xclick") + "\n\n",
    "of Windows": BOXES.replace("\n", "\r\n") + "\r\n",
    "blanks after commas in the first line": BOXES.replace(",", ", ", 12),
    "a comma in quotes": BOXES.replace("xclick", '"x,click"').replace("0\n", "\n"),
}


@pytest.mark.parametrize("text", LOOSE.values(), ids=LOOSE)
def test_what_changes_nothing_is_read(text: str, tmp_path: Path) -> None:
    folder = written(tmp_path, {"boxes.csv": text, "image_sizes.csv": SIZES})
    annotations = apf.read_dataset(folder / "boxes.csv").annotations
    assert annotations.select("category_id", "x").rows() == [("/m/cat", 10), ("/m/dog", 50)]


def test_lines_are_counted_with_blank_ones(tmp_path: Path) -> None:
    folder = written(tmp_path, {"boxes.csv": f"{HEAD}\n{SOUND}\na,/m/cat,1,.1,.3,.1,wide,0\n", "image_sizes.csv": SIZES})
    with pytest.raises(FormatError, match=r"boxes\.csv: YMax is not a finite number in line 5; correct these lines$"):
        apf.read_dataset(folder / "boxes.csv")


def test_hidden_files_are_passed_over(tmp_path: Path) -> None:
    folder = written(tmp_path, FOLDER | {"._validation-annotations-bbox.csv": BOXES, ".class-descriptions.csv": "\0"})
    assert apf.read_dataset(folder).annotations.height == 2


BAD_RESULTS = {
    "no score": (
        f"ImageID,LabelName,{EDGES}\n",
        "found.csv: no column Score; there are ImageID, LabelName, XMin, XMax, YMin, YMax",
    ),
    "text": (
        f"ImageID,LabelName,Score,{EDGES}\na,/m/cat,high,0,1,0,1\n",
        "found.csv: Score is not a finite number in line 2; correct these lines",
    ),
    "a cut-off string": (
        "ImageId,PredictionString\na,\na,/m/cat .5 0 0 1\n",
        "found.csv: PredictionString is not a sequence of LabelName Score XMin YMin XMax YMax in line 3; correct these lines",
    ),
    "text in a string": (
        "ImageId,PredictionString\na,\na,/m/cat .5 0 0 1 1 /m/cat .5 0 0 1 wide\n",
        "found.csv: YMax is not a finite number in line 3; correct these lines",
    ),
    "edges the wrong way round": (
        "ImageId,PredictionString\na,\na,/m/cat .5 0 0 1 1 /m/cat .5 0 .2 1 .1\n",
        'found.csv: YMax is less than YMin in line 3; correct these lines, or evaluate with invalid="drop" or invalid="keep"',
    ),
}


@pytest.mark.parametrize(("text", "message"), BAD_RESULTS.values(), ids=BAD_RESULTS)
def test_bad_results_are_named(text: str, message: str, tmp_path: Path) -> None:
    truth = apf.read_dataset(written(tmp_path / "truth", FOLDER))
    with pytest.raises(FormatError, match=f"{re.escape(message)}$"):
        apf.read_results(written(tmp_path / "found", {"found.csv": text}) / "found.csv", "open_images", dataset=truth)


@pytest.mark.slow
def test_results_of_unknown_images_are_refused_or_dropped(tmp_path: Path) -> None:
    truth = written(tmp_path / "truth", FOLDER)
    results = written(tmp_path / "found", {"found.csv": RESULTS + "c,/m/cat,0.99,0,1,0,1\n"}) / "found.csv"
    with pytest.raises(UnknownIdError, match=r"image_id is not among the images .*unknown: 'c'"):
        apf.evaluate(truth, results, apf.OPEN_IMAGES)
    evaluation = apf.evaluate(truth, written(tmp_path / "known", {"found.csv": RESULTS}) / "found.csv", apf.OPEN_IMAGES)
    assert_frame_equal(apf.evaluate(truth, results, apf.OPEN_IMAGES, unknown_images="drop").summary, evaluation.summary)


def test_what_cannot_be_written_leaves_nothing_behind(tmp_path: Path) -> None:
    images, row = {"image_id": ["a"], "image_width": [10], "image_height": [20]}, {"image_id": ["a"], "category_id": ["c"]}
    box = {"x": [1], "y": [2], "width": [3], "height": [4]}
    with pytest.raises(RowError, match="image_width or image_height is missing or not positive for image_id 'a'"):
        apf.write_dataset(
            apf.Dataset({"image_id": ["a"]}, {"category_id": ["c"]}, row | box), tmp_path / "truth", "open_images"
        )
    with pytest.raises(RowError, match="annotations: the object is farther outside its image than the image is large for"):
        apf.write_dataset(
            apf.Dataset(images, {"category_id": ["c"]}, row | box | {"x": [40]}), tmp_path / "truth", "open_images"
        )
    cycle = {"category_id": ["b", "c", "d"], "parent_ids": [["c"], ["d"], ["c"]]}
    with pytest.raises(FormatError, match="categories: the hierarchy has a cycle: 'c' is above itself; remove one of these"):
        apf.write_dataset(apf.Dataset(images, cycle, row | box), tmp_path / "truth", "open_images")
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="file: a file with this name exists; remove it or choose another name"):
        apf.write_dataset(apf.Dataset(images, {"category_id": ["c"]}, row | box), tmp_path / "file", "open_images")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_told_from_the_first_line(tmp_path: Path) -> None:
    masks = "MaskPath,ImageID,LabelName,BoxID,BoxXMin,BoxXMax,BoxYMin,BoxYMax,PredictedIoU,Clicks\n"
    texts = {"masks.csv": masks, "pairs.csv": "ImageID,LabelName1,LabelName2\n", "found.csv": RESULTS, "string.csv": STRING}
    written(tmp_path / "truth", FOLDER)
    written(
        tmp_path / "other",
        texts | {"boxes.txt": "cat 1 2 3 4\n", "coco.json": '{"images": []}', "settings.yaml": "names: []\n"},
    )
    form = OpenImages()
    assert [form.fits(see(tmp_path / name), "dataset") for name in ("truth", "other")] == [True, False]
    everything = sorted(path for path in tmp_path.rglob("*") if path.is_file())
    assert [path.name for path in everything if form.fits(see(path), "dataset")] == ["validation-annotations-bbox.csv"]
    assert [path.name for path in everything if form.fits(see(path), "results")] == ["found.csv", "string.csv"]
    for other in (Coco(), Boxes()):
        assert not any(
            other.fits(see(path), "dataset") or other.fits(see(path), "results") for path in everything if path.suffix == ".csv"
        )


def test_lines_with_an_image_alone_are_images_without_objects(tmp_path: Path) -> None:
    header = "ImageID,LabelName,Score,XMin,XMax,YMin,YMax\n"
    (tmp_path / "truth.csv").write_text(header.replace("Score,", "") + "a,/m/cat,.1,.5,.1,.5\nb,,,,,\n")
    (tmp_path / "found.csv").write_text(header + "a,/m/cat,.9,.1,.5,.1,.5\nb,,,,,,\n")
    with pytest.warns(UnitWarning):
        truth = apf.read_dataset(tmp_path / "truth.csv")
    assert (truth.images["image_id"].to_list(), truth.annotations.height) == (["a", "b"], 1)
    assert apf.read_results(tmp_path / "found.csv", dataset=truth).height == 1
