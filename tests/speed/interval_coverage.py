"""How often an interval contains the truth: `python -m tests.speed.interval_coverage`, tables on standard output.

`data/generate.py` draws two populations of images, with the detections of two models: street scenes of twelve categories, and
scenes of a long tail of 120 categories, most of which are rare. The numbers of a whole population are the truth. Samples of its
images are drawn with replacement, and an image that is drawn twice is two images. With `--write`, the tables go into
docs/concepts/intervals.md.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import warnings
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl

import apframe as apf
from apframe.compare.standard_errors import HALVES, METHODS, describe
from apframe.evaluation.comparison.sampling import LEVEL, Sampling, sample
from apframe.metrics.average_precision import AveragePrecision
from apframe.metrics.definitions import Step
from apframe.metrics.points import SPACING

from .report import put

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "concepts" / "intervals.md"
BEGIN, END = "<!-- coverage -->", "<!-- end of coverage -->"
STREET, LONG_TAIL = "street", "long tail"
USED, OTHERS = ".587", {"no correction": np.inf, ".414": 2**0.5 - 1, "1": 1.0}  # what the bias of halves is divided by
ORDER = ["no correction", ".414", "influence", "1", "bootstrap"]
BOUNDS = [6, 12, 25, 50, 100]  # between rows of categories: how many annotations one has in a sample, on average
LEAST = 100  # intervals, for a share of them
NAMES, INDEX = ["key", "number"], ["images of", "of", "number"]
CATEGORY = pl.coalesce(pl.format("category {}", "category_id"), pl.lit("all"))
WEATHER = pl.format("weather: {}", "weather")


@dataclass(frozen=True)
class Population:
    """Images, and the detections of two models in them."""

    name: str
    truth: apf.Dataset
    detections: tuple[pl.DataFrame, pl.DataFrame]

    def draw(self, n_images: int, seed: Sequence[int]) -> Population:
        """Images drawn with replacement, each with an id of its own."""
        images = self.truth.images["image_id"]
        drawn = np.random.default_rng(seed).integers(len(images), size=n_images)
        ids = pl.DataFrame({"image_id": images.gather(drawn), "copy": range(n_images)})

        def copies(rows: pl.DataFrame) -> pl.DataFrame:
            return ids.join(rows, on="image_id", maintain_order="left_right").drop("image_id").rename({"copy": "image_id"})

        annotations, a, b = (copies(rows) for rows in (self.truth.annotations, *self.detections))
        annotations = annotations.with_columns(annotation_id=pl.int_range(pl.len()))
        truth = apf.Dataset(copies(self.truth.images), self.truth.categories, annotations)
        return Population(self.name, truth, (a.drop("detection_id"), b.drop("detection_id")))

    def evaluate(self, protocol: apf.Protocol = apf.COCO) -> list[apf.Evaluation]:
        """Both models by the same rules."""
        return [apf.evaluate(self.truth, found, protocol) for found in self.detections]

    def intervals(self, options: Sampling) -> pl.DataFrame:
        """Numbers and their intervals: key (what the number is of), number, and the columns LEVEL."""
        both = self.evaluate()
        whole = intervals(both, replace(options, metrics=("AP", "AP50"), level="both")).with_columns(key=CATEGORY)
        tables = [whole.filter((pl.col("key") == "all") | (pl.col("metric") == "AP"))]
        if self.name == STREET:
            step = intervals(self.evaluate(replace(apf.COCO, metrics=STEP)), replace(options, metrics="AP"))
            of_weather = intervals(both, replace(options, metrics="AP", by="weather"))
            tables += [step.with_columns(key=pl.lit("definition step")), of_weather.with_columns(key=WEATHER)]
        return pl.concat(table.select(*NAMES, *LEVEL) for table in tables)


STEP = (AveragePrecision(Step(), SPACING),)


def intervals(both: Sequence[apf.Evaluation], options: Sampling) -> pl.DataFrame:
    """The tables of `intervals` and `compare` of two evaluations, from one pass: a row for a, b and b − a of each number."""
    tables = []
    with warnings.catch_warnings(action="ignore"):
        for numbers in sample(both, options, [(0, 1)], with_bias=True):
            compared = numbers.compare(0, 1, 0.95)
            rows = {f"{numbers.metric}, b − a": compared | {"estimate": compared["difference"]}}
            for k, name in enumerate("ab"):
                rows[f"{numbers.metric} of {name}"] = numbers.describe(k, 0.95) | {"estimate": numbers.estimates[k]}
            for number, columns in rows.items():
                own = columns | {"n_units": numbers.n_units}
                tables.append(numbers.with_columns({"number": number}, {name: own[name] for name in LEVEL}))
    return pl.concat(tables)


def with_other_divisors(found: pl.DataFrame) -> pl.DataFrame:
    """`found`, and the numbers whose bias is known with other corrections, as if these were methods."""
    rows = found.filter(pl.col("bias").is_not_null(), method="influence")
    estimate, se, n_units, bias = (rows[name].to_numpy() for name in ("estimate", "se", "n_units", "bias"))
    others = {name: describe(estimate, se, n_units, 0.95, bias * HALVES / other, (0, 1)) for name, other in OTHERS.items()}
    return pl.concat([found, *(rows.with_columns(pl.lit(name).alias("method"), **columns) for name, columns in others.items())])


def count(found: pl.DataFrame, truth: pl.DataFrame, n_images: int) -> pl.DataFrame:
    """What samples say of each number: of, number, method, n (samples × categories), shown, right, ratio, left.

    `shown` of them have an interval, and in `right` of these the truth is inside. `ratio` is the mean standard error ÷ the
    spread of the estimates, `left` the mean of the estimates less their bias and the truth, both where an interval is shown.
    Over categories, these are means, and the other columns sums.
    """
    bins = [f"under {BOUNDS[0]}", *(f"{low} to {high}" for low, high in pairwise(BOUNDS)), f"over {BOUNDS[-1]}"]
    size = pl.sum_horizontal(pl.col("per_image") * n_images > bound for bound in BOUNDS).replace_strict(dict(enumerate(bins)))
    of_sizes = pl.when(pl.col("per_image").is_null()).then("key").otherwise(pl.format("category with {} annotations", size))
    shown = pl.col("low").is_not_null()
    mean = (pl.col("ratio", "left") * pl.col("shown")).sum() / pl.col("shown").sum()
    return (
        with_other_divisors(found)
        .join(truth, on=NAMES)
        .group_by(*NAMES, "method", "per_image")
        .agg(
            n=pl.len(),
            shown=shown.sum(),
            right=(pl.col("truth").is_between("low", "high") & shown).sum(),
            ratio=pl.col("se").filter(shown).mean() / pl.col("estimate").filter(shown).std(),
            left=(pl.col("estimate") - pl.col("bias").fill_null(0) - pl.col("truth")).filter(shown).mean(),
        )
        .sort("per_image", "key", "number")
        .group_by(of_sizes.alias("of"), "number", "method", maintain_order=True)
        .agg(pl.col("n", "shown", "right").sum(), mean)
    )


@cache
def make_population(name: str, n_images: int) -> Population:
    """Street scenes as those of the sample set, or 120 categories, of which a hundred images have 1.3 to 40 annotations."""
    size = [8 * n_images] if name == STREET else [57 * n_images // 10, "--categories", 120]
    with TemporaryDirectory() as folder:
        options = ["--out", folder, "--seed", 1, "--images", n_images, "--annotations", *size]
        subprocess.run([sys.executable, ROOT / "data" / "generate.py", *map(str, options)], check=True)
        read = apf.read_coco(Path(folder) / "instances.json")
        truth = apf.Dataset(*(read.core(table) for table in ("images", "categories", "annotations")))
        a, b = (apf.read_coco_results(Path(folder) / f"model_{model}.json") for model in "ab")
        return Population(name, truth, (a, b))


@cache
def truth_of(name: str, n_images: int) -> pl.DataFrame:
    """The numbers of a whole population, and how many annotations of each category an image has."""
    population = make_population(name, n_images)
    counted = population.truth.annotations.filter(~pl.col("is_crowd")).group_by(key=CATEGORY)
    numbers = population.intervals(Sampling()).select(*NAMES, truth="estimate")
    return numbers.join(counted.agg(per_image=pl.len() / n_images), on="key", how="left")


def cover(name: str, n_images: int, method: str, options: argparse.Namespace) -> pl.DataFrame:
    """The rows of `count` from samples of a population, the same ones for both methods."""
    population, found = make_population(name, options.population), []
    for k in range(options.samples):
        drawn = population.draw(n_images, [1, n_images, k])
        found.append(drawn.intervals(Sampling(method=method, n_resamples=options.resamples, seed=k)))
    counted = count(pl.concat(found), truth_of(name, options.population), n_images)
    print(f"{name}, {n_images} images: {method}", file=sys.stderr, flush=True)
    return counted.select(pl.lit(name).alias("images of"), pl.lit(n_images).alias("images"), pl.all())


def texts(row: Mapping[str, float]) -> dict[str, str]:
    """A row of `count` as it is printed: bold where the share of intervals with the truth is not as stated.

    >>> texts({"images": 300, "n": 400, "shown": 200, "right": 180, "ratio": 0.9, "left": -0.001})
    {'shown': '50', 'right': '**90.0** ± 2.1', 'se ÷ spread': '0.90', 'bias left': '−0.0010'}
    """
    shown = {"shown": f"{100 * row['shown'] / row['n']:.0f}"}
    if row["shown"] < LEAST:
        return shown | dict.fromkeys(("right", "se ÷ spread", "bias left"), "–")
    share = row["right"] / row["shown"]
    off = (share * (1 - share) / row["shown"]) ** 0.5
    is_stated = share >= 0.9 if row["images"] < 300 else 0.92 <= share <= 0.98
    right = f"{100 * share:.1f}" if is_stated else f"**{100 * share:.1f}**"
    left = f"{row['left']:+.4f}".replace("-", "−")
    return shown | {"right": f"{right} ± {100 * off:.1f}", "se ÷ spread": f"{row['ratio']:.2f}", "bias left": left}


def report(counted: pl.DataFrame, options: argparse.Namespace) -> str:
    """The tables, and what they were made from."""
    ordered = counted.sort("images", pl.col("method").cast(pl.Enum(ORDER)), maintain_order=True).iter_rows(named=True)
    rows = pl.DataFrame([row | texts(row) | {"images": f"{row['images']:,} images"} for row in ordered])
    rows = rows.filter((pl.col("of") == "all") | ~pl.col("number").str.ends_with(" of b"))
    both = rows.filter(pl.col("method").is_in(METHODS)).with_columns(column=pl.format("{}, {}", "method", "images"))
    corrected = pl.col("number").str.contains(" of ") & (pl.col("of") == "all") & (pl.col("right") != "–")
    divisors = rows.filter(corrected, pl.col("method") != "bootstrap").with_columns(pl.col("method").replace("influence", USED))
    resampled = " and ".join(str(n) for n in options.bootstrap)
    return f"""\
