"""Leaving a row out is the same as a data set without it, but its category and image stay, and ids are those of the source."""

from __future__ import annotations

from pathlib import Path

import pytest

import apframe as apf
from apframe.exceptions import FormatError, InvalidRowsWarning
from apframe.validation import Report, validating
from tests.formats.folders import written

OBJECTS = {  # of a category, and the first number of a box
    "voc": "<object><name>{}</name><bndbox><xmin>{}</xmin><ymin>2</ymin><xmax>9</xmax><ymax>9</ymax></bndbox></object>",
    "kitti": "{} 0.0 0 -10 {} 2 9 9 -1 -1 -1 -1000 -1000 -1000 -10\n",
    "cvat": '<box label="{}" xtl="{}" ytl="2" xbr="9" ybr="9" />',
    "labelme": '{{"label": "{}", "shape_type": "rectangle", "points": [[{}, 2], [9, 9]]}}',
    "supervisely": '{{"classTitle": "{}", "geometryType": "rectangle", "points": {{"exterior": [[{}, 2], [9, 9]]}}}}',
    "labelbox": '{{"name": "{}", "bounding_box": {{"left": {}, "top": 2, "width": 9, "height": 9}}}}',
    "scalabel": '{{"category": "{}", "box2d": {{"x1": {}, "y1": 2, "x2": 9, "y2": 9}}}}',
    "activitynet": '{{"label": "{}", "segment": [{}, 2]}}',
    "crowdhuman": '{{"tag": "{}", "fbox": [{}, 2, 9, 9], "vbox": [1, 2, 9, 9], "hbox": [1, 2, 3, 3]}}',
}


def two(name: str, separator: str = "", categories: tuple[str, str] = ("dog", "cat")) -> str:
    """Two objects of categories of their own; the number of the first is @."""
    return separator.join(OBJECTS[name].format(*each) for each in zip(categories, ("@", 1), strict=True))


LUNA16 = "seriesuid,coordX,coordY,coordZ,diameter_mm\n"
NOT, FAR = '"high"', "99"
# the format, what is wrong, and files in which it, or a number, is in the place of @
FILES: dict[str, tuple[str, str, dict[str, str]]] = {
    "boxes": ("boxes", "nan", {"a.txt": "dog @ 2 9 9\ncat 1 2 9 9\n"}),
    "voc": ("voc", "nan", {"a.xml": f"<annotation><filename>a.jpg</filename>{two('voc')}</annotation>"}),
    "kitti": ("kitti", "nan", {"a.txt": two("kitti")}),
    "dota": ("dota", "nan", {"a.txt": "@ 2 9 2 9 9 1 9 ship 0\n1 2 9 2 9 9 1 9 plane 0\n"}),
    "luna16": ("luna16", "nan", {"annotations.csv": f"{LUNA16}b,@,2,3,4\na,1,2,3,4\n"}),
    "luna16 excluded": ("luna16", "nan", {
        "annotations.csv": f"{LUNA16}a,@,2,3,4\n", "annotations_excluded.csv": f"{LUNA16}b,1,2,3,4\n"}),
    "labelme": ("labelme", NOT, {"a.json": f'{{"imagePath": "a.jpg", "shapes": [{two("labelme", ",")}]}}'}),
    "scalabel": ("scalabel", NOT, {"a.json": f'[{{"name": "a", "labels": [{two("scalabel", ",")}]}}]'}),
    "supervisely": ("supervisely", NOT, {
        "ann/a.jpg.json": f'{{"size": {{"width": 20, "height": 20}}, "objects": [{two("supervisely", ",")}]}}',
        "meta.json": '{"classes": [{"title": "cat", "shape": "rectangle"}, {"title": "dog", "shape": "rectangle"}]}'}),
    "labelbox": ("labelbox", NOT, {
        "a.json": f'[{{"data_row": {{"id": "a"}}, "Label": {{"objects": [{two("labelbox", ",")}]}}}}]'}),
    "open_images": ("open_images", "high", {
        "a.csv": "ImageID,LabelName,XMin,XMax,YMin,YMax\nb,/m/dog,@,1,0,1\na,/m/cat,0,1,0,1\n"}),
    "ava": ("ava", "high", {"a.csv": "b,1,@,.2,.9,.9,7,1\na,1,.1,.2,.9,.9,3,1\n"}),
    "ava with frames alone": ("ava", "high", {"a.csv": "a,2\nb,1,@,.2,.9,.9,7,1\na,1,.1,.2,.9,.9,3,1\n"}),
    "csv": ("csv", "nan", {"a.csv": "image_id,class,x,y,w,h\nb,dog,@,2,9,9\na,cat,1,2,9,9\n"}),
    "csv with images alone": ("csv", "nan", {
        "a.csv": "image_id,class,x,y,w,h\nc,,,,,\n\nb,dog,@,2,9,9\na,cat,1,2,9,9\n"}),
    "cvat": ("cvat", FAR, {"a.xml": (
        f'<annotations><image id="0" name="a.jpg" width="20" height="20">{two("cvat")}</image></annotations>')}),
    "thumos14": ("thumos14", "high", {"Diving_test.txt": "b @ 2\n", "Shotput_test.txt": "a 1 2\n"}),
    "wider_face": ("wider_face", "high", {"a.txt": "b.jpg\n1\n@ 2 9 9\na.jpg\n1\n1 2 9 9\n"}),
    "visdrone": ("visdrone", "high", {"a.txt": "@,2,9,9,1,4,0,0\n1,2,9,9,1,1,0,0\n"}),
    "yolo": ("yolo", "high", {
        "data.yaml": "val: images\nnames: [cat, dog]\n", "images/a.jpg": "", "labels/a.txt": "1 @ .5 .2 .2\n0 .5 .5 .2 .2\n",
        "image_sizes.csv": "file_name,image_width,image_height\na.jpg,20,20\n"}),
    "activitynet": ("activitynet", NOT, {"a.json": (
        '{"taxonomy": [{"nodeId": 0, "nodeName": "cat", "parentId": null}, {"nodeId": 1, "nodeName": "dog", "parentId": null}],'
        f'"database": {{"v": {{"subset": "validation", "annotations": [{two("activitynet", ",")}]}}}}}}')}),
    "crowdhuman": ("crowdhuman", NOT, {
        "a.odgt": f'{{"ID": "a", "gtboxes": [{two("crowdhuman", ",", ("person", "person"))}]}}'}),
}  # fmt: skip
IN_A_FILE = ("csv", "scalabel", "labelbox", "open_images", "ava", "cvat", "wider_face", "activitynet", "crowdhuman")


