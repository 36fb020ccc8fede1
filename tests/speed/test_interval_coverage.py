"""The simulation of intervals draws, counts and reports as it says."""

from __future__ import annotations

import re
from argparse import Namespace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import apframe as apf
from apframe.compare.standard_errors import HALVES
from apframe.evaluation.comparison.sampling import LEVEL, Sampling

from . import interval_coverage
from .interval_coverage import STREET, Population, count, cover, report, texts, with_other_divisors
from .test_diagnosis import SAMPLE


@pytest.fixture(scope="module")
def street() -> Population:
    truth, a, b = apf.read_coco(SAMPLE[0]), *(apf.read_coco_results(path) for path in SAMPLE[1:])
    return Population(STREET, truth, (a, b))


def samples(key: str, estimates: list[float], half: float | None = 0.1) -> pl.DataFrame:
    """Intervals of samples: the estimate plus and minus `half`, which is also the standard error; None: there are none."""
    columns = {"key": key, "number": "AP of a", "method": "influence", "estimate": estimates, "n_units": 100}
    intervals = pl.DataFrame(columns).with_columns(low=pl.col("estimate") - half, high=pl.col("estimate") + half)
    return intervals.with_columns(se=pl.lit(half, pl.Float64), bias=pl.lit(None, pl.Float64))


def truths(values: dict[str, float], per_image: float) -> pl.DataFrame:
    columns = {"key": [*values], "number": "AP of a", "truth": [*values.values()], "per_image": per_image}
    return pl.DataFrame(columns)


def test_intervals_with_the_truth_are_counted() -> None:
    """0.5 is in three of four intervals, bounds included; the estimates spread by 0.2."""
    intervals = pl.concat([samples("1", [0.25, 0.375, 0.5, 0.625], half=0.125), samples("1", [0.0], half=None)])
    (row,) = count(intervals, truths({"1": 0.5}, per_image=0.2), n_images=100).iter_rows(named=True)
    assert (row["of"], row["n"], row["shown"], row["right"]) == ("category with 12 to 25 annotations", 5, 4, 3)
    assert row["ratio"] == pytest.approx(0.125 / (0.125**2 * 5 / 3) ** 0.5)
    assert row["left"] == pytest.approx(0.4375 - 0.5)


def test_categories_of_a_size_are_one_row() -> None:
    """Each counts as often as it shows an interval."""
    intervals = pl.concat([samples("1", [0.4, 0.6, 0.4, 0.6]), samples("2", [0.9, 0.7]), samples("2", [0.0, 0.0], half=None)])
    (row,) = count(intervals, truths({"1": 0.5, "2": 0.5}, per_image=2), n_images=100).iter_rows(named=True)
    assert (row["of"], row["n"], row["shown"], row["right"]) == ("category with over 100 annotations", 8, 6, 4)
    assert row["left"] == pytest.approx((4 * 0 + 2 * 0.3) / 6)


def test_the_bias_is_divided_by_other_numbers() -> None:
    intervals = samples("1", [0.5]).with_columns(bias=pl.lit(0.1))
    bias = dict(with_other_divisors(intervals).select("method", "bias").iter_rows())
    assert bias == pytest.approx({"influence": 0.1, "no correction": 0, ".414": 0.1 * HALVES / (2**0.5 - 1), "1": 0.1 * HALVES})
    centre = dict(with_other_divisors(intervals).select("method", (pl.col("low") + pl.col("high")) / 2).iter_rows())
    assert centre["no correction"] == pytest.approx(0.5)
    assert centre["1"] == pytest.approx(0.5 - 0.1 * HALVES)


@pytest.mark.parametrize(
    ("images", "right", "text"),
    [(100, 180, "90.0 ± 2.1"), (300, 180, "**90.0** ± 2.1"), (1_000, 190, "95.0 ± 1.5"), (300, 200, "**100.0** ± 0.0")],
)
def test_shares_that_are_not_as_stated_are_bold(images: int, right: int, text: str) -> None:
    row = {"images": images, "n": 400, "shown": 200, "right": right, "ratio": 0.9, "left": -0.001}
    assert texts(row) == {"shown": "50", "right": text, "se ÷ spread": "0.90", "bias left": "−0.0010"}
    assert texts(row | {"shown": 99, "right": 99})["right"] == "–"


