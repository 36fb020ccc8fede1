"""Attributes may have any name: a pattern of Polars, a keyword of SQL, one of our own columns in another case."""

from __future__ import annotations

from pathlib import Path

import duckdb
import polars as pl
import pytest

import apframe as apf
from apframe.columns import exact
from apframe.exceptions import ParameterError, RenamedColumnWarning

pytestmark = pytest.mark.slow

PATTERNS = ["*", "^$", "^x.*$", "^.*$", "^[$", "^a\\.b$"]
IN_ANOTHER_CASE = ["Image_ID", "SCORE", "X", "Name", "File_Name", "Query_Id"]
NAMES = [
    *PATTERNS, *IN_ANOTHER_CASE, "", " ", "'", '"', 'a"b', "a.b", "a[0]", "a:b", "x:Q", "ünï😀", "n" * 200, "select",
    "group by", "a\tb", "a\nb", "a, b", "<b>&", "{}", "%s", "$x", "\\", "../x", "row", "group", "code", "value", "name_right",
    "len", "slice",
]  # fmt: skip
TABLES = {"images": 3, "categories": 2, "annotations": 4, "detections": 5}
IMAGES = {"image_id": [1, 2, 3], "image_width": [100] * 3, "image_height": [100] * 3, "file_name": ["a.jpg", "b.jpg", "c.jpg"]}
CATEGORIES = {"category_id": [1, 2], "name": ["cat", "dog"]}
BOXES = {
    "image_id": [1, 1, 2, 3, 3], "category_id": [1, 2, 1, 2, 1],
    "x": [0, 10, 0, 5, 50], "y": [0, 10, 0, 5, 50], "width": [9, 9, 20, 30, 5], "height": [9, 9, 20, 30, 5],
}  # fmt: skip


def attributes(n_rows: int, names: list[str]) -> dict[str, list[str]]:
    """Every name over the same values; `plain` is what the others are compared with."""
    return {name: ["fog", "clear", "rain", "fog", "fog"][:n_rows] for name in ["plain", *names]}


def data(*tables: str, names: list[str] = NAMES) -> tuple[apf.Dataset, pl.DataFrame]:
    """A data set and detections; these tables have the attributes."""
    more = {table: attributes(n_rows, names) if table in tables else {} for table, n_rows in TABLES.items()}
    boxes = {name: values[:4] for name, values in BOXES.items()}
    dataset = apf.Dataset(IMAGES | more["images"], CATEGORIES | more["categories"], boxes | more["annotations"])
    return dataset, pl.DataFrame(BOXES | {"score": [0.9, 0.8, 0.7, 0.6, 0.5]} | more["detections"])


def quoted(name: str) -> str:
    return '"{}"'.format(name.replace('"', '""'))


@pytest.fixture(params=["images", "categories", "annotations", "detections", "annotations and detections"])
def tables(request: pytest.FixtureRequest) -> list[str]:
    return str(request.param).split(" and ")


@pytest.mark.parametrize("name", NAMES)
def test_exact_is_one_column(name: str) -> None:
    frame = pl.DataFrame({"x1": [1], name: [2], "a.b": [2]})
    assert frame.select(exact(name)).to_dict(as_series=False) == {name: [2]}
    assert frame.select(exact("x1") + exact(name)).item() == 3


def test_slices(tables: list[str]) -> None:
    """By each name, and by all at once."""
    evaluation = apf.evaluate(*data(*tables))
    alone, curves = evaluation.by("plain"), evaluation.curves(by="plain")
    for name in NAMES:
        assert evaluation.by(name).equals(alone.rename({"plain": name})), name
    at_once = evaluation.by(*NAMES)
    assert at_once.columns == [*NAMES, *alone.columns[1:]]
    assert at_once.rows() == [(row[0],) * len(NAMES) + row[1:] for row in alone.rows()]
    for name in [*PATTERNS, ""]:
        assert evaluation.curves(by=name).equals(curves.rename({"plain": name})), name


