"""All errors and warnings of apframe. Their attributes say what is wrong, where, and what to do, and make the message."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable
from importlib import import_module
from typing import Any, TypeVar

from apframe.collecting import collected
from apframe.wording import first_line, listed, option_name

# a problem that begins with one of these words needs no colon
_VERBS = ("accepts", "applies", "are", "can", "does", "has", "holds", "is", "lies", "must", "needs", "takes", "was")
Found = TypeVar("Found")


class ApframeError(Exception):
    """The base of all errors of apframe. Its message is one readable line, made of its attributes.

    Attributes
    ----------
    problem, remedy
        what is wrong, and what to do; the remedy may be empty
    table, column
        the table and column with the problem; empty if there is none
    path
        the file or folder, or None
    rows
        the ids of the rows, or the line numbers in the file, if known
    option, others
        the keyword argument with the wrong value, and other problems of the same data; empty if there are none

    >>> ColumnError("lists of four numbers expected", table="annotations", column="bbox")
    ColumnError('annotations.bbox: lists of four numbers expected')
    >>> ParameterError("must lie in (0, 1]", "divide by 100", option="iou_thresholds")
    ParameterError('iou_thresholds must lie in (0, 1]; divide by 100')
    """

    def __init__(
        self,
        problem: str = "",
        remedy: str = "",
        *,
        table: str = "",
        column: str = "",
        path: Any = None,
        rows: Iterable[Any] = (),
        option: str = "",
    ) -> None:
        self.problem, self.remedy, self.table, self.column, self.path = problem, remedy, table, column, path
        self.rows, self.option, self.others = list(rows), option, ""
        super().__init__(f"{self.sentence}; {remedy}" if remedy else self.sentence)

    def __str__(self) -> str:
        return f"{self.args[0]} ({self.others})" if self.others else str(self.args[0])

    @property
    def sentence(self) -> str:
        """The message without the remedy: what is wrong and where."""
        if self.path is not None:
            return f"{self.path}: {self.problem}"
        where = option_name(self.option) if self.option else ".".join(filter(None, (self.table, self.column)))
        if not where:
            return self.problem
        return f"{where} {self.problem}" if self.problem.split(" ")[0] in _VERBS else f"{where}: {self.problem}"


class InputError(ApframeError, ValueError):
    """The input data cannot be evaluated."""


class FormatError(InputError):
    """A file is missing, unreadable, truncated, or not in the expected format."""


class ColumnError(InputError):
    """A column is missing or has the wrong type."""


class RowError(InputError):
    """Some rows of a table have invalid values.

    `key` is the id column of its table (or "row", counted from 1), `rows` the ids of all such rows.
    """

    def __init__(self, table: str, problem: str, key: str, rows: Iterable[Any], remedy: str) -> None:
        self.key = key
        super().__init__(problem, remedy, table=table, rows=rows)

    @property
    def sentence(self) -> str:
        """The message without the remedy: what is wrong, and in which first rows."""
        return f"{self.table}: {self.problem} for {self.key} {listed(self.rows)}"

    def __reduce__(self) -> Any:  # BaseException would call __init__ with only the message
        return type(self), (self.table, self.problem, self.key, self.rows, self.remedy), self.__dict__


class DuplicateIdError(RowError):
    """An id that must be unique is in several rows."""


class UnknownIdError(RowError):
    """Rows refer to ids (`unknown`) that the `owner` ("images", "categories") lacks; `of_all_rows` is True if all rows do."""

    of_all_rows, owner = False, ""
    unknown: Any = ()


class ScoreError(InputError):
    """A score or relevance is NaN and cannot be ranked; the message names the rows."""


class IdTypeError(InputError):
    """Ids are integers on one side and strings on the other."""


class PluginError(ApframeError):
    """A protocol or a format of another package cannot be imported, or was written for another version of the contract."""


class ShardError(InputError):
    """A shard cannot be evaluated: `shard` is its name, `unknown_images` are ids that its rows have and its images lack."""

    shard = ""
    unknown_images: Any = ()


class NotComparableError(InputError):
    """Evaluations differ in the ground truth, the images, the categories or the protocol, so they cannot be compared."""


class ParameterError(ApframeError, ValueError):
    """An option has an invalid value."""


class OutputError(ApframeError, OSError):
    """Results cannot be written to this path."""


class QueryError(ApframeError, ValueError):
    """An SQL query failed; the message has the error of DuckDB and the names of the tables."""


class ApframeWarning(UserWarning):
    """The base of all warnings of apframe."""


class DoubtfulNumberWarning(ApframeWarning):
    """The number is probably wrong: the base of the warnings for which `--strict` ends with exit status 3."""


class UnknownCategoryWarning(ApframeWarning):
    """Detections of categories that the ground truth does not have were dropped."""


class MostlyUnknownCategoriesWarning(UnknownCategoryWarning, DoubtfulNumberWarning):
    """More than half of the detections were dropped, because the ground truth does not have their categories."""


class ClassNumbersWarning(ApframeWarning):
    """Results number the classes from 1, or seem to, but the ground truth numbers them from 0."""


class UnnamedCategoryWarning(ApframeWarning):
    """Label maps of the ground truth have labels that count as classes but are missing in the file of names."""


class UnknownImageWarning(ApframeWarning):
    """Detections were dropped because the ground truth lacks their images; the protocol says which of them are dropped."""


class MostlyUnknownImagesWarning(UnknownImageWarning, DoubtfulNumberWarning):
    """More than half of the detections were dropped, because the ground truth lacks their images."""


class NothingMatchesWarning(DoubtfulNumberWarning):
    """Hardly any result can be compared with the ground truth; the two probably do not belong together."""


class RisingScoresWarning(DoubtfulNumberWarning):
    """The scores of a run rise with its ranks, so that its last documents come first."""


class OwnDocumentWarning(DoubtfulNumberWarning):
    """Queries of a run have documents with their own ids at the top: they probably retrieved themselves."""


class FractionalGradesWarning(ApframeWarning):
    """Judgements have grades between 0 and 1, below the level from which documents count as relevant."""


class LowPrecisionWarning(DoubtfulNumberWarning):
    """AP is close to zero although there are detections and annotations: one of the two was probably misread."""


class MissedCategoryWarning(DoubtfulNumberWarning):
    """Some categories have annotations but no detections."""


class NoDetectionsWarning(DoubtfulNumberWarning):
    """There are annotations, but no detections to evaluate."""


class FilteredResultsWarning(DoubtfulNumberWarning):
    """There are no low scores and few detections: a threshold was probably applied before, or all scores are equal."""


class CategoriesNotComparedWarning(ApframeWarning):
    """Detections cannot be compared with annotations of other categories, so classification errors are not detected."""


class MissingThresholdWarning(ApframeWarning):
    """Some categories have no score threshold, so none of their detections counts."""


class NotComputedWarning(ApframeWarning):
    """A headline number is null, because the table that it averages cannot be computed."""


class NoAnnotationsWarning(DoubtfulNumberWarning):
    """There are no annotations, so no metric is defined."""


class MissingColumnWarning(ApframeWarning):
    """The data lacks a column that some numbers of a protocol need; these numbers are null."""


class UnknownValueWarning(ApframeWarning):
    """A column lacks values that a protocol reads: some of its numbers are null, or count objects in every range."""


class UnmatchedAttributesWarning(ApframeWarning):
    """Rows of an attribute table match nothing in the data set, or images or annotations have no row in it."""


class UnitWarning(DoubtfulNumberWarning):
    """Numbers seem to have another unit than the expected one."""


class InvalidRowsWarning(ApframeWarning):
    """Rows that cannot be evaluated were left out, as requested with `invalid`."""


class BoxFormatWarning(DoubtfulNumberWarning):
    """Boxes seem to have another format (two corners, or fractions), or boxes around keypoints are compared."""


class TurnedBoxesWarning(ApframeWarning):
    """Boxes are rotated, and the protocol compares the upright boxes around them."""


class MaskSizeWarning(ApframeWarning):
    """A run-length mask has another size than its image."""


class CountWarning(ApframeWarning):
    """Fewer positives or negatives were declared than are present, or no label is negative."""


class RepeatedImageWarning(DoubtfulNumberWarning):
    """An image was added several times with different results; one of them was kept."""


class ShapesLeftOutWarning(ApframeWarning):
    """Shapes were left out: they are not boxes, polygons or masks of objects, or the protocol does not allow them."""


class RenamedWarning(ApframeWarning, DeprecationWarning):
    """A public name has a new place, and its old one works for one more release."""


class RenamedColumnWarning(ApframeWarning):
    """A column was renamed in SQL, which ignores case and has no empty names."""


class FewUnitsWarning(ApframeWarning):
    """There are too few images or queries: intervals are too narrow, or there are none."""


class FewResamplesWarning(ApframeWarning):
    """There are too few resamples for an interval, or for the number of comparisons in the correction of p."""


class ResampledWarning(ApframeWarning):
    """A number has no derivative with respect to the weights of the images, so its interval comes from resamples."""


class PluginWarning(ApframeWarning):
    """A protocol or a format of another package cannot be imported, and was left out."""


class LargeResultWarning(ApframeWarning):
    """A table of resamples takes more than 1 GB of memory."""


class BiasWarning(ApframeWarning):
    """The mean of the resamples is so far from the estimate that their interval is shifted."""


class RunsDifferWarning(ApframeWarning):
    """Runs to be compared were evaluated on different data or by different rules."""


class SegmentsDifferWarning(ApframeWarning):
    """Label maps of the ground truth and its lists of segments do not have the same segments, or the same areas."""


class ImagesLeftOutWarning(ApframeWarning):
    """Images were left out: some of the compared evaluations lack them, or panoptic ground truth has no entry for them."""


class MissingResultsWarning(DoubtfulNumberWarning):
    """Some images have no result file, no entry in the results or no update; they count as images without detections."""


class UnsortedScoresWarning(ApframeWarning):
    """Results are not in descending order of their scores, but the benchmark's own program reads them in file order."""


