"""Options that several commands share, and the parsing of their values."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any

import click

from apframe.cli.declared import Argument, Option
from apframe.cli.help_pages import HelpPage
from apframe.exceptions import ParameterError
from apframe.formats.options import ReadingOptions
from apframe.keywords import declared_keywords
from apframe.paths import is_utf8, url_of
from apframe.protocols.published import PUBLISHED

_READ = {"truth", "results", "source"}  # arguments that may be URLs, or - for the standard input
GIVEN = "apframe.arguments"  # where a context has the arguments of its command
_READ_LISTS = {"paths", "more"}  # likewise, of several paths
DECLARED = declared_keywords(ReadingOptions)
"""The options of reading, by their names in the library."""


def declared_option(name: str) -> Option:
    """An option of reading on the command line, as `apframe.formats.options` declares it."""
    keyword = DECLARED[name][1]
    return Option(keyword.flag, metavar=keyword.metavar or None, help=keyword.help, purpose="Reading")


# options and arguments that several commands have
Results = Annotated[Path | None, Argument(metavar="[DT]", help="detections, in any format; - is stdin")]
ImageAttributes = Annotated[
    Path | None,
    Option(metavar="FILE", help="CSV, JSON or Parquet with image_id or file_name, and more columns of the images"),
]
Categories = Annotated[list[str] | None, Option(metavar="person,car", help="only these categories, by name or id")]
Where = Annotated[
    str | None,
    Option(metavar="\"weather = 'fog'\"", help="only data that satisfy these SQL conditions, joined by AND"),
]
DropUnknownImages = Annotated[
    bool, Option("--drop-unknown-images", help="leave out detections of images that GT does not have")
]
ProtocolName = Annotated[str, Option(metavar="NAME", help=f"rules: {', '.join(name.lower() for name in PUBLISHED)}")]
IouType = Annotated[
    str | None, Option(metavar="segm", help="what to compare: bbox, segm, keypoints, ...; see `apframe protocols`")
]
Markdown = Annotated[bool, Option("--markdown", help="print a table in Markdown")]
Latex = Annotated[bool, Option("--latex", help="print a LaTeX table; it needs the package booktabs")]
RunName = Annotated[str | None, Option(metavar="NAME", help="with --out: a name for this run, shown in leaderboards")]
Tags = Annotated[
    list[str] | None,
    Option(metavar="lr=.1", help="with --out: a tag to select runs by; may be repeated"),
]

Strict = Annotated[bool, Option("--strict", help="exit with 3 if a warning says that the number is probably wrong")]


class Command(HelpPage):
    """A command that collects the values of an option that takes several, and refuses what no argument can be.

    That is the repetition of an option that takes one value, an address instead of a path, and text that is none.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments into the context, as every command does."""
        ctx.meta[GIVEN] = list(args)
        try:
            given: list[Any] = self.make_parser(ctx).parse_args(args=list(args))[2]
        except click.UsageError as error:
            error.ctx = ctx  # click leaves it out where an option lacks its value
            raise
        for option in given:
            takes_one = option.param_type_name == "option" and not (option.multiple or option.is_flag)
            if takes_one and given.count(option) > 1:
                raise ParameterError(f"{option.opts[0]} is given {given.count(option)} times", "it takes one value")
        for text in args:
            if "\0" in text:
                raise ParameterError(f"{text!r} has a NUL character, which names and values cannot have")
            if re.match(r"--?[\w-]+=[A-Za-z][A-Za-z0-9+.-]+://", text):
                raise _refused(text)
        rest = super().parse_args(ctx, args)
        _take_urls_and_stdin(ctx.params, [text for text in args if url_of(text)])
        for value in ctx.params.values():
            for text in value if isinstance(value, list) else [value]:
                if isinstance(text, str) and not is_utf8(text):  # a path may be of any bytes
                    encoding = sys.getfilesystemencoding()
                    raise ParameterError(
                        f"{text}: not text in the encoding of this environment, {encoding}", "set PYTHONUTF8=1"
                    )
        return rest


def _take_urls_and_stdin(params: dict[str, Any], urls: list[str]) -> None:
    """Replace `-` by the standard input, and refuse URLs where no data are read."""
    read = [params[name] for name in _READ & params.keys()]
    read += [path for name in _READ_LISTS & params.keys() for path in params[name] or ()]
    for url in urls:
        if Path(url) not in read:
            raise _refused(url)
    stdin = Path("/dev/stdin")
    params |= {name: stdin for name in _READ & params.keys() if params[name] == Path("-")}
    for name in _READ_LISTS & params.keys():
        params[name] = params[name] and [stdin if path == Path("-") else path for path in params[name]]


def _refused(url: str) -> ParameterError:
    return ParameterError(f"{url}: URLs are not read or written here", "download the file and name its path")


def words(texts: Sequence[str] | None) -> list[str]:
    """The names that an option was given: with commas between them, once or several times."""
    names = [name.strip() for text in texts or () for name in text.split(",")]
    if "" in names:
        raise ParameterError(
            f"{','.join(texts or ())!r} has an empty name in it", "write names with single commas between them"
        )
    return names


def numbers(option: str, texts: Sequence[str] | None, kind: Callable[[str], Any], what: str) -> list[Any] | None:
    """The values of an option, each made by `kind` from a word; None where there are none."""
    try:
        return [kind(word) for word in words(texts)] or None
    except ValueError:
        given = ",".join(texts or ())
        raise ParameterError(f"{option} takes {what} with commas between them, got {given!r}") from None


def thresholds(texts: Sequence[str] | None) -> list[float] | dict[str, float] | None:
    """The values of --iou-thresholds: numbers, or NAME=NUMBER for each category; None where there are none."""
    option = "--iou-thresholds"
    given = words(texts)
    if not any("=" in word for word in given):
        return numbers(option, texts, float, "numbers")
    pairs = [word.rpartition("=") for word in given]
    found = numbers(option, [number for *_, number in pairs], float, "numbers, or NAME=NUMBER for each category,") or []
    if len({name for name, *_ in pairs} - {""}) < len(found):
        raise ParameterError(f"{option} takes one NAME=NUMBER for each category, got {','.join(texts or ())!r}")
    return {name: number for (name, *_), number in zip(pairs, found, strict=True)}


def given_options(context: click.Context, names: Iterable[str]) -> list[str]:
    """Those of the options that were given on the command line, as they are written there."""
    given = [name for name in names if getattr(context.get_parameter_source(name), "name", "") == "COMMANDLINE"]
    return [f"--{name.replace('_', '-')}" for name in given]


def given_labels(out: Path | None, kind: str, name: str | None, tags: Sequence[str] | None) -> dict[str, Any]:
    """The arguments of `write_parquet` from --name and --tag; an error without --out, or if its folder holds something else."""
    if out is None and (name is not None or tags):
        raise ParameterError("--name and --tag need --out, the folder to store the evaluation in")
    values: dict[str, Any] = {}
    for tag in tags or ():
        key, equals, text = tag.partition("=")
        if not (key and equals) or key in values:
            raise ParameterError(f"--tag takes NAME=VALUE, each NAME once, not {tag!r}")
        values[key] = _value(text)
    if out is None:
        return {}
    from apframe.store.parquet import labels, refuse_foreign

    labelled = labels(name, values)
    refuse_foreign(out, kind)
    return labelled


def _value(text: str) -> str | float | bool:
    """A flag (true or false), a number if the text is one, else the text."""
    if text in ("true", "false"):
        return text == "true"
    if re.fullmatch(r"[-+]?[0-9]+", text):
        return int(text)
    return float(text) if re.fullmatch(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?", text) else text


def one_style(**styles: bool) -> str | None:
    """The style that a table is printed in: the one flag that is given, None for people; an error if there are several."""
    given = [name for name, is_given in styles.items() if is_given]
    if len(given) > 1:
        raise ParameterError(f"--{given[0]} and --{given[1]} cannot be combined")
    return given[0] if given else None
