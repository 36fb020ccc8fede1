"""The class of all verbs, the options that several verbs share, and the parsing of their values."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from functools import partial, wraps
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

import click

from apframe.exceptions import ParameterError
from apframe.paths import is_utf8, url_of

Declared = TypeVar("Declared", bound=Callable[..., Any])
PATH = click.Path(readable=False, path_type=Path)  # readers and writers report wrong paths themselves
# keys of a context's `meta`
GIVEN = "apframe.arguments"  # the arguments of the verb
_ALL = "apframe.help_all"  # present if the help shows all options
_READ = {"truth", "results"}  # arguments that may be URLs, or - for the standard input
_READ_LISTS = {"paths", "more"}  # likewise, of several paths


class Option(click.Option):
    """An option with its heading in the help. Only --help-all shows `advanced` options."""

    def __init__(self, *args: Any, heading: str = "Options", advanced: bool = False, **settings: Any) -> None:
        settings["show_default"] = True
        super().__init__(*args, **settings)
        self.heading, self.advanced = heading, advanced

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """Complete the value of this option."""
        from apframe.cli.completion import values_like  # only to complete

        return values_like(ctx, self, ctx.meta[GIVEN], incomplete) or super().shell_complete(ctx, incomplete)


class Argument(click.Argument):
    """An argument with a help text, which click supports from 8.5 on. Only --help-all shows `advanced` arguments."""

    def __init__(self, *args: Any, help: str, advanced: bool = False, **settings: Any) -> None:  # noqa: A002
        super().__init__(*args, **settings)
        self.help, self.advanced = help, advanced


def option(*names: str, metavar: str | None = None, **settings: Any) -> Callable[[Declared], Declared]:
    """Declare an option like `click.option`: a flag without a metavar, a path with FILE or DIR."""
    kind = {"is_flag": True} if metavar is None else {"type": PATH} if metavar in ("FILE", "DIR") else {}
    return click.option(*names, cls=Option, metavar=metavar, **kind | settings)


def argument(name: str, metavar: str, **settings: Any) -> Callable[[Declared], Declared]:
    """Declare an argument like `click.argument`, by default a path."""
    return click.argument(name, cls=Argument, metavar=metavar, **{"type": PATH} | settings)


def grouped(name: str, into: Any, *options: Callable[[Any], Any]) -> Callable[[Declared], Declared]:
    """Declare a group of options, which the verb gets as one value: the dataclass `into`, with a field for each option."""

    def declared(function: Any) -> Any:
        @wraps(function)
        def command(*args: Any, **values: Any) -> Any:
            own = {each.name: values.pop(each.name) for each in fields(into)}
            return function(*args, **values, **{name: into(**own)})

        for each in reversed(options):
            command = each(command)
        return command

    return declared


class Command(click.Command):
    """A command such as `eval`. It rejects broken text, URLs that it cannot read, and single-value options given twice."""

    def get_params(self, ctx: Any) -> list[click.Parameter]:
        """Return the declared parameters, --help and --help-all."""
        return [*super().get_params(ctx), _HELP_ALL]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments into the context."""
        ctx.meta[GIVEN] = list(args)
        if ctx.resilient_parsing:  # the shell completes an unfinished line
            return super().parse_args(ctx, args)
        try:
            options_in_order: list[Any] = self.make_parser(ctx).parse_args(args=list(args))[2]
        except click.UsageError as error:
            error.ctx = ctx  # click does not set it if an option lacks its value
            raise
        takes_value = {name: not getattr(each, "is_flag", True) for each in self.get_params(ctx) for name in each.opts}
        for name, value in pairwise(args):
            if takes_value.get(name) and value[:1] == "-" and value in takes_value:
                ctx.fail(f"{name} needs a value, but is followed by {value}")
        for option in options_in_order:
            takes_one = option.param_type_name == "option" and not (option.multiple or option.is_flag)
            if takes_one and options_in_order.count(option) > 1:
                times = options_in_order.count(option)
                raise ParameterError(f"{option.opts[0]} is given {times} times", "it takes one value")
        styles = [each.opts[0] for each in self.params if each.name == "style" and each in options_in_order]
        if len(styles) > 1:
            raise ParameterError(f"{styles[0]} and {styles[1]} cannot be combined")
        for text in args:
            if "\0" in text:
                raise ParameterError(f"{text!r} contains a NUL character, which names and values cannot contain")
            if re.match(r"--?[\w-]+=[A-Za-z][A-Za-z0-9+.-]+://", text):
                raise _refused(text)
        rest = super().parse_args(ctx, args)
        _take_urls_and_stdin(ctx.params, [text for text in args if url_of(text)])
        for value in ctx.params.values():
            for text in value if isinstance(value, tuple) else [value]:
                if isinstance(text, str) and not is_utf8(text):  # a path may consist of any bytes
                    encoding = sys.getfilesystemencoding()
                    raise ParameterError(
                        f"{text}: not text in the encoding of this environment, {encoding}", "set PYTHONUTF8=1"
                    )
        return rest

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help; see `help_pages`."""
        from apframe.cli.help_pages import write_help  # only for help

        write_help(self, ctx, formatter, everything=_ALL in ctx.meta)


def _show_all(ctx: click.Context, param: click.Parameter, value: bool) -> None:  # noqa: ARG001
    if value and not ctx.resilient_parsing:
        ctx.meta[_ALL] = True
        click.echo(ctx.get_help())
        ctx.exit()


_HELP_ALL = Option(
    ["--help-all"], is_flag=True, is_eager=True, expose_value=False, callback=_show_all, advanced=True,
    help="Show all options and exit.",
)  # fmt: skip


def _take_urls_and_stdin(params: dict[str, Any], urls: list[str]) -> None:
    """Replace `-` by the standard input, and reject URLs for arguments that are not read as data."""
    read = [params[name] for name in _READ & params.keys()]
    read += [path for name in _READ_LISTS & params.keys() for path in params[name]]
    for url in urls:
        if Path(url) not in read:
            raise _refused(url)
    stdin = Path("/dev/stdin")
    params |= {name: stdin for name in _READ & params.keys() if params[name] == Path("-")}
    for name in _READ_LISTS & params.keys():
        params[name] = [stdin if path == Path("-") else path for path in params[name]]


def _refused(url: str) -> ParameterError:
    return ParameterError(f"{url}: URLs are not read or written here", "download the file and name its path")


# options of several commands
output = partial(option, heading="Output")
under_reading = partial(option, heading="Reading")
gate = partial(option, heading="Gate")
image_attributes_option = under_reading(
    "--image-attributes", metavar="FILE",
    help="CSV, JSON or Parquet file with image_id or file_name, and further columns about the images",
)  # fmt: skip
drop_unknown_images_option = under_reading(
    "--drop-unknown-images", advanced=True, help="drop detections on images that GT does not contain"
)
results_argument = argument("results", "[DT]", required=False, help="detections, in any format; - is stdin")
categories_option = option("--categories", multiple=True, metavar="person,car", help="use only these categories, by name or id")
where_option = option(
    "--where", metavar="\"weather = 'fog'\"", help="use only data that satisfy these SQL conditions, joined by AND"
)


def strict_option(function: Declared) -> Declared:
    """Declare the option --strict. Its value goes to `main`, which sets the exit status, not to the verb."""

    def be_strict(context: click.Context, _: click.Parameter, value: bool) -> None:
        context.ensure_object(dict)["strict"] = value

    words = "exit with 3 if a warning says that the number is probably wrong"
    settings: dict[str, Any] = {"expose_value": False, "callback": be_strict}
    return gate("--strict", help=words, **settings)(function)


def style_options(
    json: str = "print a list of JSON objects", csv: str = "print comma-separated values"
) -> Callable[[Declared], Declared]:
    """Declare the options --json, --csv, --markdown and --latex. The verb gets the name of one as `style`, or None."""
    helps = {
        "json": json, "csv": csv, "markdown": "print a table in Markdown",
        "latex": "print a LaTeX table, which requires the package booktabs",
    }  # fmt: skip

    def declared(function: Declared) -> Declared:
        for name, words in reversed(helps.items()):
            more = name in ("markdown", "latex")
            function = output(f"--{name}", "style", flag_value=name, default=None, help=words, advanced=more)(function)
        return function

    return declared


@dataclass(frozen=True)
class Storing:
    """The folder in which to store the tables of an evaluation, and the name and tags of the run."""

    out: Path | None
    name: str | None
    tag: Sequence[str]

    def labels(self, kind: str) -> dict[str, Any]:
        """Return the arguments of `write_parquet` from --name and --tag.

        Raises
        ------
        ParameterError
            --name or --tag without --out, or a malformed tag
        OutputError
            the folder contains something other than an evaluation of this kind
        """
        if self.out is not None:
            from apframe.cli.run_labels import labels_of  # only with --out

            return labels_of(self.name, self.tag, self.out, kind)
        if self.name is not None or self.tag:
            raise ParameterError("--name and --tag need --out, the folder to store the evaluation in")
        return {}


storing_options = grouped(
    "storing", Storing,
    output("--out", metavar="DIR", help="also write all tables to this folder as Parquet"),
    output("--name", metavar="NAME", advanced=True, help="with --out: a name for this run, shown in leaderboards"),
    output(
        "--tag", multiple=True, metavar="lr=.1", advanced=True, help="with --out: a tag to select runs by; may be repeated"
    ),
)  # fmt: skip


def words(texts: Sequence[str] | None) -> list[str]:
    """Return the names in the values of an option: separated by commas, in one value or several."""
    names = [name.strip() for text in texts or () for name in text.split(",")]
    if "" in names:
        raise ParameterError(f"{','.join(texts or ())!r} contains an empty name", "separate names by single commas")
    return names


def numbers(option: str, texts: Sequence[str] | None, kind: Callable[[str], Any], what: str) -> list[Any] | None:
    """Convert each word of an option with `kind`; None without words."""
    try:
        return [kind(word) for word in words(texts)] or None
    except ValueError:
        text = ",".join(texts or ())
        raise ParameterError(f"{option} takes {what} separated by commas, not {text!r}") from None


def thresholds(texts: Sequence[str] | None) -> list[float] | dict[str, float] | None:
    """Return the values of --iou-thresholds: numbers, or a number for each category (NAME=NUMBER); None without values."""
    option = "--iou-thresholds"
    items = words(texts)
    if not any("=" in word for word in items):
        return numbers(option, texts, float, "numbers")
    pairs = [word.rpartition("=") for word in items]
    values = numbers(option, [number for *_, number in pairs], float, "numbers, or NAME=NUMBER for each category,") or []
    if len({name for name, *_ in pairs} - {""}) < len(values):
        raise ParameterError(f"{option} takes one NAME=NUMBER for each category, not {','.join(texts or ())!r}")
    return {name: number for (name, *_), number in zip(pairs, values, strict=True)}


def given_options(context: click.Context, names: Iterable[str]) -> list[str]:
    """Return the flags of those options that the command line contains."""
    present = [name for name in names if getattr(context.get_parameter_source(name), "name", "") == "COMMANDLINE"]
    return [f"--{name.replace('_', '-')}" for name in present]
