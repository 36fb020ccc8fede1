"""`COCO` answers as pycocotools' does: index methods, loadRes, and what both add to results."""

from __future__ import annotations

import copy
import json
import pickle
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apframe.exceptions import ColumnError, FormatError, ParameterError, RowError, UnknownIdError
from apframe.pycocotools import COCO
from tests.formats.test_in_memory import with_numpy
from tests.protocols.generated import boxes, masks, people
from tests.pycocotools.both import OURS, REFERENCE, as_coco, assert_same, evaluated, in_files, lines, printed

STREET = Path(__file__).parents[2] / "data" / "street"
TRUTH = STREET / "instances.json"
MADE = ("dataset", "anns", "cats", "imgs", "imgToAnns", "catToImgs")


@pytest.fixture(scope="module")
def pair() -> tuple[Any, Any]:
    with printed():
        return OURS[0](TRUTH), REFERENCE[0](TRUTH)


def assert_equal_dictionaries(ours: Any, reference: Any) -> None:
    for name in MADE:
        assert_equal_values(getattr(ours, name), getattr(reference, name))


def assert_equal_values(mine: Any, theirs: Any) -> None:
    """Equal, whether arrays or lists."""
    if isinstance(theirs, dict):
        assert mine.keys() == theirs.keys()
        for key in theirs:
            assert_equal_values(mine[key], theirs[key])
    elif isinstance(theirs, list) and theirs and isinstance(theirs[0], dict):
        assert len(mine) == len(theirs)
        for one, other in zip(mine, theirs, strict=True):
            assert_equal_values(one, other)
    else:
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.slow
def test_dictionaries_are_those_of_reference(pair: tuple[Any, Any]) -> None:
    assert_equal_dictionaries(*pair)


@pytest.mark.slow
def test_nothing_is_made_before_it_is_looked_at() -> None:
    with printed():
        coco = COCO(TRUTH)
        detections = coco.loadRes(str(STREET / "model_a.json"))
        ours = evaluated(OURS, TRUTH, str(STREET / "model_a.json"))
        ours.summarize()
    for each in (coco, detections, ours.cocoGt, ours.cocoDt):
        assert not set(MADE) & set(each.__dict__)
    assert not {"eval", "evalImgs", "ious"} & set(ours.__dict__)


ids_of_images = st.lists(st.integers(1, 60), max_size=3, unique=True) | st.integers(1, 60)
ids_of_categories = st.lists(st.integers(1, 10), max_size=3, unique=True) | st.integers(1, 10)


@given(ids_of_images, ids_of_categories, st.sampled_from([[], [0, 1e10], [500.0, 9000.0]]), st.sampled_from([None, 0, 1, True]))
def test_annotation_ids_by_every_filter(images: Any, categories: Any, area: Any, crowd: Any) -> None:
    ours, reference = both_of_street()
    chosen = {"imgIds": images, "catIds": categories, "areaRng": area, "iscrowd": crowd}
    assert ours.getAnnIds(**chosen) == reference.getAnnIds(**chosen)
    assert ours.getAnnIds(images, categories) == reference.getAnnIds(images, categories)


@given(ids_of_images, ids_of_categories)
def test_image_ids_by_every_filter(images: Any, categories: Any) -> None:
    ours, reference = both_of_street()
    for chosen in ({"imgIds": images}, {"catIds": categories}, {"imgIds": images, "catIds": categories}, {}):
        assert sorted(ours.getImgIds(**chosen)) == sorted(reference.getImgIds(**chosen))


@given(st.data())
def test_category_ids_by_every_filter(data: st.DataObject) -> None:
    ours, reference = both_of_street()
    rows = reference.dataset["categories"]
    names, groups, ids = (sorted({row[name] for row in rows}) for name in ("name", "supercategory", "id"))
    some = [data.draw(st.lists(st.sampled_from(values), max_size=2)) for values in (names, groups, ids)]
    assert ours.getCatIds(*some) == reference.getCatIds(*some)


_STREET: list[Any] = []


def both_of_street() -> list[Any]:
    if not _STREET:
        with printed():
            _STREET.extend(kinds[0](TRUTH) for kinds in (OURS, REFERENCE))
    return _STREET