@pytest.mark.slow
def test_an_image_that_is_drawn_again_is_another_one(street: Population) -> None:
    """Of copies of one image, AP is that of the image."""
    images = street.truth.images.head(1)
    of_first = pl.col("image_id") == images["image_id"][0]
    annotations, a, b = (rows.filter(of_first) for rows in (street.truth.annotations, *street.detections))
    alone = Population(STREET, street.truth.part(images, annotations), (a, b))
    drawn = alone.draw(3, [1])
    assert drawn.truth.images["image_id"].to_list() == [0, 1, 2]
    assert drawn.truth.annotations.height == 3 * annotations.height
    assert [each["AP"] for each in drawn.evaluate()] == pytest.approx([each["AP"] for each in alone.evaluate()], abs=1e-12)


def test_samples_do_not_depend_on_each_other(street: Population) -> None:
    drawn, again = street.draw(50, [1, 7]), street.draw(50, [1, 7])
    assert drawn.truth.annotations.equals(again.truth.annotations)
    assert not drawn.truth.images.equals(street.draw(50, [1, 8]).truth.images)


@pytest.mark.slow
def test_intervals_are_those_of_the_library(street: Population) -> None:
    a, b = street.evaluate()
    options: dict[str, Any] = {"metrics": ["AP", "AP50"], "seed": 4}
    tables = [
        a.intervals(**options).with_columns(number=pl.format("{} of a", "metric")),
        b.intervals(**options).with_columns(number=pl.format("{} of b", "metric")),
        a.compare(b, **options).with_columns(number=pl.format("{}, b − a", "metric"), estimate="difference"),
    ]
    expected = pl.concat(table.select("number", *LEVEL) for table in tables).sort("number")
    intervals = street.intervals(Sampling(seed=4)).filter(key="all").sort("number")
    assert_frame_equal(intervals.select("number", *LEVEL), expected)


@pytest.mark.slow
def test_a_small_run(street: Population, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every kind of number has its rows, and too few intervals for a share of them."""
    monkeypatch.setattr(interval_coverage, "make_population", lambda *_: street)
    options = Namespace(samples=2, population=300, resamples=40, bootstrap=[300])
    interval_coverage.truth_of.cache_clear()
    counted = pl.concat(cover(STREET, 300, method, options) for method in ("influence", "bootstrap"))
    interval_coverage.truth_of.cache_clear()
    whole = counted.filter(of="all", number="AP of a")
    assert dict(whole.select("method", "shown").iter_rows()) == {
        "influence": 2, "bootstrap": 2, "no correction": 2, ".414": 2, "1": 2
    }  # fmt: skip
    kinds = counted["of"].str.extract(r"(\w+)").unique()
    assert set(kinds) == {"all", "definition", "weather", "category"}
    text = report(counted, options)
    assert "| street    | all" in text
    assert "| influence, 300 images | bootstrap, 300 images |" in text
    assert (
        "There are 2 samples of each size from 300 images. The bootstrap has 40\nresamples, and only of samples of 300" in text
    )


@pytest.mark.slow
def test_the_script_writes_its_tables(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n{interval_coverage.BEGIN}\nold\n{interval_coverage.END}\nafter\n")
    monkeypatch.setattr(interval_coverage, "PAGE", page)
    monkeypatch.setattr(interval_coverage, "LEAST", 10)
    words = "--images 100 --bootstrap 100 --samples 10 --resamples 20 --population 300 --write"
    interval_coverage.main(words.split())
    printed, text = capsys.readouterr().out, page.read_text()
    assert text == f"before\n{interval_coverage.BEGIN}\n\n{printed.strip()}\n\n{interval_coverage.END}\nafter\n"
    row = next(line for line in text.splitlines() if re.match(r"\| street +\| all +\| AP, b − a", line))
    influence, bootstrap = (float(share) for share in re.findall(r"([\d.]+)\** ±", row))
    assert influence > 75
    assert bootstrap > 75
