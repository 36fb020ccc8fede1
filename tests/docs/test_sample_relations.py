"""The sample set of relations and phrases: what it shows."""

from __future__ import annotations

from pathlib import Path

import pytest

import apframe as apf

DATA = Path(__file__).parents[2] / "data"
RELATIONS = DATA / "relations"


@pytest.mark.slow
def test_sample_is_as_described() -> None:
    assert sum(path.stat().st_size for path in RELATIONS.iterdir()) < 500_000
    recalls = {
        (protocol, model): apf.evaluate(RELATIONS / "truth.json", RELATIONS / f"model_{model}.json", protocol).summary["value"][
            0
        ]
        for protocol in ("visual_genome", "visual_genome_mean")
        for model in "ab"
    }
    assert recalls["visual_genome", "a"] > recalls["visual_genome", "b"] + 0.02
    assert recalls["visual_genome_mean", "b"] > recalls["visual_genome_mean", "a"] + 0.02
