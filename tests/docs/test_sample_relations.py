"""The sample set of relations and phrases: what the generator makes, and what it shows."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import apframe as apf

DATA = Path(__file__).parents[2] / "data"
RELATIONS = DATA / "relations"


@pytest.mark.slow
def test_sample_is_what_the_generator_makes(tmp_path: Path) -> None:
    script = [sys.executable, str(DATA / "generate_relations.py"), "--out", str(tmp_path / "made")]
    subprocess.run(script, check=True, capture_output=True)
    made = {path.name: path.read_bytes() for path in (tmp_path / "made").iterdir()}
    assert made == {path.name: path.read_bytes() for path in RELATIONS.iterdir()}
    assert sum(map(len, made.values())) < 500_000


@pytest.mark.slow
def test_sample_is_as_described() -> None:
    recalls = {
        (protocol, model): apf.evaluate(RELATIONS / "truth.json", RELATIONS / f"model_{model}.json", protocol).summary["value"][
            0
        ]
        for protocol in ("visual_genome", "visual_genome_mean")
        for model in "ab"
    }
    assert recalls["visual_genome", "a"] > recalls["visual_genome", "b"] + 0.02
    assert recalls["visual_genome_mean", "b"] > recalls["visual_genome_mean", "a"] + 0.02
