"""The simulation of intervals draws, resamples and counts as it says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import apframe as apf

from . import interval_coverage as coverage
from .interval_coverage import NUMBERS, Coverage, Population, by_image, cover, without_repeats
from .test_diagnosis import SAMPLE


@pytest.fixture(scope="module")
def street() -> Population:
    return Population((apf.evaluate(SAMPLE[0], SAMPLE[1]), apf.evaluate(SAMPLE[0], SAMPLE[2])))


def test_repeats_are_removed_by_hotcoco() -> None:
    assert without_repeats(np.array([[0, 1, 2], [3, 2, 1]])).tolist() == [[0, 1, 1], [1, 1, 1]]


def test_an_image_in_the_sample_twice_is_two_units() -> None:
    counts = np.array([[1, 0], [0, 2], [1, 1]])  # of the units 0, 1 and 2
    assert by_image(counts, np.array([1, 0, 1])).tolist() == [[0, 2], [2, 1]]


def test_the_truth_is_the_summary_of_the_population(street: Population) -> None:
    a, b = (dict(evaluation.summary.iter_rows()) for evaluation in street.evaluations)
    expected = [value for name in coverage.METRICS for value in (a[name], b[name], b[name] - a[name])]
    assert street.truth() == pytest.approx(expected, abs=1e-12)


@pytest.mark.slow
def test_intervals_are_those_of_the_library(street: Population) -> None:
    """A sample of every image in their order is the whole, with the same draws."""
    made = street.intervals(np.arange(300), n_resamples=100, seed=4)
    a, b = street.evaluations
    options: dict[str, Any] = {"metrics": coverage.METRICS, "n_resamples": 100, "seed": 4}
    tables = [a.intervals(**options), b.intervals(**options), a.compare(b, **options)]
    for column in ("low", "high", "se"):
        expected = np.stack([table[column].to_numpy() for table in tables], axis=1).ravel()
        assert made[column][0] == pytest.approx(expected, abs=1e-12)
    assert made["estimate"] == pytest.approx(street.truth(), abs=1e-12)


def test_an_image_that_is_drawn_twice_has_weight_two(street: Population) -> None:
    estimate = street.intervals(np.array([0, *range(300)]), n_resamples=2, seed=0)["estimate"]
    weights = np.ones((300, 1))
    weights[0] = 2
    assert estimate == pytest.approx(street.numbers(street.verdicts, weights)[:, 0], abs=1e-12)
    assert not np.allclose(estimate, street.truth(), atol=1e-6)


def test_shares_and_ratios() -> None:
    """Two of four intervals contain 0.5, with bounds included; the estimates spread by 0.2, twice their mean standard error."""
    ones = np.ones(len(NUMBERS))
    low, high = (np.array(bounds)[:, None, None] * ones for bounds in ([0.1, 0.5, 0.6, 0.1], [0.5, 0.9, 0.9, 0.4]))
    estimates = np.array([0.3, 0.7, 0.3, 0.7])[:, None] * ones
    se = np.full((4, 1, len(NUMBERS)), estimates[:, 0].std(ddof=1) / 2)
    made = Coverage(100, 0.5 * ones, estimates, low, high, se)
    assert made.shares().tolist() == [[0.5] * len(NUMBERS)]
    assert made.ratios() == pytest.approx(np.full((1, len(NUMBERS)), 0.5))


def test_samples_do_not_depend_on_how_many_there_are(street: Population) -> None:
    few, more = (cover(street, 20, n, 5, seed=2) for n in (2, 4))
    assert np.array_equal(few.estimates, more.estimates[:2])
    assert np.array_equal(few.low, more.low[:2])


@pytest.mark.slow
def test_the_script_writes_its_table(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n{coverage.BEGIN}\nold\n{coverage.END}\nafter\n")
    monkeypatch.setattr(coverage, "PAGE", page)
    coverage.main(["--images", "100", "--samples", "40", "--resamples", "200", "--population", "2000", "--write"])
    printed, text = capsys.readouterr().out, page.read_text()
    assert text == f"before\n{coverage.BEGIN}\n\n{printed.strip()}\n\n{coverage.END}\nafter\n"
    rows = [re.split(r" \| ", line) for line in text.splitlines() if line.startswith("| 100")]
    assert [row[1] for row in rows] == NUMBERS
    ours, theirs = (np.array([float(row[column].split(" ")[0]) for row in rows]) for column in (4, 6))
    assert (ours >= theirs).all()
    assert ours.mean() > theirs.mean() + 3
    assert ours[[2, 5]].min() > 85  # of the differences, whose expected value is near 95, and whose standard error is 3.5
    of_ours, of_theirs = (np.array([float(row[column].rstrip(" |")) for row in rows]) for column in (5, 7))
    assert (of_theirs < 0.9 * of_ours).all()