def test_slices_by_two_keys_and_of_each_category(tables: list[str]) -> None:
    evaluation = apf.evaluate(*data(*tables))
    pairs, each = evaluation.by("plain", "name", marginals=True), evaluation.by("plain", level="category")
    for name in [*PATTERNS, "", "a, b", "row", "code"]:
        rolled_up = pairs["rolled_up"].str.replace("plain", name, literal=True)
        of_name = evaluation.by(name, "name", marginals=True)
        assert of_name.drop("rolled_up").equals(pairs.rename({"plain": name}).drop("rolled_up")), name
        assert name == "" or of_name["rolled_up"].equals(rolled_up), name
        assert evaluation.by(name, level="category").equals(each.rename({"plain": name})), name


def test_subsets(tables: list[str]) -> None:
    evaluation = apf.evaluate(*data(*tables))
    plain = evaluation.where(pl.col(f"{tables[0]}.plain") == "fog").summary
    for name in [*PATTERNS, *IN_ANOTHER_CASE, "", "a.b", "row"]:
        is_fog = pl.col(f"{tables[0]}.{name}") == "fog"
        assert evaluation.where(is_fog).summary.equals(plain), name
        assert evaluation.by({"fog": is_fog}).height == 1, name


def test_a_condition_over_a_pattern_says_how_one_column_is_named() -> None:
    evaluation = apf.evaluate(*data("images"))
    with pytest.raises(ParameterError, match=r'as patterns: write pl.col\("images\.\*"\)'):
        evaluation.where(pl.col("*") == "fog")


def test_sql(tables: list[str]) -> None:
    names = [name for name in NAMES if name not in (*IN_ANOTHER_CASE, "")]
    evaluation = apf.evaluate(*data(*tables, names=names))
    for table in tables:
        values = ["fog", "clear", "rain", "fog", "fog"][: TABLES[table]]
        assert evaluation.sql(f"FROM {table}").columns[-len(names) :] == names
        answer = evaluation.sql(f"SELECT {', '.join(map(quoted, names))} FROM {table}")
        assert answer.columns == names
        assert all(sorted(column) == sorted(values) for column in answer)
        with evaluation.connection() as connection:
            for name in names:
                where = f"FROM {table} WHERE {quoted(name)} = 'fog'"
                assert connection.sql(f"SELECT count(*) {where}").fetchall() == [(values.count("fog"),)], name


def test_a_sum_may_have_any_name_in_sql() -> None:
    evaluation = apf.evaluate(*data())
    for name in PATTERNS:
        answer = evaluation.sql(f"SELECT sum(image_id) AS {quoted(name)}, 'text' AS x1 FROM images")
        assert answer.to_dict(as_series=False) == {name: [6], "x1": ["text"]}


def test_sql_says_what_it_calls_columns_that_differ_in_case(tmp_path: Path) -> None:
    dataset, detections = data("images", names=["Image_ID", "IMAGE_ID", ""])
    evaluation = apf.evaluate(dataset, detections, iou_thresholds=[0.5])  # to write the tables of ten takes long
    message = r"images\.Image_ID is Image_ID_1, images\.IMAGE_ID is IMAGE_ID_2, images\.\(no name\) is unnamed"
    with pytest.warns(RenamedColumnWarning, match=message) as caught:
        answer = evaluation.sql('SELECT image_id, Image_ID_1, "IMAGE_ID_2", unnamed FROM images ORDER BY image_id')
    assert caught[0].filename == __file__
    assert answer.rows() == [(1, "fog", "fog", "fog"), (2, "clear", "clear", "clear"), (3, "rain", "rain", "rain")]
    with pytest.warns(RenamedColumnWarning, match=message) as caught, evaluation.connection() as connection:
        assert connection.sql("FROM images").columns[-4:] == ["plain", "Image_ID_1", "IMAGE_ID_2", "unnamed"]
    assert caught[0].filename == __file__
    with pytest.warns(RenamedColumnWarning, match=message):
        evaluation.write_duckdb(tmp_path / "run.duckdb")
    with duckdb.connect(tmp_path / "run.duckdb", read_only=True) as connection:
        assert connection.sql("SELECT Image_ID_1 FROM images WHERE image_id = 2").fetchall() == [("clear",)]
    evaluation.write_parquet(tmp_path / "run")
    with pytest.warns(RenamedColumnWarning, match=message):
        assert apf.scan_runs(tmp_path / "run").sql("SELECT DISTINCT unnamed FROM images").height == 3
    assert evaluation.sql("SELECT count(*) FROM metrics").height == 1  # a query of other tables has nothing to do with it


