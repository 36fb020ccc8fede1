"""DuckDB files: whole or not at all, and nothing of others is replaced."""

from __future__ import annotations

import importlib.metadata
import os
from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from apframe.exceptions import OutputError, ParameterError
from apframe.store import databases, sql
from apframe.store.databases import write_database
from tests.store.test_aggregate import ITEMS

AREA = pl.Enum(["all", "small"])
PART = pl.DataFrame({"id": [1, 2], "area": ["all", None], "when": [None, date(2026, 1, 2)]}, {"id": pl.Int64, "area": AREA,
                    "when": pl.Date})  # fmt: skip


@pytest.mark.slow
def test_database_round_trip(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "run.duckdb"
    again = PART.with_columns(pl.col("id") + 2)
    tables = {"parts": (part.lazy() for part in (PART, again)), 'a "table"': PART.lazy(), "items": ITEMS.lazy(),
              "none": [PART.clear().lazy()], "apframe part": PART.lazy()}  # fmt: skip
    write_database(path, tables)
    assert [entry.name for entry in path.parent.iterdir()] == ["run.duckdb"]
    text = pl.col("area").cast(pl.String)
    with duckdb.connect(path, read_only=True) as connection:
        assert_frame_equal(sql.answer(connection, "FROM parts"), pl.concat([PART, again]).with_columns(text))
        assert_frame_equal(sql.answer(connection, 'FROM "a ""table"""'), PART.with_columns(text))
        assert_frame_equal(sql.answer(connection, 'FROM "apframe part"'), PART.with_columns(text))
        assert_frame_equal(sql.answer(connection, "FROM none"), PART.clear().with_columns(text))
        version, created = connection.execute("SELECT version, created FROM apframe").fetchone() or ("", "")
        assert version == importlib.metadata.version("apframe")
        assert datetime.fromisoformat(created) <= datetime.now(UTC)
    # beside another database, the aggregate of the file is at hand by the file's name
    with duckdb.connect() as connection:
        connection.execute(f"ATTACH '{path}' AS run (READ_ONLY)")
        query = "SELECT run.average_precision(relevant, score, n_positives, definition := 'voc2007') FROM run.items GROUP BY q"
        assert connection.execute(query).fetchall()


@pytest.mark.slow
def test_parts_are_held_one_at_a_time(tmp_path: Path) -> None:
    path, seen = tmp_path / "run.duckdb", []

    def parts() -> Iterator[pl.LazyFrame]:
        for number in range(3):
            yield sql.deferred(lambda number=number: seen.append(number) or PART, PART.schema)
            assert seen == [*range(number + 1)]

    write_database(path, {"parts": parts()})
    assert seen == [0, 1, 2]


@pytest.mark.slow
def test_small_parts_are_written_together_and_large_ones_alone(tmp_path: Path) -> None:
    heights = [40_000, 0, 40_000, 30_000, 250_000, 1, 2]
    starts = [sum(heights[:number]) for number in range(len(heights))]
    parts = [
        pl.LazyFrame({"a": range(start, start + height)}, schema={"a": pl.Int64})
        for start, height in zip(starts, heights, strict=True)
    ]
    assert [frame.height for frame in databases._of_some_length(parts)] == [110_000, 250_000, 3]
    write_database(tmp_path / "run.duckdb", {"parts": parts})
    with duckdb.connect(tmp_path / "run.duckdb", read_only=True) as connection:
        assert connection.sql("SELECT a FROM parts").pl()["a"].to_list() == [*range(sum(heights))]


@pytest.mark.slow
def test_database_replaces_its_own(tmp_path: Path) -> None:
    path = tmp_path / "run.duckdb"
    write_database(path, {"old": PART.lazy()})
    with duckdb.connect(path) as connection:
        connection.execute("CREATE TABLE more AS SELECT 1 AS a")
    (tmp_path / "run.duckdb.wal").write_bytes(b"")
    write_database(path, {"new": PART.lazy()})
    with duckdb.connect(path, read_only=True) as connection:
        assert sql.columns_of_tables(connection).keys() == {"new", "apframe"}
    assert [entry.name for entry in tmp_path.iterdir()] == ["run.duckdb"]


@pytest.mark.slow
@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError(28, "No space left on device"), duckdb.IOException("disk")])
def test_interrupted_database_leaves_what_was_there(tmp_path: Path, error: Any) -> None:
    path = tmp_path / "run.duckdb"
    write_database(path, {"old": PART.lazy()})
    before = path.read_bytes()

    def parts() -> Iterator[pl.LazyFrame]:
        yield PART.lazy()
        assert len([*tmp_path.iterdir()]) == 2  # the work is done beside it
        raise error

    with pytest.raises(KeyboardInterrupt if error is KeyboardInterrupt else OutputError, match=r"cannot be written|^$"):
        write_database(path, {"new": PART.lazy(), "parts": parts()})
    assert [entry.name for entry in tmp_path.iterdir()] == ["run.duckdb"]
    assert path.read_bytes() == before


@pytest.mark.slow
def test_failure_of_the_last_step_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "run.duckdb"
    write_database(path, {"old": PART.lazy()})

    def refuse(*_: Any) -> None:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", refuse)
        with pytest.raises(OutputError, match=r"run\.duckdb: cannot be written \(permission denied\)"):
            write_database(path, {"new": PART.lazy()})
    with duckdb.connect(path, read_only=True) as connection:
        assert sql.columns_of_tables(connection).keys() == {"old", "apframe"}
    assert [entry.name for entry in tmp_path.iterdir()] == ["run.duckdb"]


@pytest.mark.slow
def test_database_of_others_is_left_alone(tmp_path: Path) -> None:
    text, empty, theirs, namesake = (tmp_path / name for name in ("text", "empty", "theirs.duckdb", "namesake.duckdb"))
    text.write_text("hello, this is text")
    empty.touch()
    with duckdb.connect(theirs) as connection:
        connection.execute("CREATE TABLE t AS SELECT 1 AS a")
    with duckdb.connect(namesake) as connection:
        connection.execute("CREATE TABLE apframe AS SELECT 1 AS a")
    for path in (text, empty, theirs, namesake):
        before = path.read_bytes()
        message = "exists and is not a database written by apframe; name another file"
        with pytest.raises(OutputError, match=message):
            write_database(path, {"t": PART.lazy()})
        assert path.read_bytes() == before
    with pytest.raises(OutputError, match="this is a folder"):
        write_database(tmp_path, {"t": PART.lazy()})
    with pytest.raises(OutputError, match="cannot be written"):
        write_database(text / "below" / "run.duckdb", {"t": PART.lazy()})
    assert len([*tmp_path.iterdir()]) == 4


@pytest.mark.skipif(os.name != "posix", reason="pipes with names are a matter of Unix")
def test_a_pipe_is_never_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "run.duckdb")
    with pytest.raises(OutputError, match="is not a database written by apframe"):
        write_database(tmp_path / "run.duckdb", {"t": PART.lazy()})


@pytest.mark.slow
def test_database_that_is_open_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "run.duckdb"
    write_database(path, {"t": PART.lazy()})
    with duckdb.connect(path), pytest.raises(OutputError, match=r"is open elsewhere.*close it"):
        write_database(path, {"t": PART.lazy()})


def test_table_of_no_frames_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="matches has no frame"):
        write_database(tmp_path / "run.duckdb", {"matches": []})
    assert [*tmp_path.iterdir()] == []