@pytest.mark.parametrize(("name", "bad", "files"), FILES.values(), ids=FILES)
@pytest.mark.filterwarnings("ignore::apframe.exceptions.ApframeWarning")
def test_only_the_row_is_left_out(name: str, bad: str, files: dict[str, str], tmp_path: Path) -> None:
    def read(folder: str, value: str) -> apf.Dataset:
        path = written(tmp_path / folder, {each: text.replace("@", value) for each, text in files.items()})
        return apf.read_dataset(path / next(iter(files)) if name in IN_A_FILE else path, name)

    sound, report = read("sound", "0" if name in ("ava", "open_images") else "1"), Report()
    with validating(report):
        left = read("bad", bad)
    assert [(fault.table, fault.n_left_out) for fault in report.faults] == [("annotations", 1)]
    assert left.images.select("image_id").equals(sound.images.select("image_id"))
    assert left.categories.equals(sound.categories)
    rest = sound.annotations[1:].drop("file_name", strict=False)
    assert left.annotations.select(rest.columns).equals(rest)


def test_a_category_that_only_a_refused_line_names_counts(tmp_path: Path) -> None:
    truth = written(tmp_path / "truth", {"a.txt": "cat 0 0 10 10\ndog nan 5 9 9\n"})
    results = written(tmp_path / "found", {"a.txt": "cat .9 0 0 10 10\ndog .95 50 50 9 9\n"})
    with pytest.warns(InvalidRowsWarning):
        evaluation = apf.evaluate(truth, results, invalid="drop", agnostic=True)
    assert evaluation.dataset.categories["name"].to_list() == ["cat", "dog"]
    assert (evaluation.summary["value"][0], evaluation.detections.height) == (pytest.approx(0.5), 2)


def test_faults_found_later_name_rows_of_the_source(tmp_path: Path) -> None:
    """Lines that were left out by the reader of a file still count in the numbers of rows."""
    bad = "a,cat,zz,0,10,10\n" * 3
    rows = f"image_id,class,x,y,w,h\n{bad}a,cat,1,0,-10,10\na,cat,1,0,10,10\n"
    folder = written(tmp_path, {"a.csv": rows, "boxes/a.txt": "cat zz 0 10 10\ncat 1 0 10 10\n"})
    with pytest.raises(FormatError, match=r"x is not a finite number in line 2, 3, 4") as caught:
        apf.read_dataset(folder / "a.csv")
    assert "annotations: width is negative for annotation_id 4" in caught.value.others
    with validating(Report()):
        assert apf.read_dataset(folder / "a.csv").annotations["annotation_id"].to_list() == [5]
        assert apf.read_dataset(folder / "boxes", "boxes").annotations["annotation_id"].to_list() == [2]
