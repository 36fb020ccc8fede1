"""`check_run`: find everything wrong or suspicious in judgements and a search run, as one table."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from typing import Any

import polars as pl

from apframe.checks.findings import Finding, Findings, as_sentence, as_table, of_ids, of_table
from apframe.exceptions import ApframeError, FormatError, RisingScoresWarning
from apframe.retrieval.trec import read_qrels, read_run
from apframe.rows import first_few
from apframe.wording import counted, option_name

_TOP = 10  # the first documents, which people read most


def check_run(qrels: Any, run: Any = None) -> Findings:
    """Find errors and suspicious values in relevance judgements and, if given, in a run; `check` also accepts their paths.

    Parameters
    ----------
    qrels
        as for `read_qrels`
    run
        as for `read_run`; None checks only the judgements

    Returns
    -------
    A frame as `check` returns it, which prints a line for each finding. The checks are

    - errors: rows that reading rejects (`duplicate_pair`, `column`, `invalid_value`), `no_judgements`, `id_types`,
      `no_common_query`
    - warnings: `rising_scores` (the scores rise with the ranks that the run gives), `no_relevant_documents` (of all queries),
      `missing_query`, `no_judged_document` (of all queries), `equal_scores`
    - notes: `query_without_relevant`, `query_without_judgements`, `unjudged_top` (queries without a judged document in the
      first ten), `pool_document` (of negative relevance)

    Raises
    ------
    FormatError
        a file that cannot be read; the message has the numbers of its bad lines

    >>> print(check_run({"q1": {"d1": 1}, "q2": {"d1": 0}}, {"q1": {"d1": 0.5}}))
    warning: the run has no documents for 1 of 2 judged queries [q2]. Means leave them out, without missing="zero".
    note: 1 of 2 judged queries has no relevant document [q2]. It counts as 0 in means, without no_relevant="skip".
    1 warning, 1 note
    """
    judgements, findings = _read("judgements", read_qrels, qrels)
    if judgements is not None:
        findings += _check_judgements(judgements)
    if run is not None:
        documents, of_run = _read("runs", read_run, run)
        findings += of_run
        if documents is not None:
            findings += _check_scores(documents)
        if documents is not None and judgements is not None and judgements.height:
            findings += _check_both(judgements, documents)
    return as_table(findings, {})


def _read(table: str, read: Callable[[Any], pl.DataFrame], source: Any) -> tuple[pl.DataFrame | None, list[Finding]]:
    """Read a table; return it (None if it is rejected) and the findings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", RisingScoresWarning)
        try:
            frame = read(source)
        except FormatError:
            raise
        except ApframeError as error:
            names = {"DuplicateIdError": "duplicate_pair", "ColumnError": "column"}
            check = names.get(type(error).__name__, "invalid_value")
            rows, remedy = error.rows, as_sentence(error.remedy)
            return None, [Finding("error", check, table, len(rows), first_few(rows), error.sentence, remedy)]
    rising = [str(each.message) for each in caught if issubclass(each.category, RisingScoresWarning)]
    problems = [message.partition("; if")[0] for message in rising]
    remedy = "Negate the scores if they are distances."
    return frame, [of_table("warning", "rising_scores", table, frame.height, problem, remedy) for problem in problems]


def _check_judgements(judgements: pl.DataFrame) -> Iterable[Finding]:
    if judgements.is_empty():
        problem, remedy = "there are no judgements", "Check that this is the right file."
        yield of_table("error", "no_judgements", "judgements", 0, problem, remedy)
        return
    grade = pl.col("relevance")
    queries = judgements.group_by("query_id", maintain_order=True).agg(grade.max())
    without = queries.filter(grade < 1)["query_id"]
    if len(without) == queries.height:
        highest = judgements.select(grade.max()).item()
        problem = f"no judged query has a relevant document (the highest relevance is {highest:g})"
        remedy = f"A document is relevant from relevance 1 on; {option_name('relevance_level')} changes that."
        yield from of_ids("warning", "no_relevant_documents", "judgements", without, problem, remedy)
    else:
        have, they_count = ("has", "It counts") if len(without) == 1 else ("have", "They count")
        problem = f"{len(without):,} of {counted(queries.height, 'judged query')} {have} no relevant document"
        remedy = f"{they_count} as 0 in means, without {option_name('no_relevant', 'skip')}."
        yield from of_ids("note", "query_without_relevant", "judgements", without, problem, remedy)
    n_pool = judgements.filter(grade < 0).height
    if n_pool:
        problem = f"{n_pool:,} of {counted(judgements.height, 'judgement')} {'is' if n_pool == 1 else 'are'} negative"
        remedy = "They count as retrieved, but not judged."
        yield of_table("note", "pool_document", "judgements", n_pool, problem, remedy)


