"""Files and arguments that were made, or happen, to do harm: each ends a command with one line and exit code 1 or 2."""

from __future__ import annotations

import gzip
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

import apframe as apf
from apframe.exceptions import (
    ApframeError,
    ApframeWarning,
    ColumnError,
    FormatError,
    QueryError,
    RowError,
)
from apframe.formats.arrow_files import Arrow
from apframe.formats.files import read_unpacked
from apframe.formats.image_sizes import read_image_sizes
from apframe.paths import is_utf8
from apframe.retrieval.trec import read_queries
from tests.formats.folders import written
from tests.fuzz.commands import problem_of
from tests.fuzz.mutations import NAMES, rewrite
from tests.fuzz.valid_sets import SHAPES, write_valid
from tests.share import share

pytestmark = pytest.mark.slow

_JSON = ("coco", "lvis", "label_studio", "activitynet")
_NESTED = {
    "lists": "[" * 100_000 + "]" * 100_000,
    "objects": '{"a":' * 100_000 + "1" + "}" * 100_000,
    "some": "[" * 900 + "]" * 900,
}
_TEXTS = [name for name in NAMES if is_utf8(name)]


def problems_of(truth: Path, found: Path, name: str, folder: Path) -> list[str]:
    """What is wrong with how the commands end that read a data set and its results."""
    files, formats = [str(truth), str(found)], ["--gt-format", name, "--dt-format", name]
    to = ["--to", "coco" if name != "coco" else "parquet", "--from", name]
    every = [["eval", *files, *formats], ["check", *files, *formats], ["convert", files[0], str(folder / "out"), *to]]
    return [problem for arguments in every if (problem := problem_of(arguments)) is not None]


@pytest.mark.parametrize("nested", _NESTED.values(), ids=_NESTED)
@pytest.mark.parametrize("name", _JSON)
def test_json_that_is_nested_deep(name: str, nested: str, tmp_path: Path) -> None:
    truth, detections = write_valid(name, SHAPES[name][0], tmp_path)
    for path in (truth, detections):
        text = path.read_text()
        path.write_text(text.replace('"one"', nested, 1).replace("4.0", nested, 1).replace("0.9", nested, 1))
        assert problems_of(truth, detections, name, tmp_path) == []
        path.write_text(nested)
        assert problems_of(truth, detections, name, tmp_path) == []
        path.write_text(text)


@pytest.mark.parametrize("nested", _NESTED.values(), ids=_NESTED)
def test_lines_of_json_that_are_nested_deep(nested: str, tmp_path: Path) -> None:
    truth, _ = write_valid("coco", "box", tmp_path)
    row = '{"image_id":1,"category_id":1,"bbox":[0,0,9,9],"score":0.5'
    path = tmp_path / "lines.jsonl"
    for text in (f'{row},"x":{nested}}}\n{row}}}\n', f"{row}}}\n{nested}\n", f'{{"image_id":1,"objects":{nested}}}\n', nested):
        path.write_text(text)
        for name in ("coco", "hugging_face"):
            assert problem_of(["eval", str(truth), str(path), "--dt-format", name]) is None
        assert problem_of(["eval", str(truth), str(path)]) is None
        assert problem_of(["eval", str(truth), str(truth), "--category-map", str(path)]) is None
        for name in ("labelbox", "crowdhuman", "hugging_face"):
            assert problem_of(["stats", str(path), "--format", name]) is None


@pytest.mark.parametrize("name", _JSON)
def test_halves_of_characters(name: str, tmp_path: Path) -> None:
    truth, detections = write_valid(name, SHAPES[name][0], tmp_path)
    for path in (truth, detections):
        text = path.read_text()
        for half in (r"\ud800", r"\udfffb"):
            for word in share(("cat", "score", "name", "image", "label", "one.jpg", "id"), f"{name} {half}"):
                path.write_text(text.replace(f'"{word}"', f'"{half}"', 1))
                assert problems_of(truth, detections, name, tmp_path) == []
        path.write_text(text)


