"""Judgements and runs as other tools have them: names of columns, rows, objects, tables of text and JSON."""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import pandas as pd
import polars as pl
import pytest

import apframe as apf
from apframe.exceptions import ApframeError, ColumnError, FormatError, ParameterError
from apframe.retrieval.trec import read_qrels, read_queries, read_run

JUDGED = [("q1", "d1", 2.0), ("q1", "d2", 0.0), ("q2", "d1", 1.0)]
FOUND = [("q1", "d2", 0.75), ("q1", "d1", 0.5), ("q2", "d1", 0.25)]
NESTED = {"q1": {"d1": 2, "d2": 0}, "q2": {"d1": 1}}


class Qrel(NamedTuple):
    """As ir_measures has it; ir_datasets' TrecQrel has the same fields."""

    query_id: str
    doc_id: str
    relevance: float
    iteration: str = "0"


class ScoredDoc(NamedTuple):
    query_id: str
    doc_id: str
    score: float


class RanxRun:
    """What is asked of Qrels and a Run of ranx."""

    def __init__(self, nested: dict[str, dict[str, float]], name: str | None = None) -> None:
        self.nested, self.name = nested, name

    def to_dict(self) -> dict[str, dict[str, float]]:
        return self.nested


class IrDataset:
    """What is asked of a data set of ir_datasets."""

    def qrels_iter(self) -> Iterator[Qrel]:
        return (Qrel(*row) for row in JUDGED)

    def scoreddocs_iter(self) -> Iterator[ScoredDoc]:
        return (ScoredDoc(*row) for row in FOUND)


def columns(rows: list[tuple[str, str, float]], *names: str) -> dict[str, list[Any]]:
    return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))


SPELLINGS = [
    ("query_id", "document_id", "relevance"),
    ("qid", "docno", "label"),  # PyTerrier
    ("query_id", "doc_id", "relevance"),  # ir_datasets, ir_measures
    ("q_id", "doc_id", "score"),  # ranx
    ("query-id", "corpus-id", "score"),  # BEIR
    ("topic", "docid", "rel"),
    ("qid", "pid", "grade"),
    ("qid", "did", "rel"),
]


@pytest.mark.parametrize("names", SPELLINGS, ids="-".join)
@pytest.mark.parametrize("make", [dict, pl.DataFrame, pd.DataFrame])
def test_names_of_columns(names: tuple[str, str, str], make: Callable[..., Any]) -> None:
    assert read_qrels(make(columns(JUDGED, *names))).rows() == JUDGED
    assert read_run(make(columns(FOUND, *names[:2], "score"))).rows() == FOUND


def test_docno_comes_before_the_docid_of_pyterrier() -> None:
    frame = pl.DataFrame({"qid": ["1"], "docid": [17], "docno": ["d"], "rank": [0], "score": [2.5], "query": ["birds"]})
    assert read_run(frame).select("query_id", "document_id", "score", "docid").rows() == [("1", "d", 2.5, 17)]


def test_our_own_names_come_first() -> None:
    frame = pl.DataFrame({"query_id": ["1"], "topic": ["birds"], "document_id": ["d"], "relevance": [1], "label": ["good"]})
    assert read_qrels(frame).row(0, named=True)["topic"] == "birds"
    assert read_queries({"qid": ["1"], "topic": ["birds"]}).rows() == [("1", "birds")]


def test_queries_of_a_csv_file(tmp_path: Path) -> None:
    (tmp_path / "queries.csv").write_text("qid,topic\n007,birds\n")
    assert read_queries(tmp_path / "queries.csv").rows() == [("007", "birds")]


def test_queries_of_other_files(tmp_path: Path) -> None:
    """As BEIR, MS MARCO and ir_datasets have them."""
    expected = [("PLAIN-2", 'Do "Cholesterol" Statins'), ("7", "b")]
    lines = [json.dumps({"_id": query_id, "text": text, "metadata": {}}) for query_id, text in expected]
    (tmp_path / "queries.jsonl").write_text("\n".join(lines))
    assert read_queries(tmp_path / "queries.jsonl").rows() == expected
    (tmp_path / "numbers.jsonl").write_text('{"query_id": 7, "text": "b"}\n')
    assert read_queries(tmp_path / "numbers.jsonl").rows() == [("7", "b")]
    (tmp_path / "queries.tsv").write_text('PLAIN-2\tDo "Cholesterol" Statins\n7\tb\n')
    assert read_queries(tmp_path / "queries.tsv").select("query_id", "text").rows() == expected
    with gzip.open(tmp_path / "header.tsv.gz", "wt") as file:
        file.write('qid\ttext\tn\n007\t"a, b\t3\n')
    assert read_queries(tmp_path / "header.tsv.gz").rows() == [("007", '"a, b', 3)]
    with pytest.raises(ColumnError):
        read_queries({"q1": {"text": "a"}})

    class Dataset:
        def queries_iter(self) -> Iterator[Query]:
            return iter([Query(*row) for row in expected])

    assert read_queries(Dataset()).rows() == expected


