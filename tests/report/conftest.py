"""The evaluations of the sample set, and what reads numbers back from a page."""

from __future__ import annotations

from pathlib import Path

import pytest

import apframe as apf
from apframe.report.compared import Compared

STREET = Path(__file__).parents[2] / "data" / "street"


@pytest.fixture(scope="session")
def models() -> list[apf.Evaluation]:
    """Both models of the sample set."""
    return [apf.evaluate(STREET / "instances.json", STREET / f"{name}.json") for name in ("model_a", "model_b")]


@pytest.fixture(scope="session")
def one(models: list[apf.Evaluation]) -> Compared:
    """One model."""
    return Compared(models[:1], ["model_a"])


@pytest.fixture(scope="session")
def pair(models: list[apf.Evaluation]) -> Compared:
    """Two models, sliced by the weather."""
    return Compared(models, ["model_a", "model_b"], by=["weather"])