@pytest.mark.slow
def test_one_name_stands_for_a_list_of_it(pair: tuple[Any, Any]) -> None:
    ours, reference = pair
    name = reference.dataset["categories"][0]["name"]
    assert ours.getCatIds(name) == ours.getCatIds([name]) == reference.getCatIds([name])


@pytest.mark.parametrize("method", ["loadAnns", "loadCats", "loadImgs"])
def test_rows_are_loaded_by_their_ids(method: str, pair: tuple[Any, Any]) -> None:
    first, second, third, *_ = {"loadAnns": pair[1].anns, "loadCats": pair[1].cats, "loadImgs": pair[1].imgs}[method]
    for ids in ([], [second, first], first, (third,)):
        assert getattr(pair[0], method)(ids) == getattr(pair[1], method)(ids)
    with pytest.raises(KeyError):
        getattr(pair[0], method)(10**9)


def test_info_is_printed(pair: tuple[Any, Any]) -> None:
    texts = []
    for coco in pair:
        coco.dataset["info"] = {"year": 2026, "version": "1"}
        with printed() as text:
            coco.info()
        texts.append(lines(text))
    assert texts[0] == texts[1] == ["year: 2026", "version: 1"]


MAKERS = {"bbox": boxes, "segm": masks, "keypoints": people}


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("source", ["file", "list"])
def test_results_hold_what_reference_adds(maker: str, source: str, tmp_path: Path) -> None:
    truth, results = MAKERS[maker](np.random.default_rng(4), 6)
    path, results_path = in_files(tmp_path, truth, results)
    result_sets = []
    for make, _ in (OURS, REFERENCE):
        with printed():
            result_sets.append(make(path).loadRes(results_path if source == "file" else copy.deepcopy(results)))
    assert_equal_dictionaries(*result_sets)


def test_lists_are_completed_in_place() -> None:
    truth, results = boxes(np.random.default_rng(4), 3)
    with printed():
        detections = as_coco(COCO, truth).loadRes(results)
    assert detections.anns[1] is results[0]
    assert results[0]["id"] == 1


@pytest.mark.slow
def test_arrays_are_results() -> None:
    truth, rows = boxes(np.random.default_rng(4), 6)
    data = np.array([[row["image_id"], *row["bbox"], row["score"], row["category_id"]] for row in rows])
    assert_same(evaluated(OURS, truth, data), evaluated(REFERENCE, truth, data))
    row_lists = []
    for make, _ in (OURS, REFERENCE):
        with printed():
            row_lists.append(as_coco(make, truth).loadNumpyAnnotations(data))
    assert row_lists[0] == row_lists[1]
    with pytest.raises(ColumnError, match=r"of shape .* × 6 and type float64 does not hold results; give seven"):
        COCO().loadNumpyAnnotations(data[:, :6])
    data[1, 6] += 0.5
    with pytest.raises(RowError, match="category_id is not a whole number for row 2"):
        COCO().loadNumpyAnnotations(data)


@pytest.mark.slow
@pytest.mark.parametrize("n_images", [6, 100])  # few are judged as dictionaries, more as tables
def test_rows_of_numpy_are_results(n_images: int) -> None:
    truth, rows = boxes(np.random.default_rng(4), n_images)
    assert_same(evaluated(OURS, with_numpy(truth, np.float64), with_numpy(rows, np.float64)), evaluated(REFERENCE, truth, rows))


def test_results_that_are_no_rows_are_an_error_that_names_them() -> None:
    truth, rows = boxes(np.random.default_rng(4), 6)
    with printed(), pytest.raises(RowError, match=r"the row is not a JSON object for row 2; .* an object is not a dict"):
        as_coco(COCO, truth).loadRes([rows[0], object()])


def test_captions_are_results() -> None:
    truth = {"images": [{"id": 1}, {"id": 2}], "annotations": [{"id": 5, "image_id": 1, "caption": "a street"}]}
    results = [{"image_id": 2, "caption": "two streets"}]
    result_sets = []
    for make, _ in (OURS, REFERENCE):
        with printed():
            result_sets.append(as_coco(make, truth).loadRes(copy.deepcopy(results)))
    assert_equal_dictionaries(*result_sets)


