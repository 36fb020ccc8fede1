"""`apframe check`: errors and suspicious values in a data set and its results."""

from __future__ import annotations

from pathlib import Path

import click

import apframe as apf
from apframe.cli.command_options import Command, argument, output
from apframe.cli.file_options import FilesToRead, reading_options
from apframe.cli.messages import as_flag
from apframe.cli.output import print_lines, progress, stdout
from apframe.show.text_tables import written_out
from apframe.wording import option_style


@click.command("check", cls=Command)
@argument("truth", "DATASET", help="ground truth, in any format, or relevance judgements")
@argument("results", "[RESULTS]", required=False, help="detections, or a search run")
@reading_options
@output("--json", "as_json", help="print a list of JSON objects")
def check_files(truth: Path, results: Path | None, *, files: FilesToRead, as_json: bool) -> None:
    """Find errors and suspicious values in a data set and its results, or in relevance judgements and a search run.

    Exit status: 0 without errors and warnings, 1 with errors (evaluation rejects the data), 3 with warnings.
    """
    from apframe.checks.check import worst  # for this alone
    from apframe.checks.findings import Findings

    with option_style(_as_flag), progress() as say:
        say("checking")
        findings = apf.check(truth, results, **files.reading())
    if as_json:
        stdout().write_json(findings.write_json())
    else:
        print_lines(str(Findings(written_out(findings))).split("\n"))
    raise click.exceptions.Exit({"error": 1, "warning": 3}.get(worst(findings) or "", 0))


def _as_flag(option: str, value: str | None = None) -> str:
    """Return an option as a flag, preceded by the verb that has it if `check` does not."""
    of_rank = dict.fromkeys(("missing", "no_relevant", "relevance_level"), "apframe rank ")
    return f"{({'unknown_images': 'apframe eval '} | of_rank).get(option, '')}{as_flag(option, value)}"