def test_stored_sets(tables: list[str], tmp_path: Path) -> None:
    evaluation = apf.evaluate(*data(*tables))
    evaluation.write_parquet(tmp_path / "run")
    read = apf.read_evaluation(tmp_path / "run")
    for table in ("images", "categories", "annotations"):
        assert getattr(read.dataset, table).equals(getattr(evaluation.dataset, table))
    assert read.detections.equals(evaluation.detections)
    assert read.by("*").equals(evaluation.by("*"))
    assert apf.scan_runs(tmp_path / "run").by("^x.*$").drop("run").equals(evaluation.by("^x.*$"))


@pytest.mark.parametrize("format_", ["coco", "label_studio", "cvat", "parquet", "arrow", "voc", "yolo", "kitti", "dota"])
def test_formats(format_: str, tmp_path: Path) -> None:
    dataset, detections = data(*TABLES)
    truth, results = tmp_path / "truth", tmp_path / "results"
    apf.write_dataset(dataset, truth, format_)
    apf.write_results(detections, results, format_, dataset=dataset)
    read, read_detections = apf.read_dataset(truth, format_), apf.read_results(results, format_, dataset=dataset)
    kept = {name: list(TABLES) for name in ("coco", "parquet", "arrow")}
    kept |= {"label_studio": ["images"], "cvat": ["annotations", "detections"]}
    names = [name for name in NAMES if name or format_ != "cvat"]  # which has no attributes without a name
    for table in kept.get(format_, []):
        before, after = (
            (detections, read_detections) if table == "detections" else (getattr(dataset, table), getattr(read, table))
        )
        for name in names:
            assert after[name].to_list() == before[name].to_list(), (table, name)


def test_queries_judgements_and_runs(tmp_path: Path) -> None:
    rows = {"query_id": ["q1", "q1", "q2"], "document_id": ["d1", "d2", "d1"]}
    judgements = pl.DataFrame(rows | {"relevance": [1, 0, 1]} | attributes(3, NAMES))
    run = pl.DataFrame(rows | {"score": [0.5, 0.9, 0.1]} | attributes(3, NAMES))
    queries = pl.DataFrame({"query_id": ["q1", "q2"]} | attributes(2, NAMES))
    queries.write_csv(tmp_path / "queries.csv")
    for given in (queries, tmp_path / "queries.csv"):
        evaluation = apf.evaluate_run(judgements, run.drop("value"), "AP", queries=given)
        plain = evaluation.by("plain")
        for name in NAMES:
            if name != "value":  # which the result has itself
                assert evaluation.by(name).equals(plain.rename({"plain": name})), name
    evaluation.write_parquet(tmp_path / "run")
    assert apf.read_run_evaluation(tmp_path / "run").matches.equals(evaluation.matches)
    with pytest.warns(RenamedColumnWarning, match=r"queries\.Query_Id is Query_Id_1"):
        assert evaluation.sql('SELECT "*", "^x.*$" FROM queries').rows() == [("fog", "fog"), ("clear", "clear")]