def test_halves_of_characters_in_memory() -> None:
    truth: dict[str, Any] = {"images": [{"id": 7}, {"id": 8, "scene": "\ud800"}], "categories": [], "annotations": []}
    with pytest.raises(
        RowError, match=r"images: a name or a text has half of a character .* for image_id 8; correct these rows"
    ):
        apf.read_coco(truth)
    truth["images"][1] = {"id": 8, "\udfff": 1}
    with pytest.raises(
        RowError, match=r"images: a name or a text has half of a character .* for image_id 8; correct these rows"
    ):
        apf.read_coco(truth)
    for row in ({"file_name": "\ud800"}, {"neg_category_ids": ["\ud800"]}):
        truth["images"][1] = {"id": 8} | row
        with pytest.raises(
            RowError, match=r"images: a name or a text has half of a character .* for image_id 8; correct these rows"
        ):
            apf.read_coco(truth)


@pytest.mark.parametrize(
    "number", ["NaN", "-Infinity", "1e400", "-1e308", "-0", "1" + "0" * 30, "9007199254740993", str(2**63)]
)
def test_unusual_numbers_in_json(number: str, tmp_path: Path) -> None:
    for name in _JSON:
        (tmp_path / name).mkdir()
        truth, detections = write_valid(name, SHAPES[name][0], tmp_path / name)
        for path in (truth, detections):
            text = path.read_text()
            for old in (
                '"id":1',
                '"width":64',
                '"id":2',
                "20.0",
                '"score":0.9',
                '"image_width":64',
                '"n":1',
                '"original_width":64',
                "2.5",
            ):
                new = old.rpartition(":")[0] + ":" * (":" in old) + number
                path.write_text(text.replace(old, new, 1))
                if path.read_text() != text:
                    assert problem_of(["eval", str(truth), str(detections), "--gt-format", name, "--dt-format", name]) is None
            path.write_text(text)


def test_numbers_that_no_column_holds(tmp_path: Path) -> None:
    text = "image_id,file_name,image_width,image_height\none,one.jpg,1e30,48\n"
    with pytest.raises(FormatError, match="image_width and image_height are not positive whole numbers for images 'one'"):
        read_image_sizes(written(tmp_path, {"sizes.csv": text}) / "sizes.csv")
    for sizes in ({"file_name": [["a"]], "image_width": [1]}, {"file_name": ["a"], "image_width": [[1]]}):
        with pytest.raises(FormatError, match="file names must be text, and sizes numbers"):
            read_image_sizes(sizes | {"image_height": [1]})
    labels = {"data.yaml": "val: images\nnames: [cat]\n", "labels/a.txt": "1e30 .5 .5 .1 .1\n"}
    labels["image_sizes.csv"] = "file_name,image_width,image_height\na.jpg,64,48\n"
    with pytest.raises(FormatError, match=r"a\.txt: class is not a whole number from 0 in line 1"):
        apf.read_dataset(written(tmp_path / "yolo", labels))
    images = {"image_id": [1], "neg_category_ids": [[1e30]]}
    with pytest.raises(RowError, match="neg_category_ids contains an id beyond 64 bits for image_id 1"):
        apf.Dataset(images, {"category_id": [1]}, {})
    truth, _ = write_valid("label_studio", "box", tmp_path)
    for old, new, message in (
        ('"id":1,', f'"id":1{"0" * 30},', r"the id is not a whole number in task 1 of the list"),
        ('"original_width":64', '"original_width":1e30', r"original_width is not a number of pixels"),
    ):
        (tmp_path / "odd.json").write_text(truth.read_text().replace(old, new, 1))
        with pytest.raises(FormatError, match=message):
            apf.read_dataset(tmp_path / "odd.json")
    corners = {"image_id": [1], "category_id": [1], "corners": [[1e308, 0.0, 5.0, 0.0, 5.0, 5.0, 0.0, -1e308]]}
    dataset = apf.Dataset({"image_id": [1]}, {"category_id": [1]}, corners)
    with pytest.raises(RowError, match=r"corners holds a number beyond 1e\+150"):
        apf.evaluate(dataset, corners | {"score": [0.5]}, "dota")


