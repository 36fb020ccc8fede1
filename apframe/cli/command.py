"""The `apframe` command: each verb is one call of the library."""

from __future__ import annotations

import json
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Annotated, Any, NoReturn

import polars as pl
import polars.selectors as cs
import typer
from typer.core import TyperCommand

import apframe as apf  # whose names are imported when they are used: a command waits for what it needs alone
from apframe.exceptions import ApframeError, ApframeWarning, OutputError, ParameterError, QueryError, counted
from apframe.file_formats.catalogue import FORMATS, as_format, naming_format
from apframe.interruption import unfinished
from apframe.lists.measures import USUAL, as_measures
from apframe.paths import is_pattern, is_utf8
from apframe.protocols.protocol import MATCHINGS
from apframe.protocols.published import PUBLISHED, as_protocol
from apframe.show.console import summary_lines
from apframe.show.runs import run_lines
from apframe.show.terminal import ReaderGoneError, Terminal, one_line, table_lines, written_out
from apframe.store.parquet import DETECTION, RETRIEVAL, SCHEMA_VERSION, labels, read_manifest, refuse_foreign

JSON_VERSION = 1
"""Of what --json prints: a larger one when a key is renamed or removed, or means something else. Keys may be added within one.

Objects have it as `json_version`. Lists have no place for it, so `apframe --version --json` says which version they are of.
"""

app = typer.Typer(
    add_completion=False, rich_markup_mode=None,
    pretty_exceptions_enable=False, context_settings={"help_option_names": ["-h", "--help"]},
)  # fmt: skip


_FILES = (
    ", ".join(name for name, each in FORMATS.items() if each.dataset_from[0] == "file")
    + ", and results to "
    + ", ".join(name for name, each in FORMATS.items() if each.dataset_from[0] != "file" and each.results_from[0] == "file")
)

# those of paths: the library says what is wrong with one
_argument, _option = partial(typer.Argument, readable=False), partial(typer.Option, readable=False)
# options that several commands have
GtFormat = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="the ground truth's format, if it cannot be detected from the path; see `apframe formats`"
    ),
]
DtFormat = Annotated[str | None, typer.Option(metavar="NAME", help="the format of the results, likewise")]
Split = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="the part of the ground truth: VOC's image set, YOLO's split, ActivityNet's subset"),
]
ImageSizes = Annotated[
    Path | None,
    _option(metavar="FILE", help="CSV or Parquet with file_name, image_width, image_height, where boxes are fractions"),
]
JoinByName = Annotated[
    list[str] | None,
    typer.Option(metavar="images,categories", help="match images or categories by name instead of id"),
]
RunName = Annotated[str | None, typer.Option(metavar="NAME", help="a name for what --out writes, which leaderboards show")]
Tags = Annotated[
    list[str] | None,
    typer.Option(metavar="lr=.1", help="a tag for it, by which leaderboards select; give it once for each tag"),
]


class _Command(TyperCommand):
    """A command that collects the values of an option that takes several, and refuses what no argument can be.

    That is the repetition of an option that takes one value, an address instead of a path, and text that is none.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments into the context, as every command does."""
        given: list[Any] = self.make_parser(ctx).parse_args(args=list(args))[2]
        for option in given:
            takes_one = option.param_type_name == "option" and not (option.multiple or option.is_flag)
            if takes_one and given.count(option) > 1:
                raise ParameterError(f"{option.opts[0]} is given {given.count(option)} times; it takes one value")
        for text in args:
            if "\0" in text:
                raise ParameterError(f"{text!r} has a NUL character, which no name or value can have")
            if re.match(r"(--?[\w-]+=)?[A-Za-z][A-Za-z0-9+.-]+://", text):
                raise ParameterError(f"{text}: URLs are neither read nor written; download the file and name its path")
        rest = super().parse_args(ctx, args)
        for value in ctx.params.values():
            for text in value if isinstance(value, list) else [value]:
                if isinstance(text, str) and not is_utf8(text):  # a path may be of any bytes
                    encoding = sys.getfilesystemencoding()
                    raise ParameterError(f"{text}: not text in the encoding of this environment, {encoding}; set PYTHONUTF8=1")
        return rest


