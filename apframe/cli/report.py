"""`apframe report`: one page about one model or several."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path, PurePath
from typing import Any

import click

import apframe as apf
from apframe.cli.command_options import GIVEN, Command, argument, given_options, option, output, where_option, words
from apframe.cli.file_options import Files, evaluation_options
from apframe.cli.messages import say as tell
from apframe.cli.models import are_stored, read_models
from apframe.cli.output import is_plain, print_lines, progress, terminal_width
from apframe.cli.searches import Searches, search_options
from apframe.exceptions import FormatError, ParameterError
from apframe.formats.writing import refuse_existing
from apframe.paths import is_pattern, kind_at, names_of, reading_once
from apframe.retrieval.run_inputs import is_for_search
from apframe.store.parquet import RETRIEVAL, read_manifest
from apframe.wording import counted, nearest

_MOST_IMAGES = 300
# options that pages about search runs do not have
_OF_DETECTIONS = ("where", "images", "embed", "max_images", "relabel", "n_resamples")


@click.command("report", cls=Command)
@argument(
    "paths", "GT A [B...]", nargs=-1, required=True,
    help="ground truth and results, or judgements and search runs; or folders that `apframe eval --out` or "
    "`apframe rank --out` wrote: A [B...]",
)  # fmt: skip
@output(
    "--out", metavar="FILE",
    help="where the page is written; an earlier report is replaced (default: print the answer and its tables)",
)  # fmt: skip
@output("--images", metavar="DIR", help="the folder of the pictures, which the page links")
@output("--embed", help="put thumbnails into the page instead of links")
@output("--max-images", type=int, metavar="300", default=_MOST_IMAGES, help="how many errors are shown as pictures; 0 for none")
@output("--tables", help="write the tables as Parquet too, into a folder beside the page, where its SQL queries find them")
@output(
    "--relabel", metavar="DIR",
    help="write the images with doubtful labels into this new folder, for labelling tools: COCO JSON, CVAT and Label Studio",
)  # fmt: skip
@option(
    "--by", multiple=True, metavar="weather,camera",
    help="a table of slices by each of these columns, of images or of --queries",
)  # fmt: skip
@option(
    "--over", metavar="epoch",
    help="the runs are a history over this tag: which is best, is it better than the last, how did it develop",
)  # fmt: skip
@output("--title", metavar="TEXT", help="the heading of the page (default: the names of the models)")
@output("--markdown", "in_markdown", help="print the answer and what to do next in Markdown, for pull requests")
@evaluation_options
@search_options()
@where_option
@option(
    "--n-resamples", metavar="1000", default=1_000, advanced=True, help="how many resamples, for numbers without a derivative"
)
@option("--seed", metavar="0", default=0, advanced=True, help="start of the random draws: the same seed gives the same page")
@click.pass_context
def report_models(
    context: click.Context, paths: Sequence[Path], *, out: Path | None, images: Path | None, embed: bool, max_images: int,
    tables: bool, relabel: Path | None, by: Sequence[str], over: str | None, title: str | None, in_markdown: bool,
    files: Files, searches: Searches, where: str | None, n_resamples: int, seed: int,
) -> None:  # fmt: skip
    """Write one HTML page about one model, two or more: which is better, where, which errors, and the errors as pictures.

    For search runs, the page shows the measures, and the queries that each run wins and loses: apframe report QRELS RUN
    [RUN...].

    Without --out, the answer is printed in a sentence, and the tables behind it: whether a model is better, where, and which
    types of errors it makes. --markdown prints the first screen of the page instead, and what to do next.

    The page needs no network and no server: mail it, archive it, compare it with an earlier one. The same input gives the same
    bytes.
    """
    kind = kind_at(paths[0])
    if kind == "pipe":  # which is looked at before it is read
        context.with_resource(reading_once(paths[0]))
    if kind is None and not is_pattern(paths[0]):  # before anything is said about the others
        from apframe.formats.unrecognised import names_beside  # for this alone

        raise FormatError("there is no such file or folder", nearest(paths[0].name, names_beside(paths[0])), path=paths[0])
    are_judged = is_for_search(paths[0])
    if are_judged and len(paths) == 1:
        context.fail("Missing argument: the search runs to evaluate.")
    is_stored = not are_judged and are_stored(paths, context, least=1)
    if over is not None and not is_stored:
        raise ParameterError("--over needs stored evaluations, which have tags", "store each with --out DIR --tag epoch=3")
    of_search = are_judged or (is_stored and all(read_manifest(path)["kind"] == RETRIEVAL for path in paths))
    _refuse_others(context, paths[0], of_search=of_search, is_stored=is_stored)
    page: dict[str, Any] = {"images": images, "embed": embed, "max_images": max_images, "title": title, "tables": tables}
    chosen = page | {"max_images": max_images != _MOST_IMAGES, "title": title if not in_markdown else None}
    if out is None and (given := [name for name, value in chosen.items() if value]):
        raise ParameterError(f"--{given[0].replace('_', '-')} is about the page", "say where it is written, with --out")
    if embed and images is None:
        raise ParameterError("--embed needs --images, the folder of the pictures")
    if images is not None and kind_at(images) != "folder":
        raise ParameterError("--images is no folder", "name the folder of the pictures", path=images)
    if out is not None:
        from apframe.report.arguments import check_page
        from apframe.report.page import free_path
        from apframe.report.parquet_tables import folder_beside

        check_page(embed, images, max_images, title, (), tables)  # before anything is read
        target = free_path(out)
        beside = folder_beside(target) if tables else None
    arguments = searches.arguments(by) if are_judged else {}
    rules = None if is_stored else files.rules()
    if relabel is not None:
        from apframe.report.relabel import refuse_label_tasks

        refuse_existing(relabel, "folder")
        if rules is not None:
            refuse_label_tasks(rules)
    with progress() as say:
        names, evaluations = None, list[apf.Evaluation | apf.RunEvaluation]()
        if are_judged:
            say("reading and ranking")
            evaluations.append(apf.evaluate_run(paths[0], paths[1:], **arguments))
        elif of_search:
            runs = [apf.read_run_evaluation(path) for path in paths]
            names = [name or folder for each, folder in zip(runs, names_of(paths), strict=True) for name in each.runs]
            evaluations += runs
        else:
            models = read_models(paths, files, rules, where, say)
            if relabel is not None:
                refuse_label_tasks(models[0].protocol, models)
            evaluations += models
        from apframe.report.compared import Compared
        from apframe.report.relabel import write_label_tasks
        from apframe.report.text import lines_about, markdown_about  # bring in all sections
        from apframe.report.write import about, of_page, write_about

        say("comparing" if out is None else f"writing {out}")
        of_models: dict[str, Any] = {"n_resamples": n_resamples, "max_images": 0 if out is None else max_images}
        command, lines = "", list[str]()
        if out is not None:
            of_models |= of_page(target, images, embed=embed)
            given = _from_page(context.meta[GIVEN], [*paths, out, *([images] if images else [])], target.parent)
            command = shlex.join([*context.command_path.split(), *given])
        subject = about(evaluations, names, words(by), over, of_models, command=command, seed=seed)
        if out is not None:
            written = write_about(subject, target, title, tables=tables)
            lines = [f"{out}: {_size(written.stat().st_size)}; open it in a browser"]
            if beside is not None:
                folder = beside if out.is_symlink() else out.with_name(beside.name)
                lines.append(f"{folder}: {counted(len([*folder.glob('*.parquet')]), 'table')} as Parquet")
        elif not in_markdown:
            lines = lines_about(subject, width=terminal_width(), plain=is_plain())
        if relabel is not None and isinstance(subject, Compared):
            lines.append(write_label_tasks(relabel, subject))
    if not in_markdown:
        print_lines(lines)
        return
    print(markdown_about(subject, title))
    for line in lines:
        tell("note", line)


def _from_page(given: Sequence[str], paths: Sequence[Path], folder: Path) -> list[str]:
    """The words of a command with its paths as they are seen from the folder of the page, where it can be moved to.

    Without --relabel, which replaces nothing and has no part in the page.

    >>> paths = [Path("/data/a.json"), Path("/data/out/r.html")]
    >>> _from_page(["/data/a.json", "--out=/data/out/r.html", "--relabel", "new", "--by", "a"], paths, Path("/data/out"))
    ['../a.json', '--out=r.html', '--by', 'a']
    """
    texts = {str(path) for path in paths}
    words = []
    for before, word in zip(["", *given], given, strict=False):
        if "--relabel" in (before, word.partition("=")[0]):
            continue
        option, equals, value = word.rpartition("=") if word.startswith("--") else ("", "", word)
        seen = os.path.relpath(Path(value).absolute(), folder) if str(Path(value)) in texts else value
        words.append(f"{option}{equals}{PurePath(seen).as_posix() if seen != value else value}")
    return words


def _refuse_others(context: click.Context, path: Path, *, of_search: bool, is_stored: bool) -> None:
    """An error if an option was given that is about the other kind of data, or about files where there are stored runs."""
    of_files = [each.name for each in fields(Searches)]
    of_detections = [*_OF_DETECTIONS, *(each.name for each in fields(Files))]
    if given := given_options(context, of_detections if of_search else of_files):
        are, them = ("is", "it") if len(given) == 1 else ("are", "them")
        about = "detections, not about search runs" if of_search else f"search runs, and {path} is not a judgements file"
        raise ParameterError(f"{' and '.join(given)} {are} about {about}", f"leave {them} out")
    if is_stored and (given := given_options(context, of_files)):
        raise ParameterError(f"{given[0]} applies when runs are evaluated", "pass it to `apframe rank` when storing them")


def _size(n_bytes: int) -> str:
    """The size of a file.

    >>> _size(1_324_000), _size(45_400)
    ('1.3 MB', '45 kB')
    """
    return f"{n_bytes / 1e6:.1f} MB" if n_bytes >= 1e6 else f"{n_bytes / 1e3:.0f} kB"
