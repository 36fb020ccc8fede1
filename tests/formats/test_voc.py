"""PASCAL VOC: what its files say, image sets, round trips, and files that cannot be read."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import apframe as apf
from apframe.exceptions import FormatError, ParameterError, RowError
from apframe.formats.path_contents import see
from apframe.formats.voc.format import Voc
from tests.formats.folders import written

BOX = ["x", "y", "width", "height"]

DOG = """\
<annotation verified="yes">
    <folder>VOC2012</folder>
    <filename>2008_000001.jpg</filename>
    <source><database>The VOC2008 Database</database><annotation>PASCAL VOC2008</annotation></source>
    <owner><name>someone</name></owner>
    <size><width>500</width><height>375</height><depth>3</depth></size>
    <segmented>1</segmented>
    <object>
        <part>
            <name>head</name>
            <bndbox><xmin>1</xmin><ymin>1</ymin><xmax>2</xmax><ymax>2</ymax></bndbox>
        </part>
        <name>
            dog
        </name>
        <pose>Left</pose>
        <truncated>1</truncated>
        <occluded>0</occluded>
        <bndbox><ymax>80.5</ymax><xmin>48</xmin><ymin>24</ymin><xmax>195</xmax></bndbox>
        <difficult>0</difficult>
    </object>
    <object>
        <name>black &amp; white cat</name>
        <pose></pose>
        <truncated>Unspecified</truncated>
        <difficult>1</difficult>
        <bndbox><xmin>8</xmin><ymin>12</ymin><xmax>352</xmax><ymax>498</ymax></bndbox>
    </object>