class Query(NamedTuple):
    query_id: str
    text: str


ROWS: dict[str, Any] = {
    "named tuples": lambda rows, kind: [kind(*row) for row in rows],
    "an iterator of them": lambda rows, kind: (kind(*row) for row in rows),
    "dicts": lambda rows, kind: [kind(*row)._asdict() for row in rows],
}


@pytest.mark.parametrize("make", ROWS.values(), ids=ROWS)
def test_rows(make: Callable[..., Any]) -> None:
    assert read_qrels(make(JUDGED, Qrel)).select("query_id", "document_id", "relevance").rows() == JUDGED
    assert read_run(make(FOUND, ScoredDoc)).rows() == FOUND
    evaluation = apf.evaluate_run(make(JUDGED, Qrel), make(FOUND, ScoredDoc), "AP")
    assert evaluation.summary["value"].to_list() == [0.75]


def test_objects_of_ranx_and_ir_datasets() -> None:
    assert read_qrels(RanxRun(NESTED)).rows() == JUDGED
    assert read_run(RanxRun({"q1": {"d2": 0.75, "d1": 0.5}, "q2": {"d1": 0.25}})).rows() == FOUND
    assert read_qrels(IrDataset())["relevance"].to_list() == [2, 0, 1]
    assert apf.evaluate_run(IrDataset(), IrDataset(), "AP").summary["value"].to_list() == [0.75]


def test_runs_of_ranx_have_names() -> None:
    scores = {"q1": {"d1": 1.0}}
    runs = [RanxRun(scores, "bm25"), RanxRun(scores, "dense")]
    assert apf.evaluate_run(RanxRun(NESTED), runs, "P@1").summary["run"].to_list() == ["bm25", "dense"]
    assert apf.evaluate_run(NESTED, {"a": RanxRun(scores), "b": [ScoredDoc("q1", "d1", 1)]}, "P@1").summary.height == 2
    with pytest.raises(ParameterError, match="each run in a list needs a path or a name; pass a dict from names to runs"):
        apf.evaluate_run(NESTED, [RanxRun(scores), RanxRun(scores)])


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ([1, 2], "judgements: a list cannot be read as a table"),
        ([("q", "d", 1)], "judgements: a list cannot be read as a table"),
        ([Qrel("q", "d", 1), ScoredDoc("q", "e", 1)], "judgements: a list cannot be read as a table"),
        ([{"qid": "q", "docno": "d"}], "judgements: no column relevance"),
        (7, "judgements: an int cannot be read as a table"),
    ],
)
def test_rows_of_other_things(source: Any, message: str) -> None:
    with pytest.raises(ColumnError, match=message):
        read_qrels(source)


# ---- tables of text

TABLES = {
    "BEIR": ("qrels/test.tsv", "query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\td2\t0\nq2\td1\t1\n"),
    "CSV": ("qrels.csv", 'qid,docno,label\nq1,"d1",2\nq1,d2,0\nq2,d1,1\n'),
    "semicolons": ("qrels.csv", "query_id;document_id;relevance\r\nq1;d1;2\r\nq1;d2;0\r\nq2;d1;1\r\n"),
    "without its ending": ("qrels", "topic\titeration\tdocno\trel\nq1\t0\td1\t2\nq1\t0\td2\t0\nq2\t0\td1\t1\n"),
}


@pytest.mark.parametrize(("name", "text"), TABLES.values(), ids=TABLES)
@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_tables_with_a_header(name: str, text: str, pack: Callable[[bytes], bytes], tmp_path: Path) -> None:
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(pack(text.encode()))
    assert read_qrels(path).select("query_id", "document_id", "relevance").rows() == JUDGED


def test_a_run_with_a_header_and_ranks_alone(tmp_path: Path) -> None:
    (tmp_path / "run.tsv").write_text("qid\tpid\trank\n007\t1\t1\n007\t2\t2\n")
    assert read_run(tmp_path / "run.tsv").rows() == [("007", "1", -1.0), ("007", "2", -2.0)]
    (tmp_path / "run.csv").write_text("qid,docid,score\n007,1,0.5\n")
    assert read_run(tmp_path / "run.csv").rows() == [("007", "1", 0.5)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("qid,docno,label\nq,d,1\nq,e,high\nq,f,\n", "the label is not a number in line 3, 4; correct these lines"),
        ("qid\tdocno\tlabel\nq\td\t1\t7\n", "cannot be read as a table"),
        ("qid,docno\nq,d\n", "judgements: no column relevance"),
        ("query,document,relevance\nq,d,1\n", "the first line must name the columns"),
    ],
)
def test_tables_that_are_wrong(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "qrels.csv").write_text(text)
    with pytest.raises(ApframeError, match=message):
        read_qrels(tmp_path / "qrels.csv")