def _command(name: str, short_help: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    return app.command(name, cls=_Command, short_help=short_help)


@app.callback(invoke_without_command=True)
def about(
    context: typer.Context,
    show_version: Annotated[bool, typer.Option("--version", help="print the version and exit")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="with --version: those of JSON output and stored sets too")] = False,
) -> None:
    """Average precision as tables. Exit status: 0, 1 for bad data, 2 for bad usage; 3 where `check` has warnings alone."""
    if as_json and not show_version:
        raise ParameterError("--json goes with --version here; that of a command stands after its name")
    if show_version:
        from importlib.metadata import version

        versions = {"apframe": version("apframe"), "json_version": JSON_VERSION, "schema_version": SCHEMA_VERSION}
        print(json.dumps(versions) if as_json else f"apframe {versions['apframe']}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        print(context.get_help(), file=sys.stderr)
        raise typer.Exit(2)


@_command("eval", short_help="Evaluate detections against ground truth.")
def evaluate_files(
    context: typer.Context,
    truth: Annotated[
        Path | None,
        _argument(metavar="GT", help="ground truth: COCO JSON, or a file or folder of another format"),
    ] = None,
    results: Annotated[Path | None, _argument(metavar="DT", help="results, likewise")] = None,
    gt_format: GtFormat = None,
    dt_format: DtFormat = None,
    split: Split = None,
    image_sizes: ImageSizes = None,
    join_by_name: JoinByName = None,
    protocol: Annotated[
        str, typer.Option(metavar="NAME", help=f"the rules: {', '.join(name.lower() for name in PUBLISHED)}")
    ] = "coco",
    iou_type: Annotated[
        str | None, typer.Option(metavar="segm", help="what is compared; each protocol names those it has")
    ] = None,
    rules: Annotated[
        bool, typer.Option("--rules", help="print the rules of the protocol as well; without GT and DT these alone")
    ] = False,
    out: Annotated[Path | None, _option(metavar="DIR", help="also write all tables there, as Parquet")] = None,
    name: RunName = None,
    tag: Tags = None,
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON object instead of lines")] = False,
    max_detections: Annotated[
        list[str] | None,
        typer.Option(metavar="1,10,100", help="at most so many per image and category, or all; the largest is that of AP"),
    ] = None,
    iou_thresholds: Annotated[list[str] | None, typer.Option(metavar="0.5,0.75", help="thresholds, in (0, 1]")] = None,
    matching: Annotated[
        str | None, typer.Option(metavar="|".join(MATCHINGS), help="another policy than that of the protocol")
    ] = None,
    categories: Annotated[list[str] | None, typer.Option(metavar="person,car", help="only these, by name or id")] = None,
    agnostic: Annotated[bool, typer.Option("--agnostic", help="pool the categories")] = False,
    by: Annotated[
        list[str] | None,
        typer.Option(
            metavar="weather,supercategory", help="print a row for each slice by these columns; AP of each category: --by name"
        ),
    ] = None,
    as_csv: Annotated[bool, typer.Option("--csv", help="print slices as comma-separated values")] = False,
    drop_unknown_images: Annotated[
        bool, typer.Option("--drop-unknown-images", help="leave out results of images that GT does not have")
    ] = False,
) -> None:
    """Evaluate detections against ground truth: the numbers of COCO or another protocol, and all tables behind them."""
    _refuse_both(as_json, as_csv)
    if as_csv and not by:
        raise ParameterError("--csv is for slices: name columns with --by")
    published = as_protocol(protocol).variant(iou_type)  # what is wrong is told before the work, not after it
    chosen = published.with_options(
        matching=matching,
        iou_thresholds=_numbers("--iou-thresholds", iou_thresholds, float, "numbers"),
        max_detections=_numbers("--max-detections", max_detections, _limit, "whole numbers, or all,"),
        agnostic=agnostic or None,
    )
    if truth is None and rules:
        print(chosen)
        return
    if truth is None or results is None:
        context.fail(f"Missing argument '{'GT' if truth is None else 'DT'}'.")
    labelled = _labels(out, name, tag)
    if out is not None:
        refuse_foreign(out, DETECTION)
    with _progress() as say:
        say("reading")
        evaluation = apf.evaluate(
            truth,
            results,
            chosen,
            categories=_words(categories) or None,
            unknown_images="drop" if drop_unknown_images else "error",
            format=gt_format,
            results_format=dt_format,
            split=split,
            image_sizes=image_sizes,
            join_by_name=_words(join_by_name),
        )
        say("matching and ranking")
        slices = evaluation.by(*_words(by)) if by else None
        summary = evaluation.summary
        if out is not None:
            say(f"writing {out}")
            evaluation.write_parquet(out, **labelled)
    if rules and not (as_json or as_csv):
        print(evaluation.protocol, end="\n\n")
    if slices is None:
        if as_json:
            print(json.dumps(dict(summary.rows()) | {"json_version": JSON_VERSION}))
        else:
            _print_lines(summary_lines(summary, evaluation.protocol))
        return
    if not (as_json or as_csv):  # the most telling columns, in the width of a terminal
        recalls = [name for name in evaluation.summary["metric"] if name.startswith("AR")]
        limits = evaluation.protocol.max_detections
        kept = recalls[:1] if len(limits) == 1 else [f"AR{'' if limits[-1] is None else limits[-1]}"]
        slices = slices.select(pl.exclude(*(name for name in recalls if name not in kept), "AP75", "n_detections"))
    _show(slices, as_json, as_csv, digits=3)


@_command("check", short_help="Find what is wrong or suspicious in a data set and its results.")
def check_files(
    truth: Annotated[Path, _argument(metavar="DATASET", help="ground truth, in any format")],
    results: Annotated[Path | None, _argument(metavar="[RESULTS]", help="results, in any format")] = None,
    gt_format: GtFormat = None,
    dt_format: DtFormat = None,
    split: Split = None,
    image_sizes: ImageSizes = None,
    join_by_name: JoinByName = None,
    as_json: Annotated[bool, typer.Option("--json", help="print a list of JSON objects")] = False,
) -> None:
    """Find what is wrong or suspicious in a data set and its results: severity, rows, and what to do.

    Exit status: 0 where there is nothing but notes, 1 with errors (evaluating would refuse the data), 3 with warnings.
    """
    from apframe.checks.check import worst  # for this alone
    from apframe.checks.findings import Findings

    with _progress() as say:
        say("checking")
        findings = apf.check(
            truth,
            results,
            format=gt_format,
            results_format=dt_format,
            split=split,
            image_sizes=image_sizes,
            join_by_name=_words(join_by_name),
        )
    texts = [findings[name] for name in ("problem", "remedy")]
    findings = Findings(findings.with_columns(text.map_elements(_in_check, pl.String) for text in texts))
    if as_json:
        _stdout().write_json(findings.write_json())
    else:
        print(Findings(written_out(findings)))
    raise typer.Exit({"error": 1, "warning": 3}.get(worst(findings) or "", 0))


@_command("convert", short_help="Convert a data set, or results, from one format to another.")
def convert_files(
    source: Annotated[Path, _argument(metavar="SOURCE", help="a data set; results with --results-of")],
    target: Annotated[Path, _argument(metavar="TARGET", help=f"a new file, if to {_FILES}; else a new folder")],
    to: Annotated[str, typer.Option("--to", metavar="NAME", help="the format to write; see `apframe formats`")],
    source_format: Annotated[
        str | None, typer.Option("--from", metavar="NAME", help="the format of SOURCE, if it cannot be detected from the path")
    ] = None,
    results_of: Annotated[
        Path | None,
        _option(metavar="GT", help="SOURCE are results of this data set, which has their ids and names"),
    ] = None,
    gt_format: GtFormat = None,
    split: Split = None,
    image_sizes: ImageSizes = None,
    join_by_name: JoinByName = None,
    as_json: Annotated[bool, typer.Option("--json", help="print what is lost as a list of JSON objects")] = False,
) -> None:
    """Convert a data set, or results, from one format to another; what the format cannot hold is printed.

    TARGET appears whole or not at all, and never in the place of another.
    """
    if results_of is None and (gt_format or join_by_name):
        raise ParameterError("--gt-format and --join-by-name are for results: name their data set with --results-of")
    with _progress() as say:
        say("reading")
        if results_of is None:
            with _of_source():
                dataset = apf.read_dataset(source, source_format, split=split, image_sizes=image_sizes)
            say(f"writing {target}")
            lost = apf.write_dataset(dataset, target, to)
        else:
            dataset = apf.read_dataset(results_of, gt_format, split=split, image_sizes=image_sizes)
            with _of_source():
                found = apf.read_results(source, source_format, dataset=dataset, join_by_name=_words(join_by_name))
            say(f"writing {target}")
            with naming_format(source, source_format):
                lost = apf.write_results(found, target, to, dataset=dataset)
    if as_json:
        _stdout().write_json(lost.write_json())
        return
    for table, column, n_rows, what in written_out(lost).iter_rows():
        print(f"{table}{'' if column is None else '.' + column}: {what} ({counted(n_rows, 'row')})")
    print(f"{one_line(str(target))}: {as_format(to).title}, {'all of it' if lost.is_empty() else 'but for what is said above'}")


@_command("formats", short_help="List the formats of data sets and results.")
def list_formats(as_json: Annotated[bool, typer.Option("--json", help="print a list of JSON objects")] = False) -> None:
    """List the formats that `eval`, `check` and `convert` take, and what their files are."""
    if as_json:
        _stdout().write_json(apf.formats().write_json())
        return
    for name, title, dataset, results in apf.formats().select("format", "title", "dataset", "results").iter_rows():
        print(f"{name}: {title}\n  data set: {dataset}\n  results:  {results}")


@_command("rank", short_help="Evaluate search runs against relevance judgements.")
def evaluate_rankings(
    qrels: Annotated[Path, _argument(metavar="QRELS", help="judgements: TREC text, plain or gzip, or Parquet")],
    runs: Annotated[list[Path], _argument(metavar="RUN...", help="runs: TREC text, plain or gzip, or Parquet")],
    measures: Annotated[
        list[str] | None,
        typer.Option("--measures", "-m", metavar='"AP nDCG@10 P@5"', help=f"what to measure (default: {' '.join(USUAL)})"),
    ] = None,
    per_query: Annotated[bool, typer.Option("--per-query", "-q", help="print the value of each query, not the means")] = False,
    compare: Annotated[
        bool,
        typer.Option(
            "--compare", help="print a comparison of each two runs: 95 % intervals, corrected p; all columns with --json, --csv"
        ),
    ] = False,
    queries: Annotated[Path | None, _option(metavar="FILE", help="attributes of the queries: CSV or Parquet")] = None,
    by: Annotated[
        list[str] | None, typer.Option(metavar="topic,length", help="print means for each value of these attributes")
    ] = None,
    out: Annotated[Path | None, _option(metavar="DIR", help="also write all tables there, as Parquet")] = None,
    name: RunName = None,
    tag: Tags = None,
    as_json: Annotated[bool, typer.Option("--json", help="print a list of JSON objects")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="print comma-separated values")] = False,
    missing: Annotated[str, typer.Option(metavar="skip|zero|error", help="judged queries that a run does not have")] = "skip",
    no_relevant: Annotated[str, typer.Option(metavar="zero|skip", help="queries without relevant documents")] = "zero",
    unjudged: Annotated[str, typer.Option(metavar="nonrelevant|remove", help="documents without judgement")] = "nonrelevant",
    trec_eval: Annotated[int, typer.Option(metavar="9|10", help="the version of trec_eval to agree with")] = 10,
) -> None:
    """Evaluate search runs against relevance judgements: the mean of every measure, a column for each run.

    Measures are AP P R F RR nDCG Success Judged ERR, with @k or without, and Rprec Bpref infAP GMAP AP11 IPrec@.1 SetP SetR
    SetF SetAP RBP INP; parameters stand in brackets: AP(rel=2)@10, RBP(p=.9).
    """
    _refuse_both(as_json, as_csv)
    if per_query + compare + bool(by) > 1:
        raise ParameterError("--per-query, --compare and --by exclude each other")
    if compare and len(runs) < 2:
        raise ParameterError("--compare needs two runs or more")
    if by and queries is None:
        raise ParameterError("--by needs the attributes of the queries: --queries FILE")
    wanted = as_measures(USUAL if not measures else " ".join(measures))  # a wrong name is told before the files are read
    labelled = _labels(out, name, tag)
    if out is not None:
        refuse_foreign(out, RETRIEVAL)
    with _progress() as say:
        say("reading and ranking")
        evaluation = apf.evaluate_run(
            qrels,
            runs[0] if len(runs) == 1 else runs,
            wanted,
            queries=queries,
            missing=missing,
            no_relevant=no_relevant,
            unjudged=unjudged,
            trec_eval=trec_eval,
        )
        if out is not None:
            say(f"writing {out}")
            evaluation.write_parquet(out, **labelled)
    if per_query:
        columns = [name for name in evaluation.per_query.columns if name in ("run", "query_id")]
        table = evaluation.per_query.pivot("measure", index=columns, values="value", maintain_order=True)
    elif compare:
        table = evaluation.compare()
        if not (as_json or as_csv):  # the most telling columns, in the width of a terminal
            table = table.select(
                "measure", "run_a", "run_b", "n_queries", "difference", "low", "high", p="p_randomisation_holm"
            )
    elif by:
        means = evaluation.by(*_words(by))
        table = means.pivot("measure", index=cs.exclude("measure", "value"), values="value", maintain_order=True)
    elif as_json or as_csv:
        table = evaluation.summary
    else:
        _print_lines(run_lines(evaluation.summary, evaluation.coverage, evaluation.options))
        return
    _show(table, as_json, as_csv, digits=4)


