"""`write_report`: write a page about one or more evaluations."""

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
from apframe.report.searched import Searched, merge_runs
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
"""The sections about detections by key, in the order of the page. A section with nothing to say is None."""
OF_SEVERAL = {COMPARISON: leaderboard.best, "slices": leaderboard.where, "error_types": leaderboard.error_types}
"""The sections that replace others for three or more models."""
OF_HISTORY = {COMPARISON: history.section, "error_types": history.error_types}
"""The sections that replace others on the page of a history."""
OF_PRECISION = ("error_types", "confusion", "threshold", "calibration", "images", "gallery", "labels")
"""The sections that are left out if the protocol has no precision, except a confusion that is counted; see `left_out`."""
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
"""The keys of the sections for a terminal."""


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
    """Write an HTML file about one or more evaluations: their numbers, their differences, and the errors behind them.

    The file needs no network, no server and no other file, except linked pictures. The same input gives the same bytes.

    Parameters
    ----------
    path
        the file to write; an earlier report is replaced, other files are not
    evaluations
        evaluations on the same ground truth by the same rules, or of search runs on the same judgements; the others are
        compared with the first one
    names
        their names; by default their own
    by
        keys of slices, each with its own table; a list of keys stands for the combinations of their values
    over
        a tag, such as the epoch or the date, for a page about a history: the best evaluation, its comparison with the last
        one, and the development of all. It is the name of a tag that all were stored with, or the name with a value for each:
        {"epoch": [1, 2, 3]}. Numbers and dates such as "2026-11-02" are sorted, other texts stay in their order
    images
        the folder of the pictures
    embed
        embed thumbnails in the page, which requires `pip install pillow`; otherwise pictures are linked
    max_images
        maximum number of errors shown as cards, with at most a fifth as many possible label errors; 0 for no cards
    title
        the heading of the page; by default the names
    n_resamples
        number of resamples for intervals of metrics without a derivative; see `Evaluation.intervals`
    seed
        random seed: the same seed gives the same page
    sections
        your own sections, which follow the others
    tables
        also write the tables of the page as Parquet files, including rows that the page cuts, into the folder
        `report_tables` next to `report.html`
    command
        the command that writes the page again, to be shown on it

    Returns
    -------
    The path of the file.

    Raises
    ------
    OutputError
        the path, or the folder of tables, has files that apframe did not write, or cannot be written
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
    split_evaluations(evaluations)  # raise errors before the work
    check_page(embed, images, max_images, title, sections, tables)
    target = free_path(path)
    of_models = of_page(target, images, embed=embed) | {"max_images": max_images, "n_resamples": n_resamples}
    subject = about(evaluations, names, by, over, of_models, command=command, seed=seed)
    return write_about(subject, target, title, sections, tables=tables)


def of_page(target: Path, images: str | Path | None, *, embed: bool) -> dict[str, Any]:
    """Return the options of a page about models that lines for a terminal do not need, see `Compared`."""
    return {"pictures": Pictures(images, target.parent, embed=embed), "folder": f"{target.stem}_tables"}


def write_about(
    subject: Compared | Searched,
    target: Path,
    title: str | None = None,
    sections: Sequence[Section] = (),
    *,
    tables: bool = False,
) -> Path:
    """Write the page about a subject to a free path, and return the path; see `write_report` for options and errors."""
    tables_folder = folder_beside(target) if tables else None
    # before the first screen, so that each warning is in its own section
    all_sections = [*sections_of(subject), *sections]
    pictures = subject.pictures.held if isinstance(subject, Compared) else {}
    text = page(title or title_of(subject), all_sections, pictures, first_screen(subject), _slider(subject))
    if tables_folder is not None:
        write_parquet_tables(tables_folder, all_sections, subject.files() if isinstance(subject, Compared) else {})
    return write_page(target, text)


def title_of(subject: Compared | Searched) -> str:
    """Return the heading of a page: the names, or the range of the history."""
    return subject.history.title if subject.history else in_words(subject.names)


def about(
    evaluations: Sequence[Evaluation | RunEvaluation],
    names: Sequence[str] | None = None,
    by: Sequence[Any] = (),
    over: Any = None,
    of_models: Mapping[str, Any] | None = None,
    **options: Any,
) -> Compared | Searched:
    """Return the subject of a report, after checking that the evaluations agree.

    `of_models` are options of pictures and resamples, which search runs do not have. See `write_report` for the others and the
    errors.
    """
    models, runs = split_evaluations(evaluations)
    if runs:
        searched = Searched(*merge_runs(runs, names), by=columns_of_queries(by), **options)
        return searched if over is None else of_runs(over, searched, [each.tags for each in runs for _ in each.runs])
    names_of_models = names_beside(models, names)
    compared = Compared(
        agree(models, names_of_models, has_option=False), names_of_models, by=keys_of_slices(by), **(of_models or {}), **options
    )
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
    """Return the sections with something to say, in the order of the page: all, or those with some keys."""
    makers: Mapping[str, Callable[[Any], Section | None]] = OF_SEARCH
    if subject.history:
        makers = {**OF_SEARCH, COMPARISON: history.section}
    if isinstance(subject, Compared):
        makers = {**SECTIONS, **(OF_SEVERAL if subject.are_several else {}), **(OF_HISTORY if subject.history else {})}
        if not subject.has_precision:
            left_out = [key for key in OF_PRECISION if key != "confusion" or not counts_mistakes(subject.first.protocol)]
            makers = {key: make for key, make in makers.items() if key not in left_out}
    makers_of_keys = [make for key, make in makers.items() if keys is None or key in keys]
    earlier = set(subject.doubts) if isinstance(subject, Compared) else set[str]()
    created = [section for make in makers_of_keys if (section := _with_warnings(make, subject, earlier)) is not None]
    if keys is not None and COMPARISON not in keys:
        return created
    with collecting():  # the sections have given the warnings, each where it belongs
        steps = next_steps(subject)
    first, *others = created
    return [replace(first, blocks=[*first.blocks, *steps]), *others]


def _with_warnings(make: Callable[[Any], Section | None], subject: Compared | Searched, earlier: set[str]) -> Section | None:
    """Create a section, and add the warnings of its creation to its notes, for the readers of the page.

    `earlier` are the warnings of the first screen and of earlier sections, which are not repeated.
    """
    with collecting() as caught:
        section = make(subject)
    new = [message for _, message in dict.fromkeys(caught) if message not in earlier]
    earlier.update(new)
    sentences = [f"{message if message.startswith(COARSE) else message[0].upper() + message[1:]}." for message in new]
    return section and replace(section, notes=[*section.notes, *sentences])
