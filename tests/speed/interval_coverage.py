"""How often an interval contains the truth: `python -m tests.speed.interval_coverage`, a table on standard output.

`data/generate.py` draws a population of street scenes with the detections of two models. The numbers of the whole population
are the truth. Samples of its images are drawn with replacement, and each sample gets two intervals from the same draws: that
of `ev.intervals` and `ev.compare`, and that of hotcoco 1.3.0, which leaves out the repeats of an image that is drawn twice.
With `--write`, the table goes into docs/concepts/intervals.md.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import apframe as apf
from apframe.compare.intervals import describe
from apframe.compare.resampling import draw_counts
from apframe.evaluation.comparison.sampling import chosen_lines
from apframe.evaluation.headlines import values_of_lists
from apframe.matching.verdicts import Verdicts
from apframe.metrics.cells import Cells
from apframe.metrics.weights import BLOCK, Weights
from apframe.threads import map_lazily, pool

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "concepts" / "intervals.md"
BEGIN, END = "<!-- coverage -->", "<!-- end of coverage -->"
METRICS = ("AP", "AP50")
NUMBERS = [f"{metric}{of}" for metric in METRICS for of in (" of model a", " of model b", ", b − a")]
RULES = ("apframe", "hotcoco's rule")


@dataclass(frozen=True)
class Population:
    """Two evaluations of the same images."""

    evaluations: tuple[apf.Evaluation, apf.Evaluation]

    @property
    def verdicts(self) -> list[Verdicts]:
        return [evaluation._pipeline.verdicts for evaluation in self.evaluations]

    def numbers(self, verdicts: Sequence[Verdicts], weights: np.ndarray) -> np.ndarray:
        """The numbers in the order of NUMBERS, under weights of shape (images, weightings): (numbers, weightings)."""
        protocol, lines = self.evaluations[0].protocol, chosen_lines(self.evaluations[0], METRICS)
        found = np.empty((len(lines), 3, weights.shape[1]))
        for model, of_model in enumerate(verdicts):
            cells = Cells.of(of_model)
            for start in range(0, weights.shape[1], BLOCK):
                block = slice(start, start + BLOCK)
                for line, values in values_of_lists(cells, protocol, lines, Weights.of(weights[:, block])):
                    found[lines.index(line), model, block] = np.nanmean(values, axis=0)
        found[:, 2] = found[:, 1] - found[:, 0]
        return found.reshape(-1, weights.shape[1])

    def truth(self) -> np.ndarray:
        """The numbers of the whole population."""
        return self.numbers(self.verdicts, np.ones((self.verdicts[0].images.height, 1)))[:, 0]

    def intervals(self, drawn: np.ndarray, n_resamples: int, seed: int) -> dict[str, np.ndarray]:
        """Of a sample: `estimate` of shape (numbers,); `low`, `high` and `se` of shape (rules, numbers).

        `drawn` are the numbers of its images. One that occurs twice is two units.
        """
        images, unit = np.unique(drawn, return_inverse=True)
        kept = np.isin(np.arange(self.verdicts[0].images.height), images)
        parts = [verdicts.of_images(kept) for verdicts in self.verdicts]
        estimate = self.numbers(parts, np.bincount(unit)[:, None])[:, 0]
        counts = np.concatenate(list(draw_counts(len(drawn), n_resamples, seed, n_resamples))).T
        made = [
            describe(estimate, self.numbers(parts, by_image(of_rule, unit))) for of_rule in (counts, without_repeats(counts))
        ]
        return {"estimate": estimate, **{name: np.stack([each[name] for each in made]) for name in ("low", "high", "se")}}


def without_repeats(counts: np.ndarray) -> np.ndarray:
    """How often hotcoco takes each image: once if it is drawn at all.

    >>> without_repeats(np.array([[0, 1], [3, 1]])).tolist()
    [[0, 1], [1, 1]]
    """
    return np.minimum(counts, 1)


def by_image(counts: np.ndarray, unit: np.ndarray) -> np.ndarray:
    """The sums of the rows, which are units, over each image.

    >>> by_image(np.array([[1, 0], [5, 0], [2, 1]]), np.array([0, 1, 0])).tolist()
    [[3, 1], [5, 0]]
    """
    order = np.argsort(unit, kind="stable")
    return np.add.reduceat(counts[order], np.flatnonzero(np.diff(unit[order], prepend=-1)), axis=0)


@dataclass(frozen=True)
class Coverage:
    """What samples of one size say: the truth of each number, its estimates, and the intervals of each rule.

    `truth` is of shape (numbers,), `estimates` (samples, numbers), and `low`, `high` and `se` (samples, rules, numbers).
    """

    n_images: int
    truth: np.ndarray
    estimates: np.ndarray
    low: np.ndarray
    high: np.ndarray
    se: np.ndarray

    def shares(self) -> np.ndarray:
        """The share of samples whose interval contains the truth, of shape (rules, numbers)."""
        return ((self.low <= self.truth) & (self.truth <= self.high)).mean(axis=0)

    def ratios(self) -> np.ndarray:
        """The mean standard error divided by the spread of the estimates, which it should equal, of shape (rules, numbers)."""
        return self.se.mean(axis=0) / self.estimates.std(axis=0, ddof=1)

    def rows(self) -> list[str]:
        """The rows of the table."""
        shares, ratios, rows = self.shares(), self.ratios(), []
        off = np.sqrt(shares * (1 - shares) / len(self.estimates))
        for k, number in enumerate(NUMBERS):
            cells = [f"{self.n_images:,}", number, f"{self.truth[k]:.3f}", f"{self.estimates[:, k].mean():.3f}"]
            for of_rule in range(len(RULES)):
                cells += [f"{100 * shares[of_rule, k]:.1f} ± {100 * off[of_rule, k]:.1f}", f"{ratios[of_rule, k]:.2f}"]
            rows.append(f"| {' | '.join(cells)} |")
        return rows


def cover(population: Population, n_images: int, n_samples: int, n_resamples: int, seed: int) -> Coverage:
    """Draw samples and their intervals; sample k has the same images and draws in every run."""
    n, truth = population.verdicts[0].images.height, population.truth()

    def of_sample(k: int) -> dict[str, np.ndarray]:
        drawn = np.random.default_rng([seed, n_images, k]).integers(n, size=n_images)
        return population.intervals(drawn, n_resamples, k)

    made = []
    with pool() as others:
        for each in map_lazily(others, of_sample, range(n_samples)):
            made.append(each)
            if len(made) % 50 == 0:
                print(f"{n_images} images: {len(made)} of {n_samples} samples", file=sys.stderr, flush=True)
    columns = {name: np.stack([each[name] for each in made]) for name in made[0]}
    return Coverage(n_images, truth, columns.pop("estimate"), **columns)


def make_population(n_images: int, seed: int) -> Population:
    """Street scenes as those of the sample set, with eight objects each on average."""
    with TemporaryDirectory() as folder:
        options = {"--out": folder, "--seed": seed, "--images": n_images, "--annotations": 8 * n_images}
        words = [str(word) for option in options.items() for word in option]
        subprocess.run([sys.executable, ROOT / "data" / "generate.py", *words], check=True)
        truth = apf.read_coco(Path(folder) / "instances.json")
        found = [apf.read_coco_results(Path(folder) / f"model_{name}.json") for name in "ab"]
        return Population((apf.evaluate(truth, found[0]), apf.evaluate(truth, found[1])))


def report(covered: Sequence[Coverage], options: argparse.Namespace) -> str:
    """The table, and what it was made from."""
    head = ["images", "number", "truth", "mean estimate", *(f"{rule}: {what}" for rule in RULES for what in ("%", "se ÷ true"))]
    lines = [f"| {' | '.join(head)} |", "|--:|---|--:|--:|--:|--:|--:|--:|"]
    lines += [row for each in covered for row in each.rows()]
    lines += [
        "",
        f"Each row: {options.samples:,} samples from {options.population:,} images, with {options.resamples:,} resamples",
    ]
    lines[-1] += " each."
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.speed.interval_coverage", description=__doc__)
    parser.add_argument("--images", type=int, nargs="+", default=[100, 300], help="sizes of the samples")
    parser.add_argument("--samples", type=int, default=500, help="how many of each size")
    parser.add_argument("--resamples", type=int, default=1000, help="for each interval")
    parser.add_argument("--population", type=int, default=20_000, help="its images")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", action="store_true", help="put the table into docs/concepts/intervals.md")
    options = parser.parse_args(arguments)

    population = make_population(options.population, options.seed)
    sizes = [cover(population, n, options.samples, options.resamples, options.seed) for n in options.images]
    table = report(sizes, options)
    print(table)
    if options.write:
        text = re.sub(f"{BEGIN}.*{END}", lambda _: f"{BEGIN}\n\n{table}\n\n{END}", PAGE.read_text(), flags=re.DOTALL)
        PAGE.write_text(text)


if __name__ == "__main__":
    main()
