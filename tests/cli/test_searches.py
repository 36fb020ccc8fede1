"""The options of search, in `rank` and `report`."""

from __future__ import annotations

import pytest

from apframe.cli.searches import Searches
from apframe.exceptions import ParameterError
from apframe.lists.measures import USUAL


def test_arguments_of_the_library() -> None:
    chosen = Searches(measures=["map", "P.5,10"], missing="zero").arguments(None)
    assert [str(measure) for measure in chosen.pop("measures")] == ["AP", "P@5", "P@10"]
    assert chosen == {
        "queries": None, "missing": "zero", "no_relevant": "zero", "unjudged": "nonrelevant", "trec_eval": 10,
        "relevance_level": 1, "max_documents": None, "own_document": None,
    }  # fmt: skip
    assert [str(measure) for measure in Searches().arguments(None)["measures"]] == [*USUAL]
    with pytest.raises(ParameterError, match="--by needs the attributes of the queries: --queries FILE"):
        Searches().arguments(["topic"])
