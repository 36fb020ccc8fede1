"""Judgements and runs from every source there is: the same canonical table, or an error that names the lines or rows."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from math import inf, nan
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from apframe.exceptions import ApframeError, ColumnError, DuplicateIdError, FormatError, RisingScoresWarning, RowError
from apframe.retrieval import trec_lines
from apframe.retrieval.trec import read_qrels, read_run

Row = tuple[Any, ...]

RUN = "007 Q0 D-1 1 2.5 me\n007 Q0 D-2 2 1e-5 me\n8 Q0 D-1 1 -3 me\n"
ROWS = [("007", "D-1", 2.5), ("007", "D-2", 1e-5), ("8", "D-1", -3.0)]
FRAME = pl.DataFrame(ROWS, schema=["query_id", "document_id", "score"], orient="row")
QRELS = "007 0 D-1 1\n007 0 D-2 -1\n8 0 D-1 0.5\n"
JUDGED = [("007", "D-1", 1.0), ("007", "D-2", -1.0), ("8", "D-1", 0.5)]


def written(folder: Path, content: str | bytes, name: str = "file.txt") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


# ---- text

TEXTS: dict[str, Callable[[str], str | bytes]] = {
    "spaces": lambda text: text,
    "tabs": lambda text: text.replace(" ", "\t"),
    "several blanks": lambda text: text.replace(" ", " \t  "),
    "several blanks in the last line": lambda text: "  ".join(text.rsplit(" ", 1)),
    "tabs in the last line": lambda text: "\t".join(text.rsplit(" ", 1)),
    "leading blanks": lambda text: "".join(f"\t {line}\n" for line in text.splitlines()),
    "trailing blanks": lambda text: text.replace("\n", " \n"),
    "CRLF": lambda text: text.replace("\n", "\r\n"),
    "no end of the last line": lambda text: text.rstrip("\n"),
    "empty lines at the end": lambda text: f"{text}\n\n",
    "empty lines at the start": lambda text: f"\n \n{text}",
    "empty lines in the middle": lambda text: text.replace("\n", "\n\n \n", 1),
    "BOM": lambda text: b"\xef\xbb\xbf" + text.encode(),
    "BOM, several blanks": lambda text: b"\xef\xbb\xbf" + text.replace(" ", "  ").encode(),
    "gzip": lambda text: gzip.compress(text.encode()),
    "gzip, several blanks": lambda text: gzip.compress(text.replace(" ", "  ").encode()),
    "gzip, BOM": lambda text: gzip.compress(b"\xef\xbb\xbf" + text.encode()),
}


@pytest.mark.parametrize("changed", TEXTS.values(), ids=TEXTS)
def test_text(changed: Callable[[str], str | bytes], tmp_path: Path) -> None:
    run, qrels = read_run(written(tmp_path, changed(RUN))), read_qrels(str(written(tmp_path, changed(QRELS), "qrels")))
    assert run.schema == {"query_id": pl.String, "document_id": pl.String, "score": pl.Float64}
    assert qrels.schema == {"query_id": pl.String, "document_id": pl.String, "relevance": pl.Float64}
    assert run.rows() == ROWS
    assert qrels.rows() == JUDGED


NUMBERS = {
    "1e-5": 1e-5, "1E5": 1e5, "+1": 1, ".5": 0.5, "5.": 5, "-0": 0, "007": 7, "1e-400": 0, "5e-324": 5e-324,
    "0.1": 0.1, "0.30000000000000004": 0.1 + 0.2, "9007199254740993": 2**53, "1.7976931348623157e308": 1.7976931348623157e308,
}  # fmt: skip
IDS = [
    '"',
    '"d',
    'a"b"',
    '""',
    "'a'",
    "d#1",
    "a,b",
    "é",
    "文書",
    "😀",
    "a\u00a0b",
    "a\u3000b",
    "a\x85b",
    "\\N",
    "null",
    "NaN",
    "1e5",
]
blanks = pytest.mark.parametrize("blank", [" ", "\t", "  "], ids=["space", "tab", "two spaces"])


@blanks
@pytest.mark.parametrize("text", NUMBERS)
def test_scores(text: str, blank: str, tmp_path: Path) -> None:
    assert read_run(written(tmp_path, f"q Q0 d 1 {text} t\n".replace(" ", blank))).rows() == [("q", "d", NUMBERS[text])]


@blanks
@pytest.mark.parametrize("text", IDS)
def test_ids_of_text_are_taken_as_they_are(text: str, blank: str, tmp_path: Path) -> None:
    path = written(tmp_path, f"{text} Q0 {text} 1 1 t\nq Q0 {text} 1 1 {text}\n".replace(" ", blank))
    assert read_run(path).rows() == [(text, text, 1.0), ("q", text, 1.0)]


def test_what_follows_the_tag_is_left_out(tmp_path: Path) -> None:
    path = written(tmp_path, "q Q0 d 1 0.5 t\nq Q0 e 2 0.25 t u v w x y z 1\nq Q0 f 3 0.125 a name of a run\n")
    assert read_run(path).rows() == [("q", "d", 0.5), ("q", "e", 0.25), ("q", "f", 0.125)]


@blanks
@pytest.mark.parametrize("comment", ["#", "# a b", "#q Q0 c 9 9 t", "  # q Q0 c 9 9 t"])
def test_lines_that_begin_with_a_number_sign_are_comments(comment: str, blank: str, tmp_path: Path) -> None:
    text = f"{comment}\nq Q0 d 1 1 t\n{comment}\nq Q0 #e 2 0 t\n{comment}"
    assert read_run(written(tmp_path, text.replace(" ", blank))).rows() == [("q", "d", 1.0), ("q", "#e", 0.0)]
    qrels = written(tmp_path, f"{comment}\nq 0 d 1\n# q 0 e 1\n#q 0 f 1\n".replace(" ", blank), "qrels")
    assert read_qrels(qrels).rows() == [("q", "d", 1.0)]


def test_three_fields_as_ms_marco_has_them(tmp_path: Path) -> None:
    run = read_run(written(tmp_path, "7\t12\t1\n7\t3\t2\n8\t3\t1\n"))
    assert run.rows() == [("7", "12", -1.0), ("7", "3", -2.0), ("8", "3", -1.0)]
    assert run.columns == ["query_id", "document_id", "score"]
    assert read_run(written(tmp_path, "# ranks from 0\nq  d 0\nq e  1\n")).rows() == [("q", "d", 0.0), ("q", "e", -1.0)]
    assert read_qrels(written(tmp_path, "7\t0\t12\t1\n", "qrels.tsv")).rows() == [("7", "12", 1.0)]
    assert read_qrels(written(tmp_path, "7\t12\t1\n", "qrels.tsv")).rows() == [("7", "12", 1.0)]


@pytest.mark.parametrize("numbers", [("0.9", "0.8"), ("17", "12"), ("1", "1")], ids=str)
def test_the_last_of_three_fields_need_not_be_a_rank(numbers: tuple[str, str], tmp_path: Path) -> None:
    path = written(tmp_path, f"q d {numbers[0]}\nq e {numbers[1]}\n")
    with pytest.raises(FormatError, match="the last of three fields is not a rank in query 'q'; if it is a score,"):
        read_run(path)


@blanks
def test_scores_that_rise_with_the_ranks(blank: str, tmp_path: Path) -> None:
    distances = "q Q0 d 1 0.25 t\nq Q0 e 2 0.5 t\nq Q0 f 3 0.75 t\n"
    path = written(tmp_path, distances.replace(" ", blank))
    message = "the scores rise with the ranks .query 'q' has 0.25 at rank 1, but 0.5 at rank 2.; documents are ranked by"
    with pytest.warns(RisingScoresWarning, match=message):
        read_run(path)
    with pytest.warns(RisingScoresWarning, match="the run: the scores rise"):
        read_run({"qid": ["q", "q"], "docno": ["d", "e"], "rank": [1, 2], "score": [1, 2]})


@pytest.mark.parametrize(
    "text",
    [
        "q Q0 d 2 0.5 t\nq Q0 e 1 0.75 t\n",  # as it should be, in another order
        "q Q0 d 0 1 t\nq Q0 e 0 2 t\nq Q0 f 0 3 t\n",  # no ranks
        "q Q0 d 1 1 t\nr Q0 e 2 2 t\ns Q0 f 3 3 t\n",  # of several queries
        "q Q0 d 1 3 t\nq Q0 e 2 4 t\nq Q0 f 3 1 t\n",  # as many fall as rise
        "q Q0 d x 1 t\nq Q0 e y 2 t\n",
    ],
)
def test_ranks_that_say_nothing_are_no_warning(text: str, tmp_path: Path) -> None:
    assert read_run(written(tmp_path, text)).height >= 2


def test_rank_and_tag_are_not_used(tmp_path: Path) -> None:
    assert read_run(written(tmp_path, "q anything d not-a-rank 1 ?\n")).rows() == [("q", "d", 1.0)]


words = st.text(st.sampled_from("ab7é\"'-,#\u00a0"), min_size=1, max_size=4)
scores = st.floats(-1e300, 1e300).map(repr)
queries = words.filter(lambda word: not word.startswith("#"))  # which begins a comment
lines = st.tuples(queries, words, words, words, scores, words)
random_blanks = st.text(" \t", min_size=1, max_size=3)


@pytest.mark.slow
@given(rows=st.lists(lines, min_size=1, max_size=6), tabs=st.booleans(), data=st.data())
def test_both_readers_agree(rows: list[Row], tabs: bool, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("run")
    plain = written(folder, "".join(("\t" if tabs else " ").join(row) + "\n" for row in rows), "plain")
    mixed = "".join("".join(field + data.draw(random_blanks) for field in row) + "\n" for row in rows)
    fast = trec_lines.read_plain(plain, trec_lines.RUN, "score")
    slow = trec_lines.read_uneven(plain, plain.read_bytes(), trec_lines.RUN, "score")
    assert fast is not None
    assert fast.rows() == slow.rows() == [(query, document, float(score)) for query, _, document, _, score, _ in rows]
    assert trec_lines.read_plain(written(folder, mixed, "mixed"), trec_lines.RUN, "score") is None
    assert trec_lines.read_lines(folder / "mixed", trec_lines.RUN).rows() == slow.rows()


LINE = b"q Q0 d 1 1 t\n"


@pytest.mark.parametrize("block", [1, 2, 7, 13, 14, 15, 1000])
def test_blanks_are_counted_across_the_borders_of_blocks(block: int) -> None:
    assert trec_lines.count_blanks(LINE * 9, block) == {" ": 54}
    assert trec_lines.count_blanks(LINE * 9 + LINE[:-1], block) == {" ": 59}
    assert trec_lines.count_blanks(LINE * 4 + b"q Q0  d 1 1 t\n", block) == {}
    assert trec_lines.count_blanks(LINE * 4 + b"q Q0 d 1 1 t \n", block) == {}
    assert trec_lines.count_blanks(LINE * 4 + b"q Q0\td 1 1 t\n" + LINE * 4, block) == {}
    assert trec_lines.count_blanks(b" " + LINE, block) == {}


@pytest.mark.parametrize(
    "wrong", [b"q Q0 d 1 1\n", b"q Q0 d e 1 1 t\n", b"q Q0 d 1\nq Q0 d e f 1 1 t\n", b"q Q0 d 1 1 t u\nq Q0 d 1 1\n"]
)
def test_other_numbers_of_fields_are_left_to_the_slower_reader(wrong: bytes) -> None:
    assert trec_lines.read_plain(LINE * 8, trec_lines.RUN, "score") is not None
    assert trec_lines.read_plain(LINE * 4 + wrong + LINE * 4, trec_lines.RUN, "score") is None


# the second of three lines -> what is said of it
BAD_LINES = {
    "q Q0 d 0.5 t": "not 6 fields",
    "q Q0 d 1 0.5": "not 6 fields",
    "q Q0 a document 1 0.5 t": "not 6 fields",
    "q": "not 6 fields",
    "q Q0 d 1 high t": "the score is not a finite number",
    "q Q0 d 1 0,5 t": "the score is not a finite number",
    "q Q0 d 1 0x10 t": "the score is not a finite number",
    "q Q0 d 1 None t": "the score is not a finite number",
    "q Q0 d 1 nan t": "the score is not a finite number",
    "q Q0 d 1 NaN t": "the score is not a finite number",
    "q Q0 d 1 inf t": "the score is not a finite number",
    "q Q0 d 1 -1e400 t": "the score is not a finite number",
}


@blanks
@pytest.mark.parametrize("line", BAD_LINES)
def test_bad_lines(line: str, blank: str, tmp_path: Path) -> None:
    path = written(tmp_path, f"p Q0 d 1 1 t\n{line}\np Q0 e 1 1 t\n".replace(" ", blank))
    with pytest.raises(FormatError) as error:
        read_run(path)
    assert str(error.value).startswith(f"{path}: {BAD_LINES[line]}")
    assert str(error.value).endswith(" in line 2; correct these lines")


def test_bad_lines_are_counted_with_the_empty_ones(tmp_path: Path) -> None:
    path = written(tmp_path, "\n".join(["q Q0 d 1 1 t", "", "  ", *["q Q0 d"] * 7]))
    with pytest.raises(FormatError, match="in line 4, 5, 6, 7, 8 and 2 more;"):
        read_run(path)


@pytest.mark.parametrize(
    ("line", "problem"), [("q 0 d", "not 4 fields"), ("q 0 d yes", "the relevance is not a finite number")]
)
def test_bad_lines_of_judgements(line: str, problem: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=f"{problem}.* in line 4;"):
        read_qrels(written(tmp_path, f"{QRELS}{line}\n"))


@pytest.mark.parametrize(
    ("line", "remedy"),
    [
        ("q1 d{k} {k} 0.{k}", "name the columns in a first line, such as query_id document_id rank score"),
        ("q1 Q0 d{k} {k} 0.{k}", "add the name of the run as the last field"),
    ],
)
def test_runs_with_fewer_fields(line: str, remedy: str, tmp_path: Path) -> None:
    lines = [line.format(k=k) for k in (1, 2, 3)]
    with pytest.raises(FormatError, match=f"not 6 fields .*; {remedy}"):
        read_run(written(tmp_path, "\n".join(lines) + "\n"))


def test_run_and_judgements_mixed_up(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"not 4 fields \(query_id iteration document_id relevance\) in line 1, 2, 3;"):
        read_qrels(written(tmp_path, RUN))
    with pytest.raises(FormatError, match=r"not 6 fields \(query_id Q0 document_id rank score tag\) in line 1, 2, 3;"):
        read_run(written(tmp_path, QRELS))


PACKED = gzip.compress(RUN.encode() * 50)
# name and content of a file -> what is said of it
BAD_FILES: dict[str, tuple[str, bytes, str]] = {
    "empty": ("run.txt", b"", "the file is empty; each line must be query_id Q0 document_id rank score tag"),
    "empty lines": ("run.txt", b"\n \r\n\n", "the file is empty"),
    "empty gzip": ("run.gz", gzip.compress(b""), "the file is empty"),
    "Latin-1": ("run.txt", b"q Q0 d 1 1 t\nq Q0 \xe9 1 1 t\n", "line 2 is not UTF-8 text"),
    "Latin-1 in the tag": ("run.txt", b"q Q0 d 1 1 t\n\nq Q0 e 1 1 \xe9\n", "line 3 is not UTF-8 text"),
    "UTF-16": ("run.txt", RUN.encode("utf-16"), "line 1 is not UTF-8 text"),
    "gzip cut off": ("run.gz", PACKED[:-12], "the gzip file is damaged or cut off"),
    "gzip damaged": ("run.txt", PACKED[:20] + b"\xff" * 9 + PACKED[29:], "the gzip file is damaged or cut off"),
    "gzip's first bytes alone": ("run.txt", b"\x1f\x8b\x08", "the gzip file is damaged or cut off"),
    "text as Parquet": ("run.parquet", RUN.encode(), "as Parquet"),
}


@pytest.mark.parametrize(("name", "content", "problem"), BAD_FILES.values(), ids=BAD_FILES)
def test_bad_files(name: str, content: bytes, problem: str, tmp_path: Path) -> None:
    path = written(tmp_path, content, name)
    with pytest.raises(FormatError) as error:
        read_run(path)
    assert str(path) in str(error.value)
    assert problem in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", ["run.txt", "run.gz", "run.parquet"])
def test_missing_files(name: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"there is no such file|no such file") as error:
        read_run(tmp_path / name)
    assert str(tmp_path / name) in str(error.value)


def test_folder(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="this is a folder, but a file is needed"):
        read_run(tmp_path)


@pytest.mark.parametrize("between", ["", "p Q0 d 1 9 t\n", "".join(f"p Q0 {n} 1 1 t\n" for n in range(3000))])
@blanks
def test_document_twice_in_text(between: str, blank: str, tmp_path: Path) -> None:
    text = f"q Q0 d 1 2 t\n{between}q Q0 d 2 1 t\n"
    with pytest.raises(DuplicateIdError, match=r"runs: a query lists a document more than once \('q d'\)") as error:
        read_run(written(tmp_path, text.replace(" ", blank)))
    assert error.value.rows == [1, between.count("\n") + 2]


# ---- frames and dicts

SOURCES: dict[str, Callable[[pl.DataFrame], Any]] = {
    "polars": lambda frame: frame,
    "polars lazy": lambda frame: frame.lazy(),
    "pandas": lambda frame: frame.to_pandas(),
    "pyarrow": lambda frame: frame.to_arrow(),
    "duckdb": lambda frame: duckdb.from_arrow(frame.to_arrow()),
    "dict of columns": lambda frame: frame.to_dict(as_series=False),
    "dict of series": lambda frame: frame.to_dict(),
    "categorical ids": lambda frame: frame.with_columns(pl.col("query_id", "document_id").cast(pl.Categorical)),
    "columns in another order": lambda frame: frame.select("score", "document_id", "query_id"),
}


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
def test_sources(source: Callable[[pl.DataFrame], Any]) -> None:
    assert_frame_equal(read_run(source(FRAME)), FRAME)


def test_dict_of_dicts() -> None:
    assert_frame_equal(read_run({"007": {"D-1": 2.5, "D-2": 1e-5}, "8": {"D-1": -3}}), FRAME)
    assert read_qrels({"007": {"D-1": 1, "D-2": -1}, "8": {"D-1": 0.5}}).rows() == JUDGED


def test_parquet(tmp_path: Path) -> None:
    FRAME.write_parquet(tmp_path / "run.parquet")
    assert_frame_equal(read_run(tmp_path / "run.parquet"), FRAME)
    assert_frame_equal(read_run(str(tmp_path / "run.parquet")), FRAME)
    FRAME.rename({"score": "relevance"}).write_parquet(tmp_path / "qrels.parquet")
    assert_frame_equal(read_qrels(tmp_path / "qrels.parquet"), FRAME.rename({"score": "relevance"}))


def test_integer_ids_stay_integers() -> None:
    table = read_run({7: {10: 1, 9: 2}})
    assert table.schema == {"query_id": pl.Int64, "document_id": pl.Int64, "score": pl.Float64}
    assert table.rows() == [(7, 10, 1.0), (7, 9, 2.0)]


def test_numbers_of_a_dict_may_be_whole_or_not() -> None:
    assert read_run({"q": {"a": 1, "b": 0.5}}).rows() == [("q", "a", 1.0), ("q", "b", 0.5)]
    assert read_qrels({"q": {"a": True, "b": 0.5}}).rows() == [("q", "a", 1.0), ("q", "b", 0.5)]


def test_queries_of_a_dict_may_be_empty() -> None:
    assert read_run({"p": {}, "q": {"a": 1}}).rows() == [("q", "a", 1.0)]


def test_attributes_are_kept() -> None:
    run = read_run({"tag": ["x"], "query_id": ["q"], "document_id": ["d"], "score": [1], "ignore": [None], "rank": [3]})
    assert run.columns == ["query_id", "document_id", "score", "ignore", "tag", "rank"]
    assert run.rows() == [("q", "d", 1.0, False, "x", 3)]


def columns(**changed: Any) -> dict[str, list[Any]]:
    """Three rows, some columns of which are changed or, where None, left out."""
    table = {"query_id": ["q", "q", "r"], "document_id": ["d", "e", "d"], "score": [2.0, 1.0, 1.0]} | changed
    return {name: values for name, values in table.items() if values is not None}


# source -> error and its message
BAD_TABLES: dict[str, tuple[Any, type[ApframeError], str]] = {
    "score NaN": (columns(score=[1.0, nan, nan]), RowError, "runs: score is not a finite number for row 2, 3;"),
    "score infinite": (columns(score=[1.0, inf, 0.0]), RowError, "runs: score is not a finite number for row 2;"),
    "score null": (columns(score=[1.0, None, 0.0]), RowError, "runs: score is missing for row 2;"),
    "score text": (columns(score=["1", "2", "3"]), ColumnError, "runs.score must be Float64, not String"),
    "query null": (columns(query_id=["q", None, None]), RowError, "runs: query_id is missing for row 2, 3;"),
    "document null": (columns(document_id=[None, "d", "e"]), RowError, "runs: document_id is missing for row 1;"),
    "ids not whole": (columns(query_id=[1.0, 1.5, 2.0]), RowError, "runs: query_id is not a whole number for row 2;"),
    "ids are flags": (columns(query_id=[True, False, True]), ColumnError, "runs.query_id: ids must be integers or strings"),
    "document twice": (
        columns(query_id=["q", "r", "q"], document_id=["d", "d", "d"]), DuplicateIdError,
        "runs: a query lists a document more than once ('q d') for row 1, 3; keep one of each",
    ),
    "no score": (columns(score=None, Score=[1, 2, 3]), ColumnError, "runs: no column score (did you mean to rename 'Score' to"),
    "no ids": (
        columns(query_id=None, document_id=None, queryid=[1, 2, 3], documentid=[1, 2, 3]), ColumnError,
        "runs: no column query_id, document_id (did you mean to rename 'queryid' to query_id, 'documentid' to ",
    ),
    "nothing near": ({"a": [1]}, ColumnError, "runs: no column query_id, document_id, score; there are a"),
    "flag is text": (columns(ignore=["no", "no", "yes"]), ColumnError, "runs.ignore must be Boolean, not String"),
    "columns of two lengths": (columns(score=[1.0]), ColumnError, "runs: the columns cannot be read"),
    "dict: NaN": ({"q": {"a": 1, "b": nan}}, RowError, "runs: score is not a finite number for row 2;"),
    "dict: null": ({"q": {"a": None}}, RowError, "runs: score is missing for row 1;"),
    "dict: text": ({"q": {"a": "1"}}, ColumnError, "runs: ids must have one type, and values must be numbers"),
    "dict: ids of two types": ({"q": {"a": 1, 2: 1}}, ColumnError, "runs: ids must have one type, and values must be numbers"),
    "dict: queries of two types": ({"q": {"a": 1}, 2: {"a": 1}}, ColumnError, "runs: ids must have one type"),
    "nothing": (None, ColumnError, "runs: None cannot be read as a table; give a Polars"),
    "a list": ([1, 2], ColumnError, "runs: a list cannot be read as a table"),
}  # fmt: skip


@pytest.mark.parametrize(("source", "kind", "message"), BAD_TABLES.values(), ids=BAD_TABLES)
def test_bad_tables(source: Any, kind: type[ApframeError], message: str) -> None:
    with pytest.raises(kind) as error:
        read_run(source)
    assert type(error.value) is kind
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
def test_documents_twice_in_frames(source: Callable[[pl.DataFrame], Any]) -> None:
    queries = [str(n % 1999) for n in range(2000)]
    frame = pl.DataFrame({"query_id": queries, "document_id": ["d"] * 2000, "score": range(2000)})
    with pytest.raises(DuplicateIdError, match=r"\('0 d'\) for row 1, 2000;") as error:
        read_run(source(frame.with_columns(pl.col("score").cast(pl.Float64))))
    assert error.value.rows == [1, 2000]
