"""The `apframe` command: each verb is one call of the library."""

from __future__ import annotations

import json
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, NoReturn

import polars as pl
import typer

import apframe as apf  # whose names are imported when they are used: a command waits for what it needs alone
from apframe.exceptions import ApframeError, ApframeWarning, ParameterError, QueryError, counted
from apframe.io.files import reading
from apframe.io.formats import FORMATS, as_format, naming_format
from apframe.io.parquet import DETECTION, RETRIEVAL, SCHEMA_VERSION, labels, read_manifest, refuse_foreign
from apframe.protocols.protocol import MATCHINGS
from apframe.protocols.published import PUBLISHED, as_protocol
from apframe.ranking.measures import USUAL, as_measures

JSON_VERSION = 1
"""Of what --json prints: a larger one when a key is renamed or removed, or means something else. Keys may be added within one.

Objects have it as `json_version`. Lists have no place for it, so `apframe --version --json` says which version they are of.
"""

app = typer.Typer(
    no_args_is_help=True, add_completion=False, rich_markup_mode=None,
    pretty_exceptions_enable=False, context_settings={"help_option_names": ["-h", "--help"]},
)  # fmt: skip


_FILES = (
    ", ".join(name for name, each in FORMATS.items() if each.dataset_from[0] == "file")
    + ", and results to "
    + ", ".join(name for name, each in FORMATS.items() if each.dataset_from[0] != "file" and each.results_from[0] == "file")
)

# options that several commands have
GtFormat = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="the format of the ground truth, where its path does not tell; see `apframe formats`"),
]
DtFormat = Annotated[str | None, typer.Option(metavar="NAME", help="the format of the results, likewise")]
Split = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="the part of the ground truth: VOC's image set, YOLO's split, ActivityNet's subset"),
]
ImageSizes = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="CSV or Parquet with file_name, image_width, image_height, where boxes are fractions"),
]
JoinByName = Annotated[
    str | None,
    typer.Option(
        metavar="images,categories", help="results name these (files, categories), and have not the ids of the ground truth"
    ),
]
RunName = Annotated[str | None, typer.Option(metavar="NAME", help="a name for what --out writes, which leaderboards show")]
Tags = Annotated[
    list[str] | None,
    typer.Option(metavar="lr=.1", help="a tag for it, by which leaderboards select; give it once for each tag"),
]


@app.callback(invoke_without_command=True)
def about(
    show_version: Annotated[bool, typer.Option("--version", help="print the version and exit")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="with --version: also those of JSON output and of stored sets")
    ] = False,
) -> None:
    """Average precision as tables. Exit status: 0, 1 for bad data, 2 for bad usage; 3 where `check` has warnings alone."""
    if as_json and not show_version:
        raise ParameterError("--json goes with --version here; that of a command stands after its name")
    if show_version:
        from importlib.metadata import version

        versions = {"apframe": version("apframe"), "json_version": JSON_VERSION, "schema_version": SCHEMA_VERSION}
        print(json.dumps(versions) if as_json else f"apframe {versions['apframe']}")
        raise typer.Exit


