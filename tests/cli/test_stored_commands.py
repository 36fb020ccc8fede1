"""`apframe sql`: where a query comes from, what SQL may do, on sets and on DuckDB files, and how Ctrl-C ends it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from io import BytesIO, TextIOWrapper
from pathlib import Path

import duckdb
import pytest

import apframe as apf
from apframe.evaluation.on_request import ON_REQUEST
from tests.cli.test_command import RESULTS, TRUTH, command, files
from tests.stopping import SECONDS

Capture, Patch = pytest.CaptureFixture[str], pytest.MonkeyPatch
SEARCH = Path(__file__).resolve().parents[2] / "data" / "search"
REMEDY = (
    "; `apframe sql --unrestricted` allows SQL to read and write files, load extensions and change settings; the tables are "
)


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A set, many sets, a set of a search run, and DuckDB files of the first and the last."""
    folder = tmp_path_factory.mktemp("sets")
    evaluation = apf.evaluate(*files(folder), iou_thresholds=[0.5, 0.75])  # to write the tables of ten takes long
    evaluation.write_parquet(folder / "runs" / "a")
    evaluation.write_duckdb(folder / "a.duckdb", tables=list(ON_REQUEST))
    ranking = apf.evaluate_run(SEARCH / "qrels.txt", SEARCH / "run_dense.txt")
    ranking.write_parquet(folder / "search")
    ranking.write_duckdb(folder / "search.duckdb")
    names = {"set": "runs/a", "sets": "runs/*", "search": "search", "file": "a.duckdb", "search_file": "search.duckdb"}
    return {name: folder / path for name, path in names.items()}


def answers(printed: str) -> list[list[list[object]]]:
    """The values of every answer that --json printed."""
    return [[[*row.values()] for row in json.loads(line)] for line in printed.splitlines()]


def stdin(content: bytes, is_terminal: bool = False) -> TextIOWrapper:
    stream = TextIOWrapper(BytesIO(content), encoding="ascii")  # as with LANG=C, which is not asked
    stream.isatty = lambda: is_terminal  # type: ignore[method-assign]
    return stream


# a text -> the rows of every answer
SCRIPTS: dict[str, tuple[str, list[list[list[object]]]]] = {
    "no semicolon": ("SELECT 1", [[[1]]]),
    "several on a line": ("SELECT 1 AS a;; SELECT 2 AS a;SELECT 3", [[[1]], [[2]], [[3]]]),
    "over several lines": ("SELECT min(iou_threshold)\n\nFROM metrics\nWHERE true\n;\nSELECT 2;", [[[0.5]], [[2]]]),
    "semicolons inside": ("SELECT ';' AS a, $$;$$ AS b, $x$ $$; $x$ AS \"a;b\" -- ;\n/* ; */;", [[[";", ";", " $$; "]]]),
    "quotes doubled": ("SELECT 'it''s;' ; SELECT 1", [[["it's;"]], [[1]]]),
    "letters of two bytes": ("SELECT 'é;'; SELECT 'ü'", [[["é;"]], [["ü"]]]),
    "comments alone, before and after": ("/* nothing\n here; */\n-- nor; here\nSELECT 1; -- end", [[[1]]]),
    "nothing to show": (
        "CREATE TEMP TABLE best AS SELECT 'a' AS q; INSERT INTO best VALUES ('c'); CREATE TEMP VIEW v AS FROM best; "
        "SELECT count(*) AS Count FROM v; BEGIN; COMMIT",
        [[[2]]],
    ),
    "rows of a statement that changes some": ("CREATE TEMP TABLE t (a INT); INSERT INTO t VALUES (1) RETURNING a + 1", [[[2]]]),
    "a pivot": ("PIVOT (SELECT 'x' AS k, 5 AS v) ON k USING sum(v)", [[[5]]]),
    "a number that begins with a dot": ("SELECT 1 +\n.5::DOUBLE;", [[[1.5]]]),
    "the columns of a table": ("DESCRIBE summary", [[[name, kind, "YES", None, None, None] for name, kind in (
        ("metric", "VARCHAR"), ("value", "DOUBLE"))]]),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("text", "expected"), SCRIPTS.values(), ids=SCRIPTS)
