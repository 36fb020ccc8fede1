from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from apframe.exceptions import FormatError, ParameterError
from apframe.scale.addresses import exists, expand, mark_of, normal, read_bytes, read_table, scan

ROWS = pl.DataFrame({"image_id": [1, 2]})
# names that Polars, fsspec or a shell may take for something else
ODD = ["a b", "a%20b", "a#b", "a?b", "a[1]", "a*b", "a=1", "ä"]


def parquet(rows: pl.DataFrame) -> bytes:
    file = io.BytesIO()
    rows.write_parquet(file)
    return file.getvalue()


def arrow(rows: pl.DataFrame) -> bytes:
    file = io.BytesIO()
    rows.write_ipc(file)
    return file.getvalue()


def test_local_patterns(tmp_path: Path) -> None:
    for name in ("b", "a", ".hidden"):
        (tmp_path / name).mkdir()
    assert expand(tmp_path / "*") == expand(f"{tmp_path}/[ab]") == [f"{tmp_path}/a", f"{tmp_path}/b"]
    assert expand(f"file://{tmp_path}/*") == expand(f"{tmp_path}/*")
    assert expand(f"{tmp_path}/c*") == []


def test_local_tables(tmp_path: Path) -> None:
    (tmp_path / "[a]").mkdir()
    for name, written in (("images.parquet", parquet(ROWS)), ("images.arrow", arrow(ROWS))):
        path = tmp_path / "[a]" / name
        path.write_bytes(written)
        assert read_table(str(path)).equals(ROWS)
        assert read_bytes(str(path)) == written
    (mark,) = {mark_of(str(path)), mark_of(f"{tmp_path}/[a]/images.arrow")}
    path.write_bytes(b"")
    assert mark_of(str(path)) != mark
    assert expand(f"{path.parent}/") == [str(path.parent)]
    assert expand(path.parent / "none") == []


@pytest.mark.parametrize("name", ["bad.parquet", "bad.arrow"])
def test_damaged_files_are_named(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(b"PAR1 and no more")
    with pytest.raises(FormatError, match=rf"{name}: cannot be read \("):
        read_table(str(path))
    for missing in (f"{tmp_path}/none", f"{tmp_path}/none.parquet"):
        assert not exists(missing)
        for call in (read_bytes, read_table, mark_of):
            with pytest.raises(FormatError, match=f"^{missing}: there is no such file$"):
                call(missing)


def test_addresses_are_spelled_in_one_way() -> None:
    assert normal("s3://bucket/shards/") == normal(Path("s3://bucket/shards")) == "s3://bucket/shards"
    assert normal("shards/00000/") == normal("file://shards/00000") == "shards/00000"
    assert normal("/") == "/"


@pytest.mark.parametrize("address", ["https://example.org/shards/*", "ftp://a.org/b", "hdfs://host/shards"])
def test_other_schemes_are_rejected(address: str) -> None:
    with pytest.raises(
        ParameterError, match=r"shards are not read from (https|ftp|hdfs):// addresses; use a local path or one of s3"
    ):
        expand(address)


@pytest.mark.parametrize(("scheme", "package"), [("s3", "s3fs"), ("gs", "gcsfs"), ("az", "adlfs"), ("abfs", "adlfs")])
def test_the_missing_package_is_named(monkeypatch: pytest.MonkeyPatch, scheme: str, package: str) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    for call in (lambda: expand(f"{scheme}://b/*"), lambda: exists(f"{scheme}://b"), lambda: read_bytes(f"{scheme}://b/c")):
        with pytest.raises(ParameterError, match=f"^{scheme}:// addresses need {package}: pip install {package}$"):
            call()


@pytest.mark.slow
def test_an_object_store_is_listed(s3: Any) -> None:
    for name in ("run/b/images.parquet", "run/a/images.parquet", "run/.c/images.parquet", "run/shards.json", "run/d.parquet"):
        s3.pipe_file(f"shards/{name}", b"{}")
    assert expand("s3://shards/run/*") == [f"s3://shards/run/{name}" for name in ("a", "b", "d.parquet", "shards.json")]
    assert expand("s3://shards/*/[ab]/") == ["s3://shards/run/a", "s3://shards/run/b"]
    assert expand("s3a://shards/**/*.parquet") == [
        f"s3a://shards/run/{name}" for name in ("a/images.parquet", "b/images.parquet", "d.parquet")
    ]
    assert expand("s3://shards/run/") == ["s3://shards/run"]
    assert expand("s3://shards/run/shards.json") == ["s3://shards/run/shards.json"]
    assert exists("s3://shards/run/a")
    assert not exists("s3://shards/run/c")
    assert read_bytes("s3://shards/run/shards.json") == b"{}"
    mark = mark_of("s3://shards/run/d.parquet")
    for name in "de":  # by another process, perhaps
        s3.pipe_file(f"shards/run/{name}.parquet", b"[]")
    assert mark_of("s3://shards/run/d.parquet") != mark == mark_of("s3://shards/run/shards.json")
    assert expand("s3://shards/run/*")[-2:] == ["s3://shards/run/e.parquet", "s3://shards/run/shards.json"]


@pytest.mark.slow
def test_tables_of_an_object_store(s3: Any) -> None:
    for name in ODD:
        s3.pipe_file(f"shards/{name}/images.parquet", parquet(ROWS.with_columns(name=pl.lit(name))))
        s3.pipe_file(f"shards/{name}/images.arrow", arrow(ROWS.with_columns(name=pl.lit(name))))
        for ending in ("parquet", "arrow"):
            address = f"s3://shards/{name}/images.{ending}"
            assert read_table(address)["name"].to_list() == [name, name]
            assert scan(address).collect_schema().names() == ["image_id", "name"]
    assert expand("s3://shards/*") == sorted(f"s3://shards/{name}" for name in ODD)


@pytest.mark.slow
def test_what_cannot_be_read_in_an_object_store(s3: Any) -> None:
    for missing in ("s3://shards/none.parquet", "s3://none/none.parquet"):
        assert not exists(missing)
        assert expand(missing) == []
        for call in (read_bytes, read_table, mark_of):
            with pytest.raises(FormatError, match=f"^{missing}: there is no such file$"):
                call(missing)
    s3.pipe_file("shards/bad.parquet", b"PAR1 and no more")
    with pytest.raises(FormatError, match=r"^s3://shards/bad.parquet: cannot be read \(.*; is the address right"):
        read_table("s3://shards/bad.parquet")


@pytest.mark.slow
def test_errors_of_an_object_store(s3: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise PermissionError("Access Denied")

    for name in ("glob", "exists", "cat_file"):
        monkeypatch.setattr(s3, name, refuse)
    for call in (lambda: expand("s3://shards/*"), lambda: exists("s3://shards/*"), lambda: read_bytes("s3://shards/*")):
        with pytest.raises(
            FormatError,
            match=r"^s3://shards/\*: cannot be read \(Access Denied\); is the address right, and do you have access\?$",
        ):
            call()


def test_the_mark_of_a_folder_is_that_of_its_files(tmp_path: Path) -> None:
    file = tmp_path / "labels" / "train" / "a.txt"
    file.parent.mkdir(parents=True)
    file.write_text("0 .5 .5 .1 .1")
    before = mark_of(str(tmp_path / "labels"))
    assert mark_of(str(tmp_path / "labels")) == before
    file.write_text("0 .5 .5 .1 .1 .9")
    assert mark_of(str(tmp_path / "labels")) != before