class LostAnnotationsWarning(ApframeWarning):
    """Annotations with id 0 cannot be matched by pycocotools or its drop-in; `apframe.evaluate` matches them."""


class ShardsLeftOutWarning(ApframeWarning):
    """Damaged shards were left out."""


class SecondPassWarning(ApframeWarning):
    """A result needs the objects of the shards, so the shards are read again."""


class RunsLeftOutWarning(ApframeWarning):
    """Folders that match a pattern hold evaluations of another kind and were left out."""


def import_optional(module: str, need: str, package: str, extra: str = "") -> Any:
    """Import an optional module, or raise an error that says what needs it and how to install its package.

    `extra` is the extra of apframe that includes the package. A broken package is not reported as missing.

    Raises
    ------
    ParameterError
        the package is not installed, or cannot be imported

    >>> import_optional("no_such_package", "drawing needs a package", "no-such-package")
    Traceback (most recent call last):
    apframe.exceptions.ParameterError: drawing needs a package: pip install no-such-package
    """
    try:
        return import_module(module)
    except ImportError as error:
        if isinstance(error, ModuleNotFoundError) and error.name in (module, module.partition(".")[0]):
            of_clone = f', or the extra "{extra}" in a clone of apframe: pip install -e ".[{extra}]"' if extra else ""
            raise ParameterError(f"{need}: pip install {package}{of_clone}") from error
        problem = f"{need}, which is installed but cannot be imported ({first_line(error)})"
        raise ParameterError(f"{problem}; upgrade it: pip install --upgrade {package}") from error


def warn(message: str, category: type[ApframeWarning]) -> None:
    """Warn at the line of the caller's own code, however many of apframe's functions are in between."""
    if (kept := collected.get()) is not None:
        return kept.append((category.__name__, message))
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in ("apframe", "functools"):
        frame, level = frame.f_back, level + 1
    return warnings.warn(message, category, level)


def warn_again(warnings_: Iterable[tuple[str, str]]) -> None:
    """Give collected warnings, which are the names of their categories and their messages."""
    for name, message in warnings_:
        warn(message, globals()[name])


_BASES = (ApframeError, ApframeWarning)
__all__ = [name for name, value in globals().items() if isinstance(value, type) and issubclass(value, _BASES)]


def __dir__() -> list[str]:
    return __all__
