"""`apframe report`: one page about one model or several."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Any

import click

import apframe as apf
from apframe.cli.declared import Argument, Option
from apframe.cli.files import Files
from apframe.cli.models import are_stored, read_models
from apframe.cli.options import GIVEN, Where, words
from apframe.cli.output import is_plain, print_lines, progress, terminal_width
from apframe.exceptions import ParameterError
from apframe.paths import names_of
from apframe.store.parquet import RETRIEVAL, read_manifest
from apframe.wording import counted

_MOST_IMAGES = 300


def report_models(
    context: click.Context,
    paths: Annotated[
        list[Path],
        Argument(metavar="GT A [B...]", help="ground truth and results, or folders that `apframe eval --out` wrote: A [B...]"),
    ],
    *,
    out: Annotated[
        Path | None,
        Option(
            metavar="FILE",
            help="where the page is written; an earlier report is replaced (default: print the first answers)",
        ),
    ] = None,
    images: Annotated[Path | None, Option(metavar="DIR", help="the folder of the pictures, which the page links")] = None,
    embed: Annotated[bool, Option("--embed", help="put thumbnails into the page instead of links")] = False,
    max_images: Annotated[int, Option(metavar="300", help="how many errors are shown as pictures; 0 for none")] = _MOST_IMAGES,
    tables: Annotated[bool, Option("--tables", help="write the tables as Parquet too, into a folder beside the page")] = False,
    by: Annotated[list[str] | None, Option(metavar="weather,camera", help="a table of slices by each of these columns")] = None,
    title: Annotated[
        str | None, Option(metavar="TEXT", help="the heading of the page (default: the names of the models)")
    ] = None,
    files: Files,
    where: Where = None,
    n_resamples: Annotated[int, Option(metavar="1000", help="how many resamples, for numbers without a derivative")] = 1_000,
    seed: Annotated[int, Option(metavar="0", help="start of the random draws: the same seed gives the same page")] = 0,
) -> None:
    """Write one HTML page about one model, two or more: which is better, where, which errors, and the errors as pictures.

    Without --out, the first answers are printed: whether a model is better, where, and what kinds of errors it makes.

    The page needs no network and no server: mail it, archive it, compare it with an earlier one. The same input gives the same
    bytes.
    """
    is_stored = are_stored(paths, context, least=1)
    page: dict[str, Any] = {"images": images, "embed": embed, "max_images": max_images, "title": title, "tables": tables}
    chosen = page | {"max_images": max_images != _MOST_IMAGES}
    if out is None and (given := [name for name, value in chosen.items() if value]):
        raise ParameterError(f"--{given[0].replace('_', '-')} is about the page", "say where it is written, with --out")
    if embed and images is None:
        raise ParameterError("--embed needs --images, the folder of the pictures")
    of_search = is_stored and all(read_manifest(path)["kind"] == RETRIEVAL for path in paths)
    of_detections = [option for option, value in (("--where", where), ("--images", images)) if value is not None]
    if of_search and of_detections:
        are, them = ("is", "it") if len(of_detections) == 1 else ("are", "them")
        raise ParameterError(
            f"{' and '.join(of_detections)} {are} about detections, not about search runs", f"leave {them} out"
        )
    if out is not None:
        from apframe.report.arguments import check_page
        from apframe.report.page import free_path
        from apframe.report.parquet_tables import folder_beside

        check_page(embed, images, max_images, title, (), tables)  # before anything is read
        target = free_path(out)
        beside = folder_beside(target) if tables else None
    rules = None if is_stored else files.rules()
    with progress() as say:
        names, evaluations = None, list[apf.Evaluation | apf.RunEvaluation]()
        if of_search:
            runs = [apf.read_run_evaluation(path) for path in paths]
            names = [name or folder for each, folder in zip(runs, names_of(paths), strict=True) for name in each.runs]
            evaluations += runs
        else:
            evaluations += read_models(paths, files, rules, where, say)
        options: dict[str, Any] = {"names": names, "by": words(by), "n_resamples": n_resamples, "seed": seed}
        if out is None:
            from apframe.report.text import report_lines  # brings in all sections

            say("comparing")
            lines = report_lines(evaluations, width=terminal_width(), plain=is_plain(), **options)
        else:
            say(f"writing {out}")
            command = shlex.join([*context.command_path.split(), *context.meta[GIVEN]])
            written = apf.write_report(out, *evaluations, **page, command=command, **options)
            lines = [f"{out}: {_size(written.stat().st_size)}; open it in a browser"]
            if beside is not None:
                folder = beside if out.is_symlink() else out.with_name(beside.name)
                lines.append(f"{folder}: {counted(len([*folder.glob('*.parquet')]), 'table')} as Parquet")
    print_lines(lines)


def _size(n_bytes: int) -> str:
    """The size of a file.

    >>> _size(1_324_000), _size(45_400)
    ('1.3 MB', '45 kB')
    """
    return f"{n_bytes / 1e6:.1f} MB" if n_bytes >= 1e6 else f"{n_bytes / 1e3:.0f} kB"
