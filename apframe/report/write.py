"""`write_report`: one page about one evaluation, two or more."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from apframe.collecting import collecting
from apframe.compare.evaluation_names import names_beside
from apframe.compare.inference import COARSE
from apframe.evaluation.comparison.comparable import agree
from apframe.evaluation.evaluation import Evaluation
from apframe.evaluation.gallery.pictures import Pictures
from apframe.protocols.refused import counts_mistakes
from apframe.report.arguments import check_page, columns_of_queries, keys_of_slices, split_evaluations
from apframe.report.checkpoints import of_evaluations, of_runs
from apframe.report.compared import Compared, in_words
from apframe.report.first_screen import FirstScreen
from apframe.report.page import free_path, page, slider_markup, write_page
from apframe.report.parquet_tables import folder_beside, write_parquet_tables
from apframe.report.searched import Searched, together
from apframe.report.section import Section
from apframe.report.sections import (
    by_slice,
    card_gallery,
    confusion_matrix,
    error_types,
    history,
    how_computed,
    image_table,
    label_candidates,
    leaderboard,
    models_compared,
    overview,
    queries,
    score_calibration,
    score_threshold,
    search,
)
from apframe.report.sections.models_compared import KEY as COMPARISON
from apframe.report.sections.next_steps import next_steps
from apframe.retrieval.evaluation import RunEvaluation
from apframe.show.elements import Markup

if TYPE_CHECKING:
    from apframe.evaluation.slices.keys import SliceKey

SECTIONS: Mapping[str, Callable[[Compared], Section | None]] = {
    COMPARISON: models_compared.section,
    "slices": by_slice.section,
    "error_types": error_types.section,
    "confusion": confusion_matrix.section,
    "threshold": score_threshold.section,
    "calibration": score_calibration.section,
    "images": image_table.section,
    "gallery": card_gallery.section,
    "labels": label_candidates.section,
    "computed": how_computed.section,
}
"""The sections about detections by their keys, in the order of the page. One that has nothing to say is None."""
OF_SEVERAL = {COMPARISON: leaderboard.best, "slices": leaderboard.where, "error_types": leaderboard.error_types}
"""Those that take the place of others if there are three models or more."""
OF_HISTORY = {COMPARISON: history.section, "error_types": history.error_types}
"""Those that take the place of others on the page of a history."""
OF_PRECISION = ("error_types", "confusion", "threshold", "calibration", "images", "gallery", "labels")
"""Those that are left out where the protocol has no precision, but for a confusion that is counted: `left_out` says so."""
OF_SEARCH: Mapping[str, Callable[[Searched], Section | None]] = {
    COMPARISON: search.better,
    "slices": search.where,
    "changed": queries.changed,
    "queries": queries.each,
    "coverage": queries.coverage,
    "computed": search.rules,
}
"""The sections about search runs."""
IN_TEXT = (COMPARISON, "slices", "error_types", "changed")
"""The keys of those that a terminal shows."""


def write_report(
    path: str | Path,
    *evaluations: Evaluation | RunEvaluation,
    names: Sequence[str] | None = None,
    by: Sequence[SliceKey | Sequence[SliceKey]] = (),
    over: str | Mapping[str, Sequence[Any]] | None = None,
    images: str | Path | None = None,
    embed: bool = False,
    max_images: int = 300,
    title: str | None = None,
    n_resamples: int = 1_000,
    seed: int = 0,
    sections: Sequence[Section] = (),
    tables: bool = False,
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
    over
        a tag, such as the epoch or the date, for a page about a history: the best of the evaluations, whether it is really
        better than the last one, and how all of them developed. It is the name of a tag that all were stored with, or the name
        with a value for each: {"epoch": [1, 2, 3]}. Numbers and dates such as "2026-11-02" are put in order, other texts stay
        in the order of the evaluations
    images
        the folder of the pictures
    embed
        put thumbnails into the page, which needs `pip install pillow`; otherwise pictures are linked
    max_images
        how many errors are shown as cards, and at most a fifth as many candidates of wrong labels; 0 leaves all cards out
    title
        the heading of the page; by default the names
    n_resamples
        how many resamples, for intervals of numbers without a derivative; see `Evaluation.intervals`
    seed
        of what is random: the same seed gives the same page
    sections
        sections of your own, which follow the others
    tables
        write the tables of the page as Parquet files too, including rows that the page cuts: into the folder `report_tables`
        beside `report.html`
    command
        what makes the page again, to be shown on it

    Returns
    -------
    The path of the file.

    Raises
    ------
    OutputError
        there is a file that apframe did not write, or the path cannot be written; the same goes for the folder of tables
    NotComparableError
        another ground truth, other images or other rules
    ParameterError
        no evaluation, or an option with an invalid value; `over` is not a tag of each evaluation, or two have the same value

    >>> import tempfile
    >>> from apframe.evaluation.evaluate import evaluate
    >>> box = {"category_id": 1, "bbox": [0, 0, 9, 9]}
    >>> truth = {"images": [{"id": n} for n in range(40)], "categories": [{"id": 1, "name": "cat"}],
    ...          "annotations": [{"id": n, "image_id": n} | box for n in range(40)]}
    >>> ev = evaluate(truth, [{"image_id": n, "score": 0.5} | box for n in range(30)])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     written = write_report(Path(folder) / "report.html", ev)
    ...     "How good is a?" in written.read_text()
    True
    """
    split_evaluations(evaluations)  # before the work, not after it
    check_page(embed, images, max_images, title, sections, tables)
    target = free_path(path)
    of_models = of_page(target, images, embed=embed) | {"max_images": max_images, "n_resamples": n_resamples}
    subject = about(evaluations, names, by, over, of_models, command=command, seed=seed)
    return write_about(subject, target, title, sections, tables=tables)