How many of 100 intervals contain the truth, ± the standard error of this number:

{table(both, "column", ["right"])}

Intervals by influence: how many of 100 samples show one, its standard error ÷ the spread of the estimates, and by how much
the estimates are still too high without their bias:

{table(rows.filter(method="influence"), "images", ["shown", "se ÷ spread", "bias left"])}

The bias is how much higher halves are, divided by {USED}. How many of 100 intervals contain the truth with other divisors, and
by how much the estimates are still too high:

{table(divisors, "method", ["right", "bias left"], [*INDEX, "images"])}

There are {options.samples:,} samples of each size from {options.population:,} images. The bootstrap has {options.resamples:,}
resamples, and only of samples of {resampled} images, for it takes long.

Bold: below 90 with 100 images, or outside 92 to 98 with more. A dash: fewer than {LEAST} intervals, or not computed. A row for
categories is of all that have so many annotations in a sample, on average."""


def table(rows: pl.DataFrame, on: str, values: Sequence[str], index: Sequence[str] = INDEX) -> str:
    """A Markdown table with a column for each of the values."""
    pivot = rows.pivot(on, index=index, values=values, separator=", ")
    return apf.to_markdown(pivot.rename(lambda name: name.removeprefix("right, ")))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.speed.interval_coverage", description=__doc__)
    parser.add_argument("--images", type=int, nargs="+", default=[100, 300, 1_000], help="sizes of the samples")
    parser.add_argument("--bootstrap", type=int, nargs="*", default=[100, 300], help="sizes that are resampled, too")
    parser.add_argument("--samples", type=int, default=500, help="how many of each size")
    parser.add_argument("--resamples", type=int, default=200, help="for each interval of the bootstrap")
    parser.add_argument("--population", type=int, default=20_000, help="its images")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/concepts/intervals.md")
    options = parser.parse_args(arguments)

    sizes = {"influence": options.images, "bootstrap": options.bootstrap}
    jobs = [(name, n, method, options) for name in (STREET, LONG_TAIL) for method in METHODS for n in sizes[method]]
    with ProcessPoolExecutor(2, get_context("spawn")) as processes:
        text = report(pl.concat(processes.map(cover, *zip(*jobs, strict=True))), options)
    print(text)
    if options.write:
        put(PAGE, f"{BEGIN}\n\n{text}\n\n{END}")


if __name__ == "__main__":
    main()
