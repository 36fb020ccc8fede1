"""The `apframe` command: each verb is one call of the library."""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout, suppress
from importlib import import_module
from io import StringIO
from typing import Any, ClassVar, NoReturn

import click

from apframe import ctrl_c
from apframe.cli.messages import DOUBTFUL, as_flag, say
from apframe.exceptions import ApframeError, ApframeWarning, DoubtfulNumberWarning, OutputError, ParameterError, QueryError
from apframe.show.terminal import ReaderGoneError, Terminal
from apframe.wording import nearest, option_style


class Overview(click.Group):
    """The command, whose help shows the verbs by task. The module of a verb is imported when the verb is used."""

    # the command of each verb
    verbs: ClassVar = {
        "eval": "evaluate.evaluate_files", "compare": "compare.compare_models", "report": "report.report_models",
        "errors": "errors.show_errors", "confusion": "confusion.show_confusion", "rank": "rank.evaluate_rankings",
        "check": "check.check_files", "stats": "stats.count_files", "convert": "convert.convert_files",
        "shard": "shard.shard_files", "sql": "stored_commands.query_evaluation",
        "upgrade": "stored_commands.upgrade_evaluations",
        "formats": "catalogues.list_formats", "protocols": "catalogues.list_protocols",
    }  # fmt: skip

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        """Return the names of all verbs."""
        return list(self.verbs)

    def get_command(self, ctx: Any, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Return the command of a verb."""
        if cmd_name in self.verbs and cmd_name not in self.commands:
            module, _, command = self.verbs[cmd_name].partition(".")
            self.add_command(getattr(import_module(f"apframe.cli.{module}"), command))
        return self.commands.get(cmd_name)

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the verb and its arguments; an unknown verb is an error that suggests similar ones."""
        if args[0] not in self.verbs:
            near = nearest(args[0], list(self.verbs))
            ctx.fail(f"No such command {args[0]!r}{near and f'; {near}'}")
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """Complete the name of a verb or an option."""
        from apframe.cli.completion import verbs_like  # only to complete

        return verbs_like(incomplete) or click.Command.shell_complete(self, ctx, incomplete)

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002
        """Write the verbs of each task with their examples."""
        from apframe.cli.help_pages import TASKS  # only for help

        for task, verbs in TASKS.items():
            with formatter.section(task):
                for verb, (does, example) in verbs.items():
                    formatter.write(f"  {verb:<11}{does}\n{'':13}{example}\n")


@click.group(
    cls=Overview,
    invoke_without_command=True,
    subcommand_metavar="COMMAND [ARGS]...",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.option("--version", "show_version", is_flag=True, help="print the version and exit")
@click.option("--json", "as_json", is_flag=True, help="with --version: also print versions of JSON output and stored sets")
@click.pass_context
def app(context: click.Context, show_version: bool, as_json: bool) -> None:  # fmt: skip
    """Average precision for object detection, search and any other ranked list, with every step as a table.

    `apframe COMMAND --help` explains a command, `apframe COMMAND --help-all` with all its options.

    Exit status: 0 for success, 1 for bad data, 2 for bad usage, 3 if `check` finds
    warnings but no errors, or if `eval`, `rank` or `compare` with --strict warns that a number is probably wrong, 4 if a model
    fails the gate of `compare` (--fail-if-worse, --max-drop).
    """
    if as_json and not show_version:
        raise ParameterError("--json without a command needs --version", "put the --json of a command after its name")
    if show_version:
        from importlib.metadata import version

        from apframe.cli.output import JSON_VERSION
        from apframe.store.parquet import SCHEMA_VERSION

        versions = {"apframe": version("apframe"), "json_version": JSON_VERSION, "schema_version": SCHEMA_VERSION}
        print(json.dumps(versions) if as_json else f"apframe {versions['apframe']}")
        raise click.exceptions.Exit
    if context.invoked_subcommand is None:
        print(context.get_help(), file=sys.stderr)
        raise click.exceptions.Exit(2)


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command with these arguments, by default the arguments of the process; errors are one line on stderr.

    It ends with SystemExit: 0 for success, 1 for bad data or an output that cannot be written, 2 for bad usage, 130 after
    Ctrl-C; see `check` and --strict of `eval` for 3, and `compare` for 4. It is no error if the reader of the output goes away,
    as `| head` does.
    """
    if instruction := os.environ.get("_APFRAME_COMPLETE"):
        from apframe.cli.completion import answer  # only to complete

        sys.exit(answer(app, instruction))
    messages: set[str] = set()
    seen = {"strict": False, "doubt": False}  # what click's contexts share as their object

    def show_warning(message: Warning | str, category: type[Warning], *_: Any) -> None:
        if issubclass(category, DoubtfulNumberWarning):
            seen["doubt"] = True
        if str(message) not in messages:  # a warning about the ground truth may be repeated for each model
            messages.add(str(message))
            say("warning", str(message))

    warnings.showwarning = show_warning  # type: ignore[assignment]
    warnings.simplefilter("always", ApframeWarning)
    out, err = (Terminal(stream or StringIO(), name) for stream, name in ((sys.stdout, "stdout"), (sys.stderr, "stderr")))
    with redirect_stdout(out), redirect_stderr(err), option_style(as_flag):
        code = _run(arguments, seen)
    if code == ctrl_c.STATUS:
        from apframe.interruption import unfinished

        if unfinished():
            with suppress(OutputError, ReaderGoneError):
                out.flush()
            os._exit(code)  # otherwise Python would wait for the interrupted work
    sys.exit(code)


def _run(arguments: Sequence[str] | None, seen: dict[str, bool]) -> int:
    try:
        code = _invoke(list(sys.argv[1:] if arguments is None else arguments), seen)
        sys.stdout.flush()
    except ReaderGoneError:
        return 0
    except KeyboardInterrupt:
        return ctrl_c.STATUS
    except click.UsageError as error:
        from apframe.cli.usage_errors import usage_message  # for these alone

        return _fail(usage_message(error), 2)
    except (QueryError, ParameterError) as error:
        return _fail(str(error), 2)
    except ApframeError as error:
        return _fail(str(error), 1)
    except RuntimeError as error:
        if str(error) != "Query interrupted":  # the error of DuckDB after Ctrl-C
            raise
        return ctrl_c.STATUS
    except UnicodeEncodeError as error:
        return _fail(f"{error.object}: cannot be written as {error.encoding} ({error.reason}); rename it", 1)
    except OSError as error:
        return _fail(": ".join(str(part) for part in (error.filename, error.strerror or error) if part), 1)
    return code


def _invoke(arguments: list[str], seen: dict[str, bool]) -> int:
    if arguments[:1] == ["help"] or arguments == ["--help-all"]:  # accepted as in other programs
        arguments = [*arguments[1:], "--help"]
    try:  # not with `app.main`, which writes a line end after Ctrl-C
        with app.make_context("apframe", arguments, obj=seen) as context:
            app.invoke(context)
    except click.exceptions.Exit as ended:
        if ended.exit_code:
            return ended.exit_code
    return DOUBTFUL if all(seen.values()) else 0


def _fail(message: str, code: int) -> int:
    if ctrl_c.is_pressed:  # the error is its consequence
        return ctrl_c.STATUS
    say("error", message)
    return code