def test_ids_of_other_types(tmp_path: Path) -> None:
    truth, _ = write_valid("activitynet", "interval", tmp_path)
    (tmp_path / "odd.json").write_text(truth.read_text().replace('"parentId": 0', '"parentId": {}', 1))
    with pytest.raises(FormatError, match="the taxonomy is not a list of nodes with nodeId, nodeName and parentId"):
        apf.read_dataset(tmp_path / "odd.json")
    regions, _ = write_valid("label_studio", "box", tmp_path / "regions")
    (tmp_path / "other.json").write_text(regions.read_text().replace('"id":"1"', '"id":["1"]', 1))
    assert apf.read_dataset(tmp_path / "other.json").annotations.height == 3
    binary = {"image_id": [1], "image_width": [b"6"]}
    with pytest.raises(ColumnError, match=r"images\.image_width must be Int64, not Binary"):
        apf.Dataset(binary, {"category_id": [1]}, {})
    times = pl.DataFrame({"image_id": [1], "category_id": [1], **dict.fromkeys(("x", "y", "width", "height"), 1.0)})
    with pytest.raises(ColumnError, match=r"annotations\.is_crowd must be Boolean, not Time"):
        apf.Dataset({"image_id": [1]}, {"category_id": [1]}, times.with_columns(is_crowd=pl.time(1)))


@pytest.mark.filterwarnings("ignore::apframe.exceptions.MissingResultsWarning")
@pytest.mark.parametrize("what", ["data set", "results", "results without their data set"])
@pytest.mark.parametrize("name", SHAPES)
def test_unusual_names_are_written_or_refused(name: str, what: str, tmp_path: Path) -> None:
    shape = {"x": [1.0, 2.0], "y": [1.0, 2.0], "width": [3.0, 4.0], "height": [3.0, 4.0]}
    shape = {"start_time": [0.0, 1.0], "end_time": [1.0, 2.0]} if name == "activitynet" else shape
    lists = {"neg_category_ids": [[], []], "not_exhaustive_category_ids": [[], []]}
    for number, odd in share([*enumerate(_TEXTS)], f"{name} {what}"):
        every = ("image_id", "category_id", "name", "file_name", "attribute")
        for column in every[1:2] if what == "results without their data set" else every[number % 5 :: 5]:
            rows = {"image_id": ["one", odd if column == "image_id" else "two"], **shape}
            rows["category_id"] = ["cat", odd if column == "category_id" else "dog"]
            if column == "attribute" and odd not in rows:
                rows[odd] = [odd, None]
            images = {"image_id": rows["image_id"], "file_name": ["one.jpg", odd if column == "file_name" else "two.jpg"]}
            images |= {"image_width": [64, 64], "image_height": [48, 48], **lists}
            names = ["cat", odd if column == "name" else rows["category_id"][1]]
            path = tmp_path / f"{column}{number}"
            with suppress(ApframeError):
                dataset = None
                if what != "results without their data set":
                    categories = {"category_id": rows["category_id"], "name": names, "frequency": ["c", "c"]}
                    dataset = apf.Dataset(images, categories, rows)
                if what == "data set":
                    apf.write_dataset(dataset, path, name)
                    apf.read_dataset(path, name)
                else:
                    apf.write_results(rows | {"score": [0.5, 0.25]}, path, name, dataset=dataset)
                    apf.read_results(path, name, dataset=dataset)


@pytest.mark.filterwarnings("ignore::apframe.exceptions.ApframeWarning")
@pytest.mark.parametrize("name", [name for name in SHAPES if name not in ("coco", "activitynet")])
def test_classes_with_unusual_names_are_converted_or_refused(name: str, tmp_path: Path) -> None:
    for number, odd in share([*enumerate(NAMES)], name):
        truth: dict[str, Any] = {
            "images": [{"id": 1, "width": 64, "height": 48, "file_name": "one.jpg"}],
            "categories": [{"id": 1, "name": odd}],
            "annotations": [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [4, 4, 9, 9], "area": 81, odd or "a": odd}],
        }
        path = tmp_path / f"{number}.json"
        path.write_text(json.dumps(truth))
        assert problem_of(["convert", str(path), str(tmp_path / f"out{number}"), "--to", name]) is None


