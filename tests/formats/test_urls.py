"""Tables at URLs, by a server of this machine."""

from __future__ import annotations

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import polars as pl
import pytest

import apframe as apf
from apframe.exceptions import FormatError, ParameterError
from tests.cli.test_command import command

STREET = Path(__file__).parents[2] / "data" / "street"


class Handler(BaseHTTPRequestHandler):
    """Files of a folder, whole or a range of bytes, as buckets serve them."""

    folder: Path

    def do_GET(self) -> None:
        path = self.folder / self.path.split("?")[0].lstrip("/")
        if not path.is_file():
            self.send_error(404)
            return
        content, whole = path.read_bytes(), "Range" not in self.headers
        if whole:
            part, status = content, 200
        else:
            begin, _, end = self.headers["Range"].removeprefix("bytes=").partition("-")
            first = int(begin) if begin else max(0, len(content) - int(end))
            last = int(end) if begin and end else len(content) - 1
            part, status = content[first : last + 1], 206
        self.send_response(status)
        if not whole:
            self.send_header("Content-Range", f"bytes {first}-{first + len(part) - 1}/{len(content)}")
        self.send_header("Content-Length", str(len(part)))
        self.send_header("Accept-Ranges", "bytes")
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(part)

    do_HEAD = do_GET  # noqa: N815 - as the server calls it

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Here", (Handler,), {"folder": tmp_path}))
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.mark.slow
def test_parquet_and_csv_are_read_from_urls(
    address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    apf.write_dataset(STREET / "instances.json", tmp_path / "truth.parquet", "hugging_face")
    truth = apf.read_dataset(tmp_path / "truth.parquet")
    detections = apf.read_results(STREET / "model_a.json").with_columns(pl.col("category_id") - 1)
    apf.write_results(detections, tmp_path / "found.csv", "csv")
    apf.write_results(detections, tmp_path / "found.parquet", "parquet")
    expected = str(apf.evaluate(truth, detections))
    for name in ("found.csv", "found.parquet"):
        ev = apf.evaluate(f"{address}/truth.parquet", f"{address}/{name}?version=1")
        assert str(ev) == expected
        assert ev.dataset.categories["name"].to_list() == truth.categories["name"].to_list()
    assert command(capsys, monkeypatch, "eval", f"{address}/truth.parquet", f"{address}/found.csv")[1] == f"{expected}\n"


@pytest.mark.slow
def test_what_is_not_there_or_is_of_another_kind_is_told(address: str) -> None:
    with pytest.raises(FormatError, match=r"/no\.parquet: cannot be read \(.*not found"):
        apf.read_dataset(f"{address}/no.parquet")
    for url in (f"{address}/instances.json", "ftp://example.org/a.parquet"):
        with pytest.raises(ParameterError, match=r"only \.parquet and \.csv are read from a URL .*; download the file"):
            apf.read_results(url)
    with pytest.raises(ParameterError, match=r"^format=: only for files and folders"):
        apf.read_dataset(f"{address}/no.parquet", "parquet")
