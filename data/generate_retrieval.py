"""Make the sample retrieval collection in the folder `search` beside this file, and the large sets of `make bench`.

    python data/generate_retrieval.py             the sample: 60 queries, judgements, three runs
    python data/generate_retrieval.py --out DIR --queries 5000 --documents 1000 --relevant 20 [--shuffled]

Everything is drawn from one seeded generator: the same arguments and the same NumPy and Polars make the same bytes.

In the sample every query has documents that are relevant (grades 1 to 3), judged not relevant, and never judged. A system
sees each through noise: the signal is the grade times the system's skill at this query. Matching words (`lexical`) is good
at short queries and rare words, such as names of drugs and part numbers; matching meaning (`dense`) is good at long
questions; `hybrid` is the reciprocal rank fusion of both. As with real systems, scores are tied where they are rounded,
one query is missing from a run, one has nothing relevant, and some relevant documents are out of reach of all.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import polars as pl

# topic: how rare its words are, what is asked about, what is asked of it
TOPICS = {
    "cooking": (
        0.0,
        ["sourdough bread", "risotto", "pickled cucumbers", "roast duck", "lentil soup", "plum jam", "fish stock", "pancakes",
         "braised cabbage", "custard", "flatbread", "mushroom gravy"],
        ["oven temperature", "cooking time", "amount of salt", "resting time"],
    ),
    "gardening": (
        0.0,
        ["tomatoes", "apple trees", "raised beds", "climbing roses", "compost", "lavender", "box hedges", "strawberries",
         "moss in lawns", "garden ponds", "fig trees", "leeks"],
        ["soil", "way of watering", "month for pruning", "winter cover"],
    ),
    "travel": (
        0.0,
        ["night trains", "ferry crossings", "mountain huts", "city passes", "cycling holidays", "camper vans", "long layovers",
         "island hopping", "rail passes", "walking tours", "border crossings", "youth hostels"],
        ["season", "booking time", "insurance", "luggage allowance"],
    ),
    "medicine": (
        0.5,
        ["metoprolol", "ramipril", "amoxicillin", "levothyroxine", "warfarin", "omeprazole", "sertraline", "metformin",
         "prednisolone", "salbutamol", "atorvastatin", "methotrexate"],
        ["daily dose", "time of day", "interaction with alcohol", "storage"],
    ),
    "electronics": (
        1.0,
        ["LM317 regulator", "NE555 timer", "BC547 transistor", "ATmega328 board", "1N4148 diode", "TL072 amplifier",
         "IRF540 switch", "ESP32 module", "CD4017 counter", "LM358 amplifier", "MAX232 driver", "74HC595 register"],
        ["supply voltage", "pin layout", "heat sink", "replacement part"],
    ),
}  # fmt: skip
TEMPLATES = [
    "{thing}",
    "{thing} {aspect}",
    "{thing} {aspect} table",
    "best {aspect} for {thing}",
    "how do I find out which {aspect} is right for {thing} before I start",
    "everybody tells me that the {aspect} matters for {thing} but nobody can say why that should be so",
]
FIRST_QUERY = 301
NOT_IN_DENSE, NOTHING_RELEVANT = 17, 41  # places in the list of queries
DEPTH = 50  # documents of a query in a run
DECIMALS = {"lexical": 1, "dense": 4, "hybrid": 6}  # of the scores

N_NUMBERS = 9_999_991  # the largest prime of seven digits, so that every step but 0 visits all numbers below it
RETRIEVED = 0.8  # share of the judged documents that a large run holds
BLOCK = 500_000  # rows of a large run that are drawn at once, and of its row groups


def document_id(number: pl.Expr) -> pl.Expr:
    return (pl.lit("D") + number.cast(pl.String).str.zfill(7)).alias("document_id")


def distinct_numbers(rng: np.random.Generator, n_rows: int, n: int) -> np.ndarray:
    """In each row n different numbers, without a draw for each."""
    start, step = rng.integers(1, N_NUMBERS, (2, n_rows, 1))
    numbers: np.ndarray = (start + step * np.arange(n)) % N_NUMBERS
    return numbers


def write_qrels(path: Path, judgements: pl.DataFrame) -> None:
    rows = judgements.select("query_id", pl.lit("0").alias("iteration"), "document_id", "relevance")
    rows.write_csv(path, separator=" ", include_header=False)


def write_run(path: Path, run: pl.LazyFrame, tag: str, decimals: int) -> None:
    rows = run.select("query_id", pl.lit("Q0").alias("Q0"), "document_id", "rank", "score", pl.lit(tag).alias("tag"))
    rows.sink_csv(path, separator=" ", include_header=False, float_precision=decimals)


def make_queries(rng: np.random.Generator) -> pl.DataFrame:
    """Every thing of every topic is asked about once, in mixed order, in few words or many."""
    questions = [
        (topic, TEMPLATES[k % len(TEMPLATES)].format(thing=thing, aspect=rng.choice(aspects)))
        for topic, (_, things, aspects) in TOPICS.items()
        for k, thing in enumerate(things)
    ]
    topics, texts = zip(*(questions[k] for k in rng.permutation(len(questions))), strict=True)
    return pl.DataFrame(
        {
            "query_id": [str(FIRST_QUERY + k) for k in range(len(questions))],
            "topic": topics,
            "n_words": [len(text.split()) for text in texts],
            "text": texts,
        }
    )


def make_sample(rng: np.random.Generator, folder: Path) -> None:
    queries = make_queries(rng)
    judged, found = [], []
    for place, (query_id, topic, n_words, _) in enumerate(queries.iter_rows()):
        rare, length = TOPICS[topic][0], np.clip((n_words - 7) / 7, -1, 1)
        n_relevant = 0 if place == NOTHING_RELEVANT else int(np.clip(rng.gamma(2.2, 3.2), 1, 18))
        n_judged, n_seen = 25 + int(rng.integers(-3, 4)), 400
        grade = np.zeros(n_seen, np.int64)
        grade[:n_relevant] = rng.choice([1, 2, 3], n_relevant, p=[0.5, 0.3, 0.2])
        number = rng.choice(100_000, n_seen, replace=False)
        judged.append(pl.DataFrame({"query_id": query_id, "number": number[:n_judged], "relevance": grade[:n_judged]}))

        signal = np.where(grade > 0, 0.7 + 0.3 * grade, 0.0)
        signal[n_relevant:n_judged] = 0.75  # judges were shown what looked relevant
        signal *= np.where(rng.random(n_seen) < 0.12, 0.1, 1)  # said in other words, or elsewhere in a long document
        skill = {"lexical": 2.2 - 0.7 * length + 0.8 * rare, "dense": 2.6 + 0.8 * length - 0.8 * rare}
        match = {name: skill[name] * signal + rng.normal(0, 1, n_seen) for name in skill}
        rank = {name: (-values).argsort().argsort() + 1 for name, values in match.items()}
        score = {
            "lexical": 9 + 2.2 * match["lexical"],
            "dense": 0.55 + 0.3 * np.tanh(match["dense"] / 5),
            "hybrid": 1 / (60 + rank["lexical"]) + 1 / (60 + rank["dense"]),  # Cormack, Clarke and Büttcher 2009
        }
        for name, values in score.items():
            best = np.argsort(-values, kind="stable")[:DEPTH]
            if name != "dense" or place != NOT_IN_DENSE:
                frame = {"query_id": query_id, "number": number[best], "rank": np.arange(1, DEPTH + 1), "score": values[best]}
                found.append(pl.DataFrame(frame | {"run": name}))

    queries.write_csv(folder / "queries.csv")
    qrels = pl.concat(judged).sort("query_id", "number").with_columns(document_id(pl.col("number")))
    write_qrels(folder / "qrels.txt", qrels)
    runs = pl.concat(found).with_columns(document_id(pl.col("number")))
    for name, decimals in DECIMALS.items():
        write_run(folder / f"run_{name}.txt", runs.lazy().filter(run=name), name, decimals)


def make_large(
    rng: np.random.Generator, folder: Path, n_queries: int, n_documents: int, n_relevant: int, shuffled: bool
) -> None:
    """Judgements and one run, as text and as Parquet; ids become text only while they are written."""
    n_judged = 2 * n_relevant  # half of them not relevant
    kept = min(round(RETRIEVED * n_relevant), n_documents // 2)  # of each half
    documents = np.empty((n_queries, n_documents), np.int32)
    scores = np.empty((n_queries, n_documents))
    qrels = []
    size = max(1, BLOCK // n_documents)
    for start in range(0, n_queries, size):
        n = min(size, n_queries - start)
        number = distinct_numbers(rng, n, n_judged + n_documents - 2 * kept)
        grade = np.zeros((n, n_judged), np.int64)
        grade[:, :n_relevant] = rng.choice([1, 2, 3], (n, n_relevant), p=[0.5, 0.3, 0.2])
        order = np.argsort(number[:, :n_judged], axis=1)
        qrels.append(
            pl.DataFrame(
                {
                    "query": np.repeat(np.arange(start, start + n), n_judged),
                    "number": np.take_along_axis(number, order, axis=1).ravel(),
                    "relevance": np.take_along_axis(grade, order, axis=1).ravel(),
                }
            )
        )
        column = np.r_[:kept, n_relevant : n_relevant + kept, n_judged : number.shape[1]]
        match = rng.normal(0, 1, (n, n_documents))
        match[:, : 2 * kept] += 0.5 + 0.6 * grade[:, column[: 2 * kept]]
        order = np.argsort(-match, axis=1, kind="stable")
        documents[start : start + n] = np.take_along_axis(number[:, column], order, axis=1)
        # Below 8, because trec_eval holds scores in four bytes: there, all of six decimals are still different numbers.
        score = np.rint(8e6 / (1 + np.exp(-np.take_along_axis(match, order, axis=1) / 2))).astype(np.int64)
        # A tie is broken by a step down of the later one: each is at least one below the one before it.
        steps = np.arange(n_documents)
        scores[start : start + n] = (np.minimum.accumulate(score + steps, axis=1) - steps) / 1e6

    query_id = (pl.col("query") + 100_001).cast(pl.String).alias("query_id")
    judgements = pl.concat(qrels).select(query_id, document_id(pl.col("number")), "relevance")
    judgements.write_parquet(folder / "qrels.parquet")
    write_qrels(folder / "qrels.txt", judgements)
    query, rank = np.divmod(np.arange(documents.size, dtype=np.int32), np.int32(n_documents))
    compact = pl.DataFrame({"query": query, "number": documents.ravel(), "rank": rank + 1, "score": scores.ravel()})
    if shuffled:
        compact = compact[rng.permutation(compact.height)]
    run = compact.lazy().with_columns(query_id, document_id(pl.col("number")))
    write_run(folder / "run.txt", run, "large", 6)
    run.select("query_id", "document_id", "score").sink_parquet(folder / "run.parquet", row_group_size=BLOCK)


def main() -> None:
    parser = argparse.ArgumentParser(description="Make the sample collection, or a large set for `make bench`.")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "search", help="the folder to write")
    parser.add_argument("--seed", type=int, default=20_260)
    parser.add_argument("--queries", type=int, help="make a large set of this many queries in place of the sample")
    parser.add_argument("--documents", type=int, default=1000, help="rows of each query in a large run")
    parser.add_argument("--relevant", type=int, default=20, help="relevant documents of each query of a large set")
    parser.add_argument("--shuffled", action="store_true", help="write the rows of a large run in random order")
    options = parser.parse_args()

    options.out.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(options.seed)
    if options.queries is None:
        make_sample(rng, options.out)
    else:
        make_large(rng, options.out, options.queries, options.documents, options.relevant, options.shuffled)


if __name__ == "__main__":
    main()
