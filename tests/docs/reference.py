"""The pages of docs/reference that are made from the code: names, tables, protocols, formats, measures, commands, errors."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from operator import attrgetter

import polars as pl

import apframe as apf
import apframe.pycocotools.cocoeval
import apframe.training.lightning
import apframe.training.ultralytics
from apframe import exceptions
from apframe.cli.command import app
from apframe.tables.dictionary import dictionary
from apframe.tables.result_tables import DIFFERENCES, RESULTS, RUN_RESULTS, SLICES
from apframe.tables.schemas import TABLES
from tests.docs.pages import command_output
from tests.names import HOMES

# the pages of public names: title, first sentence, the packages with the names, and the names that come first
PAGES: dict[str, tuple[str, str, tuple[str, ...], tuple[str, ...]]] = {
    "detection": (
        "Detection", "Evaluate detections, then query the result.",
        ("evaluation", "tables", "checks"), ("evaluate", "Evaluation", "Evaluator", "Dataset"),
    ),
    "retrieval": (
        "Retrieval", "Evaluate search runs, and compare their means.",
        ("retrieval", "compare"), ("evaluate_run", "RunEvaluation"),
    ),
    "ranked_lists": (
        "Ranked lists", "Compute average precision of any ranked list in a Polars frame.", ("lists",),
        ("lists.average_precision",),
    ),
    "definitions": ("Definitions of AP", "Choose a definition of average precision by its name.", ("metrics",), ()),
    "similarities": ("Similarities", "Choose how a detection is compared with an annotation.", ("similarity",), ()),
    "files": ("Reading and writing", "Read and write data sets and results.", ("formats",), ()),
    "shards": (
        "Shards", "Evaluate [data that are larger than memory](../guides/larger_than_memory.md), on one machine or a cluster.",
        ("scale",), ("evaluate_shards", "write_shards"),
    ),
    "runs": ("Stored runs", "Query many stored evaluations at once.", ("runs", "store"), ()),
    "charts": (
        "Charts", "Draw charts of evaluations, runs and ranked lists. They need `pip install altair`.", ("plot", "show"), (),
    ),
    "report": ("Report", "Write [one page](../guides/report.md) about one model, two or more.", ("report",), ()),
    "training": (
        "Training", "Evaluate from training code, read the outputs of other libraries, and train with AP as the loss.",
        ("training", "adapters"),
        ("training.lightning.AveragePrecisionCallback", "training.ultralytics.AveragePrecisionCallback"),
    ),
    "drop_in": (
        "Drop-in for pycocotools", "Run code that was written for [pycocotools](../coming_from/pycocotools.md).",
        ("pycocotools",), ("patch_pycocotools", "pycocotools.coco.COCO", "pycocotools.cocoeval.COCOeval"),
    ),
    "protocols": ("Protocols", "Choose published rules by name, or write your own.", ("protocols",), ()),
    "threads": ("Threads", "Choose how many cores apframe uses.", ("threads",), ("set_threads",)),
}  # fmt: skip
VERBS = list(app.verbs)


STATUSES = {
    0: "success; for `check`, notes at most",
    1: "an error in the data or files: one line on stderr names the rows, files or columns",
    2: "an error in the command's arguments",
    3: "`check` found warnings, but no errors",
    4: "`compare` found a model worse, by `--fail-if-worse` or `--max-drop`",
    130: "stopped by Ctrl-C",
}
ROWS = {
    "images": "one row per image", "categories": "one row per category", "annotations": "one row per annotated object",
    "detections": "one row per detection",
    "pairs": "one row per detection and annotation of one image and category that overlap enough for the lowest threshold",
    "assignments": "one row per detection and the annotation that it matches, with the thresholds at which it does",
    "matches": "one row per detection and per missed annotation, at each threshold and area range",
    "curves": "one row per counted rank of a category, threshold and area range",
    "metrics": "one row per category, area range, threshold and limit of detections",
    "summary": "one row per headline number", "per_image": "one row per image, threshold and area range",
    "thresholds": "one row per score threshold of a category",
    "confusion": "one row per true and found category that occur together, at the lowest threshold, computed on request",
    "lrp": "one row per category, and the mean, at the lowest threshold, computed on request",
    "miss_rates": "one row per category, and the mean, at the lowest threshold, computed on request",
    "froc": "one row per category, and the mean, at the lowest threshold, computed on request",
    "calibration": "one row per category, at the lowest threshold, computed on request",
    "reliability": "one row per category and bin of scores, at the lowest threshold, computed on request",
    "errors": "one row per false positive and per missed annotation, at the lowest threshold",
    "error_impact": "one row per category and kind of error, and one per kind for the mean, at the lowest threshold",
    "label_errors": "one row per suspected label error, from detections of score .5 or more, at the lowest threshold",
    "intervals": "one row per headline number with its interval, computed on request",
    "influence": "one row per headline number that has a derivative, and image, computed on request",
    "differences": "one row per headline number and pair of stored runs, in SQL over them; `ev.compare()` too",
    "(slices)": "what `ev.by(...)` returns: its keys, the metrics of `summary` as columns, and these",
    "queries": "one row per query; its other columns are attributes",
    "judgements": "one row per query and judged document", "runs": "one row per query and retrieved document",
    "per_query": "one row per query and measure", "coverage": "one row per run",
}  # fmt: skip


def reference() -> dict[str, str]:
    """Every generated page: its name in docs/reference and its text."""
    pages = {f"{name}.md": _names_page(name) for name in PAGES}
    pages["definitions.md"] += "\n## The definitions\n\n" + _table(apf.list_definitions(), "name")
    pages["measures.md"] = (
        "# Measures\n\nEvery measure that [`evaluate_run`][apframe.evaluate_run] computes, by the name it is asked for. "
        "`@k` is a cut-off. `apf.list_measures()` returns this table.\n\n" + _table(apf.list_measures(), "name")
    )
    pages["formats.md"] = (
        "# Formats\n\nEvery file format by its name. `apf.list_formats()` returns this table; `apframe formats` prints it. "
        "[Formats and convert](../guides/formats.md) shows them in use.\n\n" + _table(apf.list_formats(), "format")
    )
    pages["tables.md"] = "".join(_tables())
    pages["command_line.md"] = "".join(_commands())
    pages["errors.md"] = "".join(_errors())
    return pages


def undocumented() -> list[str]:
    """Public names without a docstring, or without a page."""
    documented = {name for page in PAGES for name in _names(page)}
    missing = sorted(HOMES.keys() - documented - {*vars(exceptions)})
    for name in documented:
        value = attrgetter(name)(apf)
        if not callable(value):
            continue
        missing += [] if inspect.getdoc(value) else [name]
        if inspect.isclass(value):
            members = [each for each in vars(value) if not each.startswith("_")]
            missing += [
                f"{name}.{each}" for each in members if _is_code(value, each) and not inspect.getdoc(getattr(value, each))
            ]
    return missing


def _is_code(value: type, member: str) -> bool:
    attribute = inspect.getattr_static(value, member)
    return callable(attribute) or isinstance(attribute, property)


def _names(page: str) -> list[str]:
    """The public names whose code is in the packages of a page."""
    package = {name: name if "." in name else home.removeprefix("apframe.") for name, home in HOMES.items()}
    return [name for name in HOMES if package[name].split(".")[0] in PAGES[page][2]]


def _names_page(page: str) -> str:
    title, sentence, _, first = PAGES[page]
    text = f"# {title}\n\n{sentence}\n"
    if page == "protocols":
        text += "".join(_protocols())
    others = sorted(set(_names(page)) - set(first), key=str.lower)
    return text + "".join(f"\n::: apframe.{name}\n" for name in (*first, *others) if callable(attrgetter(name)(apf)))


def _protocols() -> Iterator[str]:
    yield "\nThese are the rules that `print(protocol)` and `apframe eval --protocol NAME --rules` print.\n"
    for name, protocol in apf.PUBLISHED.items():
        yield f"\n## `{name}` {{#apframe.{name}}}\n"
        for label in protocol.iou_types:
            _, citation, *rules = str(protocol.variant(label)).splitlines()
            cells = [re.split(r"  +", rule.replace("|", r"\|"), maxsplit=1) for rule in rules]
            yield f"\n### `{name}`, `{label}`\n\n{citation}\n\n| rule | |\n|---|---|\n"
            yield from (f"| {rule} | {words} |\n" for rule, words in cells)
    yield "\n## `PUBLISHED` {#apframe.PUBLISHED}\n\nA dict of all published protocols by name.\n"


def _tables() -> Iterator[str]:
    yield (
        "# Tables\n\nEvery column of every table. Attributes, which any table may have, follow these columns.\n\n"
        "The methods `ev.curves()`, `ev.thresholds()` and `ev.per_image()` return the tables of these names at one threshold "
        "and area range, with `name` after category_id and `file_name` after image_id. `ev.errors()`, `ev.error_impact()` and "
        "`ev.label_errors()` return theirs at one threshold, also with names.\n"
    )
    columns, start = dictionary(), 0
    for kind, tables in (
        ("", {**TABLES, **RESULTS, "(slices)": SLICES, "differences": DIFFERENCES}),
        (" of search runs", RUN_RESULTS),
    ):
        for table, described in tables.items():
            rows, start = columns[start : start + len(described)], start + len(described)
            about = "one row per measure" if kind and table == "summary" else ROWS[table]
            about = "one row per judgement; null if the document was not retrieved" if kind and table == "matches" else about
            yield f"\n## `{table}`{kind}\n\n{about[0].upper()}{about[1:]}.\n\n{_table(rows.drop('table'), 'column')}"


def _commands() -> Iterator[str]:
    yield "# Command line\n\nEvery command with all options; `--help` shows those that most people need.\n\n"
    yield "| exit status | meaning |\n|--:|---|\n"
    yield from (f"| {status} | {meaning} |\n" for status, meaning in STATUSES.items())
    yield (
        "\nThe output of `--json` has a version. A larger `json_version` means that a key was renamed or removed, or means "
        "something else; keys may be added without one. `apframe --version --json` prints it.\n"
    )
    yield (
        "\nThe shell completes commands, options, files and names once it has read what apframe prints for it, see "
        "[Completion in the shell](../get_started/coco_files.md#completion-in-the-shell).\n"
    )
    for verb in VERBS:
        yield f"\n## `apframe {verb}`\n\n```console\n$ apframe {verb} --help-all\n{command_output([verb, '--help-all'])}```\n"


def _errors() -> Iterator[str]:
    yield (
        "# Errors and warnings\n\nAll are in `apframe.exceptions`. The bases `ApframeError`, `InputError` and `ApframeWarning` "
        "are in `apframe` too, as in `except apf.InputError`. An error says what is wrong, where, and what to do.\n"
    )
    classes = [each for each in vars(exceptions).values() if inspect.isclass(each) and each.__module__ == "apframe.exceptions"]
    for title, base in (("Errors", exceptions.ApframeError), ("Warnings", exceptions.ApframeWarning)):
        yield f"\n## {title}\n\n| class | is a | meaning |\n|---|---|---|\n"
        for each in classes:
            if issubclass(each, base):
                first = (inspect.getdoc(each) or "").split("\n\n")[0].replace("\n", " ")
                yield f"| `{each.__name__}` | {', '.join(f'`{kind.__name__}`' for kind in each.__bases__)} | {first} |\n"


def _table(frame: pl.DataFrame, code: str) -> str:
    """A Markdown table, with one column as code."""
    rows = frame.with_columns(pl.all().cast(pl.String).fill_null("").str.replace_all(r"\|", r"\|")).rows()
    place = frame.columns.index(code)
    lines = [f"| {' | '.join(frame.columns)} |", f"|{'---|' * frame.width}"]
    lines += [f"| {' | '.join(f'`{cell}`' if n == place else cell for n, cell in enumerate(row))} |" for row in rows]
    return "\n".join(lines) + "\n"