def test_a_query_is_an_argument_or_a_file_or_stdin(
    text: str, expected: list[list[list[object]]], places: dict[str, Path], tmp_path: Path, capsys: Capture, monkeypatch: Patch
) -> None:
    folder = str(places["set"])
    code, out, err = command(capsys, monkeypatch, "sql", folder, text, "--json")
    assert (code, answers(out), err) == (0, expected, "")
    (tmp_path / "query.sql").write_text(text, encoding="utf-8")
    assert command(capsys, monkeypatch, "sql", folder, "-f", str(tmp_path / "query.sql"), "--json") == (0, out, "")
    for options in ([], ["-f", "-"]):
        monkeypatch.setattr("sys.stdin", stdin(text.encode()))
        assert command(capsys, monkeypatch, "sql", folder, *options, "--json") == (0, out, "")


@pytest.mark.slow(every=True)
@pytest.mark.parametrize("place", ["set", "sets", "file", "search", "search_file"])
def test_show_tables_names_all(place: str, places: dict[str, Path], capsys: Capture, monkeypatch: Patch) -> None:
    code, out, _ = command(capsys, monkeypatch, "sql", str(places[place]), "SHOW TABLES", "--json")
    listed = {row["name"] for row in json.loads(out)}
    assert code == 0 and {"set": "metrics", "sets": "runs", "file": "metrics"}.get(place, "per_query") in listed
    for table in listed:
        assert command(capsys, monkeypatch, "sql", str(places[place]), f"DESCRIBE {table}")[0] == 0


@pytest.mark.slow
def test_the_first_error_ends_it(places: dict[str, Path], capsys: Capture, monkeypatch: Patch) -> None:
    code, out, err = command(capsys, monkeypatch, "sql", str(places["set"]), "SELECT 1 AS a; FROM boxes; SELECT 2", "--csv")
    assert (code, out) == (2, "a\n1\n") and err.startswith("error: statement 2: Catalog Error") and err.count("\n") == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    "text", ["SELECT 1; SELEC 2", "SELECT 1; FROM (", "SELECT 1; 'never closed", "SELECT 1; /* never closed"]
)
def test_nothing_is_run_if_there_is_a_syntax_error(
    text: str, places: dict[str, Path], capsys: Capture, monkeypatch: Patch
) -> None:
    code, out, err = command(capsys, monkeypatch, "sql", str(places["set"]), text)
    assert (code, out) == (2, "") and err.startswith("error: Parser Error") and err.count("\n") == 1