_BOMB = "".join(f'<!ENTITY e{k} "{f"&e{k - 1};" * 10}">' for k in range(1, 30))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_xml_that_declares_entities_is_refused(encoding: str, tmp_path: Path) -> None:
    for root, name in (("annotation", "voc"), ("annotations", "cvat")):
        document = f'<!DOCTYPE a [<!ENTITY e0 "x">{_BOMB}]>\n<{root}>&e29;</{root}>'
        path = written(tmp_path, {f"{root}.xml": document.encode(encoding)}) / f"{root}.xml"
        with pytest.raises(
            FormatError, match=r"\.xml: declares a document type \(<!DOCTYPE ...\), which is not allowed; remove it"
        ):
            apf.read_dataset(tmp_path if name == "voc" else path, name)
        path.unlink()


def test_xml_that_is_nested_deep(tmp_path: Path) -> None:
    deep = "<image>" * 100_000 + "</image>" * 100_000
    (tmp_path / "a.xml").write_text(f"<annotations>{deep}</annotations>")
    assert problem_of(["check", str(tmp_path / "a.xml")]) is None


def test_gzip_that_unpacks_to_very_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("apframe.formats.files._USUAL", 10_000)
    path = tmp_path / "a.json.gz"
    path.write_bytes(gzip.compress(b"[" + b" " * 10**7 + b"]"))
    with pytest.raises(FormatError, match=r"a\.json\.gz: unpacks to more than [\d,]+ bytes; unpack it yourself"):
        apf.read_results(path)
    path.write_bytes(gzip.compress(b"[" + b" " * 9_000) + gzip.compress(b"]") + b"\0\0")  # parts and padding
    assert read_unpacked(path) == b"[" + b" " * 9_000 + b"]"
    monkeypatch.setattr("apframe.formats.files._PIECE", 1000)
    assert read_unpacked(path) == b"[" + b" " * 9_000 + b"]"
    monkeypatch.setattr("apframe.formats.files._LARGEST", 9_001)  # for files of any size
    with pytest.raises(FormatError, match=r"a\.json\.gz: unpacks to more than 9,001 bytes; unpack it yourself"):
        read_unpacked(path)


CSV = {
    "NUL": 'a,b\x00,c\n"\x00",\x00\n', "unbalanced quotes": 'query_id,topic\nq1,"fish\nq2,birds\n', "quotes alone": '"""',
    "quotes inside": 'query_id,topic\nq1,fi"sh\n', "lines of all lengths": "query_id,topic\nq1\nq2,a,b,c\n",
    "no line end": "query_id", "carriage returns": "query_id,topic\rq1,fish\r", "not UTF-8": b"query_id,topic\nq1,\xff\n",
    "UTF-16": "query_id,topic".encode("utf-16"), "columns twice": "query_id,query_id\nq1,q2\n",
}  # fmt: skip


@pytest.mark.parametrize("content", CSV.values(), ids=CSV)
def test_csv_that_is_damaged(content: str | bytes, tmp_path: Path) -> None:
    path = written(tmp_path, {"a.csv": content, "q.txt": "q1 0 d1 1\n", "r.txt": "q1 Q0 d1 1 1 a\n"}) / "a.csv"
    for read in (read_queries, read_image_sizes, apf.read_dataset):
        with suppress(ApframeError):
            read(path)
    arguments = [str(tmp_path / "q.txt"), str(tmp_path / "r.txt"), "--queries", str(path), "--by", "topic"]
    assert problem_of(["rank", *arguments]) is None


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stored")
    apf.evaluate(*write_valid("coco", "box", folder)).write_parquet(folder / "run")
    return folder / "run"


