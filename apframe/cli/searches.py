"""The options of search: how runs are evaluated against judgements."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from apframe.cli.declared import Option
from apframe.exceptions import ParameterError
from apframe.lists.measures import USUAL, as_measures


@dataclass(frozen=True)
class Searches:
    """The options for evaluating search runs."""

    measures: Annotated[
        list[str] | None,
        Option("--measures", "-m", metavar='"AP nDCG@10 P@5"', help=f"measures (default: {' '.join(USUAL)})"),
    ] = None
    queries: Annotated[Path | None, Option(metavar="FILE", help="attributes of the queries: CSV or Parquet")] = None
    missing: Annotated[str, Option(metavar="skip|zero|error", help="judged queries that a run lacks")] = "skip"
    no_relevant: Annotated[str, Option(metavar="zero|skip", help="queries without relevant documents")] = "zero"
    unjudged: Annotated[str, Option(metavar="nonrelevant|remove", help="documents without a judgement")] = "nonrelevant"
    trec_eval: Annotated[int, Option(metavar="9|10", help="version of trec_eval to agree with")] = 10
    relevance_level: Annotated[
        float, Option("--relevance-level", "-l", metavar="2", help="smallest relevance of a relevant document")
    ] = 1
    max_documents: Annotated[
        int | None, Option("--max-documents", "-M", metavar="100", help="use only this number of documents per query")
    ] = None
    own_document: Annotated[
        str | None, Option(metavar="keep|remove", help="documents with the id of their query (default: keep, with a warning)")
    ] = None

    def arguments(self, by: list[str] | None) -> dict[str, Any]:
        """The arguments for `apf.evaluate_run`, without judgements and runs; `by` are attributes that will be asked for.

        Raises
        ------
        ParameterError
            a wrong name of a measure, or attributes without a file that has them: before any file is read
        """
        if by and self.queries is None:
            raise ParameterError("--by needs the attributes of the queries: --queries FILE")
        return vars(self) | {"measures": as_measures(" ".join(self.measures) if self.measures else USUAL)}