@pytest.mark.slow
def test_errors_name_file_line_and_statement(
    places: dict[str, Path], tmp_path: Path, capsys: Capture, monkeypatch: Patch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("bad.sql").write_text("SELECT 1;\n\n-- next\nFRM summary")
    code, _, err = command(capsys, monkeypatch, "sql", str(places["set"]), "-f", "bad.sql")
    assert (code, err) == (2, 'error: bad.sql: Parser Error: syntax error at or near "FRM" in line 4\n')
    Path("wrong.sql").write_text("SELECT 1;\nFROM boxes")
    code, _, err = command(capsys, monkeypatch, "sql", str(places["set"]), "-f", "wrong.sql")
    assert code == 2 and err.startswith("error: wrong.sql, statement 2: Catalog Error: Table with name boxes does not exist!")


@pytest.mark.parametrize("text", [".tables", "  .tables metrics", "SELECT 1;\n.tables"])
def test_commands_of_the_former_prompt(text: str, places: dict[str, Path], capsys: Capture, monkeypatch: Patch) -> None:
    code, out, err = command(capsys, monkeypatch, "sql", str(places["set"]), text)
    remedy = "SHOW TABLES lists the tables, and DESCRIBE metrics the columns of one"
    assert (code, out, err) == (2, "", f"error: .tables was a command of the prompt, which is gone; {remedy}\n")


NO_STATEMENT = " has no SQL statement; write one, such as SHOW TABLES"
# options, what stdin holds and whether it is a terminal -> exit status, message
NO_QUERY: dict[str, tuple[list[str], bytes, bool, int, str]] = {
    "a terminal": ([], b"SELECT 1", True, 2, "There is no query. Give it as an argument, "),
    "empty stdin": ([], b" \n", False, 2, "There is no query. Give it as an argument, "),
    "comments on stdin": ([], b"-- SELECT 1", False, 2, "stdin" + NO_STATEMENT),
    "stdin in Latin-1": ([], b"SELECT\n'\xe9'", False, 1, "stdin: line 2 is not UTF-8 text"),
    "an empty query": ([""], b"SELECT 1", False, 2, "the query" + NO_STATEMENT),
    "only a semicolon": ([" ; "], b"", True, 2, "the query" + NO_STATEMENT),
    "an empty file": (["--file", "empty.sql"], b"", True, 2, "empty.sql" + NO_STATEMENT),
    "no such file": (["--file", "no.sql"], b"", True, 1, "no.sql: there is no such file"),
    "a folder": (["--file", "folder.sql"], b"", True, 1, "folder.sql: this is a folder"),
    "a file in Latin-1": (["--file", "latin.sql"], b"", True, 1, "latin.sql: line 1 is not UTF-8 text"),
    "both": (["SELECT 1", "--file", "empty.sql"], b"", True, 2, "QUERY and --file cannot be combined"),
}


@pytest.mark.parametrize(("options", "content", "is_terminal", "status", "message"), NO_QUERY.values(), ids=NO_QUERY)
def test_what_is_no_query(
    options: list[str], content: bytes, is_terminal: bool, status: int, message: str, places: dict[str, Path],
    tmp_path: Path, capsys: Capture, monkeypatch: Patch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty.sql").touch()
    (tmp_path / "folder.sql").mkdir()
    (tmp_path / "latin.sql").write_bytes(b"SELECT '\xe9'")
    monkeypatch.setattr("sys.stdin", stdin(content, is_terminal))
    code, out, err = command(capsys, monkeypatch, "sql", str(places["set"]), *options)
    assert (code, out) == (status, "") and err.startswith(f"error: {message}") and err.count("\n") == 1


def test_the_ways_to_give_a_query_work(places: dict[str, Path], capsys: Capture, monkeypatch: Patch) -> None:
    monkeypatch.setattr("sys.stdin", None)  # as after <&-
    code, _, err = command(capsys, monkeypatch, "sql", str(places["set"]))
    assert code == 2
    for way in ('apframe sql DIR "SHOW TABLES"', "apframe sql DIR --file FILE", "apframe sql DIR < FILE"):
        assert way in err


OUTSIDE = {
    "write a file": "COPY (SELECT 1) TO 'out.csv'",
    "write over the set": "COPY (SELECT 1) TO '{place}'",
    "write beside the file": "COPY (SELECT 1) TO '{place}.wal'",
    "write a folder": "EXPORT DATABASE 'out'",
    "write a temporary file": "COPY (SELECT 1) TO '.tmp/out.csv'",
    "read a file": "FROM read_csv('{folder}/data.csv')",
    "read a file by its name": "FROM '{folder}/data.csv'",
    "read text": "FROM read_text('{folder}/data.csv')",
    "read the file itself": "FROM read_blob('{place}')",
    "list files": "FROM glob('{folder}/*')",
    "read a page": "FROM 'https://example.org/a.csv'",
    "open a database": "ATTACH '{folder}/other.duckdb'",
    "install": "INSTALL httpfs",
    "load": "LOAD httpfs",
    "set": "SET threads = 1",
    "unlock": "SET lock_configuration = false",
    "allow": "SET enable_external_access = true",
    "keep a secret": "CREATE PERSISTENT SECRET s (TYPE s3)",
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "place", ["set", "file", pytest.param("sets", marks=pytest.mark.slow), pytest.param("search", marks=pytest.mark.slow)]
)
def test_sql_stays_with_the_tables(
    place: str, places: dict[str, Path], tmp_path: Path, capsys: Capture, monkeypatch: Patch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".tmp").mkdir()
    (tmp_path / "data.csv").write_text("a\n1\n")
    with duckdb.connect(tmp_path / "other.duckdb"):
        pass
    before = sorted(tmp_path.rglob("*"))
    content = places[place].read_bytes() if place == "file" else b""
    for case, statement in OUTSIDE.items():
        text = statement.format(place=places[place], folder=tmp_path)
        code, out, err = command(capsys, monkeypatch, "sql", str(places[place]), text)
        assert (code, out) == (2, ""), case
        assert err.startswith("error: ") and err.count("\n") == 1 and REMEDY in err, (case, err)
    assert sorted(tmp_path.rglob("*")) == before
    assert sorted(path.name for path in places["file"].parent.iterdir()).count("a.duckdb.wal") == 0
    assert place != "file" or places[place].read_bytes() == content


@pytest.mark.slow
def test_a_file_is_not_changed(places: dict[str, Path], capsys: Capture, monkeypatch: Patch) -> None:
    for statement in (
        "CREATE TABLE t AS SELECT 1 AS a",
        "DELETE FROM images",
        "DROP TABLE images",
        "UPDATE images SET image_id = 2",
    ):
        code, out, err = command(capsys, monkeypatch, "sql", str(places["file"]), statement)
        assert (code, out) == (2, "") and "read-only" in err and REMEDY in err
    statements = "CREATE TEMP TABLE t AS SELECT 1 AS a; SELECT * FROM t"
    assert command(capsys, monkeypatch, "sql", str(places["file"]), statements, "--csv") == (0, "a\n1\n", "")
    assert command(capsys, monkeypatch, "sql", str(places["set"]), statements.replace("TEMP", ""), "--csv")[:2] == (0, "a\n1\n")


@pytest.mark.slow
@pytest.mark.parametrize("place", ["set", "file"])
def test_all_tables_of_a_detection_set(place: str, places: dict[str, Path], capsys: Capture, monkeypatch: Patch) -> None:
    evaluation = apf.read_evaluation(places["set"])
    for table in evaluation.sql("SELECT view_name FROM duckdb_views() WHERE NOT internal")["view_name"]:
        n_rows = evaluation.sql(f"SELECT count(*) FROM {table}").item()
        code, out, _ = command(capsys, monkeypatch, "sql", str(places[place]), f"SELECT count(*) AS n FROM {table}", "--json")
        assert (code, json.loads(out)) == (0, [{"n": n_rows}])
    query = (
        "SELECT average_precision(outcome = 'tp', -rank, 1) AS ap FROM matches WHERE iou_threshold = 0.5 AND area_range = 'all'"
    )
    assert command(capsys, monkeypatch, "sql", str(places[place]), query, "--csv") == (0, "ap\n1.0\n", "")


@pytest.mark.slow
@pytest.mark.parametrize("place", ["search", "search_file"])
def test_all_tables_of_a_retrieval_set(place: str, places: dict[str, Path], capsys: Capture, monkeypatch: Patch) -> None:
    for table in ("per_query", "summary", "coverage", "matches", "judgements", "runs"):
        code, out, _ = command(
            capsys, monkeypatch, "sql", str(places[place]), f"SELECT count(*) > 0 AS n FROM {table}", "--csv"
        )
        assert (code, out) == (0, "n\ntrue\n")


@pytest.mark.slow
@pytest.mark.parametrize("place", ["set", "file"])
def test_unrestricted(place: str, places: dict[str, Path], tmp_path: Path, capsys: Capture, monkeypatch: Patch) -> None:
    out = tmp_path / "out.csv"
    statements = (
        f"CREATE TABLE mine AS SELECT 1 AS a; COPY mine TO '{out}'; SET threads = 1; SELECT * FROM '{out}'; DROP TABLE mine"
    )
    assert command(capsys, monkeypatch, "sql", str(places[place]), statements, "--csv", "--unrestricted") == (0, "a\n1\n", "")
    assert out.read_text() == "a\n1\n"


@pytest.mark.slow
@pytest.mark.parametrize("options", [[], ["--unrestricted"]], ids=["restricted", "unrestricted"])
def test_variables_of_python_are_no_tables(
    options: list[str], places: dict[str, Path], capsys: Capture, monkeypatch: Patch
) -> None:
    for place in ("set", "file"):
        code, _, err = command(capsys, monkeypatch, "sql", str(places[place]), "FROM connection", *options)
        assert code == 2 and "Table with name connection does not exist" in err


def test_files_that_are_no_database(tmp_path: Path, capsys: Capture, monkeypatch: Patch) -> None:
    (tmp_path / "text").write_text("hello, this is text")
    (tmp_path / "cut").write_bytes(b"12345678DUCK")
    code, out, err = command(capsys, monkeypatch, "sql", str(tmp_path / "text"), "SELECT 1")
    assert (code, out) == (1, "") and "is a file; name the folder that was written" in err
    code, out, err = command(capsys, monkeypatch, "sql", str(tmp_path / "cut"), "SELECT 1")
    assert (code, out) == (1, "") and "cut: cannot be opened (" in err and err.count("\n") == 1


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals are a matter of Unix")
@pytest.mark.parametrize(
    "query",
    ["SELECT sum(a.range * b.range) FROM range(1000000) a, range(1000000) b", "SELECT count(*) FROM matches a, matches b"],
)
def test_ctrl_c_ends_a_command_whose_query_never_ends(query: str, tmp_path: Path) -> None:
    apf.evaluate(TRUTH, RESULTS).write_parquet(tmp_path / "set")
    arguments = [sys.executable, "-m", "apframe", "sql", str(tmp_path / "set"), "SELECT 7 AS a; " + query, "--csv"]
    for again in range(3):
        with subprocess.Popen(
            arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ | {"PYTHONUNBUFFERED": "1"}
        ) as started:
            assert started.stdout is not None
            assert [started.stdout.readline() for _ in range(2)] == [b"a\n", b"7\n"]
            time.sleep(again / 3)
            started.send_signal(signal.SIGINT)
            try:
                out, err = started.communicate(timeout=SECONDS)
            finally:
                started.kill()  # if it goes on, the query never ends
            assert (started.returncode, out, err) == (130, b"", b"")


NESTED, BYTES = (
    "CSV cannot contain lists or structs; use --json, or choose other columns",
    "cannot contain bytes; convert them to text with hex()",
)
FOREIGN, DATES = (
    "which tables do not support; CAST(a AS VARCHAR) makes it text",
    "a has dates outside the years 1 to 9999; CAST(",
)
TYPES: dict[str, tuple[str, object]] = {  # what --csv prints and --json holds, or the errors of both
    "NULL": ("", None),
    "true": ("true", True),
    "18446744073709551615::UBIGINT": ("18446744073709551615", 18446744073709551615),
    "9::HUGEINT": ("9", 9),
    "170141183460469231731687303715884105727::HUGEINT": ("170141183460469231731687303715884105727",) * 2,
    "1.5::DECIMAL(38, 10)": ("1.5000000000",) * 2,
    "'nan'::DOUBLE": ("NaN", None),
    "'12345678-1234-1234-1234-123456789abc'::UUID": ("12345678-1234-1234-1234-123456789abc",) * 2,
    "'BIT'::ENUM('BIT', 'INTERVAL')": ("BIT", "BIT"),
    "'{}'::JSON": ("{}", "{}"),
    "'01:02:03'::TIME": ("01:02:03.000000000", "01:02:03"),
    "DATE '2020-01-01'": ("2020-01-01",) * 2,
    "'2020-01-01'::TIMESTAMP_NS": ("2020-01-01T00:00:00.000000000", "2020-01-01 00:00:00"),
    "[1, 2]": (NESTED, [1, 2]),
    "[1, 2]::INTEGER[2]": (NESTED, [1, 2]),
    "MAP {'x': 1}": (NESTED, {"x": 1}),
    "{'BIT': 1, 'y': 'z'}": (NESTED, {"BIT": 1, "y": "z"}),
    "'x'::BLOB": (BYTES, BYTES),
    "['x'::BLOB]": (NESTED, BYTES),
    "'101'::BIT": (FOREIGN, FOREIGN),
    "[{'b': '1'::BIT}]": (FOREIGN, FOREIGN),
    "['1'::BIT]::BIT[1]": (FOREIGN, FOREIGN),
    "MAP {'1'::BIT: 1}": (FOREIGN, FOREIGN),
    "5::BIGNUM": (FOREIGN, FOREIGN),
    "1::VARIANT": (FOREIGN, FOREIGN),
    "'POINT(1 2)'::GEOMETRY": (FOREIGN, FOREIGN),
    "'01:02:03+02'::TIMETZ": (FOREIGN, FOREIGN),
    "INTERVAL 1 DAY": (FOREIGN, FOREIGN),
    "union_value(b := 1)": (FOREIGN, FOREIGN),
    "'infinity'::TIMESTAMP": (DATES, DATES),
    "DATE '5000000-01-01'": (DATES, DATES),
    "[{'d': DATE '5000000-01-01'}]": (DATES, DATES),
    "['infinity'::TIMESTAMPTZ]::TIMESTAMPTZ[1]": (DATES, DATES),
}  # fmt: skip


@pytest.mark.slow(every=True)
@pytest.mark.parametrize("value", TYPES)
def test_types_of_duckdb_are_printed_or_refused(
    value: str, places: dict[str, Path], capsys: Capture, monkeypatch: Patch
) -> None:
    errors = (NESTED, BYTES, FOREIGN, DATES)
    for style, expected in zip(("--csv", "--json"), TYPES[value], strict=True):
        code, out, err = command(capsys, monkeypatch, "sql", str(places["search_file"]), f"SELECT {value} AS a", style)
        if expected in errors:
            assert (code, out) == (2, "") and str(expected) in err
        else:
            assert (code, err) == (0, "")
            assert (out == f"a\n{expected}\n") if style == "--csv" else (json.loads(out) == [{"a": expected}])
    is_table = not {FOREIGN, DATES} & set(map(str, TYPES[value]))
    for options in ([], ["--markdown"], ["--latex"]):
        code, out, err = command(capsys, monkeypatch, "sql", str(places["search_file"]), f"SELECT {value} AS a", *options)
        assert (code, bool(out), bool(err)) == ((0, True, False) if is_table else (2, False, True))