def test_curves_and_measures_of_lists() -> None:
    items = {"relevant": [1, 0, 1], "score": [0.9, 0.5, 0.1]}
    plain = apf.lists.precision_recall_curve(pl.DataFrame(items | {"plain": ["a", "a", "b"]}), by="plain", n_positives=1)
    for name in (name for name in NAMES if name not in ("row", "group")):
        frame = pl.DataFrame(items | {name: ["a", "a", "b"], "x1": [1, 2, 3]})
        assert apf.lists.precision_recall_curve(frame, by=name, n_positives=1).equals(plain.rename({"plain": name})), name
        ap = apf.lists.average_precision(name, "score", n_positives=1)
        assert frame.with_columns(pl.Series(name, [1, 0, 0])).select(ap).item() == 1, name
    pairs = pl.DataFrame({"distance": [0.1, 0.2], "relevant": [1, 0], "*": ["a", "b"], "^d.*$": ["a", "b"]})
    assert apf.evaluate_patches(pairs, "verification", by=["*", "^d.*$"])["*"].to_list() == ["a", "b"]


def test_updates_of_an_evaluator() -> None:
    dataset, detections = data("detections")
    evaluator = apf.Evaluator(dataset)
    for part in (detections.head(3), detections.tail(2), detections.tail(2)):  # the last one is the padding of a sampler
        evaluator.update(part)
    assert evaluator.compute().by("^x.*$").equals(apf.evaluate(dataset, detections).by("^x.*$"))


def test_charts() -> None:
    evaluation = apf.evaluate(*data("images"))
    plain = apf.plot.slices(evaluation.by("plain", marginals=True)).to_dict()
    # to make a chart takes long: one name of each kind; a roll-up cannot name a key without a name
    for name in ("^x.*$", "Image_ID", 'a"b', "a.b", "x:Q", "ünï😀", "a, b", "name_right"):
        slices = evaluation.by(name, marginals=True)
        assert list(apf.plot.slices(slices).to_dict()["datasets"].values()) == list(plain["datasets"].values()), name
        pairs = evaluation.by(name, "file_name")
        values = next(iter(apf.plot.slice_heatmap(pairs, "file_name", name).to_dict()["datasets"].values()))
        assert [row["y"] for row in values] == ["clear", "fog", "rain"]
        curves = apf.plot.precision_recall(evaluation.curves(by=name, category="cat")).to_dict()
        assert {row["curve"] for rows in curves["datasets"].values() for row in rows if "curve" in row} == {"clear", "fog"}


def test_five_thousand_attributes(tmp_path: Path) -> None:
    names = [f"attribute {number}" for number in range(4990)] + PATTERNS
    dataset, detections = data("annotations", names=names)
    evaluation = apf.evaluate(dataset, detections)
    assert evaluation.by("*").equals(evaluation.by("plain").rename({"plain": "*"}))
    assert evaluation.sql('SELECT "*", "attribute 4989" FROM annotations LIMIT 1').row(0) == ("fog", "fog")
    evaluation.write_parquet(tmp_path / "run")
    assert apf.read_evaluation(tmp_path / "run").dataset.annotations.equals(dataset.annotations)
    apf.write_coco(dataset, tmp_path / "truth.json")
    assert apf.read_coco(tmp_path / "truth.json").annotations.equals(dataset.annotations)


@pytest.mark.filterwarnings("ignore::apframe.exceptions.SecondPassWarning")
def test_shards(tmp_path: Path) -> None:
    """Each attribute divides the shards as `plain` does, and as it divides the whole."""
    names = [*PATTERNS, "", "a.b", "select", "value", "len"]
    dataset, detections = data(*TABLES, names=names)
    apf.write_shards(dataset, detections, tmp_path / "shards", 2)
    parts, whole = apf.evaluate_shards(tmp_path / "shards"), apf.evaluate(dataset, detections)
    for table in ("images", "annotations", "detections"):
        expected = whole.by(f"{table}.plain")
        for name in ["plain", *names]:
            assert parts.by(f"{table}.{name}").equals(expected.rename({"plain": name})), (table, name)