def copy_of(run: Path, folder: Path) -> Path:
    return written(folder, {file.name: file.read_bytes() for file in run.iterdir()})


MANIFESTS = {
    "null": None, "a list": [], "a number": 2**70, "a text": "a", "a float": float("inf"), "nested": [[[]]],
    "an object": {"a": None}, "the year 1": "0001-01-01T00:00:00+14:00", "the year 9999": "9999-12-31T23:59:59-14:00",
    "far": "99999-01-01", "half": "\ud800", "false": False, "texts": ["a"],
    "numbers": [7],
}  # fmt: skip


@pytest.mark.parametrize("value", MANIFESTS.values(), ids=MANIFESTS)
def test_manifests_with_unusual_values(value: object, run: Path, tmp_path: Path) -> None:
    manifest = json.loads((run / "manifest.json").read_text())
    places: list[list[Any]] = [[name] for name in manifest]
    places += [[name, inner] for name in manifest for inner in (manifest[name] if isinstance(manifest[name], dict) else ())]
    folder = copy_of(run, tmp_path / "run")
    commands = [["sql", str(folder), "FROM matches"], ["sql", f"{tmp_path}/*", "FROM runs"], ["eval", str(folder), str(folder)]]
    for place, (*outer, last) in enumerate(places):
        changed = json.loads(json.dumps(manifest))
        inner = changed[outer[0]] if outer else changed
        inner[last] = value
        (folder / "manifest.json").write_text(json.dumps(changed))
        assert problem_of(commands[place % len(commands)]) is None, (outer, last)


def test_tables_of_a_set_that_are_swapped(run: Path, tmp_path: Path) -> None:
    folder = copy_of(run, tmp_path / "run")
    (folder / "images.parquet").write_bytes((run / "annotations.parquet").read_bytes())
    with pytest.raises(FormatError, match=r"images\.parquet: holds the table annotations; evaluate again"):
        apf.read_evaluation(folder)
    assert problem_of(["sql", str(folder), "FROM matches"]) is None


def test_tables_that_lost_a_column_or_changed_its_type(run: Path, tmp_path: Path) -> None:
    folder = copy_of(run, tmp_path / "run")
    for name in ("images", "categories", "annotations", "detections", "pairs", "assignments", "metrics", "summary"):
        path = folder / f"{name}.parquet"
        table = pl.read_parquet(path)
        key = table.columns[0]
        rewrite(table.rename({key: "odd"}), path)
        with pytest.raises(FormatError, match=rf"{name}\.parquet: no column {key}; evaluate again"):
            apf.read_evaluation(folder)
        if name in ("pairs", "assignments", "metrics", "summary"):
            rewrite(table.with_columns(pl.lit("a").cast(pl.Binary).alias(key)), path)
            with pytest.raises(FormatError, match=rf"{name}\.parquet: {key} is Binary, not "):
                apf.read_evaluation(folder)
        rewrite(table, path)
    apf.read_evaluation(folder)


def test_runs_of_a_set_that_are_empty_or_changed(tmp_path: Path) -> None:
    rows = {"query_id": ["q1"], "document_id": ["d1"]}
    evaluation = apf.evaluate_run(rows | {"relevance": [1]}, {name: rows | {"score": [0.5]} for name in ("a", "b")})
    evaluation.write_parquet(tmp_path / "run")
    table = pl.read_parquet(tmp_path / "run" / "runs.parquet")
    rewrite(table.clear(), tmp_path / "run" / "runs.parquet")
    assert apf.read_run_evaluation(tmp_path / "run").runs.keys() == {"a", "b"}
    assert problem_of(["sql", str(tmp_path / "run"), "FROM per_query"]) is None
    rewrite(table.drop("run"), tmp_path / "run" / "runs.parquet")
    with pytest.raises(FormatError, match=r"runs\.parquet: no column run; evaluate again"):
        apf.read_run_evaluation(tmp_path / "run")


