"""What `check_run` finds in judgements and a run, and what the command makes of two files."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import apframe as apf
from apframe.cli.command import main
from apframe.exceptions import FormatError

DATA = Path(__file__).parents[2] / "data"
QRELS: dict[str, dict[str, float]] = {"q1": {"a": 2, "b": 0}, "q2": {"a": 1}}
RUN = {"q1": {"a": 0.5, "x": 0.25}, "q2": {"a": 0.5, "b": 0.25}}
TEN = {f"x{number}": 20.0 - number for number in range(10)}

# judgements, run -> severity, check, rows of what is found
FOUND: dict[str, tuple[Any, Any, list[tuple[str, str, list[str]]]]] = {
    "nothing": (QRELS, RUN, []),
    "judgements alone": (QRELS, None, []),
    "no judgements": ({"query_id": [], "document_id": [], "relevance": []}, RUN, [("error", "no_judgements", [])]),
    "a document judged twice": (
        {"qid": ["q1", "q1"], "docno": ["a", "a"], "label": [1, 0]}, RUN, [("error", "duplicate_pair", ["1", "2"])],
    ),
    "a document found twice": (
        QRELS, {"qid": ["q1", "q1"], "docno": ["a", "a"], "score": [1, 0]}, [("error", "duplicate_pair", ["1", "2"])],
    ),
    "no score": (QRELS, {"qid": ["q1"], "docno": ["a"]}, [("error", "column", [])]),
    "NaN": (QRELS, {"q1": {"a": float("nan")}}, [("error", "invalid_value", ["1"])]),
    "ids of two types": (QRELS, {1: {2: 0.5, 3: 0.25}}, [("error", "id_types", [])]),
    "no common query": (QRELS, {"1": {"a": 2, "b": 1}}, [("error", "no_common_query", ["q1", "q2"])]),
    "an empty run": (
        QRELS, pl.DataFrame(schema={"qid": pl.String, "docno": pl.String, "score": pl.Float64}),
        [("error", "no_common_query", ["q1", "q2"])],
    ),
    "a missing query": (QRELS, {"q1": RUN["q1"]}, [("warning", "missing_query", ["q2"])]),
    "a query without judgements": (QRELS, RUN | {"q3": {"a": 2, "b": 1}}, [("note", "query_without_judgements", ["q3"])]),
    "nothing relevant": ({"q1": {"a": 0}, "q2": {"a": 0.5}}, RUN, [("warning", "no_relevant_documents", ["q1", "q2"])]),
    "a query with nothing relevant": (QRELS | {"q2": {"a": 0}}, RUN, [("note", "query_without_relevant", ["q2"])]),
    "documents of the pool": (QRELS | {"q1": {"a": 1, "b": -1}}, RUN, [("note", "pool_document", [])]),
    "equal scores": (QRELS, RUN | {"q1": {"a": 1, "b": 1}}, [("warning", "equal_scores", ["q1"])]),
    "no judged document": (QRELS, {"q1": {"A": 2, "B": 1}, "q2": {"A": 1}}, [("warning", "no_judged_document", [])]),
    "unjudged at the top": (QRELS, RUN | {"q1": TEN | {"a": 1}}, [("note", "unjudged_top", ["q1"])]),
    "rising scores": (
        QRELS, {"qid": ["q1", "q1", "q2"], "docno": ["a", "b", "a"], "rank": [1, 2, 1], "score": [0.25, 0.5, 1]},
        [("warning", "rising_scores", [])],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("qrels", "run", "found"), FOUND.values(), ids=FOUND)
def test_what_is_found(qrels: Any, run: Any, found: list[tuple[str, str, list[str]]]) -> None:
    findings = apf.check_run(qrels, run)
    assert findings.select("severity", "check", "rows").rows() == found
    assert all(row["remedy"].endswith(".") and row["problem"] in str(findings) for row in findings.iter_rows(named=True))


def test_lines_that_cannot_be_read_are_an_error(tmp_path: Path) -> None:
    (tmp_path / "qrels.txt").write_text("q 0 d 1\nq 0 d\n")
    with pytest.raises(FormatError, match=r"not 4 fields .* in line 2"):
        apf.check_run(tmp_path / "qrels.txt")


def checked(*arguments: str) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err), pytest.raises(SystemExit) as ended:
        main(["check", *arguments])
    return int(ended.value.code or 0), out.getvalue(), err.getvalue()


@pytest.mark.slow
def test_the_command_takes_judgements_and_a_run() -> None:
    qrels, run = str(DATA / "search" / "qrels.txt"), str(DATA / "search" / "run_dense.txt")
    code, out, _ = checked(qrels, run)
    assert code == 3
    assert (
        "has no documents for 1 of 60 judged queries [318]. Means leave them out, without apframe rank --missing zero." in out
    )
    assert "without apframe rank --no-relevant skip" in out
    assert checked(qrels)[0] == 0
    assert [row["check"] for row in json.loads(checked(qrels, run, "--json")[1])] == ["missing_query", "query_without_relevant"]
    assert apf.check(qrels, run).equals(apf.check_run(qrels, run))
    code, _, err = checked(run, qrels)
    assert code == 1 and "this looks like a run; pass judgements first, then runs" in err


FILES = {
    "qrels.tsv": "query-id\tcorpus-id\tscore\nq1\ta\t1\n",
    "qrels.json": '{"q1": {"a": 1}}',
    "rows.json": '[{"query_id": "q1", "document_id": "a", "relevance": 1}]',
    "columns.json": '{"qid": ["q1"], "docno": ["a"], "label": [1]}',
    "three.tsv": "q1\ta\t1\n",
    "commented.txt": "# made by hand\nq1 0 a 1\n",
}


@pytest.mark.parametrize("name", FILES)
def test_files_that_are_judgements(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(FILES[name])
    assert apf.check(tmp_path / name, None).is_empty()
    pl.DataFrame({"qid": ["q1"], "docno": ["a"], "label": [1]}).write_parquet(tmp_path / "qrels.parquet")
    assert apf.check(tmp_path / "qrels.parquet").is_empty()


def test_damaged_parquet_is_one_error(tmp_path: Path) -> None:
    (tmp_path / "qrels.parquet").write_bytes(b"PAR1 and no more")
    code, out, err = checked(str(tmp_path / "qrels.parquet"))
    assert (code, out) == (1, "") and err.startswith("error: ") and err.count("\n") == 1


def test_coco_is_not_taken_for_judgements(tmp_path: Path) -> None:
    text = '{"info": {"year": 2017}, "images": [{"id": 1}], "categories": [], "annotations": []}'
    (tmp_path / "instances.json").write_text(text)
    assert "no_annotations" in apf.check(tmp_path / "instances.json")["check"].to_list()
