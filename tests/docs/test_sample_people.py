"""The sample set of people and faces: what the generator makes, and what it shows."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from polars.testing import assert_frame_equal

import apframe as apf

DATA = Path(__file__).parents[2] / "data"
PEOPLE = DATA / "people"


@pytest.mark.slow
def test_sample_is_what_the_generator_makes(tmp_path: Path) -> None:
    script = [sys.executable, str(DATA / "generate_people.py"), "--out", str(tmp_path / "made")]
    subprocess.run(script, check=True, capture_output=True)
    made = {path.relative_to(tmp_path / "made"): path for path in (tmp_path / "made").rglob("*.*")}
    assert made.keys() == {path.relative_to(PEOPLE) for path in PEOPLE.rglob("*.*")}
    for name, path in made.items():
        if name.suffix != ".mat":  # which say when they were written
            assert path.read_bytes() == (PEOPLE / name).read_bytes(), name
    again, sample = (apf.read_dataset(folder / "faces" / "ground_truth") for folder in (tmp_path / "made", PEOPLE))
    assert_frame_equal(again.annotations, sample.annotations)


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