def test_files_of_captions_and_of_images_alone_can_be_looked_at(tmp_path: Path) -> None:
    captions = {"images": [{"id": 1}, {"id": 2}], "annotations": [{"id": 5, "image_id": 1, "caption": "a street"}]}
    images = {"images": [{"id": 1}], "categories": [{"id": 3, "name": "cat"}]}
    for truth in (captions, images):
        path, results = in_files(tmp_path, truth, [{"image_id": 1, "caption": "a road"}])
        pairs = []
        for make, _ in (OURS, REFERENCE):
            with printed():
                pairs.append(make(path))
        assert_equal_dictionaries(*pairs)
    with printed():
        path, results = in_files(tmp_path, captions, [{"image_id": 1, "caption": "a road"}])
        assert COCO(path).loadRes(results).anns[1]["caption"] == "a road"


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["numpy", "tuple"])
def test_numbers_and_boxes_of_numpy_are_plain_ones(kind: str) -> None:
    truth, results = boxes(np.random.default_rng(4), 6)
    box: Any = np.array if kind == "numpy" else tuple
    changed = [
        row | {"image_id": np.int64(row["image_id"]), "score": np.float32(row["score"]), "bbox": box(np.float32(row["bbox"]))}
        for row in results
    ]
    in_truth = truth | {"annotations": [row | {"bbox": box(row["bbox"])} for row in truth["annotations"]]}
    plain = [row | {"score": float(np.float32(row["score"]))} for row in results]
    assert_same(evaluated(OURS, in_truth, changed), evaluated(REFERENCE, truth, plain))


@pytest.mark.parametrize("source", ["file", "list", "array"])
def test_results_of_unknown_images_are_named(source: str, tmp_path: Path) -> None:
    truth, rows = boxes(np.random.default_rng(4), 6)
    rows[2]["image_id"] = 77
    path, results = in_files(tmp_path, truth, rows)
    array = np.array([[row["image_id"], *row["bbox"], row["score"], row["category_id"]] for row in rows])
    argument: Any = {"file": results, "list": rows, "array": array}[source]
    with pytest.raises(UnknownIdError, match="for row 3; unknown: 77"), printed():
        COCO(path).loadRes(argument)


