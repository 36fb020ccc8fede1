"""`apframe report`: an HTML page about one or more models."""

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
# options that do not apply to pages about search runs
_OF_DETECTIONS = ("where", "images", "embed", "max_images", "relabel", "n_resamples")


@click.command("report", cls=Command)
@argument(
    "paths", "GT A [B...]", nargs=-1, required=True,
    help="ground truth and results, judgements and search runs, or folders written by `apframe eval --out` or "
    "`apframe rank --out`: A [B...]",
)  # fmt: skip
@output(
    "--out", metavar="FILE",
    help="the file to write; an earlier report is replaced (default: print the answer and its tables)",
)  # fmt: skip
@output("--images", metavar="DIR", help="the folder of the images, which the page links to")
@output("--embed", help="embed thumbnails in the page instead of linking to images")
@output(
    "--max-images", type=int, metavar="300", default=_MOST_IMAGES, help="most errors that are shown as pictures; 0 for none"
)
@output("--tables", help="also write the tables as Parquet, into a folder next to the page, for the SQL queries on the page")
@output(
    "--relabel", metavar="DIR",
    help="write images with suspected label errors to this new folder for labelling tools: COCO JSON, CVAT, Label Studio",
)  # fmt: skip
@option(
    "--by", multiple=True, metavar="weather,camera",
    help="add a table of slices by each of these columns, of the images or of --queries",
)  # fmt: skip
@option(
    "--over", metavar="epoch",
    help="treat the runs as a history over this tag: which is best, is it better than the last, how did it develop",
)  # fmt: skip
@output("--title", metavar="TEXT", help="the heading of the page (default: the names of the models)")
@output("--markdown", "in_markdown", help="print the answer and next steps in Markdown, for pull requests")
@evaluation_options
@search_options()
@where_option
@option(
    "--n-resamples", metavar="1000", default=1_000, advanced=True, help="number of resamples for metrics without a derivative"
)
@option("--seed", metavar="0", default=0, advanced=True, help="random seed: the same seed gives the same page")
@click.pass_context
def report_models(
    context: click.Context, paths: Sequence[Path], *, out: Path | None, images: Path | None, embed: bool, max_images: int,
    tables: bool, relabel: Path | None, by: Sequence[str], over: str | None, title: str | None, in_markdown: bool,
    files: Files, searches: Searches, where: str | None, n_resamples: int, seed: int,
) -> None:  # fmt: skip
    """Write an HTML page about one or more models: which is better, where, which errors they make, with pictures of the errors.

    For search runs, the page shows the measures, and the queries that each run wins and loses: apframe report QRELS RUN
    [RUN...].

    Without --out, the answer is printed in a sentence, with the tables behind it: which model is better, where, and which types
    of errors they make. --markdown prints the first screen of the page and the next steps instead.

    The page needs no network and no server: mail it, archive it, compare it with an earlier one. The same input gives the same
    bytes.
    """
    kind = kind_at(paths[0])
    if kind == "pipe":  # its kind is recognized before it is read
        context.with_resource(reading_once(paths[0]))
    if kind is None and not is_pattern(paths[0]):  # before any error about the other paths
        from apframe.formats.unrecognised import names_beside  # for this alone

        raise FormatError("there is no such file or folder", nearest(paths[0].name, names_beside(paths[0])), path=paths[0])
    are_judged = is_for_search(paths[0])
    if are_judged and len(paths) == 1:
        context.fail("Missing argument: the search runs to evaluate.")
    is_stored = not are_judged and are_stored(paths, context, min_models=1)
    if over is not None and not is_stored:
        raise ParameterError("--over needs stored evaluations with tags", "store each with --out DIR --tag epoch=3")
    of_search = are_judged or (is_stored and all(read_manifest(path)["kind"] == RETRIEVAL for path in paths))
    _refuse_others(context, paths[0], of_search=of_search, is_stored=is_stored)
    page: dict[str, Any] = {"images": images, "embed": embed, "max_images": max_images, "title": title, "tables": tables}
    page_options = page | {"max_images": max_images != _MOST_IMAGES, "title": title if not in_markdown else None}
    if out is None and (page_names := [name for name, value in page_options.items() if value]):
        raise ParameterError(f"--{page_names[0].replace('_', '-')} needs --out, the file of the page")
    if embed and images is None:
        raise ParameterError("--embed needs --images, the folder of the images")
    if images is not None and kind_at(images) != "folder":
        raise ParameterError("--images is not a folder", "name the folder of the images", path=images)
    if out is not None:
        from apframe.report.arguments import check_page
        from apframe.report.page import free_path
        from apframe.report.parquet_tables import folder_beside

        check_page(embed, images, max_images, title, (), tables)  # before anything is read
        target = free_path(out)
        tables_folder = folder_beside(target) if tables else None
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
            command_words = _from_page(context.meta[GIVEN], [*paths, out, *([images] if images else [])], target.parent)
            command = shlex.join([*context.command_path.split(), *command_words])
        subject = about(evaluations, names, words(by), over, of_models, command=command, seed=seed)
        if out is not None:
            written = write_about(subject, target, title, tables=tables)
            lines = [f"{out}: {_size(written.stat().st_size)}; open it in a browser"]
            if tables_folder is not None:
                folder = tables_folder if out.is_symlink() else out.with_name(tables_folder.name)
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


def _from_page(command: Sequence[str], paths: Sequence[Path], folder: Path) -> list[str]:
    """Return the words of a command with its paths relative to the folder of the page, so that it can be repeated there.

    It leaves out --relabel, which replaces nothing and does not affect the page.

    >>> paths = [Path("/data/a.json"), Path("/data/out/r.html")]
    >>> _from_page(["/data/a.json", "--out=/data/out/r.html", "--relabel", "new", "--by", "a"], paths, Path("/data/out"))
    ['../a.json', '--out=r.html', '--by', 'a']
    """
    texts = {str(path) for path in paths}
    words = []
    for before, word in zip(["", *command], command, strict=False):
        if "--relabel" in (before, word.partition("=")[0]):
            continue
        option, equals, value = word.rpartition("=") if word.startswith("--") else ("", "", word)
        seen = os.path.relpath(Path(value).absolute(), folder) if str(Path(value)) in texts else value
        words.append(f"{option}{equals}{PurePath(seen).as_posix() if seen != value else value}")
    return words


def _refuse_others(context: click.Context, path: Path, *, of_search: bool, is_stored: bool) -> None:
    """Raise an error for an option that applies to the other kind of data, or to files while the runs are stored."""
    of_files = [each.name for each in fields(Searches)]
    of_detections = [*_OF_DETECTIONS, *(each.name for each in fields(Files))]
    if flags := given_options(context, of_detections if of_search else of_files):
        apply, them = ("applies", "it") if len(flags) == 1 else ("apply", "them")
        to_what = "detections, not to search runs" if of_search else f"search runs, and {path} is not a judgements file"
        raise ParameterError(f"{' and '.join(flags)} {apply} to {to_what}", f"leave {them} out")
    if is_stored and (flags := given_options(context, of_files)):
        raise ParameterError(f"{flags[0]} applies when runs are evaluated", "pass it to `apframe rank` when storing them")


def _size(n_bytes: int) -> str:
    """Return the size of a file in MB or kB.

    >>> _size(1_324_000), _size(45_400)
    ('1.3 MB', '45 kB')
    """
    return f"{n_bytes / 1e6:.1f} MB" if n_bytes >= 1e6 else f"{n_bytes / 1e3:.0f} kB"