@_command("sql", short_help="Query the tables of an evaluation.")
def query_evaluation(
    folder: Annotated[
        str,
        typer.Argument(
            metavar="DIR",
            help='what `apframe eval --out DIR` or `apframe rank --out DIR` wrote; or many runs of eval: "runs/street/*"; '
            "or a DuckDB file",
        ),
    ],
    query: Annotated[
        str | None,
        typer.Argument(metavar="[QUERY]", help="SQL, in DuckDB's dialect; several with ; between; without it, a prompt"),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print a list of JSON objects")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="print comma-separated values")] = False,
    unrestricted: Annotated[
        bool,
        typer.Option(
            "--unrestricted", help="let SQL read and write files, open databases, load extensions and change settings"
        ),
    ] = False,
) -> None:
    """Query the tables of an evaluation: metrics, matches, curves, images, categories, annotations, detections, ...

    Of an evaluation that `apframe rank` wrote: per_query, summary, coverage, matches, judgements, runs, queries.

    A pattern in quotes (with * ? or [) stands for many runs at once: their tables have a column run, and `runs` lists them. A
    terminal shows the first 40 rows of an answer; a pipe, --json and --csv have them all.

    Without QUERY, statements are read from stdin, each ended by a semicolon; in a terminal at a prompt, where .help helps.

    SQL can neither reach files, the network or other databases nor change settings, and a DuckDB file is opened read-only,
    unless --unrestricted gives it all rights of the user. It can always make tables in memory: CREATE TEMP TABLE.
    """
    _refuse_both(as_json, as_csv)
    if query is not None and not query.strip(" ;\n\t"):
        raise ParameterError("the query is empty; leave it out for a prompt")
    from apframe.cli import prompt  # for this alone
    from apframe.store import sql

    def show(answer: pl.DataFrame) -> None:
        most = 40 if sys.stdout.isatty() and not (as_json or as_csv) else answer.height
        _show(answer.head(most), as_json, as_csv)
        if answer.height > most:
            print(f"… {answer.height:,} rows; add LIMIT, or use --csv")

    with _progress() as say:
        say("reading")
        connection = _opened(folder, query, unrestricted)
    with sql.closing(connection):
        if query is None:
            prompt.run_prompt(connection, show)
        elif len(prompt.statements(query)) > 1:
            prompt.run_script(prompt.Prompt(connection, show), [query])
        else:
            with _progress() as say:
                say("querying")
                answer = sql.answer(connection, query)
            show(answer)


def _opened(folder: str, query: str | None, unrestricted: bool) -> Any:
    """A connection to the tables of a set, of many, or of a DuckDB file; of many, the tables that the query needs."""
    from apframe.store import sql  # for this alone

    if sql.is_database(folder):
        connection = sql.open_database(folder, read_only=not unrestricted)
    else:
        evaluation = _read_any(folder)
        connection = evaluation.connection() if query is None else sql.connect(evaluation._tables_for(query), query)
    if unrestricted:
        connection.execute("SET python_enable_replacements = false")  # a table is none of Python's variables here
    else:
        sql.restrict(connection)
    return connection


def _read_any(folder: str) -> Any:
    """An evaluation, or the runs that a pattern matches; a folder may be called run[1]."""
    if is_pattern(folder):
        return apf.scan_runs(folder)
    return (apf.read_run_evaluation if read_manifest(folder)["kind"] == RETRIEVAL else apf.read_evaluation)(folder)


@_command("upgrade", short_help="Rewrite stored evaluations of earlier versions.")
def upgrade_evaluations(
    folders: Annotated[list[Path], _argument(metavar="RUN...", help="folders that --out wrote")],
) -> None:
    """Rewrite stored evaluations of earlier versions of apframe in place, as today's version writes them; their numbers stay.

    Those of this schema version and of the two before it can be read without it. If one cannot be read, none is rewritten.
    """
    for folder in folders:
        read_manifest(folder)
    for folder in folders:
        print(f"{one_line(str(folder))}: {'rewritten' if apf.upgrade_evaluation(folder) else 'already up to date'}")


def _labels(out: Path | None, name: str | None, tags: Sequence[str] | None) -> dict[str, Any]:
    """What `write_parquet` takes of --name and --tag; an error if nothing is written."""
    if out is None and (name is not None or tags):
        raise ParameterError("--name and --tag are for what is stored: say where with --out")
    values: dict[str, Any] = {}
    for tag in tags or ():
        key, equals, text = tag.partition("=")
        if not (key and equals) or key in values:
            raise ParameterError(f"--tag takes NAME=VALUE, each NAME once, not {tag!r}")
        values[key] = _value(text)
    return labels(name, values)


def _value(text: str) -> str | float | bool:
    """A flag (true or false), a number if the text is one, else the text."""
    if text in ("true", "false"):
        return text == "true"
    if re.fullmatch(r"[-+]?[0-9]+", text):
        return int(text)
    return float(text) if re.fullmatch(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?", text) else text


def _words(texts: Sequence[str] | None) -> list[str]:
    """The names that an option was given: with commas between them, once or several times."""
    names = [name.strip() for text in texts or () for name in text.split(",")]
    if "" in names:
        raise ParameterError(f"{','.join(texts or ())!r} has an empty name in it; write names with single commas between them")
    return names


def _refuse_both(as_json: bool, as_csv: bool) -> None:
    if as_json and as_csv:
        raise ParameterError("--json and --csv exclude each other")


def _show(answer: pl.DataFrame, as_json: bool, as_csv: bool, digits: int | None = None) -> None:
    """Print a table: for people (numbers with so many digits), or for programs."""
    if as_json:
        if any("Binary" in str(dtype) for dtype in answer.dtypes):
            raise QueryError("JSON holds no bytes; use hex() to make them text, or choose other columns")
        _stdout().write_json(answer.write_json())
    elif as_csv:
        if any(dtype.is_nested() for dtype in answer.dtypes):
            raise QueryError("CSV holds no lists or structs; use --json, or choose other columns")
        _stdout().write_data(answer.write_csv())
    else:
        print(table_lines(answer, digits, plain=not _stdout().holds("┌╞│")))


def _print_lines(lines: Sequence[str]) -> None:
    for line in lines:
        print(one_line(line))


def _stdout() -> Terminal:
    return sys.stdout if isinstance(sys.stdout, Terminal) else Terminal(sys.stdout, "stdout")


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command with these arguments, by default the process's own; errors are one line on stderr.

    It ends with SystemExit: 0, 1 for bad data or a place that cannot be written, 2 for bad usage, 130 after Ctrl-C; see `check`
    for 3. When the reader of its output goes away, as `| head` does, that is no error.
    """
    warnings.showwarning = _show_warning  # type: ignore[assignment]
    warnings.simplefilter("always", ApframeWarning)
    out, err = (Terminal(stream or StringIO(), name) for stream, name in ((sys.stdout, "stdout"), (sys.stderr, "stderr")))
    with redirect_stdout(out), redirect_stderr(err):
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
    except QueryError as error:
        return _fail(str(error), 2)
    except ParameterError as error:
        return _fail(_with_flags(str(error)), 2)
    except ApframeError as error:
        return _fail(_with_flags(str(error)), 1)
    except UnicodeEncodeError as error:
        return _fail(f"{error.object}: cannot be written as {error.encoding} ({error.reason}); rename it", 1)
    except OSError as error:
        return _fail(": ".join(str(part) for part in (error.filename, error.strerror or error) if part), 1)
    return code or 0


def _fail(message: str, code: int) -> int:
    _say("error", message)
    return code


def _show_warning(message: Warning | str, *_: Any) -> None:
    _say("warning", _with_flags(str(message)))


_LONGEST = 10_000  # characters of a message that are printed


def _say(what: str, message: str) -> None:
    if len(message) > _LONGEST:  # it lists the names of the data, which may be anything
        message = f"{message[:_LONGEST]} ... ({len(message):,} characters)"
    with suppress(OutputError, ReaderGoneError):  # then there is nowhere to say so
        print(f"{what}: {one_line(message)}", file=sys.stderr, flush=True)


# what messages of the library name, and what it is called here
_OPTIONS = {"format": "--gt-format", "results_format": "--dt-format"} | {
    name: f"--{name.replace('_', '-')}"
    for name in (
        "by", "categories", "image_sizes", "iou_thresholds", "iou_type", "join_by_name", "matching", "max_detections",
        "measures", "missing", "no_relevant", "queries", "split", "trec_eval", "unjudged",
    )
}  # fmt: skip
_NOT_TABLES = "|".join(set(_OPTIONS) - {"categories", "queries"})  # at the beginning, these mean the option
_NOT_WORDS = "|".join(name for name in _OPTIONS if "_" in name and name != "trec_eval")  # anywhere, these do
_WITH_VALUE = re.compile(rf"""(?<![\w/\\'"])({"|".join(_OPTIONS)})=("?)(\w*)\2(?=(')?)""")
_ALONE = re.compile(rf"""^({_NOT_TABLES})(?=: | is one of| must)|(?<![\w/\\'".-])({_NOT_WORDS})(?![\w/\\'".=])""")


def _with_flags(message: str, drop: str = "--drop-unknown-images") -> str:
    """A message of the library in the words of the command.

    >>> _with_flags('join them by name (join_by_name="images")'), _with_flags("say split=, one of train, val")
    ('join them by name (--join-by-name images)', 'say --split, one of train, val')
    >>> _with_flags("iou_thresholds must lie in (0, 1]"), _with_flags("leave out split='val'")
    ('--iou-thresholds must lie in (0, 1]', "leave out --split 'val'")
    >>> _with_flags("runs/split=val/image_sizes.csv: by 'max_detections'")  # of paths and columns
    "runs/split=val/image_sizes.csv: by 'max_detections'"
    """
    message = message.replace('unknown_images="drop"', drop)
    message = _WITH_VALUE.sub(lambda at: f"{_OPTIONS[at[1]]}{' ' if at[3] or at[4] else ''}{at[3]}", message)
    return _ALONE.sub(lambda at: _OPTIONS[at[1] or at[2]], message)


def _in_check(message: str) -> str:
    return _with_flags(message, "apframe eval --drop-unknown-images")


@contextmanager
def _of_source() -> Iterator[None]:
    """Errors from inside mean by format= the option --from, not that of ground truth."""
    try:
        yield
    except ApframeError as error:
        error.args = (re.sub(r"\bformat=", "--from", str(error)),)
        raise


@contextmanager
def _progress() -> Iterator[Any]:
    """A spinner on stderr that says what is being done; nothing where stderr is not a terminal."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console  # takes a while to import, and is for people only
    from rich.text import Text

    stderr = sys.stderr.stream if isinstance(sys.stderr, Terminal) else sys.stderr
    spinner = "dots" if "utf" in (stderr.encoding or "").lower() else "line"
    with Console(file=stderr).status("starting", spinner=spinner) as status:
        yield lambda text: status.update(Text(one_line(text)))


def _limit(item: str) -> int | None:
    return None if item.strip() == "all" else int(item)


def _numbers(option: str, texts: Sequence[str] | None, kind: Callable[[str], Any], what: str) -> list[Any] | None:
    try:
        return [kind(word) for word in _words(texts)] or None
    except ValueError:
        given = ",".join(texts or ())
        raise ParameterError(f"{option} takes {what} with commas between them, got {given!r}") from None
