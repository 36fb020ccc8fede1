"""Re-identification: rank a gallery of pictures by distance to retrieve a person as seen by other cameras."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from apframe.exceptions import ColumnError, DuplicateIdError, InputError, ParameterError, RowError, UnknownIdError
from apframe.lists.measures import Measure
from apframe.option_values import one_of
from apframe.retrieval.evaluation import RunEvaluation, evaluate_run
from apframe.rows import row_numbers
from apframe.tables.column_sources import to_polars
from apframe.tables.ids import different_id_types, is_known
from apframe.wording import listed, option_name

_PAIR = ["query_id", "document_id"]


def evaluate_reidentification(
    queries: Any,
    gallery: Any,
    distances: Any,
    measures: str | Measure | Sequence[str | Measure] = "AP Success@1 Success@5 Success@10 INP",
    *,
    same_camera: str = "ignore",
) -> RunEvaluation:
    """Evaluate distances between queries and a gallery by the rules of Market-1501.

    For each query the gallery is ranked by distance, nearest first. Pictures of the query's person by the query's camera take
    no rank, nor do those of person -1 (junk). Positives are the other pictures of the person; all others are negative,
    including person 0 (distractors). The mean of AP is mAP, the mean of Success@k is CMC at rank k, the mean of INP is mINP.
    Source: Zheng et al. 2015, Ye et al. 2021 for mINP. The AP of Zheng's Matlab code is "AP(definition=trapezoid)"; later
    Python code uses "step", the default here.

    Parameters
    ----------
    queries
        query_id, person_id, camera_id and attributes, for `by` and SQL
    gallery
        gallery_id (or document_id), person_id, camera_id
    distances
        query_id, gallery_id (or document_id) and distance, or instead score, which is larger for nearer pictures; or an array
        of distances with a row for each query and a column for each picture, in the order of the tables. Missing pairs are not
        retrieved: a positive among them counts against recall, and a query without any has 0.
    measures
        names (see `apframe.list_measures()`), in one string or a list. Only pictures of the query's person are judged, so
        measures that count judged negatives (Bpref, infAP, Judged) see none.
    same_camera
        "ignore" as above, or "keep", which does not use cameras, so the tables need no camera_id

    Returns
    -------
    A `RunEvaluation`. Its judgements are the pictures of each query's person: relevance 1, or -1 for pictures without a rank.
    Queries without positives are left out of the means, and counted in `coverage`. Equal distances are ranked by gallery_id,
    the larger first.

    Raises
    ------
    ColumnError, IdTypeError
        a column is missing, or has another type than its counterpart; without cameras, choose same_camera="keep"
    RowError, DuplicateIdError, UnknownIdError
        missing ids, distances that are not finite, ids that occur twice or only in `distances`; the message has the rows
    InputError
        a table without rows
    ParameterError
        an array of another shape; unknown measures and options

    >>> ev = evaluate_reidentification(
    ...     {"query_id": [1], "person_id": [7], "camera_id": [1]},
    ...     {"gallery_id": [10, 11, 12], "person_id": [7, 8, 7], "camera_id": [1, 2, 2]},
    ...     {"query_id": [1, 1, 1], "gallery_id": [10, 11, 12], "distance": [0.1, 0.2, 0.3]},
    ... )
    >>> ev.summary.select("measure", "value").rows()
    [('AP', 0.5), ('Success@1', 0.0), ('Success@5', 1.0), ('Success@10', 1.0), ('INP', 0.5)]
    """
    one_of("same_camera", same_camera, ("ignore", "keep"))
    attributes = ["person_id", *(["camera_id"] if same_camera == "ignore" else [])]
    people = _people("queries", queries, ["query_id", *attributes])
    gallery_table = _people("gallery", gallery, ["document_id", *attributes])
    for name in attributes:
        _refuse_other_type("gallery", gallery_table[name], "queries", people[name])
    run = _run(distances, people, gallery_table)

    is_junk = pl.col("person_id").cast(pl.String) == "-1"
    pictures = gallery_table.select("document_id", *attributes, is_own=True)
    own = people.select("query_id", *attributes).join(pictures, on="person_id", how="left", maintain_order="left")
    is_out = is_junk if same_camera == "keep" else is_junk | (pl.col("camera_id") == pl.col("camera_id_right"))
    judgements = own.select(
        "query_id",
        # a query whose person is not in the gallery is judged too, without positives
        pl.col("document_id").fill_null(gallery_table["document_id"][0]),
        relevance=pl.when(pl.col("is_own") & ~is_out).then(1.0).otherwise(-1.0),
        ignore=pl.col("is_own") & is_out,
    )
    out = judgements.filter("ignore").select(*_PAIR, "ignore")
    junk = gallery_table.filter(is_junk)["document_id"]
    run = run.join(out, on=_PAIR, how="left", maintain_order="left").with_columns(
        ignore=pl.col("ignore").fill_null(False) | is_known(run["document_id"], junk)
    )
    return evaluate_run(
        judgements.drop("ignore"), run, measures, queries=people, missing="zero", no_relevant="skip", own_document="keep"
    )


def _run(distances: Any, queries: pl.DataFrame, gallery: pl.DataFrame) -> pl.DataFrame:
    """Return query_id, document_id and score, the largest for the nearest."""
    if hasattr(distances, "__array__") and not hasattr(distances, "__arrow_c_stream__"):
        return _scored(_from_array(distances, queries["query_id"], gallery["document_id"]), "distance")
    frame = _table("distances", distances, _PAIR)
    for column, owner, table in (("query_id", "queries", queries), ("document_id", "gallery", gallery)):
        _refuse_other_type("distances", frame[column], owner, table[column])
        is_in_table = is_known(frame[column], table[column])
        if not is_in_table.all():
            unknown = listed(frame[column].filter(~is_in_table).unique(maintain_order=True).to_list())
            remedy = f"unknown: {unknown}; add them to the {owner} or remove these rows"
            raise UnknownIdError(
                "distances", f"{_shown(column)} is not in the {owner}", "row", row_numbers(~is_in_table), remedy
            )
    value = next((name for name in ("distance", "score") if name in frame.columns), None)
    if value is None or not frame[value].dtype.is_numeric():
        raise ColumnError(
            "a numeric column distance or score is needed", f"there are {', '.join(frame.columns)}", table="distances"
        )
    return _scored(frame, value)


def _from_array(distances: Any, query_ids: pl.Series, gallery_ids: pl.Series) -> pl.DataFrame:
    import numpy as np  # slow to import, and only arrays need it

    array = np.asarray(distances)
    shape = (len(query_ids), len(gallery_ids))
    if array.shape != shape or array.dtype.kind not in "iuf":
        raise ParameterError(
            f"must be a numeric array of shape {shape}, with a row per query and a column per picture of the "
            f"gallery, not {array.dtype} of shape {array.shape}",
            option="distances",
        )
    pairs = query_ids.to_frame().join(gallery_ids.to_frame(), how="cross", maintain_order="left_right")
    return pairs.with_columns(distance=pl.Series(array.ravel()))


def _scored(frame: pl.DataFrame, value: str) -> pl.DataFrame:
    frame = frame.select(*_PAIR, score=pl.col(value).cast(pl.Float64))
    broken = ~frame["score"].is_finite().fill_null(False)
    if broken.any():
        pairs = frame.filter(broken).select(_PAIR).rows()
        raise RowError(
            "distances", f"{value} is not a finite number", "(query_id, gallery_id)", pairs, "correct or remove them"
        )
    return frame.with_columns(-pl.col("score")) if value == "distance" else frame


def _people(name: str, source: Any, ids: Sequence[str]) -> pl.DataFrame:
    """Return a table whose first id is its key."""
    frame = _table(name, source, ids)
    doubled = frame[ids[0]].filter(frame[ids[0]].is_duplicated()).unique(maintain_order=True)
    if len(doubled):
        raise DuplicateIdError(name, f"{_shown(ids[0])} is not unique", _shown(ids[0]), doubled, "make the ids unique")
    return frame


def _table(name: str, source: Any, ids: Sequence[str]) -> pl.DataFrame:
    """Return a table with rows, whose ids are present, integers or strings, and not null."""
    frame = to_polars(source, name)
    if "document_id" in ids and "gallery_id" in frame.columns:
        frame = frame.drop("document_id", strict=False).rename({"gallery_id": "document_id"})
    missing = [_shown(column) for column in ids if column not in frame.columns]
    if missing:
        without = f"; if there are no cameras, choose {option_name('same_camera', 'keep')}" if "camera_id" in missing else ""
        remedy = f"there are {', '.join(frame.columns) or 'none'}{without}"
        raise ColumnError(f"no column {', '.join(missing)}", remedy, table=name)
    if frame.is_empty():
        raise InputError("the table has no rows; nothing can be evaluated", table=name)
    for column in ids:
        dtype = frame[column].dtype
        is_text = dtype in (pl.String, pl.Categorical, pl.Enum)
        if not (is_text or dtype.is_integer() or dtype == pl.Null):
            raise ColumnError(f"ids must be integers or strings, not {dtype}", table=name, column=_shown(column))
        frame = frame.with_columns(pl.col(column).cast(pl.String if is_text else pl.Int64))
        if frame[column].has_nulls():
            rows = row_numbers(frame[column].is_null())
            raise RowError(name, f"{_shown(column)} is missing", "row", rows, "supply it or remove these rows")
    return frame


def _refuse_other_type(name: str, mine: pl.Series, other: str, theirs: pl.Series) -> None:
    if mine.dtype != theirs.dtype:
        raise different_id_types(name, _shown(mine.name), mine.dtype, f"{other}.{_shown(theirs.name)}", theirs.dtype)


def _shown(column: str) -> str:
    return "gallery_id" if column == "document_id" else column
