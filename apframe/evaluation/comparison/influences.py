"""Contributions of each unit (one or more images) to the headline numbers of evaluations: block after block of lists."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from apframe.compare.resampling import Units
from apframe.compare.standard_errors import HALVES, SPLITS
from apframe.evaluation.comparison.image_weights import ImageWeights
from apframe.evaluation.comparison.slice_rows import Block, Place, RowSums, SlicedEvaluation
from apframe.metrics.cells import Cells
from apframe.metrics.influence import RowInfluence, slopes
from apframe.metrics.list_sums import cut_into_runs, divide
from apframe.metrics.weights import Weights
from apframe.protocols.headline_values import cell_of, images_of_lists, metric_of, numbers, summands, values_of_lists
from apframe.protocols.headlines import Headline, terms_of, with_terms
from apframe.protocols.lookups import area_at
from apframe.protocols.protocol import Protocol
from apframe.threads import pool

LEAST_LISTS = 5  # the smallest number of lists in a mean whose bias is known
MOST_RARE = 0.1  # the largest share of rare lists in a mean with a standard error
_MOST = 1 << 24  # numbers that are computed at once
_WORK = 32  # numbers that a detection needs while it is read


@dataclass(frozen=True)
class Influences:
    """Headline numbers of several evaluations in some rows, and the contributions of each unit to them.

    Attributes
    ----------
    rows
        numbers of these rows in the table
    estimates, biases
        by headline number, of shape (evaluations, rows); NaN if undefined, or if the bias is unknown
    influence
        by headline number, of shape (evaluations, rows, units)
    n_units_with_positives, is_rare
        by headline number, of shape (rows,): the number of units with annotations that count; and whether more than a tenth of
        the lists of the mean are rare
    """

    rows: np.ndarray
    estimates: Mapping[str, np.ndarray]
    biases: Mapping[str, np.ndarray]
    influence: Mapping[str, np.ndarray]
    n_units_with_positives: Mapping[str, np.ndarray]
    is_rare: Mapping[str, np.ndarray]


def read_influences(
    parts: Sequence[SlicedEvaluation],
    lines: Sequence[Headline],
    protocol: Protocol,
    units: Units,
    weights: ImageWeights,
    n_rows: int,
    bias_seed: int | None = None,
) -> Iterator[Influences]:
    """Yield the influences for some rows at a time; a number without a derivative has none.

    Parameters
    ----------
    parts
        the evaluations, which must be aligned
    lines
        the headline numbers, which are means over all images
    protocol
        the common rules
    units, weights
        of the images
    n_rows
        the number of rows of the common table
    bias_seed
        the seed of the random halves from which the bias is estimated; None for no estimate
    """
    terms = [line for line in with_terms(lines, protocol) if not line.is_of_others]
    once = weights.apply(np.ones((len(units.unit), 1)))
    halves = None if bias_seed is None else weights.apply(units.halves(SPLITS, bias_seed).astype(np.float64))
    reader = _Reader(terms, protocol, weights.weighing(units), units.n_units, once, halves)
    bounds = _bounds(parts, len(terms) * len(units.unit))
    categories = np.zeros((n_rows, 2), dtype=np.int64)
    for part in parts:
        categories[part.row] = part.categories()
    first, last = np.searchsorted([end for _, end in bounds], categories.T, side="right")
    is_open = first < last  # spread over several blocks
    opened = [RowSums.of(np.flatnonzero(is_open), n_rows, len(units.unit)) for _ in parts]
    for number, (begin, end) in enumerate(bounds):
        complete = [RowSums.of(np.flatnonzero((first == number) & ~is_open), n_rows, len(units.unit)) for _ in parts]
        for part, *sums in zip(parts, complete, opened, strict=True):
            for block in part.blocks(begin, end):
                reader.read(block, [each for each in sums if len(each.rows)])
        if len(complete[0].rows) and complete[0].totals:
            yield _finish(complete, lines, protocol, units, weights)
    if is_open.any() and opened[0].totals:
        yield _finish(opened, lines, protocol, units, weights)


def _bounds(parts: Sequence[SlicedEvaluation], n_numbers: int) -> list[tuple[int, int]]:
    """Return the first and last (exclusive) list of each block; `n_numbers` are computed for each list and evaluation."""
    if any(part.matches_again for part in parts):
        return [(0, parts[0].n_lists)]
    sizes = np.sum([part.list_sizes for part in parts], axis=0)
    return cut_into_runs(_WORK * sizes + n_numbers * len(parts), _MOST)


@dataclass(frozen=True, eq=False)
class _Reader:
    """A reader of headline numbers of a block that are means over lists, under the weights `once` and those of halves."""

    lines: Sequence[Headline]
    protocol: Protocol
    unit: np.ndarray
    n_units: int
    once: np.ndarray
    halves: np.ndarray | None

    def read(self, block: Block, targets: Sequence[RowSums]) -> None:
        """Add the numbers of a block to sums."""
        own = block.weights(self.once)
        n_images = images_of_lists(block.cells, self.protocol, own)
        places = [(sums, sums.places(block)) for sums in targets]

        ranges = {line.area_range: area_at(self.protocol, line.area_range) for line in self.lines}

        def read_range(named: tuple[str, int]) -> None:
            name, k = named
            lines = [line for line in self.lines if line.area_range == name]
            for sums, of_rows in places:
                sums.count(block, of_rows, name, k, self.unit, self.n_units)
            values = dict(values_of_lists(block.cells, self.protocol, lines, own))
            biased = [line for line in values if self._add(block, places, line, values[line], own, n_images)]
            if self.halves is not None:
                self._compare_halves(block, targets, {line: values[line] for line in biased}, n_images)

        with pool() as threads:
            list(threads.map(read_range, ranges.items()))

    def _add(
        self,
        block: Block,
        targets: Sequence[tuple[RowSums, Sequence[Place]]],
        line: Headline,
        values: np.ndarray,
        weights: Weights,
        n_images: Mapping[str, np.ndarray] | None,
    ) -> bool:
        """Add a headline number and the influences on it; return True if it is biased."""
        cells, influence = block.cells, self._influence(block.cells, line, weights)
        for sums, places in targets:
            sums.add(block, summands(line, values, n_images))
            if influence is None:
                continue
            detections, annotations = influence.detections[0], influence.annotations[0]
            if n_images is not None:  # the weight of a list in a mean is itself a sum over images
                each = n_images[line.area_range][:, 0]
                first = self._first(cells, line) * weights.given[cells.annotations["image"], 0]
                detections = detections * each[cells.detections["list"]]
                annotations = annotations * each[cells.annotations["list"]]
                annotations += first * np.nan_to_num(values)[cells.annotations["list"], 0]
                sums.add_rows(f"n {line.metric}", places, np.zeros(len(detections)), first)
            sums.add_rows(line.metric, places, detections, annotations)
        return influence is not None and influence.is_biased

    def _influence(self, cells: Cells, line: Headline, weights: Weights) -> RowInfluence | None:
        cell = cell_of(line, self.protocol)
        if cell is None:
            return None
        return metric_of(line, self.protocol).influence(cells.wanting([cell]), weights).get(line.column)

    def _first(self, cells: Cells, line: Headline) -> np.ndarray:
        """Return flags of one annotation that counts for each list and image."""
        k = area_at(self.protocol, line.area_range)
        flags = np.zeros(len(cells.annotations["list"]), dtype=bool)
        flags[cells.kept(("first positives", k), lambda: cells.first_positives(k))] = True
        return flags

    def _compare_halves(
        self,
        block: Block,
        targets: Sequence[RowSums],
        biased: Mapping[Headline, np.ndarray],
        n_images: Mapping[str, np.ndarray] | None,
    ) -> None:
        """Add the excess of the numbers of lists in halves in which they are defined."""
        assert self.halves is not None
        weights = block.weights(self.halves)
        for line, values in values_of_lists(block.cells, self.protocol, biased, weights):
            has_value = np.isfinite(values)
            mean = divide(np.where(has_value, values, 0).sum(axis=1), has_value.sum(axis=1))
            higher = np.where(has_value.any(axis=1), mean - biased[line][:, 0], np.nan)[:, None]
            own = replace(line, metric=f"higher {line.metric}")
            for sums in targets:
                sums.add(block, summands(own, higher, n_images))


def _finish(
    of_parts: Sequence[RowSums], lines: Sequence[Headline], protocol: Protocol, units: Units, weights: ImageWeights
) -> Influences:
    """Compute numbers and influences of rows whose lists have all been read."""
    estimates: dict[str, list[np.ndarray]] = {line.metric: [] for line in lines}
    biases: dict[str, list[np.ndarray]] = {line.metric: [] for line in lines}
    influence: dict[str, list[np.ndarray]] = {}
    for sums in of_parts:
        means = numbers(sums.totals, with_terms(lines, protocol), protocol)
        own = {name: _of_mean(sums, name, means) for name in sums.of_images if name in means}
        for line in lines:
            estimates[line.metric].append(means[line.metric][:, 0])
            biases[line.metric].append(_bias(sums, line))
            terms = [term.metric for term in terms_of(line, protocol)]
            if terms and all(term in own for term in terms):
                own[line.metric] = _of_terms(line, terms, means, own)
            if line.metric in own:
                influence.setdefault(line.metric, []).append(units.sums(weights.centre(own[line.metric])))
    first, of_range = of_parts[0], {line.metric: line.area_range for line in lines}
    n_units_with_positives = {
        name: np.any([each.have_positives(name, units) for each in of_parts], axis=0).sum(axis=1)
        for name in set(of_range.values())
    }
    is_rare = {
        name: first.totals[f"rare {name}"][:, 0] > MOST_RARE * first.totals[f"lists {name}"][:, 0]
        for name in n_units_with_positives
    }
    return Influences(
        rows=first.rows,
        estimates={name: np.stack(of) for name, of in estimates.items()},
        biases={name: np.stack(of) for name, of in biases.items()},
        influence={name: np.stack(of) for name, of in influence.items() if name in of_range},
        n_units_with_positives={name: n_units_with_positives[each] for name, each in of_range.items()},
        is_rare={name: is_rare[each] for name, each in of_range.items()},
    )


def _of_mean(sums: RowSums, name: str, means: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return the influence on a mean over lists, from the sums of the influences on the lists."""
    influence = sums.of_images[name]
    if f"n {name}" in sums.of_images:
        influence = influence - np.nan_to_num(means[name]) * sums.of_images[f"n {name}"]
    influence /= np.where(sums.totals[f"n {name}"] == 0, 1, sums.totals[f"n {name}"])
    return influence


def _of_terms(
    line: Headline, terms: Sequence[str], means: Mapping[str, np.ndarray], own: Mapping[str, np.ndarray]
) -> np.ndarray:
    """Return the influence on a number computed from others: their influences times its derivatives, see `slopes`."""
    function = line.kind.composition.function  # type: ignore[union-attr]
    of_terms = slopes(lambda *sums: {line.metric: function(*sums)}, [means[term] for term in terms])
    return np.sum([slope[line.metric] * own[term] for term, slope in zip(terms, of_terms, strict=True)], axis=0)


def _bias(sums: RowSums, line: Headline) -> np.ndarray:
    """Return the bias of a mean over five lists or more, from the biases of halves; NaN for others."""
    if f"higher {line.metric}" not in sums.totals:
        return np.full(len(sums.rows), np.nan)
    higher, n = sums.totals[f"higher {line.metric}"][:, 0], sums.totals[f"n higher {line.metric}"][:, 0]
    is_known = sums.totals[f"lists {line.area_range}"][:, 0] >= LEAST_LISTS
    return np.where(is_known, divide(higher, n) / HALVES, np.nan)