# ---- JSON


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_json(pack: Callable[[bytes], bytes], tmp_path: Path) -> None:
    path = tmp_path / "qrels.json"
    path.write_bytes(pack(json.dumps(NESTED).encode()))
    assert read_qrels(path).rows() == JUDGED
    path.write_bytes(pack(json.dumps(columns(JUDGED, "qid", "docno", "label")).encode()))
    assert read_qrels(path).rows() == JUDGED
    path.write_bytes(pack(b"[]"))
    assert read_qrels(path).is_empty()
    path.write_bytes(pack(json.dumps([Qrel(*row)._asdict() for row in JUDGED]).encode()))
    assert read_qrels(path).select("query_id", "document_id", "relevance").rows() == JUDGED


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[1, 2]", "neither {query: {document: relevance}} nor a list of objects"),
        ('{"q": {"d": "high"}}', "judgements: ids must have one type, and values must be numbers"),
        ('{"q": 1}', "neither {query: {document: relevance}} nor a list of objects"),
        ('{"info": {}, "images": [{"id": 1}], "annotations": []}', "neither {query: {document: relevance}} nor"),
        ('{"q": {"d": 1}', "not JSON, or cut off"),
    ],
)
def test_json_of_other_things(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "qrels.json").write_text(text)
    with pytest.raises(ApframeError) as error:
        read_qrels(tmp_path / "qrels.json")
    assert message in str(error.value)


# four bytes that all frames begin with, a header and one block that is not packed, as `lz4 -B4` writes it
def frame(content: bytes) -> bytes:
    return b"\x04\x22\x4d\x18\x60\x40\x82" + (len(content) | 1 << 31).to_bytes(4, "little") + content + bytes(4)


def test_lz4_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "lz4.frame", None)
    (tmp_path / "run.lz4").write_bytes(frame(json.dumps(NESTED).encode()))
    with pytest.raises(ParameterError, match=r'reading LZ4 needs a package.* pip install.* the extra "lz4"'):
        read_run(tmp_path / "run.lz4")


class Unpacker:
    """lz4's decompressor, for frames with one block that is not packed."""

    eof = False

    def decompress(self, content: bytes, max_length: int) -> bytes:
        if content[4] != 0x60:
            raise RuntimeError("no such frame")
        self.eof = 15 <= len(content) <= max_length
        return content[11:-4]


def test_lz4_as_ranx_writes_it_packed_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if "lz4" not in sys.modules:
        module = ModuleType("lz4.frame")
        module.LZ4FrameDecompressor = Unpacker  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "lz4", ModuleType("lz4"))
        monkeypatch.setitem(sys.modules, "lz4.frame", module)
    (tmp_path / "run.lz4").write_bytes(frame(frame(json.dumps(NESTED).encode())))
    assert read_run(tmp_path / "run.lz4").rows() == JUDGED
    cbor = ModuleType("cbor2")
    cbor.loads = {b"\xa1...": NESTED}.__getitem__  # type: ignore[attr-defined]
    cbor.CBORDecodeError = KeyError  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "cbor2", cbor)
    (tmp_path / "run.lz4").write_bytes(frame(frame(b"\xa1...")))
    assert read_run(tmp_path / "run.lz4").rows() == JUDGED
    (tmp_path / "other.lz4").write_bytes(frame(b"\xff"))
    with pytest.raises(FormatError, match="contains neither JSON nor CBOR"):
        read_run(tmp_path / "other.lz4")
    monkeypatch.setitem(sys.modules, "cbor2", None)
    with pytest.raises(ParameterError, match=r'reading CBOR in LZ4 needs a package: pip install cbor2, or the extra "lz4"'):
        read_run(tmp_path / "run.lz4")
    (tmp_path / "run.lz4").write_bytes(frame(b"")[:9])
    with pytest.raises(FormatError, match="the LZ4 file is cut off"):
        read_run(tmp_path / "run.lz4")
    (tmp_path / "run.lz4").write_bytes(frame(b"")[:4] + b"x" * 20)
    with pytest.raises(FormatError, match="the LZ4 file is damaged"):
        read_run(tmp_path / "run.lz4")
