"""The last section: provenance, the rules in words, the limits of the numbers, and the limits of the page."""

from __future__ import annotations

from apframe.protocols.refused import counts_mistakes
from apframe.report.compared import Compared, in_words
from apframe.report.section import MOST_ROWS, Section
from apframe.report.sections.image_table import MOST_IMAGES
from apframe.report.sections.label_candidates import most_labels
from apframe.report.sections.provenance import described, facts, notes
from apframe.show.charts import MOST_POINTS
from apframe.show.confusion_marks import MOST_CATEGORIES
from apframe.wording import counted

KEY, HEADING = "computed", "How it was computed"
ALONE = "This file needs no network and no other file"
_USUAL = 1_000  # resamples
SAME_BYTES = "The same input gives the same bytes."


def section(compared: Compared) -> Section:
    """Return the section."""
    protocol, several = compared.first.protocol, len(compared.names) > 1
    rules = {
        "Numbers": f"They follow the rules of {protocol.name} ({protocol.citation}), which are below in full.",
    }
    if protocol.has_precision:
        rules["Threshold"] = f"Errors, confusions, score thresholds and calibration are those at {compared.threshold}."
        rules["Errors"] = (
            "An error type costs as much AP as is gained if all errors of the type, and no others, are fixed (TIDE)."
        )
    drawn = (
        f" Numbers without a derivative have {counted(compared.n_resamples, 'resample')} of the images instead, "
        f"starting from seed {compared.seed}."
    )
    rules["95 % intervals"] = (
        "A standard error is made of what each image contributes to a number (its influence), and an interval has t standard "
        f"errors on either side.{drawn * compared.is_drawn} It says how far the number would move with other images of the "
        "same kind, not with another training run. AP of few images is too high: where it can be estimated by how much, the "
        "interval is moved down. There is no interval where too few images have annotations that count."
    )
    if several:
        corrected = "corrected for the number of models" if compared.are_several else "not corrected for the number of metrics"
        rules["p and q"] = (
            f"{'p (Holm)' if compared.are_several else 'p'} is how surprising a difference would be if the models were equal, "
            f"{corrected}. q is corrected for the number of rows of a table: of all differences with q below 0.05, one in "
            "twenty may be chance."
        )
        rules["Detectable"] = (
            "A true difference of this size would be found in four of five sets like this one. "
            "A smaller one may be real and not be found."
        )
    cards = (
        f", curves {MOST_POINTS} points, matrices {MOST_CATEGORIES} categories, and the page {MOST_IMAGES} images, "
        f"{counted(compared.max_images, 'card')} of errors and {most_labels(compared):,} of labels"
    )
    rules["Limits"] = f"Tables have at most {MOST_ROWS} rows{cards * protocol.has_precision}. A line says what was left out."
    pictures = compared.pictures
    links = pictures.folder is not None and not pictures.held
    rules["File"] = f"{ALONE}{', except pictures that it links' * links}. {SAME_BYTES}"
    rules["In Python"] = _in_python(compared)
    return Section(KEY, HEADING, (), (*facts(compared), described(rules)), notes(compared))


def _in_python(compared: Compared) -> str:
    """Return the calls that compute the tables of the page, without those that the protocol rejects."""
    options = [f"n_resamples={compared.n_resamples}"] * (compared.is_drawn and compared.n_resamples != _USUAL)
    options += [f"seed={compared.seed}"] * (compared.seed != 0)
    others = ["[b, ...]" if compared.are_several else "b"] if len(compared.names) > 1 else []
    numbers = f"a.{'compare' if others else 'intervals'}({', '.join([*others, *options])})"
    calls = [numbers, *(f"a.{name}({compared.iou_threshold:.10g}{more})" for name, more in _tables(compared))]
    who = f"a is the evaluation of {compared.names[0]}"
    if compared.are_several:
        who += ", and b, ... are those of the others"
    elif compared.is_pair:
        who += f", and b that of {compared.names[1]}"
    gives = "gives" if len(calls) == 1 else "give"
    return f"{in_words(calls)} {gives} the same {'numbers' if len(calls) == 1 else 'tables'}, where {who}."


def _tables(compared: Compared) -> list[tuple[str, str]]:
    """Return the methods behind the tables of errors and scores, with their options, if the protocol supports them."""
    protocol = compared.first.protocol
    has_precision = protocol.has_precision
    has_answer = {
        "errors": has_precision,
        "error_impact": has_precision and not protocol.definition.at_cut_offs,
        "confusion": counts_mistakes(protocol) and not protocol.agnostic,
        "thresholds": has_precision,
        "calibration": has_precision,
        "label_errors": has_precision and protocol.similarity.bounds[1] >= 1,  # similarities, not distances
    }
    options = {"confusion": f", min_score={compared.point.best[0]!r}" if compared.point else ""}
    return [(name, options.get(name, "")) for name, has in has_answer.items() if has]
