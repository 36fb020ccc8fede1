"""The help of the command and of each verb: a sentence, examples, then options by purpose."""

from __future__ import annotations

from inspect import cleandoc
from typing import Any

import click

from apframe.cli.declared import HelpedArgument

# the verbs by task: a short description and an example of each
TASKS = {
    "Evaluate": {
        "eval": ("Evaluate detections against ground truth.", "apframe eval instances.json detections.json --by weather"),
        "compare": ("Compare models: differences with intervals.", "apframe compare instances.json a.json b.json"),
        "report": (
            "Write one HTML page about one model or several.", "apframe report instances.json a.json b.json --out report.html"
        ),
        "rank": ("Evaluate search runs against relevance judgements.", "apframe rank qrels.txt run_a.txt run_b.txt --compare"),
    },
    "Explain the numbers": {
        "errors": ("Show how much AP each kind of error costs.", "apframe errors instances.json detections.json --by weather"),
        "confusion": ("Show what is mistaken for what.", "apframe confusion instances.json detections.json --min-score 0.3"),
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
        "protocols": ("List the protocols: published rules of evaluation.", "apframe protocols voc2007"),
    },
}  # fmt: skip
SHORT_HELP = {verb: does for verbs in TASKS.values() for verb, (does, _) in verbs.items()}
_EXAMPLES = {verb: example for verbs in TASKS.values() for verb, (_, example) in verbs.items()}
# the headings of options, and the parameters under each
_PURPOSES = {
    "Reading": "source_format results_of split image_attributes invalid drop_unknown_images",
    "Shards": "shards memory work skip_bad_shards engine",
    "Search runs": "measures queries missing no_relevant unjudged trec_eval relevance_level max_documents own_document",
    "Gate": "fail_if_worse max_drop sure strict",
    "Output": "out into title images embed max_images tables n name tag matches per_query compare rules pairs "
    "as_json as_csv as_markdown as_latex",
}


class HelpPage(click.Command):
    """A verb whose help shows an example below its first sentence, arguments as they are typed, and options by purpose."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:  # noqa: ARG002
        """The arguments as they are typed, then the options."""
        arguments = [str(each.metavar) for each in self.params if isinstance(each, HelpedArgument)]
        return [*arguments, "[OPTIONS]"]

    def format_help_text(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002
        """The first sentence, the example, and the rest."""
        first, _, rest = cleandoc(self.help or "").partition("\n\n")
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(first)
            formatter.write_paragraph()
            with formatter.indentation():
                formatter.write_text(_EXAMPLES[str(self.name)])
            if rest:
                formatter.write_paragraph()
                formatter.write_text(rest)

    def format_arguments(self, ctx: Any, formatter: Any) -> None:
        """Nothing: `format_options` lists them too, as click before 8.5 asks for it alone."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """The arguments, then the options under the headings of their purposes."""
        sections: dict[str, list[tuple[str, str]]] = {name: [] for name in ("Arguments", "Options", *_PURPOSES)}
        purposes = {name: purpose for purpose, names in _PURPOSES.items() for name in names.split()}
        for param in self.get_params(ctx):
            if isinstance(param, HelpedArgument):
                sections["Arguments"].append((str(param.metavar), param.help or ""))
            elif record := param.get_help_record(ctx):
                purpose = getattr(param, "purpose", "") or purposes.get(str(param.name), "Options")
                sections[purpose].append(record)
        for name, records in sections.items():
            if records:
                with formatter.section(name):
                    formatter.write_dl(records, col_max=26)
