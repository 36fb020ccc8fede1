"""The `apframe` command: each verb is one call of the library."""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout, suppress
from io import StringIO
from typing import Annotated, Any, NoReturn

import typer

from apframe.cli.catalogues import list_formats, list_protocols
from apframe.cli.check import check_files
from apframe.cli.compare import compare_models
from apframe.cli.confusion import show_confusion
from apframe.cli.convert import convert_files
from apframe.cli.errors import show_errors
from apframe.cli.evaluate import evaluate_files
from apframe.cli.help_pages import SHORT_HELP, Overview
from apframe.cli.messages import as_flag, say
from apframe.cli.options import Command
from apframe.cli.output import JSON_VERSION
from apframe.cli.rank import evaluate_rankings
from apframe.cli.stats import count_files
from apframe.cli.stored import query_evaluation, upgrade_evaluations
from apframe.exceptions import ApframeError, ApframeWarning, OutputError, ParameterError, QueryError, spelling
from apframe.interruption import unfinished
from apframe.show.terminal import ReaderGoneError, Terminal
from apframe.store.parquet import SCHEMA_VERSION

app = typer.Typer(
    cls=Overview, add_completion=False, rich_markup_mode=None,
    pretty_exceptions_enable=False, context_settings={"help_option_names": ["-h", "--help"]},
)  # fmt: skip


@app.callback(invoke_without_command=True)
def about(
    context: typer.Context,
    show_version: Annotated[bool, typer.Option("--version", help="print the version and exit")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="with --version: also versions of JSON output and sets")] = False,
) -> None:
    """Average precision for object detection, search and any other ranked list, with every step as a table.

    `apframe COMMAND --help` explains a command. Exit status: 0 if all went well, 1 for bad data, 2 for bad usage, 3 if `check`
    has warnings but no errors, 4 if `compare` finds a model worse that must not be.
    """
    if as_json and not show_version:
        raise ParameterError("--json without a command needs --version", "put the --json of a command after its name")
    if show_version:
        from importlib.metadata import version

        versions = {"apframe": version("apframe"), "json_version": JSON_VERSION, "schema_version": SCHEMA_VERSION}
        print(json.dumps(versions) if as_json else f"apframe {versions['apframe']}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        print(context.get_help(), file=sys.stderr)
        raise typer.Exit(2)


_VERBS: dict[str, Callable[..., None]] = {
    "eval": evaluate_files, "compare": compare_models, "errors": show_errors, "confusion": show_confusion,
    "rank": evaluate_rankings, "check": check_files, "stats": count_files,
    "convert": convert_files, "sql": query_evaluation, "upgrade": upgrade_evaluations, "formats": list_formats,
    "protocols": list_protocols,
}  # fmt: skip
for _name, _verb in _VERBS.items():
    app.command(_name, cls=Command, short_help=SHORT_HELP[_name])(_verb)


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command with these arguments, by default the process's own; errors are one line on stderr.

    It ends with SystemExit: 0, 1 for bad data or a place that cannot be written, 2 for bad usage, 130 after Ctrl-C; see `check`
    for 3 and `compare` for 4. When the reader of its output goes away, as `| head` does, that is no error.
    """
    said: set[str] = set()

    def show_warning(message: Warning | str, *_: Any) -> None:
        if str(message) not in said:  # what is true of the ground truth may come up once for each model
            said.add(str(message))
            say("warning", str(message))

    warnings.showwarning = show_warning  # type: ignore[assignment]
    warnings.simplefilter("always", ApframeWarning)
    out, err = (Terminal(stream or StringIO(), name) for stream, name in ((sys.stdout, "stdout"), (sys.stderr, "stderr")))
    with redirect_stdout(out), redirect_stderr(err), spelling(as_flag):
        code = _run(arguments)
    if code == 130 and unfinished():
        with suppress(OutputError, ReaderGoneError):
            out.flush()
        os._exit(code)  # else Python would wait for what was interrupted
    sys.exit(code)


_TyperError: Any = typer.BadParameter.__base__.__base__  # type: ignore[union-attr]  # from another module in each version


def _run(arguments: Sequence[str] | None) -> int:
    try:
        code = app(None if arguments is None else list(arguments), prog_name="apframe", standalone_mode=False)
        sys.stdout.flush()
    except ReaderGoneError:
        return 0
    except (KeyboardInterrupt, typer.Abort):
        return 130
    except _TyperError as error:
        verb = error.ctx.command_path if getattr(error, "ctx", None) else "apframe"
        return _fail(f"{' '.join(error.format_message().split()).rstrip('.')} (see `{verb} --help`)", 2)
    except (QueryError, ParameterError) as error:
        return _fail(str(error), 2)
    except ApframeError as error:
        return _fail(str(error), 1)
    except UnicodeEncodeError as error:
        return _fail(f"{error.object}: cannot be written as {error.encoding} ({error.reason}); rename it", 1)
    except OSError as error:
        return _fail(": ".join(str(part) for part in (error.filename, error.strerror or error) if part), 1)
    return code or 0


def _fail(message: str, code: int) -> int:
    say("error", message)
    return code
