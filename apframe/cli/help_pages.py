"""The help of the command and of each verb: a sentence, examples, then options by purpose."""

from __future__ import annotations

from inspect import cleandoc

import click

# the verbs by task, each with a short description and an example
TASKS = {
    "Evaluate": {
        "eval": ("Evaluate detections against ground truth.", "apframe eval instances.json detections.json --by weather"),
        "compare": ("Compare models: differences with intervals.", "apframe compare instances.json a.json b.json"),
        "report": (
            "Write an HTML page about one or more models.", "apframe report instances.json a.json b.json --out report.html"
        ),
        "rank": ("Evaluate search runs against relevance judgements.", "apframe rank qrels.txt run_a.txt run_b.txt --compare"),
    },
    "Explain the numbers": {
        "errors": ("Show how much AP each error type costs.", "apframe errors instances.json detections.json --by weather"),
        "confusion": ("Show the confusion matrix.", "apframe confusion instances.json detections.json --min-score 0.3"),
    },
    "Check and convert data": {
        "check": ("Find errors and suspicious values.", "apframe check instances.json detections.json"),
        "stats": ("Count images, annotations and detections.", "apframe stats instances.json --by weather"),
        "convert": ("Convert data sets and results to another format.", "apframe convert instances.json labels --to yolo"),
        "shard": ("Cut large data into shards of whole images.", "apframe shard instances.json detections.json --into shards"),
    },
    "Work with stored evaluations": {
        "sql": ("Query the tables of an evaluation.", 'apframe sql runs/a "SELECT * FROM summary"'),
        "upgrade": ("Rewrite evaluations of apframe 0.4 and 0.5.0.", "apframe upgrade runs/a runs/b"),
    },
    "Look things up": {
        "formats": ("List the file formats.", "apframe formats yolo"),
        "protocols": ("List the protocols, which are published rules of evaluation.", "apframe protocols voc2007"),
    },
}  # fmt: skip
EXAMPLES = {verb: example for verbs in TASKS.values() for verb, (_, example) in verbs.items()}
_HEADINGS = ("Arguments", "Options", "Reading", "Shards", "Search runs", "Gate", "Output")
_FEW = 4  # up to this number of advanced parameters, with --help-all, are always shown


def write_help(command: click.Command, ctx: click.Context, formatter: click.HelpFormatter, *, everything: bool) -> None:
    """Write the usage, the description with an example, then arguments and options under their headings.

    Without `everything`, advanced options are left out if there are many, and the last line says how to see them.
    """
    sections: dict[str, list[tuple[str, str]]] = {heading: [] for heading in _HEADINGS}
    params = command.get_params(ctx)
    hidden = [] if everything else [param for param in params if getattr(param, "advanced", False)]
    is_short = len(hidden) > _FEW
    for param in params:
        if param in (hidden if is_short else hidden[-1:]):  # the last one is --help-all: here it would show nothing more
            continue
        if isinstance(param, click.Argument):
            sections["Arguments"].append((str(param.metavar), getattr(param, "help", "")))
        else:
            sections[getattr(param, "heading", "Options")] += filter(None, [param.get_help_record(ctx)])
    formatter.write_usage(ctx.command_path, " ".join([*(metavar for metavar, _ in sections["Arguments"]), "[OPTIONS]"]))
    first, _, rest = cleandoc(command.help or "").partition("\n\n")
    formatter.write_paragraph()
    with formatter.indentation():
        formatter.write_text(first)
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(EXAMPLES[str(command.name)])
        if rest:
            formatter.write_paragraph()
            formatter.write_text(rest)
    for heading, records in sections.items():
        if records:
            with formatter.section(heading):
                formatter.write_dl(records, col_max=26)
    if is_short:
        formatter.write(f"\nMore options: {ctx.command_path} --help-all\n")