@app.command("eval", short_help="Evaluate detections against ground truth.")
def evaluate_files(
    context: typer.Context,
    truth: Annotated[
        Path | None, typer.Argument(metavar="GT", help="ground truth: COCO JSON, or a file or folder of another format")
    ] = None,
    results: Annotated[Path | None, typer.Argument(metavar="DT", help="results, likewise")] = None,
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
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="also write all tables there, as Parquet")] = None,
    name: RunName = None,
    tag: Tags = None,
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON object instead of lines")] = False,
    max_detections: Annotated[
        str | None,
        typer.Option(metavar="1,10,100", help="at most so many per image and category, or all; the largest is that of AP"),
    ] = None,
    iou_thresholds: Annotated[str | None, typer.Option(metavar="0.5,0.75", help="thresholds, in (0, 1]")] = None,
    matching: Annotated[
        str | None, typer.Option(metavar="|".join(MATCHINGS), help="another policy than that of the protocol")
    ] = None,
    categories: Annotated[str | None, typer.Option(metavar="person,car", help="only these, by name or id")] = None,
    agnostic: Annotated[bool, typer.Option("--agnostic", help="pool the categories")] = False,
    by: Annotated[
        str | None,
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
    if as_csv and by is None:
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
        slices = None if by is None else evaluation.by(*_words(by))
        summary = evaluation.summary
        if out is not None:
            say(f"writing {out}")
            evaluation.write_parquet(out, **labelled)
    if rules and not (as_json or as_csv):
        print(evaluation.protocol, end="\n\n")
    if slices is None:
        print(json.dumps(dict(summary.rows()) | {"json_version": JSON_VERSION}) if as_json else evaluation)
        return
    if not (as_json or as_csv):  # the most telling columns, in the width of a terminal
        recalls = [name for name in evaluation.summary["metric"] if name.startswith("AR")]
        limits = evaluation.protocol.max_detections
        kept = recalls[:1] if len(limits) == 1 else [f"AR{'' if limits[-1] is None else limits[-1]}"]
        slices = slices.select(pl.exclude(*(name for name in recalls if name not in kept), "AP75", "n_detections"))
    _show(slices, as_json, as_csv, digits=3)


@app.command("check", short_help="Find what is wrong or suspicious in a data set and its results.")
def check_files(
    truth: Annotated[Path, typer.Argument(metavar="DATASET", help="ground truth, in any format")],
    results: Annotated[Path | None, typer.Argument(metavar="[RESULTS]", help="results, in any format")] = None,
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
    if as_json:
        print(findings.write_json())
    else:
        print(findings)
    raise typer.Exit({"error": 1, "warning": 3}.get(worst(findings) or "", 0))


@app.command("convert", short_help="Convert a data set, or results, from one format to another.")
def convert_files(
    source: Annotated[Path, typer.Argument(metavar="SOURCE", help="a data set; results with --results-of")],
    target: Annotated[Path, typer.Argument(metavar="TARGET", help=f"a new file, if to {_FILES}; else a new folder")],
    to: Annotated[str, typer.Option("--to", metavar="NAME", help="the format to write; see `apframe formats`")],
    source_format: Annotated[
        str | None, typer.Option("--from", metavar="NAME", help="the format of SOURCE, where its path does not tell")
    ] = None,
    results_of: Annotated[
        Path | None, typer.Option(metavar="GT", help="SOURCE are results of this data set, which has their ids and names")
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
            with _calling({r"\bformat=": "--from"}):
                dataset = apf.read_dataset(source, source_format, split=split, image_sizes=image_sizes)
            say(f"writing {target}")
            lost = apf.write_dataset(dataset, target, to)
        else:
            dataset = apf.read_dataset(results_of, gt_format, split=split, image_sizes=image_sizes)
            with _calling({r"\bformat=": "--from"}):
                found = apf.read_results(source, source_format, dataset=dataset, join_by_name=_words(join_by_name))
            say(f"writing {target}")
            with naming_format(source, source_format):
                lost = apf.write_results(found, target, to, dataset=dataset)
    if as_json:
        print(lost.write_json())
        return
    for table, column, n_rows, what in lost.iter_rows():
        print(f"{table}{'' if column is None else '.' + column}: {what} ({counted(n_rows, 'row')})")
    print(f"{target}: {as_format(to).title}, {'all of it' if lost.is_empty() else 'but for what is said above'}")


@app.command("formats", short_help="List the formats of data sets and results.")
def list_formats(as_json: Annotated[bool, typer.Option("--json", help="print a list of JSON objects")] = False) -> None:
    """List the formats that `eval`, `check` and `convert` take, and what their files are."""
    if as_json:
        print(apf.formats().write_json())
        return
    for name, title, dataset, results in apf.formats().select("format", "title", "dataset", "results").iter_rows():
        print(f"{name}: {title}\n  data set: {dataset}\n  results:  {results}")


@app.command("rank", short_help="Evaluate search runs against relevance judgements.")
def evaluate_rankings(
    qrels: Annotated[Path, typer.Argument(metavar="QRELS", help="judgements: TREC text, plain or gzip, or Parquet")],
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="runs: TREC text, plain or gzip, or Parquet")],
    measures: Annotated[str, typer.Option("--measures", "-m", metavar='"AP nDCG@10 P@5"', help="what to measure")] = " ".join(
        USUAL
    ),
    per_query: Annotated[bool, typer.Option("--per-query", "-q", help="print the value of each query, not the means")] = False,
    compare: Annotated[
        bool,
        typer.Option(
            "--compare", help="print a comparison of each two runs: 95 % intervals, corrected p; all columns with --json, --csv"
        ),
    ] = False,
    queries: Annotated[Path | None, typer.Option(metavar="FILE", help="attributes of the queries: CSV or Parquet")] = None,
    by: Annotated[
        str | None, typer.Option(metavar="topic,length", help="print means for each value of these attributes")
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="also write all tables there, as Parquet")] = None,
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
    if per_query + compare + (by is not None) > 1:
        raise ParameterError("--per-query, --compare and --by exclude each other")
    if compare and len(runs) < 2:
        raise ParameterError("--compare needs two runs or more")
    if by is not None and queries is None:
        raise ParameterError("--by needs the attributes of the queries: --queries FILE")
    as_measures(measures)  # a wrong name is told before the files are read
    labelled = _labels(out, name, tag)
    if out is not None:
        refuse_foreign(out, RETRIEVAL)
    with _progress() as say:
        say("reading and ranking")
        evaluation = apf.evaluate_run(
            qrels,
            runs[0] if len(runs) == 1 else runs,
            measures,
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
    elif by is not None:
        means = evaluation.by(*_words(by))
        columns = [name for name in means.columns if name not in ("measure", "value")]
        table = means.pivot("measure", index=columns, values="value", maintain_order=True)
    elif as_json or as_csv:
        table = evaluation.summary
    else:
        print(evaluation)
        return
    _show(table, as_json, as_csv, digits=4)


@app.command("sql", short_help="Query the tables of an evaluation.")
def query_evaluation(
    folder: Annotated[
        str,
        typer.Argument(
            metavar="DIR",
            help='what `apframe eval --out DIR` or `apframe rank --out DIR` wrote; or many runs of eval: "runs/street/*"',
        ),
    ],
    query: Annotated[
        str | None,
        typer.Argument(metavar="[QUERY]", help="SQL, in DuckDB's dialect; several with ; between; without it, a prompt"),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print a list of JSON objects")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="print comma-separated values")] = False,
) -> None:
    """Query the tables of an evaluation: metrics, matches, curves, images, categories, annotations, detections, ...

    Of an evaluation that `apframe rank` wrote: per_query, summary, coverage, matches, judgements, runs, queries.

    A pattern in quotes (with * ? or [) stands for many runs at once: their tables have a column run, and `runs` lists them. A
    terminal shows the first 40 rows of an answer; a pipe, --json and --csv have them all.

    Without QUERY, statements are read from stdin, each ended by a semicolon; in a terminal at a prompt, where .help helps.
    """
    if as_json and as_csv:
        raise ParameterError("--json and --csv exclude each other")
    from apframe import prompt  # for this alone

    def show(answer: pl.DataFrame) -> None:
        most = 40 if sys.stdout.isatty() and not (as_json or as_csv) else answer.height
        _show(answer.head(most), as_json, as_csv)
        if answer.height > most:
            print(f"… {answer.height:,} rows; add LIMIT, or use --csv")

    with _progress() as say:
        say("reading" if query is None else "querying")
        evaluation = _read_any(folder)
        several = query is not None and len(prompt.statements(query)) > 1
        answer = None if query is None or several else evaluation.sql(query)
    if answer is not None:
        show(answer)
        return
    with evaluation.connection() as connection:
        if query is None:
            prompt.run_prompt(connection, show)
        else:
            prompt.run_script(prompt.Prompt(connection, show), [query])


def _read_any(folder: str) -> Any:
    """An evaluation, or the runs that a pattern matches; a folder may be called run[1]."""
    with reading(folder):
        is_pattern = bool(set("*?[") & set(folder)) and not Path(folder).exists()
    if is_pattern:
        return apf.scan_runs(folder)
    return (apf.read_run_evaluation if read_manifest(folder)["kind"] == RETRIEVAL else apf.read_evaluation)(folder)


@app.command("upgrade", short_help="Rewrite stored evaluations of earlier versions.")
def upgrade_evaluations(
    folders: Annotated[list[Path], typer.Argument(metavar="RUN...", help="folders that --out wrote")],
) -> None:
    """Rewrite stored evaluations that earlier versions of apframe wrote in today's version; their numbers stay.

    Those of this schema version and of the two before it can be read without it.
    """
    for folder in folders:
        done = "rewritten" if apf.upgrade_evaluation(folder) else "is of today's version already"
        print(f"{folder}: {done}")


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


def _words(text: str | None) -> list[str]:
    """Names with commas between them."""
    return [] if text is None else [name.strip() for name in text.split(",")]


def _show(answer: pl.DataFrame, as_json: bool, as_csv: bool, digits: int | None = None) -> None:
    """Print a table: for people (numbers with so many digits), or for programs."""
    if as_json and as_csv:
        raise ParameterError("--json and --csv exclude each other")
    if as_json:
        print(answer.write_json())
    elif as_csv:
        if any(dtype.is_nested() for dtype in answer.dtypes):
            raise QueryError("CSV holds no lists or structs; use --json, or choose other columns")
        print(answer.write_csv(), end="")
    else:
        with pl.Config(
            tbl_rows=-1, tbl_cols=-1, tbl_hide_dataframe_shape=True, tbl_hide_column_data_types=True, fmt_str_lengths=60,
            tbl_width_chars=-1, float_precision=digits,
        ):  # fmt: skip
            print(answer)


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command with these arguments, by default the process's own; errors are one line on stderr.

    It ends with SystemExit: 0, 1 for bad data, 2 for bad usage.
    """
    warnings.showwarning = _show_warning  # type: ignore[assignment]
    warnings.simplefilter("always", ApframeWarning)
    try:
        app(None if arguments is None else list(arguments))
    except (ParameterError, QueryError) as error:
        _fail(error, 2)
    except ApframeError as error:
        _fail(error, 1)
    except BrokenPipeError:  # the reader of the output has gone, as in `| head`
        sys.stderr.close()
        sys.exit(0)
    sys.exit(0)


def _fail(error: Exception, code: int) -> NoReturn:
    print(f"error: {_with_flags(str(error), _FLAGS)}", file=sys.stderr)
    sys.exit(code)


def _show_warning(message: Warning | str, *_: Any) -> None:
    print(f"warning: {_with_flags(str(message), _FLAGS)}", file=sys.stderr)


_FLAGS = {  # what messages of the library name, and what it is called here
    r'\bjoin_by_name="(\w+)"': r"--join-by-name \1",
    r'\bunknown_images="drop"': "--drop-unknown-images",
    r"\bresults_format=": "--dt-format",
    r"\bformat=": "--gt-format",
    r"\bsplit=(?=['\"])": "--split ",
    r"\bsplit=": "--split",
}


def _with_flags(message: str, flags: Mapping[str, str]) -> str:
    for pattern, flag in flags.items():
        message = re.sub(pattern, flag, message)
    return message


@contextmanager
def _calling(flags: Mapping[str, str]) -> Iterator[None]:
    """Errors from inside name these flags, not those that other commands have."""
    try:
        yield
    except ApframeError as error:
        error.args = (_with_flags(str(error), flags),)
        raise


@contextmanager
def _progress() -> Iterator[Any]:
    """A spinner on stderr that says what is being done; nothing where stderr is not a terminal."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console  # takes a while to import, and is for people only

    with Console(stderr=True).status("starting") as status:
        yield status.update


def _limit(item: str) -> int | None:
    return None if item.strip() == "all" else int(item)


def _numbers(option: str, text: str | None, kind: Callable[[str], Any], what: str) -> list[Any] | None:
    if text is None:
        return None
    try:
        return [kind(item) for item in text.split(",")]
    except ValueError:
        raise ParameterError(f"{option} takes {what} with commas between them, got {text!r}") from None
