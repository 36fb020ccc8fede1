"""The sample set of people and faces: what it shows."""

from __future__ import annotations

from pathlib import Path

import pytest

import apframe as apf

DATA = Path(__file__).parents[2] / "data"
PEOPLE = DATA / "people"


@pytest.mark.slow
def test_sample_is_as_described() -> None:
    assert sum(path.stat().st_size for path in PEOPLE.rglob("*.*")) < 150_000
    a, b = (apf.evaluate(PEOPLE / "walkers_val.json", PEOPLE / f"walkers_{name}.json", "citypersons") for name in "ab")
    assert a["LAMR_heavy"] > b["LAMR_heavy"] + 0.1
    assert a["LAMR_heavy"] > a["LAMR_reasonable"] + 0.1
    faces = apf.evaluate(PEOPLE / "faces" / "ground_truth", PEOPLE / "faces" / "results", "wider_face")
    assert faces["AP_easy"] > faces["AP_medium"] > faces["AP_hard"] > 0.3
    crowd = apf.evaluate(PEOPLE / "crowd_val.odgt", PEOPLE / "crowd_results.odgt", "crowdhuman")
    assert 0.3 < crowd["AP"] < 1 and 0 < crowd["LAMR"] < 1
    assert 0.3 < crowd.jaccard_index()["jaccard_index"].item() < 1
