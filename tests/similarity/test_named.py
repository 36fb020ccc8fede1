"""Similarities by name: as they are stored with a protocol, and what else may stand for one."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields
from importlib import import_module
from inspect import isabstract
from pkgutil import walk_packages
from typing import Any

import numpy as np
import polars as pl
import pytest

import apframe.benchmarks
import apframe.similarity
from apframe.benchmarks.people.crowdpose.protocol import CROWDPOSE_SIGMAS
from apframe.exceptions import ParameterError
from apframe.similarity import (
    OKS,
    BevIoU,
    BoundaryIoU,
    BoxIoU,
    CentreDistance,
    CuboidIoU,
    InclusiveBoxIoU,
    IntersectionOverDetection,
    IntervalIoU,
    LabelIoU,
    MaskIoU,
    MaskOrBoxIoU,
    PanopticBoundaryIoU,
    PanopticIoU,
    PhraseIoU,
    RelationIoU,
    RotatedIoU,
    Similarity,
    SingleBoxIoU,
    SingleMaskIoU,
    SphereDistance,
    UserSimilarity,
)
from apframe.similarity.named import as_choices, as_similarity
from tests.test_layers import all_nodes

VALUES = [
    BoxIoU(), InclusiveBoxIoU(), IntersectionOverDetection(), MaskIoU(), MaskOrBoxIoU(), BoundaryIoU(),
    SingleBoxIoU(), SingleMaskIoU(),
    BoundaryIoU(dilation=0.1), OKS(), OKS(sigmas=CROWDPOSE_SIGMAS, box_area_factor=0.53), OKS(sigmas=(0.1,)),
    RotatedIoU(), IntervalIoU(), IntervalIoU(instants_match=True),
    BevIoU(), CuboidIoU(), CentreDistance(), CentreDistance(axes="xyz"),
    PanopticIoU(), PanopticBoundaryIoU(), PanopticBoundaryIoU(dilation=0.1), LabelIoU(), LabelIoU((0, 255)),
    SphereDistance(), RelationIoU(), PhraseIoU(), UserSimilarity(label="mine"),
]  # fmt: skip


@pytest.mark.parametrize("similarity", VALUES, ids=repr)
def test_stored_and_made_again(similarity: Similarity) -> None:
    choices = as_choices(similarity)
    again = as_similarity(json.loads(json.dumps(choices)))
    assert again == similarity and type(again) is type(similarity)
    assert choices["name"] == similarity.name
    assert hash(again) == hash(similarity)
    kept = {each.name for each in fields(similarity)} - {"function"}
    assert kept <= set(choices)


def test_all_there_are() -> None:
    """Every similarity can be stored, each under a name of its own."""
    for package in (apframe.similarity, apframe.benchmarks):
        for module in walk_packages(package.__path__, f"{package.__name__}."):
            import_module(module.name)
    kinds, places = [Similarity], ("apframe.similarity.", "apframe.benchmarks.")
    for kind in kinds:
        kinds += kind.__subclasses__()
    own = {kind for kind in kinds if kind.__module__.startswith(places) and not isabstract(kind)}
    assert own == {type(value) for value in VALUES}
    assert len({kind.name for kind in own}) == len(own)


@pytest.mark.parametrize("similarity", VALUES, ids=repr)
def test_a_value_stands_for_itself(similarity: Similarity) -> None:
    assert as_similarity(similarity) is similarity
    assert isinstance(similarity.words, str) and similarity.words and "\n" not in similarity.words


def mine(_: pl.DataFrame) -> pl.Expr:
    return pl.lit(1.0)


class Callable:
    def __call__(self, pairs: pl.DataFrame) -> np.ndarray:
        return np.ones(pairs.height)


@pytest.mark.parametrize(
    ("function", "label"),
    [(mine, "mine"), (lambda pairs: [1.0] * pairs.height, "a function of your own"), (Callable(), "a function of your own"),
     (np.vectorize(float), "float")],
)  # fmt: skip
def test_functions_stand_for_similarities(function: Any, label: str) -> None:
    similarity = as_similarity(function)
    assert isinstance(similarity, UserSimilarity) and similarity.function is function
    assert json.loads(json.dumps(as_choices(similarity))) == {"name": "user", "label": label}
    assert as_similarity(as_choices(similarity)) == UserSimilarity(label=label)  # without the function


@pytest.mark.parametrize("value", [None, 3, 0.5, "box_iou", BoxIoU, OKS, float, [BoxIoU()]])
def test_what_is_none(value: Any) -> None:
    with pytest.raises(
        ParameterError,
        match=r"^.* is not a similarity; use one such as apframe.similarity.BoxIoU\(\) or apframe.similarity.OKS\(sigmas=",
    ):
        as_similarity(value)


def test_sigmas_that_came_as_an_array() -> None:
    similarity = OKS(sigmas=np.array([0.1, 0.2]))  # type: ignore[arg-type]
    assert similarity == OKS(sigmas=(0.1, 0.2)) and hash(similarity) == hash(OKS(sigmas=(0.1, 0.2)))
    assert json.loads(json.dumps(as_choices(similarity)))["sigmas"] == [0.1, 0.2]


def test_parameters_that_were_stored_wrongly() -> None:
    with pytest.raises(ParameterError, match=r"dilation must be .*-1"):
        as_similarity({"name": "boundary_iou", "dilation": -1})
    with pytest.raises(ParameterError, match=r"^\{'name': 'nothing'\} is not a similarity; "):
        as_similarity({"name": "nothing"})
    with pytest.raises(ParameterError, match=r"^similarity: .* does not have the parameters of BoxIoU: .*'dilation'"):
        as_similarity({"name": "box_iou", "dilation": 1})


@pytest.mark.slow
def test_naming_one_brings_in_nothing_heavy() -> None:
    code = (
        "import sys\n"
        "from apframe.similarity import *\n"
        "from apframe.similarity.named import as_choices, as_similarity\n"
        "import apframe as apf\n"
        "for kind in (BoxIoU, MaskIoU, BoundaryIoU, OKS, RotatedIoU, IntervalIoU,\n"
        "             BevIoU, CuboidIoU, CentreDistance):\n"
        "    as_similarity(as_choices(kind()))\n"
        "apf.PUBLISHED\n"
        "print({'numpy', 'shapely', 'scipy', 'duckdb', 'altair'} & set(sys.modules))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


@pytest.mark.slow
def test_no_similarity_is_recognised_by_its_type() -> None:
    names = {kind.__name__ for kind in (Similarity, *all_of(Similarity))}
    calls = {
        f"{path}: {ast.unparse(node)}"
        for path, nodes in all_nodes().items()
        for node in nodes
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("isinstance", "issubclass")
        if names & {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
    }
    assert calls == {
        "similarity/named.py: isinstance(value, Similarity)",
        "similarity/user.py: isinstance(other, UserSimilarity)",
    }


def all_of(kind: type) -> Iterator[type]:
    for each in kind.__subclasses__():
        yield from (each, *all_of(each))
