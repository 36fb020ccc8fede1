"""An object store for the tests: a local server that speaks the protocol of S3."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture(scope="session")
def s3_port() -> Iterator[int]:
    """The port of the server: one for all tests, since Polars keeps its connections."""
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    yield server.get_host_and_port()[1]
    server.stop()


@pytest.fixture
def s3(s3_port: int, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Any:
    """The file system of fsspec with an empty bucket named `shards`; its environment is set for Polars too."""
    import fsspec

    settings = {"ACCESS_KEY_ID": "x", "SECRET_ACCESS_KEY": "x", "DEFAULT_REGION": "us-east-1", "EC2_METADATA_DISABLED": "true"}
    for name, value in (settings | {"ENDPOINT_URL": f"http://127.0.0.1:{s3_port}"}).items():
        monkeypatch.setenv(f"AWS_{name}", value)
    system = fsspec.filesystem("s3")
    system.mkdir("shards")
    request.addfinalizer(lambda: system.rm("shards", recursive=True))
    return system