@pytest.mark.parametrize(("content", "message"), [("[1]", "holds a JSON list"), ("{", "not JSON"), ("", "is empty")])
def test_files_that_are_no_ground_truth_are_refused(content: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "truth.json"
    path.write_text(content)
    with printed():
        coco = COCO(path)
    for look in (coco.getImgIds, lambda: coco.anns, lambda: coco.loadRes([{"image_id": 1}])):
        with pytest.raises(FormatError, match=message), printed():
            look()
    with pytest.raises(FormatError, match="there is no such file"), printed():
        COCO(tmp_path / "none.json")


def test_results_that_are_no_list_are_refused(tmp_path: Path) -> None:
    with printed():
        coco = COCO(TRUTH)
    path = tmp_path / "results.json"
    path.write_text('{"a": 1}')
    for results in (path, {"a": 1}, None):
        with pytest.raises(FormatError, match="list"), printed():
            coco.loadRes(results)
    path.write_text('[{"image_id": 1, "category_id": 1, "bbox": [0, 0, -1, 1], "score": 1}]')
    with pytest.raises(RowError, match="width is negative"), printed():
        coco.loadRes(path)


@pytest.mark.slow
@pytest.mark.parametrize("iou_type", ["bbox", "segm"])
@pytest.mark.parametrize("gone", [False, True], ids=["written again", "deleted"])
@pytest.mark.parametrize("parsed", [False, True], ids=["before it was parsed", "after it was parsed"])
def test_ground_truth_stays_what_was_read(gone: bool, iou_type: str, parsed: bool, tmp_path: Path) -> None:
    truth, results = MAKERS[iou_type](np.random.default_rng(4), 6)
    path, _ = in_files(tmp_path, truth, results)
    with printed():
        coco = COCO(path)
        if parsed:
            coco.getImgIds()
        if gone:
            path.unlink()
        else:
            path.write_text(json.dumps({"images": []}))
        coco_eval = OURS[1](coco, coco.loadRes(copy.deepcopy(results)), iou_type)
        coco_eval.evaluate()
        coco_eval.accumulate()
    assert_same(coco_eval, evaluated(REFERENCE, truth, results, iou_type))
    assert coco.dataset == truth


@pytest.mark.parametrize("gone", [False, True], ids=["written again", "deleted"])
@pytest.mark.parametrize("iou_type", list(MAKERS))
def test_results_stay_what_was_read(iou_type: str, gone: bool, tmp_path: Path) -> None:
    truth, results = MAKERS[iou_type](np.random.default_rng(4), 6)
    path, result_path = in_files(tmp_path, truth, results)
    result_sets = []
    for make, _ in (OURS, REFERENCE):
        Path(result_path).write_text(json.dumps(results))
        with printed():
            result_sets.append(make(path).loadRes(result_path))
        if gone:
            Path(result_path).unlink()
        else:
            Path(result_path).write_text("[]")
    twin = pickle.loads(pickle.dumps(result_sets[0]))
    assert_equal_dictionaries(twin, result_sets[1])
    assert_equal_dictionaries(*result_sets)


@pytest.mark.parametrize("change", [list.clear, list.reverse, lambda rows: rows.extend(copy.deepcopy(rows))])
def test_the_list_of_results_may_change_afterwards(change: Any) -> None:
    truth, results = boxes(np.random.default_rng(4), 6)
    stats = []
    for make, evaluate in (OURS, REFERENCE):
        rows = copy.deepcopy(results)
        with printed():
            coco = as_coco(make, truth)
            coco_eval = evaluate(coco, coco.loadRes(rows), "bbox")
            change(rows)
            coco_eval.evaluate()
            coco_eval.accumulate()
            coco_eval.summarize()
        stats.append(coco_eval.stats.tolist())
    assert stats[0] == stats[1]
    assert stats[0][0] > 0


@pytest.mark.slow
def test_index_is_whole_for_every_thread_that_looks(tmp_path: Path) -> None:
    images = [{"id": n} for n in range(300)]
    rows = [{"id": n, "image_id": n % 300, "category_id": 1, "bbox": [0, 0, 1, 1], "area": 1} for n in range(9000)]
    path, _ = in_files(tmp_path, {"images": images, "categories": [{"id": 1}], "annotations": rows}, [])
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for _ in range(5):
            with printed():
                coco = COCO(path)
            with ThreadPoolExecutor(8) as threads:
                numbers = threads.map(lambda n, coco=coco: len(coco.loadAnns(coco.getAnnIds(imgIds=[n]))), range(300))
                assert set(numbers) == {30}
    finally:
        sys.setswitchinterval(interval)


@pytest.mark.slow
def test_subclasses_may_do_without_the_constructor(tmp_path: Path) -> None:
    truth, results = boxes(np.random.default_rng(4), 6)
    path, result_path = in_files(tmp_path, truth, results)

    def kinds(base: Any) -> list[Any]:
        class Large(base):
            def getAnnIds(self, *chosen: Any, **named: Any) -> Any:  # noqa: N802
                return [key for key in super().getAnnIds(*chosen, **named) if self.anns[key]["area"] > 2000]

        class Own(base):
            def __init__(self, path: Path) -> None:
                self.dataset = json.loads(path.read_text())
                self.createIndex()

        return [Large, Own]

    in_both = [[evaluated((kind, pair[1]), path, result_path) for kind in kinds(pair[0])] for pair in (OURS, REFERENCE)]
    for ours, reference in zip(*in_both, strict=True):
        assert_same(ours, reference)
    assert in_both[0][0].eval["recall"].sum() != in_both[0][1].eval["recall"].sum()


def test_objects_of_pycocotools_itself_are_evaluated() -> None:
    data = boxes(np.random.default_rng(4), 6)
    assert_same(evaluated((REFERENCE[0], OURS[1]), *data), evaluated(REFERENCE, *data))


def test_a_text_finds_all_names_that_are_part_of_it() -> None:
    names = ["car", "ca", "cart", "dog"]
    truth = {"images": [], "annotations": [], "categories": [{"id": n, "name": name} for n, name in enumerate(names, 1)]}
    ours, reference = (as_coco(kinds[0], truth) for kinds in (OURS, REFERENCE))
    for wanted in ("cart", "car", "x", ["cart"], ""):
        assert ours.getCatIds(catNms=wanted) == reference.getCatIds(catNms=wanted)
    assert ours.getCatIds(catNms="cart") == [1, 2, 3]


def test_ids_of_numpy_are_ids(pair: tuple[Any, Any]) -> None:
    ours, reference = pair
    for method, dictionary in (("loadAnns", ours.anns), ("loadCats", ours.cats), ("loadImgs", ours.imgs)):
        key = next(iter(dictionary))
        assert getattr(ours, method)(np.int64(key)) == [dictionary[key]]
        assert getattr(reference, method)(np.int64(key)) is None


def test_areas_of_arrays_are_of_their_type() -> None:
    truth, _ = boxes(np.random.default_rng(4), 2)
    data = np.array([[1, 0, 0, 32.000001, 32.000001, 0.5, 1], [1, 3, 3, 7.1, 1e3 / 7, 0.5, 1]], dtype=np.float32)
    areas = []
    for make, _ in (OURS, REFERENCE):
        with printed():
            areas.append([row["area"] for row in as_coco(make, truth).loadRes(data).anns.values()])
    assert areas[0] == areas[1]
    assert float(areas[0][1]) != float(data[1, 3]) * float(data[1, 4])


@pytest.mark.slow
@pytest.mark.parametrize("looked_at", [False, True])
def test_whole_numbers_with_a_fraction_are_ids_in_lists(looked_at: bool) -> None:
    truth, results = boxes(np.random.default_rng(4), 6)
    changed = [row | {"image_id": float(row["image_id"]), "category_id": float(row["category_id"])} for row in results]

    def change(kinds: Any) -> Any:
        with printed():
            coco = as_coco(kinds[0], truth)
            coco_eval = kinds[1](coco, coco.loadRes(copy.deepcopy(changed)), "bbox")
            _ = coco_eval.cocoDt.anns if looked_at else None
            coco_eval.evaluate()
            coco_eval.accumulate()
        return coco_eval

    assert_same(change(OURS), change(REFERENCE))


@pytest.mark.parametrize(
    ("change", "message"), [({"bbox": [1, 2]}, "bbox"), ({"bbox": None}, "bbox")], ids=["two numbers", "none"]
)
def test_bad_results_in_lists_are_named(change: dict[str, Any], message: str) -> None:
    truth, results = boxes(np.random.default_rng(4), 6)
    results[2] |= change
    with pytest.raises(RowError, match=f"{message}.*3"), printed():
        as_coco(COCO, truth).loadRes(results)


@pytest.mark.slow
def test_gzip_is_read(tmp_path: Path) -> None:
    import gzip

    path = tmp_path / "truth.json.gz"
    path.write_bytes(gzip.compress(TRUTH.read_bytes()))
    with printed():
        coco = COCO(path)
        assert coco.getImgIds() == COCO(TRUTH).getImgIds()
    assert coco.dataset == json.loads(TRUTH.read_text())


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda each: pickle.loads(pickle.dumps(each))], ids=["copy", "pickle"])
def test_copies_are_apart(copied: Any) -> None:
    with printed():
        coco = COCO(TRUTH)
        twin = copied(coco)
        twin.anns[1]["area"] = -5
    assert coco.anns[1]["area"] > 0


