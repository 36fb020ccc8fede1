"""The same of search runs, their judgements and queries, and of the sizes of images: see `test_formats`."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest

import apframe as apf
from apframe.retrieval.trec import read_queries
from tests.fuzz.commands import CASES, report, run_cases
from tests.fuzz.valid_sets import write_valid

pytestmark = pytest.mark.slow

_QRELS = "q1 0 d1 1\nq1 0 d2 0\nq2 0 d1 2\nq2 0 d3 1\n"
_RUN = "q1 Q0 d1 1 0.9 a\nq1 Q0 d2 2 0.5 a\nq2 Q0 d3 1 3 a\nq2 Q0 d1 2 2 a\n"
_QUERIES = "query_id,topic,length\nq1,birds,3\nq2,fish,5\n"


def write_search(folder: Path) -> None:
    """Judgements, two runs and queries, as text and as Parquet."""
    (folder / "text").mkdir()
    for name, text in {
        "qrels.txt": _QRELS,
        "a.txt": _RUN,
        "b.txt": _RUN.replace("0.9", "0.1"),
        "queries.csv": _QUERIES,
    }.items():
        (folder / "text" / name).write_text(text)
    (folder / "text" / "c.gz").write_bytes(gzip.compress(_RUN.encode()))
    (folder / "parquet").mkdir()
    tables = {"qrels": apf.read_qrels, "a": apf.read_run, "b": apf.read_run, "queries": read_queries}
    for name, read in tables.items():
        source = folder / "text" / (f"{name}.csv" if name == "queries" else f"{name}.txt")
        read(source).write_parquet(folder / "parquet" / f"{name}.parquet")


def search_commands(ending: str, queries: str, others: Sequence[str]) -> list[list[str]]:
    paths = [f"{{}}/{name}" for name in (f"qrels{ending}", f"a{ending}", *others)]
    by = ["--queries", f"{{}}/{queries}", "--by"]
    return [
        ["rank", *paths], ["rank", *paths, "-q", "--json"], ["rank", *paths, "--csv", "-m", "nDCG@10 RBP infAP ERR@5 Bpref"],
        ["rank", *paths, *by, "topic"], ["rank", *paths[:2], *by, "topic,length", "--json"],
        ["rank", *paths[:2], "--out", "{}/out"], ["rank", *paths, "--missing", "zero", "--unjudged", "remove"],
        ["rank", paths[0], *paths[2:], "--no-relevant", "skip"],
    ]  # fmt: skip


def sized_commands(truth: str, found: str, sizes: str) -> list[list[str]]:
    files = [f"{{}}/{truth}", f"{{}}/{found}", "--image-sizes", f"{{}}/{sizes}"]
    return [["eval", *files], ["check", *files], ["convert", files[0], "{}/out", "--to", "coco", *files[2:]]]


@pytest.mark.parametrize("name", ["search", "sizes"])
def test_mutated_files(name: str, tmp_path: Path) -> None:
    problems = run(name, CASES, tmp_path)
    assert not problems, report(problems)


def run(name: str, numbers: Sequence[int], folder: Path) -> list[str]:
    """The problems of these cases, in a new folder."""
    if name == "search":
        write_search(folder)
        sets = [
            (folder / "text", search_commands(".txt", "queries.csv", ["b.txt", "c.gz"])),
            (folder / "parquet", search_commands(".parquet", "queries.parquet", ["b.parquet"])),
        ]
        return run_cases(name, numbers, sets, folder)
    sets = []
    for format_, ending in (("yolo", "csv"), ("open_images", "parquet")):
        (folder / format_).mkdir()
        truth, detections = write_valid(format_, "box", folder / format_)
        (truth / "image_sizes.csv").rename(folder / format_ / "sizes.csv")
        if ending == "parquet":
            pl.read_csv(folder / format_ / "sizes.csv").write_parquet(folder / format_ / "sizes.parquet")
        sets.append((folder / format_, sized_commands(truth.name, detections.name, f"sizes.{ending}")))
    return run_cases(name, numbers, sets, folder)