</annotation>
"""
EMPTY = "<annotation><filename>b.png</filename></annotation>"
OBJECT = "<annotation><object>{}</object></annotation>"
NAME = "<name>dog</name>"
CORNERS = "<bndbox><xmin>1</xmin><ymin>2</ymin><xmax>11</xmax><ymax>22</ymax></bndbox>"
SOUND = OBJECT.format(NAME + CORNERS)


def devkit(folder: Path, sets: dict[str, str], **files: str | bytes) -> Path:
    annotations = {f"Annotations/{name}.xml": content for name, content in files.items()}
    return written(folder, annotations | {f"ImageSets/Main/{name}.txt": text for name, text in sets.items()})


# ---- annotations


@pytest.mark.slow
def test_elements_are_columns(tmp_path: Path) -> None:
    truth = apf.read_dataset(devkit(tmp_path, {}, **{"2008_000001": DOG, "b": EMPTY}))
    assert truth.images.rows(named=True) == [
        {"image_id": "2008_000001", "image_width": 500, "image_height": 375, "file_name": "2008_000001.jpg",
         "folder": "VOC2012", "segmented": True},
        {"image_id": "b", "image_width": None, "image_height": None, "file_name": "b.png", "folder": None, "segmented": None},
    ]  # fmt: skip
    names = ["black & white cat", "dog"]
    assert truth.categories.select("category_id", "name").rows() == [(name, name) for name in names]
    columns = ["image_id", "category_id", *BOX, "ignore", "pose", "truncated", "occluded"]
    assert truth.annotations.select(columns).rows() == [
        ("2008_000001", "dog", 48, 24, 147, 56.5, False, "Left", True, False),
        ("2008_000001", "black & white cat", 8, 12, 344, 486, True, None, None, None),
    ]


@pytest.mark.slow
def test_attributes_that_no_file_has_are_no_columns(tmp_path: Path) -> None:
    truth = apf.read_dataset(devkit(tmp_path, {}, a=SOUND))
    assert truth.images.columns == ["image_id", "image_width", "image_height", "file_name"]
    assert not {"ignore", "pose", "truncated", "occluded"} & set(truth.annotations.columns)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("word", "flag"), [("1", True), ("0", False), (" True ", True), ("FALSE", False), ("Unspecified", None)]
)
def test_words_of_flags(word: str, flag: bool | None, tmp_path: Path) -> None:
    content = SOUND.replace("</object>", f"<truncated>{word}</truncated></object>")
    truth = apf.read_dataset(devkit(tmp_path, {}, a=content, b=SOUND.replace("</object>", "<truncated>1</truncated></object>")))
    assert truth.annotations["truncated"].to_list() == [flag, True]


ENCODINGS: dict[str, bytes] = {
    "no declaration": SOUND.replace("dog", "Größe").encode(),
    "byte order mark": b"\xef\xbb\xbf" + SOUND.replace("dog", "Größe").encode(),
    "Latin-1, as it says": b'<?xml version="1.0" encoding="ISO-8859-1"?>' + SOUND.replace("dog", "Größe").encode("latin-1"),
    "UTF-16": SOUND.replace("dog", "Größe").encode("utf-16"),
}


@pytest.mark.parametrize("content", ENCODINGS.values(), ids=ENCODINGS)
def test_encodings(content: bytes, tmp_path: Path) -> None:
    truth = apf.read_dataset(written(tmp_path, {"a.xml": content}), "voc")
    assert truth.categories["name"].to_list() == ["Größe"]


# ---- which images

SETS = {"train": "c\n", "val": "b\n\n a\r\n", "dog_train": "c  1\n", "dog_val": "b -1\na  0\n"}
FILES = dict.fromkeys("abc", SOUND)
PLACES: dict[str, tuple[str, str | None, list[str]]] = {
    "split": (".", "val", ["b", "a"]),
    "a split of one class": (".", "dog_val", ["b", "a"]),
    "file": ("ImageSets/Main/val.txt", None, ["b", "a"]),
    "file of one class": ("ImageSets/Main/dog_train.txt", None, ["c"]),
    "all XML files": ("Annotations", None, ["a", "b", "c"]),
    "split, beside the XML files": ("Annotations", "train", ["c"]),
}


@pytest.mark.parametrize(("place", "split", "images"), PLACES.values(), ids=PLACES)
def test_image_sets(place: str, split: str | None, images: list[str], tmp_path: Path) -> None:
    truth = apf.read_dataset(devkit(tmp_path, SETS, **FILES) / place, split=split)
    assert truth.images["image_id"].to_list() == images
    assert truth.annotations["image_id"].to_list() == images


def test_the_only_image_set_of_all_classes_is_taken(tmp_path: Path) -> None:
    sets = {name: SETS[name] for name in ("val", "dog_train", "dog_val")}
    assert apf.read_dataset(devkit(tmp_path, sets, **FILES)).images["image_id"].to_list() == ["b", "a"]


def test_without_image_sets_all_are_taken(tmp_path: Path) -> None:
    assert apf.read_dataset(devkit(tmp_path, {}, **FILES)).images["image_id"].to_list() == ["a", "b", "c"]


@pytest.mark.slow
def test_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(devkit(tmp_path, SETS, **FILES) / "ImageSets" / "Main")
    assert apf.read_dataset("val.txt").images["image_id"].to_list() == ["b", "a"]
    monkeypatch.chdir(tmp_path / "Annotations")
    assert apf.read_dataset(".", split="val").images["image_id"].to_list() == ["b", "a"]


BAD_SPLITS: dict[str, tuple[str, str | None, str]] = {
    "several": (".", None, "Main: there are several image sets; choose one with split=: train, val"),
    "unknown": (".", "vall", "Main: no image set 'vall'; did you mean val?"),
    "unknown, and none is near": (".", "7", "Main: no image set '7'; there are train, val"),
    "of an image set": ("ImageSets/Main/val.txt", "val", 'val.txt: this is a single image set; leave out split="val"'),
}


@pytest.mark.parametrize(("place", "split", "message"), BAD_SPLITS.values(), ids=BAD_SPLITS)
def test_bad_splits(place: str, split: str | None, message: str, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=f"{re.escape(message)}$"):
        apf.read_dataset(devkit(tmp_path, SETS, **FILES) / place, split=split)


def test_a_file_that_is_no_image_set_is_refused(tmp_path: Path) -> None:
    path = devkit(tmp_path, SETS, **FILES) / "Annotations" / "a.xml"
    with pytest.raises(
        FormatError, match=r"a\.xml: the name of an image set ends in \.txt; give one, or a folder of XML files$"
    ):
        apf.read_dataset(path, "voc")


def test_a_split_where_there_are_no_image_sets(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=r"Main: no image set 'val'$"):
        apf.read_dataset(devkit(tmp_path, {}, a=SOUND), split="val")


BAD_SETS: dict[str, tuple[str | bytes, str]] = {
    "empty": (" \n", "val.txt: the image set is empty"),
    "missing files": (
        "a\nx\n\ny 1\n",
        "Annotations has no XML file of 'x', 'y', in line 2, 4; add the files, or remove these lines",
    ),
    "twice": ("a\nb\na\n", "val.txt: an image is named twice in line 3; correct these lines"),
    "three fields": ("a\nb 1 1\n", "val.txt: not 1 to 2 fields (image_id label) in line 2; correct these lines"),
    "no label": ("a b\n", "val.txt: label is not a finite number in line 1; correct these lines"),
    "no UTF-8": (b"a\n\xe4\n", "val.txt: line 2 is not UTF-8 text (invalid continuation byte); convert the file"),
}


@pytest.mark.parametrize(("text", "message"), BAD_SETS.values(), ids=BAD_SETS)
def test_bad_image_sets(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=f"{re.escape(message)}$"):
        apf.read_dataset(devkit(tmp_path, {"val": text}, **FILES))


def test_an_image_set_that_stands_elsewhere(tmp_path: Path) -> None:
    path = written(tmp_path, {"a/b/c/val.txt": "a\n"}) / "a" / "b" / "c" / "val.txt"
    with pytest.raises(FormatError, match=r"a/Annotations: holds no XML file$"):
        apf.read_dataset(path, "voc")


# ---- bad XML files

BAD_FILES: dict[str, tuple[str | bytes, str]] = {
    "empty": ("\n", "b.xml: the file is empty"),
    "cut off": (SOUND[:60], "b.xml: not XML, cut off, or in another encoding than it says (unclosed token: line 1, column 58)"),
    "no XML": ("dog 1 2 3 4", "b.xml: not XML, cut off, or in another encoding than it says (syntax error: line 1, column 0)"),
    "no UTF-8": (
        "<annotation>\n<folder>Größe</folder></annotation>".encode("latin-1"),
        "b.xml: not XML, cut off, or in another encoding than it says (not well-formed (invalid token): line 2, column 10)",
    ),
    "an encoding of several bytes": (
        b'<?xml version="1.0" encoding="gbk"?><annotation/>',
        "b.xml: not XML, cut off, or in another encoding than it says (multi-byte encodings are not supported)",
    ),
    "an unknown encoding": (
        b'<?xml version="1.0" encoding="utf-9"?><annotation/>',
        "b.xml: not XML, cut off, or in another encoding than it says (unknown encoding: utf-9)",
    ),
    "another root": ("<annotations/>", "b.xml: the root is <annotations>, not <annotation>"),
    "no bndbox": (OBJECT.format(NAME + "<xmin>1</xmin>"), "b.xml: xmin is missing in object 1; correct it"),
    "no xmax": (SOUND.replace("<xmax>11</xmax>", ""), "b.xml: xmax is missing in object 1; correct it"),
    "an empty xmax": (SOUND.replace("11", ""), "b.xml: xmax is missing in object 1; correct it"),
    "no name": (SOUND.replace(NAME, "<part><name>head</name></part>"), "b.xml: name is missing in object 1; correct it"),
    "some objects": (
        SOUND.replace("</object>", f"</object><object>{NAME}</object><object>{CORNERS + NAME}</object><object/>"),
        "b.xml: name is missing in object 4; correct it "
        "(the first of 2 kinds of faults in 2 rows; also b.xml: xmin is missing in object 2)",
    ),
    "edges the wrong way round": (
        SOUND.replace("11", "0.5"),
        'b.xml: xmax is less than xmin in object 1; correct it, or evaluate with invalid="drop" or invalid="keep"',
    ),
    "text for a number": (SOUND.replace("22", "low"), "b.xml: ymax is not a finite number in object 1; correct it"),
    "not finite": (SOUND.replace("22", "NaN"), "b.xml: ymax is not a finite number in object 1; correct it"),
    "text for a width": (
        "<annotation><size><width>wide</width></size></annotation>",
        "b.xml: size/width is not a finite number; correct it",
    ),
    "text for a flag": (
        OBJECT.format(NAME + CORNERS + "<difficult>2</difficult>"),
        "b.xml: difficult is neither 0 nor 1 in object 1; correct it",
    ),
}


@pytest.mark.parametrize(("content", "message"), BAD_FILES.values(), ids=BAD_FILES)
def test_bad_files_are_named(content: str | bytes, message: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError) as caught:
        apf.read_dataset(devkit(tmp_path, {}, a=SOUND, b=content))
    assert str(caught.value).replace(f"{tmp_path / 'Annotations'}/", "").endswith(message)


def test_further_bad_files_are_counted(tmp_path: Path) -> None:
    bad = SOUND.replace("22", "low")
    with pytest.raises(FormatError, match=r"b\.xml: ymax is not a finite number in object 1, and in 2 more files; correct it$"):
        apf.read_dataset(devkit(tmp_path, {}, a=SOUND, b=bad, c=bad, d=bad))


BAD_VALUES = {
    "a fraction of a pixel": (
        "<annotation><size><width>99.5</width></size></annotation>",
        "images: image_width is not a whole number for image_id 'a'",
    ),
}


@pytest.mark.parametrize(("content", "message"), BAD_VALUES.values(), ids=BAD_VALUES)
def test_values_that_cannot_be_right_are_refused(content: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(RowError, match=message):
        apf.read_dataset(devkit(tmp_path, {}, a=content), "voc")


def test_a_folder_without_xml_files(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"holds no XML file$"):
        apf.read_dataset(written(tmp_path, {"a.txt": "a"}), "voc")


def test_hidden_files_are_passed_over_and_case_is_ignored(tmp_path: Path) -> None:
    folder = written(tmp_path, {"Annotations/._a.xml": b"\0", "Annotations/A.XML": SOUND, "ImageSets/Main/._x.txt": b"\0",
                                "ImageSets/Main/VAL.TXT": "A\n"})  # fmt: skip
    for path in (folder, folder / "Annotations", folder / "ImageSets" / "Main" / "VAL.TXT"):
        assert apf.read_dataset(path).images["image_id"].to_list() == ["A"]


def test_a_blank_in_the_name_of_an_image_is_named(tmp_path: Path) -> None:
    folder = devkit(tmp_path, {"val": "a\nmy image 1\n"}, **{"a": SOUND, "my image 1": SOUND})
    with pytest.raises(
        FormatError, match=r"val\.txt: the name of an image contains a blank in line 2; rename these files: the name would"
    ):
        apf.read_dataset(folder)


# ---- results


def test_results_are_files_of_classes(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "comp4_det_test_traffic_light.txt": "000002 .9 1 2 11 22.5\n\n000001 1e-3 5 5 6 7\n",
        "comp4_det_test_dog.txt": "000002\t.5\t1 2 3 4\r\n",
        "comp4_det_test_cat.txt": "",
        "comp2_cls_test_dog.txt": "000002 .5\n",
    }
    detections = apf.read_results(written(tmp_path, files))
    assert detections.select("image_id", "category_id", "score", *BOX).rows() == [
        ("000002", "dog", 0.5, 1, 2, 2, 2),
        ("000002", "traffic_light", 0.9, 1, 2, 10, 20.5),
        ("000001", "traffic_light", 0.001, 5, 5, 1, 2),
    ]


def test_where_no_file_is_called_as_results_are_each_is_a_class(tmp_path: Path) -> None:
    detections = apf.read_results(written(tmp_path, {"dog.txt": "a .5 1 2 3 4\n"}), "voc")
    assert detections.select("image_id", "category_id", "score", *BOX).rows() == [("a", "dog", 0.5, 1, 2, 2, 2)]


LAYOUT = "(image_id score xmin ymin xmax ymax)"
BAD_RESULTS: dict[str, tuple[dict[str, str | bytes], str]] = {
    "five fields": ({"dog": "a .5 1 2 3 4\na .5 1 2 3\n"}, f"dog.txt: not 6 fields {LAYOUT} in line 2; correct these lines"),
    "seven fields": ({"dog": "a .5 1 2 3 4 5\n"}, f"dog.txt: not 6 fields {LAYOUT} in line 1; correct these lines"),
    "text for a number": ({"dog": "a .5 1 2 3 low\n"}, "dog.txt: ymax is not a finite number in line 1; correct these lines"),
    "no score": ({"dog": "a nan 1 2 3 4\n"}, "dog.txt: score is not a finite number in line 1; correct these lines"),
    "no UTF-8": (
        {"dog": b"\xe4 .5 1 2 3 4\n"},
        "dog.txt: line 1 is not UTF-8 text (invalid continuation byte); convert the file",
    ),
    "no files": ({"dog.csv": ""}, "holds no text file (.txt)"),
    "two runs": (
        {"comp3_det_val_dog": "", "comp4_det_val_dog": "", "comp4_det_val_cat": ""},
        "holds results of comp3_det_val, comp4_det_val; put each into its own folder",
    ),
}


@pytest.mark.parametrize(("files", "message"), BAD_RESULTS.values(), ids=BAD_RESULTS)
def test_bad_results_are_named(files: dict[str, str | bytes], message: str, tmp_path: Path) -> None:
    named = {name if "." in name else f"{name}.txt": content for name, content in files.items()}
    with pytest.raises(FormatError, match=f"{re.escape(message)}$"):
        apf.read_results(written(tmp_path, named), "voc")


def test_one_file_of_results_is_named_with_its_folder(tmp_path: Path) -> None:
    results = written(tmp_path / "found", {"comp4_det_test_dog.txt": "a .5 1 2 3 4\n"})
    message = f"dog.txt: this is one file of voc results, which are a folder; name the folder: {results}"
    with pytest.raises(FormatError, match=f"{re.escape(message)}$"):
        apf.read_results(results / "comp4_det_test_dog.txt")


def test_results_that_end_before_they_begin_are_named(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"dog\.txt: xmax is less than xmin in line 1; correct these lines, or evaluate with"):
        apf.read_results(written(tmp_path, {"dog.txt": "a .5 3 2 1 4\n"}), "voc")


def test_evaluated_by_the_rules_of_voc(tmp_path: Path) -> None:
    boxes = [("dog", 0, (1, 1, 10, 10)), ("dog", 0, (21, 21, 30, 30)), ("dog", 1, (41, 41, 50, 50))]
    corners = "<bndbox><xmin>{}</xmin><ymin>{}</ymin><xmax>{}</xmax><ymax>{}</ymax></bndbox>"
    objects = "".join(
        f"<object><name>{name}</name><difficult>{difficult}</difficult>{corners.format(*box)}</object>"
        for name, difficult, box in boxes
    )
    truth = devkit(tmp_path / "truth", {"test": "1\n"}, **{"1": f"<annotation>{objects}</annotation>"})
    # half of the first object, counted inclusively, is not above .5; then the second, the difficult one, and nothing
    lines = ["1 .9 1 1 5 10", "1 .8 21 21 30 30", "1 .7 41 41 50 50", "1 .6 90 90 99 99"]
    results = written(tmp_path / "found", {"comp4_det_test_dog.txt": "\n".join(lines)})
    ev = apf.evaluate(truth, results, "voc2012")
    assert ev.matches(0.5).drop_nulls("detection_id").sort("detection_id")["outcome"].to_list() == ["fp", "tp", "ignored", "fp"]
    assert ev.summary["value"].to_list() == [0.25]


# ---- round trips

# halves of whole numbers: the difference of two corners is the very width that was given
SIDES = st.integers(0, 10**6).map(lambda n: n / 2)
XML_TEXT = st.text(
    st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="\ufffe\uffff") | st.sampled_from("\t\n\r<>&'\""),
    min_size=1,
)
TRIMMED = XML_TEXT.filter(lambda text: pl.Series([text]).str.strip_chars().item() == text)
FILE_NAMES = st.text(st.characters(categories=("L", "N", "P", "S"), exclude_characters="/\\"), min_size=1, max_size=8).filter(
    lambda name: name[0] != "."
)
FLAGS = st.booleans() | st.none()


def frame(rows: list[dict[str, Any]], **optional: Any) -> pl.DataFrame:
    """Rows as columns; those of nulls alone left out, as the reader has them."""
    table = pl.DataFrame(rows, schema_overrides=optional)
    return table.drop([name for name in optional if not table[name].count()])


@st.composite
def datasets(draw: st.DrawFn, names: st.SearchStrategy[str] = TRIMMED) -> apf.Dataset:
    ids = draw(st.lists(FILE_NAMES, min_size=1, max_size=4, unique=True))
    images = [
        {"image_id": each, "image_width": draw(st.integers(0, 2**40)), "image_height": draw(st.none() | st.just(7)),
         "file_name": draw(st.none() | st.just(f"photos/{each}.jpg")), "folder": draw(st.none() | TRIMMED),
         "segmented": draw(FLAGS)}
        for each in ids
    ]  # fmt: skip
    classes = draw(st.lists(names, min_size=1, max_size=3, unique=True))
    rows = [
        {"image_id": image, "category_id": draw(st.sampled_from(classes)),
         **dict(zip(BOX, draw(st.tuples(*[SIDES] * 4)), strict=True)), "ignore": draw(st.booleans()),
         "pose": draw(st.none() | TRIMMED), "truncated": draw(FLAGS), "occluded": draw(FLAGS)}
        for image in ids
        for _ in range(draw(st.integers(0, 3)))
    ]  # fmt: skip
    used = sorted({row["category_id"] for row in rows})
    columns = dict.fromkeys(("image_id", "category_id"), pl.String) | dict.fromkeys(BOX, pl.Float64)
    flags = {"truncated": pl.Boolean, "occluded": pl.Boolean}
    annotations = frame(rows, ignore=pl.Boolean, pose=pl.String, **flags) if rows else pl.DataFrame(schema=columns)
    categories = pl.DataFrame({"category_id": used, "name": used}, schema=dict.fromkeys(("category_id", "name"), pl.String))
    return apf.Dataset(frame(images, folder=pl.String, segmented=pl.Boolean), categories, annotations)


@pytest.mark.slow
@given(datasets())
def test_round_trip(tmp_path_factory: pytest.TempPathFactory, dataset: apf.Dataset) -> None:
    path = tmp_path_factory.mktemp("voc") / "truth"
    assert apf.write_dataset(dataset, path, "voc").rows() == []
    again = apf.read_dataset(path)
    for table in ("images", "categories", "annotations"):
        assert_frame_equal(getattr(again, table), getattr(dataset, table))


@pytest.mark.slow
@given(datasets(names=FILE_NAMES), st.booleans())
def test_round_trip_of_results(tmp_path_factory: pytest.TempPathFactory, dataset: apf.Dataset, has_truth: bool) -> None:
    path = tmp_path_factory.mktemp("voc") / "found"
    detections = dataset.annotations.select("image_id", "category_id", (pl.col("x") / 7).alias("score"), *BOX)
    detections = detections.sort("category_id", maintain_order=True)  # the order within a class is held
    assert apf.write_results(detections, path, "voc", dataset=dataset if has_truth else None).rows() == []
    assert {file.name for file in path.iterdir()} == {f"comp4_det_test_{name}.txt" for name in dataset.categories["name"]}
    if detections.height:
        by_file = sorted(
            detections.partition_by("category_id"), key=lambda part: f"comp4_det_test_{part['category_id'][0]}.txt"
        )
        assert_frame_equal(apf.read_results(path, "voc"), apf.read_results(pl.concat(by_file)))


@pytest.mark.slow
@given(st.lists(st.tuples(*[st.floats(0, 1e9)] * 4), min_size=1, max_size=5))
def test_boxes_that_are_rounded_are_counted(tmp_path_factory: pytest.TempPathFactory, boxes: list[tuple[float, ...]]) -> None:
    path = tmp_path_factory.mktemp("voc") / "truth"
    rows = pl.DataFrame(boxes, schema=BOX, orient="row").with_columns(image_id=pl.lit("a"), category_id=pl.lit("b"))
    dataset = apf.Dataset({"image_id": ["a"]}, {"category_id": ["b"], "name": ["b"]}, rows)
    lost = apf.write_dataset(dataset, path, "voc")
    again = apf.read_dataset(path).annotations
    changed = {name: int((again[name] != dataset.annotations[name]).sum()) for name in BOX}
    assert dict(lost.select("column", "n_rows").rows()) == {name: n for name, n in changed.items() if n}
    assert (again.select(BOX) - dataset.annotations.select(BOX)).select(pl.max_horizontal(pl.all().abs()).max()).item() < 1e-6


def test_no_detections_are_an_empty_file_for_each_class(tmp_path: Path) -> None:
    dataset = truth_of()
    apf.write_results(dataset.annotations.with_columns(score=0.5).clear(), tmp_path / "found", "voc", dataset=dataset)
    assert [path.name for path in (tmp_path / "found").iterdir()] == ["comp4_det_test_dog.txt"]
    assert apf.read_results(tmp_path / "found").is_empty()


# ---- what is written, and what is lost


def truth_of(**columns: Any) -> apf.Dataset:
    """One object on the image a, with columns of annotations changed."""
    row = {"image_id": ["a"], "category_id": ["dog"], "x": [1], "y": [2], "width": [10], "height": [20.5]}
    return apf.Dataset({"image_id": ["a"]}, {"category_id": ["dog"], "name": ["dog"]}, row | columns)


def test_what_is_written(tmp_path: Path) -> None:
    dataset = apf.Dataset(
        {"image_id": [7, 8], "file_name": ["x/a.jpg", "b.jpg"], "image_width": [640, None], "segmented": [False, None]},
        {"category_id": [3], "name": ["R&B"]},
        {"image_id": [7], "category_id": [3], "x": [1], "y": [2], "width": [10], "height": [20.5], "ignore": [True]},
    )
    apf.write_dataset(dataset, tmp_path / "voc", "voc")
    apf.write_results(dataset.annotations.with_columns(score=0.25), tmp_path / "found", "voc", dataset=dataset)
    paths = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {str(path.relative_to(tmp_path)): path.read_text() for path in paths} == {
        "voc/ImageSets/Main/all.txt": "a\nb\n",
        "voc/Annotations/a.xml": """\
