"""The prompt of `apframe sql DIR`: statements from a pipe and from a terminal."""

from __future__ import annotations

import io
import json
import os
import select
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

import apframe as apf
from apframe.cli import prompt
from apframe.exceptions import QueryError
from apframe.store import sql
from tests.stopping import interrupted_in

DATA = Path(__file__).resolve().parents[2] / "data"
ITEMS = {"q": ["a", "a", "b"], "relevant": [1, 0, 1], "score": [0.5, 0.9, 0.1]}


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with sql.connect({"items": pl.LazyFrame(ITEMS), "summary": pl.LazyFrame({"metric": ["AP"], "value": [0.5]})}) as opened:
        yield opened


def piped(connection: duckdb.DuckDBPyConnection, text: str) -> list[Any]:
    """The rows of every answer."""
    answers: list[Any] = []
    prompt.run_script(prompt.Prompt(connection, lambda answer: answers.append(answer.rows())), io.StringIO(text))
    return answers


def typed(
    connection: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch, folder: Path, lines: list[str | type[BaseException]]
) -> tuple[list[Any], list[str]]:
    """The rows of every answer in a terminal, and the prompts that were shown; an exception among the lines is a key."""
    answers: list[Any] = []
    shown: list[str] = []
    keys = iter(lines)

    def read(text: str) -> str:
        shown.append(text)
        line = next(keys, EOFError)
        if isinstance(line, str):
            return line
        raise line

    monkeypatch.setenv("XDG_STATE_HOME", str(folder))
    monkeypatch.setattr("sys.stdin", Terminal())
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setattr("builtins.input", read)
    prompt.run_prompt(connection, lambda answer: answers.append(answer.rows()))
    return answers, shown


# text on stdin -> the rows of every answer
SCRIPTS: dict[str, tuple[str, list[Any]]] = {
    "nothing": ("", []),
    "blank lines": ("\n  \n;;\n", []),
    "only comments": ("-- nothing\n/* nor\n here; */\n", []),
    "no semicolon": ("SELECT 1", [[(1,)]]),
    "several on a line": ("SELECT 1; SELECT 2;SELECT 3", [[(1,)], [(2,)], [(3,)]]),
    "over several lines": ("SELECT max(score)\n\nFROM items\nWHERE q = 'a'\n;\nSELECT 2;", [[(0.9,)], [(2,)]]),
    "semicolons inside": ("SELECT ';' AS a, $$;$$ AS b, $x$ $$; $x$ AS \"a;b\" -- ;\n/* ; */;", [[(";", ";", " $$; ")]]),
    "quotes doubled": ("SELECT 'it''s;' ; SELECT 1", [[("it's;",)], [(1,)]]),
    "a table of one's own": (
        "CREATE TABLE best AS SELECT q, max(score) AS s FROM items GROUP BY q; INSERT INTO best VALUES ('c', 1);"
        "SET threads = 1; CREATE VIEW v AS FROM best; SELECT count(*) AS Count FROM v;",
        [[(3,)]],
    ),
    "average precision": (
        "SELECT q, average_precision(relevant, score, 1) FROM items GROUP BY q ORDER BY q",
        [[("a", 0.5), ("b", 1.0)]],
    ),
    "leaving": ("SELECT 1;\n.quit\nSELECT 2;", [[(1,)]]),
    "leaving in words": ("exit;\nSELECT 2;", []),
    "leaving in the middle": ("SELECT 1\n.quit\n; SELECT 2;", []),
    "a command in the middle": ("SELECT 1\n.tables\n;", [[(1,)]]),
    "a command in a text": ("SELECT '\n.quit\n';", [[("\n.quit\n",)]]),
    "a number that begins with a dot": ("SELECT 1 +\n.5::DOUBLE;", [[(1.5,)]]),
    "the columns of a table": (
        ".schema summary",
        [[("metric", "VARCHAR", "YES", None, None, None), ("value", "DOUBLE", "YES", None, None, None)]],
    ),
    "a minus, and a division": ("SELECT 4 - -1, 4 / 2;", [[(5, 2.0)]]),
}


@pytest.mark.parametrize(("text", "answers"), SCRIPTS.values(), ids=SCRIPTS)
def test_scripts(text: str, answers: list[Any], connection: duckdb.DuckDBPyConnection) -> None:
    assert piped(connection, text) == answers


