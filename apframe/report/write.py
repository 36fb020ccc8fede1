"""`write_report`: one page about one evaluation, two or more."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from apframe.collecting import collecting
from apframe.detection.comparison.comparable import agree
from apframe.detection.comparison.names import names_beside
from apframe.detection.evaluation import Evaluation
from apframe.detection.look.pictures import Pictures
from apframe.exceptions import ParameterError
from apframe.paths import to_write
from apframe.report.compared import Compared
from apframe.report.page import page, refuse_foreign_file, write_page
from apframe.report.searched import Searched, together
from apframe.report.section import Section
from apframe.report.sections import better, honest, kinds, labels, look, mistaken, rules, search, thresholds, what, where
from apframe.retrieval.evaluation import RunEvaluation

if TYPE_CHECKING:
    from apframe.detection.slices.keys import SliceKey

SECTIONS: Sequence[Callable[[Compared], Section | None]] = (
    what.section, better.section, where.section, kinds.section, mistaken.section, thresholds.section,
    honest.section, look.section, labels.section, rules.section,
)  # fmt: skip
"""The sections about detections, in the order of the page. One that has nothing to say is None."""
OF_SEARCH: Sequence[Callable[[Searched], Section | None]] = (
    search.what, search.better, search.where, search.changed, search.queries, search.coverage, search.rules,
)  # fmt: skip
"""The sections about search runs."""


def write_report(
    path: str | Path,
    *evaluations: Evaluation | RunEvaluation,
    names: Sequence[str] | None = None,
    by: Sequence[SliceKey | Sequence[SliceKey]] = (),
    images: str | Path | None = None,
    embed: bool = False,
    max_images: int = 300,
    title: str | None = None,
    n_resamples: int = 1_000,
    seed: int = 0,
    sections: Sequence[Section] = (),
    command: str = "",
) -> Path:
    """Write one HTML file about one evaluation, two or more: numbers, where they differ, and the errors behind them.

    The file needs no network, no server and no other file, except pictures that it links. The same input gives the same bytes.

    Parameters
    ----------
    path
        where the file is written; an earlier report is replaced, other files are not
    evaluations
        of the same ground truth by the same rules, or of search runs on the same judgements; the first one is what others are
        compared with
    names
        what they are called; by default their own names
    by
        keys of slices, each for a table of its own; a list of keys stands for the combinations of their values
    images
        the folder of the pictures
    embed
        put thumbnails into the page, which needs `pip install "apframe[report]"`; otherwise pictures are linked
    max_images
        how many errors are shown as cards
    title
        the heading of the page; by default the names
    n_resamples, seed
        of the intervals, see `Evaluation.intervals`
    sections
        sections of your own, which follow the others
    command
        what makes the page again, to be shown on it

    Returns
    -------
    The path of the file.

    Raises
    ------
    OutputError
        there is a file that apframe did not write, or the path cannot be written
    NotComparableError
        another ground truth, other images or other rules
    ParameterError
        no evaluation, or an option with an invalid value

    >>> import tempfile
    >>> from apframe.detection.evaluate import evaluate
    >>> box = {"category_id": 1, "bbox": [0, 0, 9, 9]}
    >>> truth = {"images": [{"id": n} for n in range(40)], "categories": [{"id": 1, "name": "cat"}],
    ...          "annotations": [{"id": n, "image_id": n} | box for n in range(40)]}
    >>> ev = evaluate(truth, [{"image_id": n, "score": 0.5} | box for n in range(30)])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     written = write_report(Path(folder) / "report.html", ev)
    ...     "How good is a?" in written.read_text()
    True
    """
    if not evaluations:
        raise ParameterError("there is nothing to report on", "give one evaluation or more")
    target = to_write(path)
    refuse_foreign_file(target)  # before the work, not after it
    keys = [by] if isinstance(by, (str, dict)) else list(by)
    options: dict[str, Any] = {"by": keys, "command": command, "n_resamples": n_resamples, "seed": seed}
    runs = [each for each in evaluations if isinstance(each, RunEvaluation)]
    if runs:
        if len(runs) < len(evaluations):
            raise ParameterError("detections and search runs cannot be in one report", "write a report for each")
        evaluation, called = together(runs, names)
        made = _made(OF_SEARCH, Searched(evaluation, called, **options))
    else:
        models = [each for each in evaluations if isinstance(each, Evaluation)]
        called = names_beside(models, names)
        pictures = Pictures(images, target.parent, embed=embed)
        made = _made(SECTIONS, Compared(agree(models, called), called, pictures=pictures, max_images=max_images, **options))
    return write_page(target, page(title or " and ".join(called), [*made, *sections]))


def _made(makers: Sequence[Callable[[Any], Section | None]], about: Compared | Searched) -> list[Section]:
    """The sections that have something to say."""
    return [section for make in makers if (section := _with_warnings(make, about)) is not None]


def _with_warnings(make: Callable[[Any], Section | None], about: Compared | Searched) -> Section | None:
    """A section, with what was warned of while it was made among its notes: the readers of the page need it, not a terminal."""
    with collecting() as found:
        section = make(about)
    said = [f"{message[0].upper()}{message[1:]}." for _, message in dict.fromkeys(found)]
    return section and replace(section, notes=[*section.notes, *said])
