"""Average precision, recall and counts, as metrics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Self

from apframe.metrics.metric import Metric

if TYPE_CHECKING:
    import numpy as np

    from apframe.metrics.cells import Cells
    from apframe.metrics.influence import RowInfluence
    from apframe.metrics.points import Definition
    from apframe.metrics.weights import Weights


@dataclass(frozen=True)
class AveragePrecision(Metric):
    """Average precision by one definition.

    Attributes
    ----------
    definition, addend
        the definition of average precision, and a small number that is added to the divisor of precision
    counts_absent
        True if a list without positives has an average precision of 0; otherwise it has none
    """

    definition: Definition
    addend: float = 0.0
    counts_absent: bool = False
    columns: ClassVar = ("ap",)
    line: ClassVar = "precision"

    def describe(self) -> str:
        """Describe the definition in words."""
        spaced = "; 2.2e-16 is added to the divisor of every precision" if self.addend else ""
        return f"AP by the definition {self.definition}: {self.definition.formula}{spaced}"

    @property
    def average_precision(self) -> AveragePrecision:
        """The metric itself."""
        return self

    def with_definition(self, definition: Definition) -> AveragePrecision:
        """Return average precision by another definition."""
        return replace(self, definition=definition)

    @property
    def absent(self) -> float:
        """The value of a list without positives."""
        return 0.0 if self.counts_absent else float("nan")

    @property
    def reads_remainder(self) -> bool:
        """See `Metric`."""
        return self.definition.reads_remainder

    def read(self, cells: Cells, weights: Weights) -> Mapping[str, np.ndarray]:
        """Return the average precision of each list.

        >>> import numpy as np
        >>> from apframe.matching.verdicts import example
        >>> from apframe.metrics.cells import Cell, Cells
        >>> from apframe.metrics.definitions import as_definition
        >>> from apframe.metrics.weights import Weights
        >>> cells = Cells.of(example(), [Cell((0,), area_range=0, limit=0)])
        >>> AveragePrecision(as_definition("step")).read(cells, Weights.of(np.array([[1, 0, 2], [1, 3, 0]])))["ap"].tolist()
        [[[1.0, nan, 1.0]]]
        """
        return {"ap": self.definition.average(cells, weights, self.addend, self.absent)}

    def influence(self, cells: Cells, weights: Weights) -> Mapping[str, RowInfluence]:
        """See `Metric.influence`; only for definitions that vary as the area under precision does."""
        if not self.definition.varies_as_area:
            return {}
        from apframe.metrics.influence import influence_on_area

        return {"ap": influence_on_area(cells, weights, self.addend, interpolated=self.definition.interpolated)}


@dataclass(frozen=True)
class WithAverage(Metric):
    """Average precision, and further numbers computed from it or together with it."""

    average: AveragePrecision
    line: ClassVar = "precision"

    def describe(self) -> str:
        """Return the description of the average precision."""
        return self.average.describe()

    @property
    def average_precision(self) -> AveragePrecision:
        """The average precision, which is the first of the metric's numbers."""
        return self.average

    def with_definition(self, definition: Definition) -> Self:
        """Return the same metric with average precision by another definition."""
        return replace(self, average=self.average.with_definition(definition))


@dataclass(frozen=True)
class Recall(Metric):
    """The share of the positives that are detected in the whole list, and the number of positives."""

    columns: ClassVar = ("recall", "n_positives")
    reads_remainder: ClassVar = True

    def positives(self, cells: Cells, weights: Weights) -> np.ndarray:
        """Return the number of positives of each output, of shape (cells, lists, weightings)."""
        import numpy as np

        of_range = {
            k: cells.positives[:, [k]] if weights.are_once else cells.positives_under(k, weights)
            for k in {cell.area_range for cell in cells.wanted}
        }
        return np.stack([of_range[cell.area_range] for cell in cells.wanted])

    def read(self, cells: Cells, weights: Weights) -> Mapping[str, np.ndarray]:
        """Return recall, which is NaN without positives, and the number of positives."""
        import numpy as np

        if weights.are_once:
            from apframe.metrics.plain_sums import hits

            n_hits = hits(cells)
        else:
            from apframe.metrics.weighted_sums import weighted_hits

            n_hits = weighted_hits(cells, weights)
        positives = self.positives(cells, weights)
        with np.errstate(invalid="ignore", divide="ignore"):
            recall = np.where(positives > 0, n_hits / positives, np.nan)
        return {"recall": recall, "n_positives": positives}

    def influence(self, cells: Cells, weights: Weights) -> Mapping[str, RowInfluence]:
        """See `Metric.influence`: an image contributes its true positives, minus its share of all true positives."""
        from apframe.metrics.influence import influence_on_recall

        return {"recall": influence_on_recall(cells, weights)}


@dataclass(frozen=True)
class DetectionCount(Metric):
    """The number of detections that count: true and false positives."""

    columns: ClassVar = ("n_detections",)
    reads_remainder: ClassVar = True

    def read(self, cells: Cells, weights: Weights) -> Mapping[str, np.ndarray]:
        """Return the number of detections."""
        if weights.are_once:
            from apframe.metrics.plain_sums import detections

            return {"n_detections": detections(cells)}
        from apframe.metrics.weighted_sums import weighted_detections

        return {"n_detections": weighted_detections(cells, weights)}


@dataclass(frozen=True)
class ImageCount(Metric):
    """The number of images with annotations that count, by which some protocols weight a list in means."""

    columns: ClassVar = ("n_images",)
    reads_remainder: ClassVar = True

    def read(self, cells: Cells, weights: Weights) -> Mapping[str, np.ndarray]:
        """Return the number of images."""
        import numpy as np

        n_images = [cells.images_with_positives(cell.area_range, weights.given) for cell in cells.wanted]
        return {"n_images": np.stack(n_images)}