@pytest.mark.parametrize("text", ["/* never closed; SELECT 1", "SELECT 'never closed;"])
def test_what_was_never_closed_is_an_error(text: str, connection: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(QueryError, match="unterminated"):
        piped(connection, text)


def test_first_error_ends_a_script(connection: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(QueryError, match=r"^Catalog Error: [^\n]*; the tables are items, summary, done$"):
        piped(connection, "CREATE TABLE done AS SELECT 1 AS a;\nFROM itmes;\nDROP TABLE done;")
    assert "done" in sql.columns_of_tables(connection)


def test_terminal(
    connection: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = ["SELECT 1;", "SELECT", "", "2;", "FROM itmes; SELECT 3;", ".tabels", "SELECT (", KeyboardInterrupt, "SELECT 4;"]
    answers, shown = typed(connection, monkeypatch, tmp_path, lines)
    assert answers == [[(1,)], [(2,)], [(3,)], [(4,)]]
    first, further = "apframe> ", "    ...> "
    assert shown == [first, first, further, further, first, first, first, further, first, first]
    errors = capsys.readouterr().err.splitlines()
    assert len(errors) == 2
    assert errors[0].startswith("error: Catalog Error: ") and errors[0].endswith("; the tables are items, summary")
    assert errors[1] == "error: no command .tabels; did you mean .tables?"


def test_statement_that_was_not_ended_is_dropped_on_leaving(
    connection: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert typed(connection, monkeypatch, tmp_path, ["CREATE TABLE t AS SELECT 1 AS a"])[0] == []
    assert "t" not in sql.columns_of_tables(connection)


def test_commands(connection: duckdb.DuckDBPyConnection, capsys: pytest.CaptureFixture[str]) -> None:
    assert piped(connection, "CREATE TABLE mine AS SELECT 1 AS a;\n.tables;\nhelp\n") == []
    tables, printed = ["items    q, relevant, score", "summary  metric, value", "mine     a"], capsys.readouterr().out
    assert printed.splitlines()[:3] == tables
    for text in ("average_precision(", ".tables", ".help", ".quit", ".exit", "Ctrl-C", "Ctrl-D"):
        assert text in printed


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (".tabels", "no command .tabels; did you mean .tables?"),
        (".shcema", "no command .shcema; did you mean .schema?"),
        (".schema", ".schema takes a table; there are items, summary"),
        (".schema itmes", "Catalog Error: Table with name itmes does not exist!"),
    ],
)
def test_unknown_commands(command: str, message: str, connection: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(QueryError) as caught:
        piped(connection, command)
    assert str(caught.value).startswith(message)


def test_completion(connection: duckdb.DuckDBPyConnection) -> None:
    complete = prompt.Prompt(connection, print).complete
    assert complete("s") == ["score", "summary"]
    assert complete("S") == ["score", "summary"]
    assert complete("items.") == ["items.q", "items.relevant", "items.score"]
    assert complete("i.r") == ["i.relevant"]  # a name that the statement gives to some table
    assert complete(".") == [".exit", ".help", ".quit", ".schema", ".tables"]
    assert complete("s", "SELECT max(score) FROM ") == complete("s", "FROM items\tjoin ") == ["summary"]
    assert complete(".q", "SELECT 1 ") == []
    assert complete("i", ".schema ") == ["items"]
    assert complete("nothing") == []
    connection.execute("BEGIN")
    with pytest.raises(duckdb.Error):
        connection.execute("SELECT error('no')")
    assert complete("s") == []


def test_history_is_kept(connection: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    readline = pytest.importorskip("readline")
    readline.clear_history()
    readline.add_history("SELECT 'of now';")
    typed(connection, monkeypatch, tmp_path, [".quit"])
    assert "SELECT 'of now';" in (tmp_path / "apframe" / "history").read_text()
    readline.clear_history()
    typed(connection, monkeypatch, tmp_path, [".quit"])
    assert readline.get_history_item(1) == "SELECT 'of now';"
    assert readline.get_completer() is None
    readline.clear_history()


def test_history_holds_statements(
    connection: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    readline = pytest.importorskip("readline")
    readline.clear_history()
    typed(connection, monkeypatch, tmp_path, ["SELECT", "1;", "", "SELECT", KeyboardInterrupt, "SELECT 2; -- two"])
    kept = [readline.get_history_item(at + 1) for at in range(readline.get_current_history_length())]
    readline.clear_history()
    assert kept == ["SELECT 1;", "SELECT 2; -- two"]


@pytest.mark.slow
@pytest.mark.parametrize("start", ["", "CREATE TABLE much AS "], ids=["a question", "a table"])
def test_interrupted_query(
    start: str, connection: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    endless = f"{start}SELECT sum(a.range * b.range) FROM range(1000000) a, range(1000000) b;"
    with interrupted_in("_answer" if start else "from_arrow_stream"):  # tables are made before an answer is asked for
        answers, _ = typed(connection, monkeypatch, tmp_path, [endless, "SELECT 1;"])
    assert answers == [[(1,)]]
    assert capsys.readouterr().err == "\ninterrupted\n"


def test_no_history_where_the_folder_cannot_be(
    connection: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("not a folder")
    assert typed(connection, monkeypatch, tmp_path / "file", ["SELECT 1;"])[0] == [[(1,)]]


def test_no_readline(connection: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "readline", None)
    assert typed(connection, monkeypatch, tmp_path, ["SELECT 1;"])[0] == [[(1,)]]
    assert [*tmp_path.iterdir()] == []


# --- the command ----------------------------------------------------------------------------------------------------------


def shell(folder: Path, text: str, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "apframe", "sql", str(folder), *options]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def detection(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "street"
    apf.evaluate(DATA / "street" / "instances.json", DATA / "street" / "model_a.json").write_parquet(folder)
    return folder


@pytest.fixture(scope="module")
def retrieval(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "search"
    apf.evaluate_run(DATA / "search" / "qrels.txt", DATA / "search" / "run_dense.txt").write_parquet(folder)
    return folder


@pytest.mark.slow
def test_pipe_of_a_detection_folder(detection: Path) -> None:
    text = (
        "CREATE TABLE m AS SELECT outcome FROM matches WHERE iou_threshold = 0.5 AND area_range = 'all';\n"
        "SELECT outcome, count(*) AS n FROM m GROUP BY ALL ORDER BY ALL;\nSELECT metric FROM summary LIMIT 1"
    )
    done = shell(detection, text, "--json")
    first, second = map(json.loads, done.stdout.splitlines())
    expected = apf.read_evaluation(detection).matches(0.5, "all")["outcome"].value_counts()
    assert {row["outcome"]: row["n"] for row in first} == dict(expected.rows())
    assert (second, done.returncode, done.stderr) == ([{"metric": "AP"}], 0, "")


@pytest.mark.slow
def test_pipe_of_a_retrieval_folder(retrieval: Path) -> None:
    done = shell(retrieval, "SELECT count(*) AS n FROM per_query WHERE measure = 'AP';\nFROM nowhere;\nSELECT 1;", "--csv")
    n = apf.read_run_evaluation(retrieval).per_query.filter(measure="AP").height
    assert (done.returncode, done.stdout) == (2, f"n\n{n}\n")
    assert done.stderr.startswith("error: Catalog Error") and done.stderr.count("\n") == 1


@pytest.mark.slow
def test_csv_and_json_exclude_each_other(detection: Path) -> None:
    done = shell(detection, "SELECT 1;", "--csv", "--json")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "error: --json and --csv cannot be combined\n"


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="pseudo-terminals are a matter of Unix")
def test_a_real_terminal(detection: Path, tmp_path: Path) -> None:
    import pty

    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "apframe", "sql", str(detection), "--csv"]
    environment = os.environ | {"XDG_STATE_HOME": str(tmp_path), "TERM": "dumb"}
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=subprocess.PIPE, env=environment) as started:
        os.close(theirs)
        seen = b""

        def until(text: bytes) -> None:
            nonlocal seen
            while text not in seen:
                if not select.select([ours], [], [], 60)[0]:
                    started.kill()
                    pytest.fail(f"no {text!r} after {seen!r}")
                seen += os.read(ours, 4096)
            seen = seen.partition(text)[2]

        until(b"apframe> ")
        os.write(ours, b"SELECT 6 *\n")
        until(b"...> ")
        os.write(ours, b"7 AS answer;\n")
        until(b"answer\r\n42\r\n")
        until(b"apframe> ")
        os.write(ours, b"SELECT metric FROM summ\t LIMIT 1;\n")
        until(b"\r\nAP\r\n")
        until(b"apframe> ")
        os.write(ours, b"\x04")
        assert started.stderr is not None
        assert started.stderr.read() == b""
        assert started.wait(60) == 0
    os.close(ours)
    assert "SELECT 6 *" in (tmp_path / "apframe" / "history").read_text()