def of_page(target: Path, images: str | Path | None, *, embed: bool) -> dict[str, Any]:
    """Return what a page about models has that lines for a terminal have not, see `Compared`."""
    return {"pictures": Pictures(images, target.parent, embed=embed), "folder": f"{target.stem}_tables"}


def write_about(
    subject: Compared | Searched,
    target: Path,
    title: str | None = None,
    sections: Sequence[Section] = (),
    *,
    tables: bool = False,
) -> Path:
    """Write the page about a subject to a path that is free, and return it. Options and errors are those of `write_report`."""
    beside = folder_beside(target) if tables else None
    # before the first screen, so that each warning is in the section that it is about
    made = [*sections_of(subject), *sections]
    pictures = subject.pictures.held if isinstance(subject, Compared) else {}
    text = page(title or title_of(subject), made, pictures, first_screen(subject), _slider(subject))
    if beside is not None:
        write_parquet_tables(beside, made, subject.files() if isinstance(subject, Compared) else {})
    return write_page(target, text)


def title_of(subject: Compared | Searched) -> str:
    """Return the heading of a page: the names, or what the history is over."""
    return subject.history.title if subject.history else in_words(subject.names)


def about(
    evaluations: Sequence[Evaluation | RunEvaluation],
    names: Sequence[str] | None = None,
    by: Sequence[Any] = (),
    over: Any = None,
    of_models: Mapping[str, Any] | None = None,
    **options: Any,
) -> Compared | Searched:
    """Return what a report is about, once the evaluations agree.

    `of_models` are options of pictures and resamples, which search runs have not. Errors and the others are those of
    `write_report`.
    """
    models, runs = split_evaluations(evaluations)
    if runs:
        searched = Searched(*together(runs, names), by=columns_of_queries(by), **options)
        return searched if over is None else of_runs(over, searched, [each.tags for each in runs for _ in each.runs])
    called = names_beside(models, names)
    compared = Compared(agree(models, called, has_option=False), called, by=keys_of_slices(by), **(of_models or {}), **options)
    return compared if over is None else of_evaluations(over, compared)


def _slider(subject: Compared | Searched) -> Markup | None:
    """Return the slider of the score threshold; None if there is nothing to move."""
    if not isinstance(subject, Compared) or not subject.has_precision or subject.point is None:
        return None
    return slider_markup(subject.point, subject.names)


def first_screen(subject: Compared | Searched) -> FirstScreen:
    """Return what a page says first."""
    return overview.of_models(subject) if isinstance(subject, Compared) else overview.of_runs(subject)


def sections_of(subject: Compared | Searched, keys: Collection[str] | None = None) -> list[Section]:
    """Return the sections that have something to say, in the order of the page: all, or those of some keys."""
    makers: Mapping[str, Callable[[Any], Section | None]] = OF_SEARCH
    if subject.history:
        makers = {**OF_SEARCH, COMPARISON: history.section}
    if isinstance(subject, Compared):
        makers = {**SECTIONS, **(OF_SEVERAL if subject.are_several else {}), **(OF_HISTORY if subject.history else {})}
        if not subject.has_precision:
            left_out = [key for key in OF_PRECISION if key != "confusion" or not counts_mistakes(subject.first.protocol)]
            makers = {key: make for key, make in makers.items() if key not in left_out}
    chosen = [make for key, make in makers.items() if keys is None or key in keys]
    told = set(subject.doubts) if isinstance(subject, Compared) else set[str]()
    made = [section for make in chosen if (section := _with_warnings(make, subject, told)) is not None]
    if keys is not None and COMPARISON not in keys:
        return made
    with collecting():  # the sections have said it, each where it belongs
        steps = next_steps(subject)
    first, *others = made
    return [replace(first, blocks=[*first.blocks, *steps]), *others]


def _with_warnings(make: Callable[[Any], Section | None], subject: Compared | Searched, told: set[str]) -> Section | None:
    """A section, with what was warned of while it was made among its notes: the readers of the page need it, not a terminal.

    `told` are the warnings of the first screen and of earlier sections, which are not repeated.
    """
    with collecting() as found:
        section = make(subject)
    new = [message for _, message in dict.fromkeys(found) if message not in told]
    told.update(new)
    said = [f"{message if message.startswith(COARSE) else message[0].upper() + message[1:]}." for message in new]
    return section and replace(section, notes=[*section.notes, *said])