@pytest.mark.parametrize(
    "name", ["a b", "it's", 'a"b', "a;b", "é🙂", "%s", "$x", "[1]", "a=b", "~", "-x", "x.duckdb", "select", "a\nb"]
)
def test_run_folders_with_unusual_names_are_written_as_databases(name: str, run: Path, tmp_path: Path) -> None:
    folder = copy_of(run, tmp_path / name)
    path = tmp_path / f"{name}.db"
    apf.read_evaluation(folder).write_duckdb(path)
    with duckdb.connect(path, read_only=True) as connection:
        assert connection.sql("SELECT count(*) FROM annotations").fetchall() == [(3,)]
    assert apf.read_evaluation(folder).sql("SELECT count(*) AS n FROM annotations").item() == 3
    assert problem_of(["sql", str(folder), "FROM summary"]) is None


def test_damaged_arrow_files_do_not_panic(tmp_path: Path) -> None:
    _, found = write_valid("arrow", "box", tmp_path)
    table = pl.read_ipc(found)
    content = found.read_bytes()
    for place in range(0, len(content), 7):
        found.write_bytes(content[:place] + bytes([content[place] ^ 0x40]) + content[place + 1 :])
        with suppress(ApframeError):
            apf.read_results(found)
        with suppress(ApframeError):
            list(Arrow().results_in_parts(found, None))
    table.with_columns(pl.lit(1, pl.Int128).alias("large")).write_ipc(found)
    with pytest.raises(FormatError, match=r"cannot be read as Arrow IPC \(Integers with more than 64 bits not implemented\)"):
        apf.read_results(found)


def test_arrow_files_and_streams_come_back_as_they_were(tmp_path: Path) -> None:
    columns: dict[str, Any] = {
        "image_id": [1, 2], "category_id": [1, 1], "score": [0.5, 0.25], "x": [1.0, 1.0], "y": [1.0, 1.0],
        "width": [2.0, 2.0], "height": [2.0, 2.0], "kind": pl.Series(["a", None], dtype=pl.Enum(["a", "b"])),
        "town": pl.Series(["x", "y"], dtype=pl.Categorical), "tags": [["a"], []], "where": [{"a": 1}, None],
        "time": pl.Series([1, None], dtype=pl.Datetime("ms", "UTC")), "nothing": [None, None],
    }  # fmt: skip
    table = pl.DataFrame(columns)
    table.write_ipc(tmp_path / "a.arrow", compression="lz4")
    table.write_ipc_stream(tmp_path / "b.arrow")
    for name in ("a.arrow", "b.arrow"):
        detections = apf.read_results(tmp_path / name)
        assert detections.select(table.columns).schema == table.schema
        assert detections.select(table.columns).equals(table)


def test_parquet_at_which_polars_panics_is_damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def panic(_: object) -> pl.DataFrame:
        raise pl.exceptions.PanicException("index out of bounds")

    _, found = write_valid("parquet", "box", tmp_path)
    monkeypatch.setattr(pl, "read_parquet", panic)
    with pytest.raises(FormatError, match=r"cannot be read as Parquet \(the file is damaged: index out of bounds\)"):
        apf.read_results(found)


def test_columns_that_sql_cannot_name_or_hold() -> None:
    row = {"image_id": [1], "category_id": [1], "x": [0.0], "y": [0.0], "width": [9.0], "height": [9.0]}
    dataset = apf.Dataset({"image_id": [1], "a\0b": [7]}, {"category_id": [1]}, row)
    with pytest.warns(ApframeWarning, match=r"images\.a\x00b is a\\0b"):
        assert apf.evaluate(dataset, row | {"score": [0.5]}).sql(r'SELECT "a\0b" AS n FROM images').item() == 7
    large = pl.DataFrame({"image_id": [1]}).with_columns(large=pl.lit(1, pl.Int128))
    with pytest.raises(QueryError, match="images: DuckDB cannot store one of the columns"):
        apf.evaluate(apf.Dataset(large, {"category_id": [1]}, row), row | {"score": [0.5]}).sql("FROM images")
