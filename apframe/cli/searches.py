"""The options for search: how to evaluate runs against judgements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from apframe.cli.command_options import Declared, grouped, option
from apframe.exceptions import ParameterError
from apframe.lists.measures import USUAL, as_measures


@dataclass(frozen=True)
class Searches:
    """The options for evaluating search runs."""

    measures: Sequence[str] = ()
    queries: Path | None = None
    missing: str = "skip"
    no_relevant: str = "zero"
    unjudged: str = "nonrelevant"
    trec_eval: int = 10
    relevance_level: float = 1
    max_documents: int | None = None
    own_document: str | None = None

    def arguments(self, by: Sequence[str]) -> dict[str, Any]:
        """Return the arguments for `apf.evaluate_run`, without judgements and runs; `by` are attributes that will be needed.

        Raises
        ------
        ParameterError
            an unknown measure, or attributes without a file that has them, before any file is read
        """
        if by and self.queries is None:
            raise ParameterError("--by needs the attributes of the queries: --queries FILE")
        return vars(self) | {"measures": as_measures(" ".join(self.measures) if self.measures else USUAL)}


def search_options(heading: str = "Search runs") -> Callable[[Declared], Declared]:
    """Declare the options for search under a heading of the help."""
    search = partial(option, heading=heading)
    rare = partial(search, advanced=True)
    return grouped(
        "searches", Searches,
        search("--measures", "-m", multiple=True, metavar='"AP nDCG@10 P@5"', help=f"measures (default: {' '.join(USUAL)})"),
        search("--queries", metavar="FILE", help="attributes and texts of the queries: CSV, TSV, Parquet or JSON lines"),
        search(
            "--missing", metavar="skip|zero|error", default="skip",
            help="judged queries that a run lacks: skip them, count them as 0, or stop",
        ),
        rare(
            "--no-relevant", metavar="zero|skip", default="zero",
            help="queries without relevant documents: count them as 0, or skip them",
        ),
        rare(
            "--unjudged", metavar="nonrelevant|remove", default="nonrelevant",
            help="documents without a judgement: count them as not relevant, or remove them",
        ),
        rare("--trec-eval", type=int, metavar="9|10", default=10, help="version of trec_eval to reproduce"),
        search("--relevance-level", "-l", type=float, metavar="2", default=1, help="smallest relevance of a relevant document"),
        search("--max-documents", "-M", type=int, metavar="100", help="keep at most this number of documents per query"),
        rare(
            "--own-document", metavar="keep|remove",
            help="documents with the id of their query: keep or remove them (default: keep, with a warning)",
        ),
    )  # fmt: skip