def _check_scores(run: pl.DataFrame) -> Iterable[Finding]:
    queries = (
        run.group_by("query_id", maintain_order=True).agg(pl.len(), n=pl.col("score").n_unique()).filter(pl.col("len") > 1)
    )
    equal = queries.filter(pl.col("n") == 1)["query_id"]
    problem = f"all scores of {len(equal):,} of {counted(queries.height, 'query')} with several documents are equal"
    remedy = "Their documents are ordered by id, descending: write the scores with more digits, or 1 / rank."
    yield from of_ids("warning", "equal_scores", "runs", equal, problem, remedy)


def _check_both(judgements: pl.DataFrame, run: pl.DataFrame) -> Iterable[Finding]:
    for column in ("query_id", "document_id"):
        mine, theirs = run[column].dtype, judgements[column].dtype
        if mine != theirs:
            kinds = {pl.Int64(): "integers", pl.String(): "strings"}
            problem = f"{column} holds {kinds[mine]} in the run, and {kinds[theirs]} in the judgements"
            yield of_table("error", "id_types", "runs", run.height, problem, "Cast one of them, so that both are the same.")
            return
    judged, run_queries = (table["query_id"].unique(maintain_order=True) for table in (judgements, run))
    missing, other = (
        judged.filter(~judged.is_in(run_queries.implode())),
        run_queries.filter(~run_queries.is_in(judged.implode())),
    )
    if len(missing) == len(judged):
        theirs_and_mine = (
            f"such as {judged[0]!r}, and the run {run_queries[0]!r}" if len(run_queries) else "and the run has none"
        )
        problem = f"no judged query is in the run: the judgements have queries {theirs_and_mine}"
        yield from of_ids("error", "no_common_query", "runs", missing, problem, "Use the same query ids.")
        return
    problem = f"the run has no documents for {len(missing):,} of {counted(len(judged), 'judged query')}"
    remedy = f"Means leave them out, without {option_name('missing', 'zero')}."
    yield from of_ids("warning", "missing_query", "runs", missing, problem, remedy)
    have = "has" if len(other) == 1 else "have"
    problem = f"{len(other):,} of {counted(len(run_queries), 'query')} of the run {have} no judgements"
    yield from of_ids("note", "query_without_judgements", "runs", other, problem, "Nothing to do: left out.")
    yield from _check_documents(judgements, run)


def _check_documents(judgements: pl.DataFrame, run: pl.DataFrame) -> Iterable[Finding]:
    pair = ["query_id", "document_id"]
    judged = judgements.filter(pl.col("relevance") >= 0).select(*pair, is_judged=True)
    judged_queries = run.join(judgements.select("query_id").unique(), on="query_id", how="semi", maintain_order="left")
    ranked = judged_queries.sort("score", "document_id", descending=True, maintain_order=True).join(
        judged, on=pair, how="left", maintain_order="left"
    )
    first = pl.col("is_judged").head(_TOP).any()
    queries = ranked.group_by("query_id", maintain_order=True).agg(in_all=pl.col("is_judged").any(), in_first=first)
    if not queries["in_all"].any():
        mine, theirs = judged_queries["document_id"][0], judgements["document_id"][0]
        problem = f"no document of the run is judged: it has documents such as {mine!r}, the judgements {theirs!r}"
        yield of_table("warning", "no_judged_document", "runs", run.height, problem, "Use the same document ids.")
        return
    unseen = queries.filter(~pl.col("in_first"))["query_id"].sort()
    problem = f"none of the first {_TOP} documents is judged for {len(unseen):,} of {counted(queries.height, 'query')}"
    remedy = "Unjudged documents count as not relevant; Judged@10 says how many are judged."
    yield from of_ids("note", "unjudged_top", "runs", unseen, problem, remedy)