@pytest.mark.parametrize("from_file", [False, True])
def test_results_may_be_a_data_set_and_ground_truth_results(from_file: bool, tmp_path: Path) -> None:
    truth, results = boxes(np.random.default_rng(4), 6)
    scored = truth | {"annotations": [row | {"score": 1 / row["id"]} for row in truth["annotations"]]}
    stats = []
    for make, evaluate in (OURS, REFERENCE):
        with printed():
            path, result_path = in_files(tmp_path, scored, results)
            of_results = as_coco(make, truth).loadRes(result_path if from_file else copy.deepcopy(results))
            coco_eval = evaluate(of_results, make(path) if from_file else as_coco(make, scored), "bbox")
            coco_eval.evaluate()
            coco_eval.accumulate()
            coco_eval.summarize()
        stats.append(coco_eval.stats)
    np.testing.assert_array_equal(*stats)
    assert stats[0][0] > 0


def test_unknown_attributes_are_errors() -> None:
    with pytest.raises(AttributeError, match="'COCO' object has no attribute 'annotations'"):
        _ = COCO().annotations


@pytest.mark.slow
@pytest.mark.parametrize("maker", ["bbox", "segm"])
def test_masks_of_annotations_are_those_of_reference(maker: str) -> None:
    truth, results = MAKERS[maker](np.random.default_rng(4), 6)
    ours, reference = (as_coco(kinds[0], truth) for kinds in (OURS, REFERENCE))
    with printed():
        pairs = [(ours, reference), (ours.loadRes(copy.deepcopy(results)), reference.loadRes(copy.deepcopy(results)))]
    for mine, theirs in pairs[maker == "bbox" :]:
        assert theirs.anns
        for key, row in theirs.anns.items():
            with printed():
                expected = theirs.annToRLE(row), theirs.annToMask(row)
            assert mine.annToRLE(mine.anns[key]) == expected[0]
            np.testing.assert_array_equal(mine.annToMask(mine.anns[key]), expected[1], strict=True)


