"""The sample retrieval collection and the large sets: what the generator makes, and what it says of them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

DATA = Path(__file__).parents[2] / "data"
SEARCH = DATA / "search"
RUNS = ["lexical", "dense", "hybrid"]
FILES = {"qrels.txt", "queries.csv"} | {f"run_{name}.txt" for name in RUNS}


def generate(folder: Path, *arguments: str) -> Path:
    script = [sys.executable, str(DATA / "generate_retrieval.py"), "--out", str(folder), *arguments]
    subprocess.run(script, check=True, capture_output=True)
    return folder


def read_qrels(path: Path) -> pl.DataFrame:
    schema = {"query_id": pl.String, "iteration": pl.String, "document_id": pl.String, "relevance": pl.Int64}
    return pl.read_csv(path, separator=" ", has_header=False, schema=schema).drop("iteration")


def read_run(path: Path) -> pl.DataFrame:
    schema = {"query_id": pl.String, "q0": pl.String, "document_id": pl.String, "rank": pl.Int64, "score": pl.Float64}
    return pl.read_csv(path, separator=" ", has_header=False, schema=schema | {"tag": pl.String})


def average_precision() -> pl.DataFrame:
    """run, query_id, topic, n_words, value: by rank, 0 where nothing was found."""
    runs = pl.concat(read_run(SEARCH / f"run_{name}.txt") for name in RUNS)
    relevant = read_qrels(SEARCH / "qrels.txt").filter(pl.col("relevance") > 0)
    n_relevant = relevant.group_by("query_id").agg(n_relevant=pl.len())
    sums = (
        runs.join(relevant, on=["query_id", "document_id"])
        .sort("tag", "query_id", "rank")
        .with_columns(k=pl.int_range(1, pl.len() + 1).over("tag", "query_id"))
        .group_by("query_id", run="tag")
        .agg(sum=(pl.col("k") / pl.col("rank")).sum())
    )
    queries = pl.read_csv(SEARCH / "queries.csv", schema_overrides={"query_id": pl.String})
    return (
        queries.join(pl.DataFrame({"run": RUNS}), how="cross")
        .join(n_relevant, on="query_id")
        .join(sums, on=["run", "query_id"], how="left")
        .select("run", "query_id", "topic", "n_words", value=pl.col("sum").fill_null(0) / pl.col("n_relevant"))
    )


def means(values: pl.DataFrame) -> dict[str, float]:
    return dict(values.group_by("run").agg(pl.col("value").mean()).iter_rows())


# ---- the sample


@pytest.mark.slow
def test_sample_is_what_the_generator_makes(tmp_path: Path) -> None:
    files = {path.name: path.read_bytes() for path in generate(tmp_path / "made").iterdir()}
    committed = {path.name: path.read_bytes() for path in SEARCH.iterdir()}
    assert files.keys() == committed.keys() == FILES
    assert [name for name in files if files[name] != committed[name]] == []


def test_sample_is_as_described() -> None:
    assert sum(path.stat().st_size for path in SEARCH.iterdir()) < 900_000
    queries = pl.read_csv(SEARCH / "queries.csv", schema_overrides={"query_id": pl.String})
    assert (queries.height, queries["topic"].n_unique(), queries["text"].n_unique()) == (60, 5, 60)
    assert queries["text"].str.split(" ").list.len().to_list() == queries["n_words"].to_list()

    qrels = read_qrels(SEARCH / "qrels.txt")
    assert not qrels.select("query_id", "document_id").is_duplicated().any()
    assert qrels["query_id"].unique().sort().to_list() == queries["query_id"].to_list()
    assert sorted(qrels["relevance"].unique()) == [0, 1, 2, 3]
    assert qrels.height / 60 == pytest.approx(25, abs=1)
    n_relevant = qrels.group_by("query_id").agg((pl.col("relevance") > 0).sum())["relevance"]
    assert (n_relevant == 0).sum() == 1

    runs = {name: read_run(SEARCH / f"run_{name}.txt") for name in RUNS}
    for name, run in runs.items():
        assert run["tag"].unique().to_list() == [name]
        assert run["rank"].to_list() == list(range(1, 51)) * (59 if name == "dense" else 60)
        assert run.equals(run.sort("query_id", -pl.col("score"), "rank"))
        assert not run.select("query_id", "document_id").is_duplicated().any()
        judged = run.join(qrels, on=["query_id", "document_id"], how="semi").height
        assert 0.2 < judged / run.height < 0.5
    assert runs["lexical"].select("query_id", "score").is_duplicated().mean() > 0.5
    assert runs["lexical"]["score"].to_list() == runs["lexical"]["score"].round(1).to_list()

    relevant = qrels.filter(pl.col("relevance") > 0)
    missed = relevant.join(pl.concat(runs.values()), on=["query_id", "document_id"], how="anti")
    assert 0.03 < missed.height / relevant.height < 0.2


def test_sample_tells_its_story() -> None:
    values = average_precision()
    whole = means(values)
    assert whole["hybrid"] > max(whole["lexical"], whole["dense"]) + 0.05
    short, long = means(values.filter(pl.col("n_words") <= 4)), means(values.filter(pl.col("n_words") >= 12))
    assert short["lexical"] > short["dense"] + 0.2
    assert long["dense"] > long["lexical"] + 0.2
    by_topic = {topic: means(part) for (topic,), part in values.group_by("topic")}
    for topic, mean in by_topic.items():
        behind = mean["lexical"] - mean["hybrid"]
        assert 0.02 < behind < 0.1 if topic == "electronics" else behind < 0
    assert all(by_topic[topic]["lexical"] > by_topic[topic]["dense"] + 0.1 for topic in ("medicine", "electronics"))


# ---- large sets

SIZE = ("--queries", "30", "--documents", "200", "--relevant", "10")


@pytest.mark.slow
def test_large_set(tmp_path: Path) -> None:
    folder = generate(tmp_path, *SIZE)
    assert {path.name for path in folder.iterdir()} == {"qrels.txt", "qrels.parquet", "run.txt", "run.parquet"}
    qrels, run = read_qrels(folder / "qrels.txt"), read_run(folder / "run.txt")
    assert pl.read_parquet(folder / "qrels.parquet").equals(qrels)
    assert pl.read_parquet(folder / "run.parquet").equals(run.select("query_id", "document_id", "score"))

    graded = qrels.group_by("query_id").agg(judged=pl.len(), relevant=(pl.col("relevance") > 0).sum())
    assert graded.select("judged", "relevant").unique().rows() == [(20, 10)]
    assert sorted(qrels["relevance"].unique()) == [0, 1, 2, 3]
    assert run["rank"].to_list() == list(range(1, 201)) * 30
    assert run.equals(run.sort("query_id", "rank"))
    scores = run["score"].to_numpy().reshape(30, 200)
    assert (np.diff(scores.astype(np.float32)) < 0).all()  # different even in four bytes
    assert (scores > 0).all()
    for table in (run, qrels):
        assert not table.select("query_id", "document_id").is_duplicated().any()
        assert table["document_id"].str.contains(r"^D\d{7}$").all()
    hits = qrels.join(run, on=["query_id", "document_id"], how="semi")
    assert (hits.height, hits.filter(pl.col("relevance") > 0).height) == (30 * 16, 30 * 8)


@pytest.mark.slow
def test_equal_scores_are_stepped_apart(tmp_path: Path) -> None:
    # 20,000 scores on millionths below 8: some would be tied
    run = read_run(generate(tmp_path, "--queries", "2", "--documents", "20000", "--relevant", "3") / "run.txt")
    scores = run["score"].to_numpy().reshape(2, 20_000)
    assert (np.diff(scores.astype(np.float32)) < 0).all()
    assert (np.diff(np.rint(scores * 1e6)) == -1).any()


@pytest.mark.slow
def test_large_sets_are_the_same_each_time_and_may_be_shuffled(tmp_path: Path) -> None:
    once, again = generate(tmp_path / "once", *SIZE), generate(tmp_path / "again", *SIZE)
    assert [path.name for path in once.iterdir() if path.read_bytes() != (again / path.name).read_bytes()] == []
    shuffled = generate(tmp_path / "shuffled", *SIZE, "--shuffled")
    rows, mixed = read_run(once / "run.txt"), read_run(shuffled / "run.txt")
    assert not mixed.equals(rows)
    assert mixed.sort("query_id", "rank").equals(rows)
    assert pl.read_parquet(shuffled / "run.parquet").equals(mixed.select("query_id", "document_id", "score"))
    assert (shuffled / "qrels.txt").read_bytes() == (once / "qrels.txt").read_bytes()