<annotation>
\t<filename>x/a.jpg</filename>
\t<size>
\t\t<width>640</width>
\t</size>
\t<segmented>0</segmented>
\t<object>
\t\t<name>R&amp;B</name>
\t\t<difficult>1</difficult>
\t\t<bndbox>
\t\t\t<xmin>1.0</xmin>
\t\t\t<ymin>2.0</ymin>
\t\t\t<xmax>11.0</xmax>
\t\t\t<ymax>22.5</ymax>
\t\t</bndbox>
\t</object>
</annotation>
""",
        "voc/Annotations/b.xml": """\
<annotation>
\t<filename>b.jpg</filename>
\t<size>
\t</size>
</annotation>
""",
        "found/comp4_det_test_R&B.txt": "a 0.25 1.0 2.0 11.0 22.5\n",
    }


def test_what_is_lost_is_said(tmp_path: Path) -> None:
    dataset = apf.Dataset(
        {"image_id": [1, 2], "file_name": ["a.jpg", "b.jpg"], "folder": [" x", "y"], "weather": ["rain", None]},
        {"category_id": [3, 5], "name": ["cat", "dog"], "supercategory": ["animal", None]},
        {
            "image_id": [2, 2],
            "category_id": [3, 3],
            "x": [1.0, 0.1],
            "y": [2, 2],
            "width": [3.0, 0.2],
            "height": [4, 4],
            "area": [5, None],
            "is_crowd": [True, False],
            "truncated": [1, 0],
            "occluded": [0.3, 1.0],
            "pose": [8, None],
        },
    )
    lost = apf.write_dataset(dataset, tmp_path / "truth", "voc")
    assert set(lost.rows()) == {
        ("images", "image_id", 2, "becomes a name"),
        ("images", "weather", 1, "left out"),
        ("images", "folder", 1, "surrounding blanks are removed; null if nothing is left"),
        ("categories", "category_id", 2, "becomes a name"),
        ("categories", "supercategory", 1, "left out"),
        ("annotations", "width", 1, "rounded: the files store where the box ends"),
        ("annotations", "area", 1, "replaced by that of the box"),
        ("annotations", "is_crowd", 1, "left out: crowds become ordinary objects"),
        ("annotations", "occluded", 1, "left out: neither true nor false"),
        ("annotations", "pose", 1, "left out: not text"),
        ("categories", None, 1, "without annotations: left out"),
    }
    again = apf.read_dataset(tmp_path / "truth")
    assert again.images["folder"].to_list() == ["x", "y"]
    assert again.annotations.select("truncated", "occluded").rows() == [(True, None), (False, True)]
    assert "pose" not in again.annotations.columns


def test_categorical_texts_are_written(tmp_path: Path) -> None:
    dataset = truth_of(pose=pl.Series(["Left"], dtype=pl.Enum(["Left", "Right"])))
    assert apf.write_dataset(dataset, tmp_path / "truth", "voc").rows() == []
    assert apf.read_dataset(tmp_path / "truth").annotations["pose"].to_list() == ["Left"]


@pytest.mark.parametrize("text", ["<a> & 'b' \"c\" ]]>", "a\rb", "a\r\nb\n\tc", "&amp;", "犬 \U0001f415"])
def test_characters_that_mean_something_in_xml(text: str, tmp_path: Path) -> None:
    assert apf.write_dataset(truth_of(pose=[text]), tmp_path / "truth", "voc").rows() == []
    assert apf.read_dataset(tmp_path / "truth").annotations["pose"].to_list() == [text]


def named(image: str = "a", category: str = "dog") -> Callable[[], apf.Dataset]:
    row = {"image_id": [image], "category_id": [category], "x": [1], "y": [2], "width": [10], "height": [20]}
    return lambda: apf.Dataset({"image_id": [image]}, {"category_id": [category], "name": [category]}, row)


BLANKS = "fields are separated by blanks, so the name"
NOT_WRITTEN: dict[str, tuple[Callable[[], apf.Dataset], str]] = {
    "image with blanks": (named(image="a b"), f"images: {BLANKS} 'a b' cannot be written; rename it"),
    "image in a folder": (named(image="../a"), "no file can be called '../a'; rename it"),
    "image without a name": (named(image=""), f"images: {BLANKS} '' cannot be written; rename it"),
    "class with blanks around it": (named(category="dog "), "categories: VOC cannot hold the name 'dog '; change it"),
    "class without a name": (named(category=""), "categories: VOC cannot hold the name ''; change it"),
    "control characters": (
        named(category="d\x01g"),
        r"XML cannot hold the character '\x01', which ends '<name>d\x01'; remove it",
    ),
    "control characters in attributes": (
        lambda: truth_of(pose=["\ufffe"]),
        r"XML cannot hold the character '\ufffe', which ends '<pose>\ufffe'; remove it",
    ),
    "no box": (
        lambda: truth_of(x=[None], y=[None], width=[None], height=[None], mask=["[]"]),
        "annotations: there is no box for annotation_id 1; PASCAL VOC needs boxes; supply them or remove these rows",
    ),
}


@pytest.mark.parametrize(("dataset", "message"), NOT_WRITTEN.values(), ids=NOT_WRITTEN)
def test_what_cannot_be_written_leaves_nothing(dataset: Callable[[], apf.Dataset], message: str, tmp_path: Path) -> None:
    with pytest.raises((FormatError, RowError), match=f"^{re.escape(message)}$"):
        apf.write_dataset(dataset(), tmp_path / "truth", "voc")
    assert list(tmp_path.iterdir()) == []


NO_RESULTS: dict[str, tuple[dict[str, Any], str]] = {
    "image with blanks": ({"image_id": ["a b"]}, f"images: {BLANKS} 'a b' cannot be written; rename it"),
    "class with a slash": ({"category_id": ["tv/monitor"]}, "no file can be called 'tv/monitor'; rename it"),
    "class without a name": ({"category_id": [""]}, "no file can be called ''; rename it"),
    "no box": (
        {**{name: [None] for name in BOX}, "mask": ["[]"]},
        "detections: there is no box for detection_id 1; PASCAL VOC needs boxes; supply them or remove these rows",
    ),
}


@pytest.mark.parametrize(("columns", "message"), NO_RESULTS.values(), ids=NO_RESULTS)
def test_results_that_cannot_be_written_leave_nothing(columns: dict[str, Any], message: str, tmp_path: Path) -> None:
    row = {"image_id": ["a"], "category_id": ["dog"], "score": [0.5], "x": [1], "y": [2], "width": [10], "height": [20]}
    with pytest.raises((FormatError, RowError), match=f"^{re.escape(message)}$"):
        apf.write_results(pl.DataFrame(row | columns), tmp_path / "found", "voc")
    assert list(tmp_path.iterdir()) == []


def test_two_images_of_one_name_are_not_written(tmp_path: Path) -> None:
    dataset = apf.Dataset({"image_id": [1, 2], "file_name": ["x/a.jpg", "y/a.jpg"]}, {}, {})
    with pytest.raises(RowError, match=r"the name is not unique \('a'\)"):
        apf.write_dataset(dataset, tmp_path / "truth", "voc")
    assert list(tmp_path.iterdir()) == []


# ---- told from the path

DATASETS = {
    "devkit": (".", {"Annotations/a.xml": SOUND, "ImageSets/Main/val.txt": "a"}, True),
    "XML files": (".", {"a.xml": DOG}, True),
    "an empty annotation": (".", {"a.xml": "<annotation/>"}, True),
    "image set": ("ImageSets/Main/val.txt", {"Annotations/a.xml": SOUND, "ImageSets/Main/val.txt": "a"}, True),
    "other text file": ("a.txt", {"a.txt": "a"}, False),
    "other file beside image sets": ("ImageSets/Main/a.csv", {"Annotations/a.xml": SOUND, "ImageSets/Main/a.csv": "a"}, False),
    "devkit with a broken file": (".", {"Annotations/a.xml": ""}, True),
    "XML of another root": (".", {"annotations.xml": "<annotations><image/></annotations>"}, False),
    "class-and-box text": (".", {"a.txt": "cat 1 2 3 4"}, False),
    "YOLO": (".", {"data.yaml": "names: [cat]", "labels/a.txt": "0 .1 .2 .3 .4"}, False),
    "no files": (".", {"a/b.xml": SOUND}, False),
}  # fmt: skip


@pytest.mark.parametrize(("place", "files", "is_voc"), DATASETS.values(), ids=DATASETS)
def test_datasets_are_told(place: str, files: dict[str, str | bytes], is_voc: bool, tmp_path: Path) -> None:
    assert Voc().fits(see(written(tmp_path, files) / place), "dataset") == is_voc


RESULTS = {
    "competition 3": ({"comp3_det_val_dog.txt": ""}, True),
    "among others": ({"a.txt": "", "comp4_det_test_traffic_light.txt": "1 .5 1 2 3 4"}, True),
    "classification": ({"comp1_cls_test_dog.txt": "1 .5"}, False),
    "class-and-box text": ({"a.txt": "cat .5 1 2 3 4"}, False),
    "DOTA": ({"Task1_plane.txt": "P0001 .5 1 2 3 4 5 6 7 8"}, False),
}  # fmt: skip


@pytest.mark.parametrize(("files", "is_voc"), RESULTS.values(), ids=RESULTS)
def test_results_are_told(files: dict[str, str | bytes], is_voc: bool, tmp_path: Path) -> None:
    assert Voc().fits(see(written(tmp_path, files)), "results") == is_voc