def test_images_are_downloaded_where_they_are_missing(tmp_path: Path) -> None:
    source = tmp_path / "source.txt"
    source.write_text("pixels")
    truth: dict[str, Any] = {
        "images": [{"id": n, "file_name": f"{n}.txt", "coco_url": source.as_uri()} for n in (1, 2, 3)],
        "annotations": [], "categories": [],
    }  # fmt: skip
    for name, (make, _) in {"ours": OURS, "reference": REFERENCE}.items():
        coco, folder = as_coco(make, truth), tmp_path / name
        with printed():
            assert coco.download() == -1
            coco.download(str(folder), [2])
        assert [path.name for path in folder.iterdir()] == ["2.txt"]
        (folder / "2.txt").write_text("mine")
        with printed():
            coco.download(str(folder))
        content = {path.name: path.read_text() for path in folder.iterdir()}
        assert content == {"1.txt": "pixels", "2.txt": "mine", "3.txt": "pixels"}


@pytest.mark.parametrize("name", ["../outside.txt", "a/../../outside.txt", "{folder}/outside.txt"])
def test_images_are_not_downloaded_out_of_the_folder(name: str, tmp_path: Path) -> None:
    (tmp_path / "source.txt").write_text("pixels")
    image = {"id": 1, "file_name": name.format(folder=tmp_path), "coco_url": (tmp_path / "source.txt").as_uri()}
    coco = as_coco(OURS[0], {"images": [image], "annotations": [], "categories": []})
    with pytest.raises(FormatError, match=r"images: file_name points outside .*images: '.*outside\.txt'; correct it"):
        coco.download(str(tmp_path / "images"))
    assert [path.name for path in tmp_path.iterdir()] == ["source.txt"]


def test_captions_are_shown_as_text() -> None:
    with printed() as text:
        assert COCO().showAnns([]) == 0
        COCO().showAnns([{"caption": "a street"}, {"caption": "two"}])
    assert lines(text) == ["a street", "two"]
    with pytest.raises(ParameterError, match="no segmentation, keypoints or caption"):
        COCO().showAnns([{"id": 1}])


def test_drawing_without_matplotlib_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ParameterError, match="pip install matplotlib"):
        COCO().showAnns([{"segmentation": []}])


@pytest.mark.parametrize("maker", ["segm", "keypoints"])
def test_annotations_are_drawn(maker: str) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    truth, _ = MAKERS[maker](np.random.default_rng(4), 6)
    truth["categories"] = [row | {"skeleton": [[1, 2], [2, 3]]} for row in truth["categories"]]
    drawn = []
    for make, _ in (OURS, REFERENCE):
        coco = as_coco(make, truth)
        figure, axes = plt.subplots()
        with printed():
            coco.showAnns(coco.dataset["annotations"], draw_bbox=True)
        patches = [len(each.get_paths()) for each in axes.collections]
        drawn.append((patches, len(axes.images), [line.get_xydata().tolist() for line in axes.lines]))
        plt.close(figure)
    assert drawn[0] == drawn[1]
    assert sum(drawn[0][0]) > 0
