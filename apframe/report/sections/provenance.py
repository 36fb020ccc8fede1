"""Provenance: models, ground truth, rules, versions, and the command that writes the page again."""

from __future__ import annotations

from importlib.metadata import version

import polars as pl

from apframe.protocols.protocol import Protocol
from apframe.protocols.published import departures
from apframe.protocols.refused import counts_mistakes, why_no_precision
from apframe.report.compared import Compared
from apframe.report.section import Block, Fragment, Table
from apframe.show.elements import element, joined
from apframe.store.parquet import input_hash
from apframe.tables.dataset import Dataset
from apframe.wording import counted

_SHOWN = 12  # digits of a hash


def facts(compared: Compared) -> list[Block]:
    """Return the models, the ground truth, the rules with their changes, versions and the command."""
    first = compared.first
    protocol, dataset = first.protocol, first.dataset
    changed = departures(protocol)
    rules = f"{protocol.name}, {protocol.iou_type}" + (
        f", but with other {', '.join(changed)}" if changed else ", as published"
    )
    data = (
        f"{counted(dataset.images.height, 'image')}, {counted(dataset.core('annotations').height, 'annotation')}, "
        f"{counted(dataset.categories.height, 'category')}"
    )
    texts = {
        "Ground truth": data,
        "Its hash": ground_truth_hash(dataset),
        "Rules": rules,
        "Subset": " and ".join(first.conditions),
        "Resamples": f"{compared.n_resamples:,} of the images, seed {compared.seed}" if compared.is_drawn else "",
        "Versions": ", ".join(f"{name} {version(name)}" for name in ("apframe", "polars")),
        "Made with": compared.command,
    }
    models = pl.DataFrame(
        {
            "model": compared.names,
            "detections": [_count(each.detections) for each in compared.evaluations],
            "images with detections": [each.detections["image_id"].n_unique() for each in compared.evaluations],
        }
    )
    in_full = element("pre", str(protocol), tabindex=0, role="region", aria_label="All rules in words")
    words = element("details", element("summary", "All rules in words"), in_full)
    return [Table(models, "Models"), described({name: text for name, text in texts.items() if text}), Fragment(words)]


def described(texts: dict[str, str]) -> Fragment:
    """Return a list of terms, each with its description."""
    return Fragment(element("dl", [joined(element("dt", name), element("dd", text)) for name, text in texts.items()]))


def notes(compared: Compared) -> list[str]:
    """Return the notes of the evaluations, and the reason for missing sections, if any."""
    seen = dict.fromkeys(note for each in compared.evaluations for note in each.notes)
    return [*seen, *left_out(compared.first.protocol)]


def left_out(protocol: Protocol) -> list[str]:
    """Return a line with the reason for missing sections, if any.

    >>> from apframe.protocols.coco import COCO
    >>> left_out(COCO)
    []
    """
    if protocol.has_precision:
        return []
    mistakes = "" if counts_mistakes(protocol) else "confusion matrix, "
    return [
        f"{why_no_precision(protocol)}, so this page has no error types, {mistakes}score thresholds, calibration, "
        "pictures of errors or doubtful labels."
    ]


def _count(detections: pl.DataFrame) -> int:
    """Count detections without their copies for other classes."""
    return detections["expanded_from"].null_count() if "expanded_from" in detections.columns else detections.height


def ground_truth_hash(dataset: Dataset) -> str:
    """Return the first digits of a hash over images, categories and annotations, which is equal for equal ground truth.

    >>> from apframe.evaluation.evaluate import evaluate
    >>> truth = {"images": [{"id": 1}], "categories": [{"id": 1, "name": "cat"}], "annotations": [
    ...     {"id": 1, "image_id": 1, "category_id": 1, "bbox": [0, 0, 9, 9]}]}
    >>> len(ground_truth_hash(evaluate(truth, []).dataset))
    12
    """
    import hashlib

    hashes = [input_hash(name, getattr(dataset, name)) for name in ("images", "categories", "annotations")]
    return hashlib.sha256("".join(hashes).encode()).hexdigest()[:_SHOWN]
