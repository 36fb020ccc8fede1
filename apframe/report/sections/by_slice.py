"""Numbers by category, the user's slices, sizes of objects or levels of difficulty, with their differences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import polars as pl

from apframe.protocols.headlines import lines_of_ranges, main_headline
from apframe.report.compared import Compared
from apframe.report.marks import Mark
from apframe.report.section import Block, Section, Table
from apframe.report.sections.models_compared import HEADS, difference_table, level_table, pair_heads
from apframe.show.comparison_text import comparison_sentences
from apframe.show.interval_marks import interval_order
from apframe.wording import counted

KEY, HEADING = "slices", "Where?"
_ALL = "all"
ENOUGH = "with enough images"
_NO_ATTRIBUTES = (  # columns of images that do not describe their content
    "image_id", "image_width", "image_height", "file_name", "label_map", "coco_url", "flickr_url", "date_captured", "license",
    "neg_category_ids", "not_exhaustive_category_ids",
)  # fmt: skip


def section(compared: Compared) -> Section:
    """Return the section, of one model or of a pair."""
    metric = compared.metric
    sentences, blocks = list[str](), list[Block]()
    categories, of_one = of_categories(compared)
    if categories.height > 1:
        sentences += comparison_sentences(categories, ["name"]) if compared.is_pair else _worst(categories, of_one)
        rows = _sorted(categories, compared)
        marks = {"name": compared.category_marks(rows["category_id"])}
        blocks.append(_table(rows, ["name"], compared, f"{of_one} by category", ["n_positives"], marks=marks))
    for keys, rows in compared.sliced:
        by = f"by {', '.join(keys)}"
        if compared.is_pair:
            sentences += [text.replace(":", f" {by}:", 1) for text in comparison_sentences(rows, keys)]
        columns = {f"key {k}": key for k, key in enumerate(keys)}  # keys may be called what another column is
        rows = rows.rename({key: column for column, key in columns.items()})
        marks = {"key 0": compared.slice_marks(rows, {key: column for column, key in columns.items()})}
        table = _table(rows, [*columns], compared, f"{metric} {by}", ["n_images", "n_annotations"], marks=marks)
        blocks.append(replace(table, heads={**table.heads, **columns}))
    by_size = sizes(compared)
    if by_size.height > 1:
        marks = {"metric": compared.size_marks(by_size["metric"])}
        caption = ranges_in_words(compared).capitalize()
        blocks.append(_table(by_size, ["metric"], compared, caption, test="p", marks=marks))  # q: of one metric
    notes = [*last_ones(categories), *([] if compared.by else [hint(compared)])]
    return Section(KEY, HEADING, sentences, blocks, notes, compared.all_scores)


def _table(
    rows: pl.DataFrame,
    keys: list[str],
    compared: Compared,
    caption: str,
    support: Sequence[str] = (),
    test: str = "q",
    marks: Mapping[str, Sequence[Mark | None]] | None = None,
) -> Table:
    """Return the numbers of slices, below the number of all together, with which sizes begin."""
    has_overall = keys == ["metric"]
    if not has_overall:
        whole = compared.overall.filter(pl.col("metric") == compared.metric)
        whole = whole.with_columns(pl.lit(_ALL).alias(keys[0]), pl.lit(None, pl.Float64).alias(test))
        rows = pl.concat([whole, rows.cast({keys[0]: pl.String})], how="diagonal_relaxed")
    marks = {name: [*[None] * (not has_overall), *each] for name, each in (marks or {}).items()}
    if compared.is_pair:
        heads = HEADS | pair_heads(*compared.names)
        table = difference_table(rows, keys, caption, heads, [test, "detectable"], support)
    else:
        table = level_table(rows, keys, caption, HEADS, support)
    return replace(table, links=marks, n_means=1)


def _sorted(rows: pl.DataFrame, compared: Compared) -> pl.DataFrame:
    """Sort rows by their change, the largest first; for one model, the lowest first. Rows without an interval come last."""
    order = interval_order("difference" if compared.is_pair else "estimate")
    return rows.sort(*order, "name", nulls_last=True, maintain_order=True)


def of_categories(compared: Compared) -> tuple[pl.DataFrame, str]:
    """Return the main metric of each category, and its name: for mIoU it is IoU."""
    kind = main_headline(compared.first.protocol).kind
    name = (kind.of_class or kind.name) + compared.metric.removeprefix(kind.name)
    rows = compared.by_category.filter(pl.col("metric") == compared.metric)
    return rows.with_columns(pl.lit(name).alias("metric")), name


def sizes(compared: Compared) -> pl.DataFrame:
    """Return the headline number of each range of areas or level of difficulty, after the main metric."""
    protocol = compared.first.protocol
    main = main_headline(protocol)
    ranges = [line.metric for line in lines_of_ranges(protocol) if line.column == main.column]
    if not ranges:
        return compared.overall.clear()
    rows = compared.overall.filter(pl.col("metric").is_in([main.metric, *ranges]))
    return rows.sort(pl.col("metric") != main.metric, maintain_order=True)


def ranges_in_words(compared: Compared) -> str:
    """Return the words for the rows of `sizes`."""
    return "by level of difficulty" if compared.first.protocol.levels else "by the size of objects"


def _worst(rows: pl.DataFrame, metric: str) -> list[str]:
    with_values = rows.drop_nulls("estimate").sort("estimate", "name")
    if with_values.height < 2:
        return [
            f"Only {name} has a value of {metric}, {value:.3f}."
            for name, value in with_values.select("name", "estimate").rows()
        ]
    if with_values["low"].count() > 1:  # the others come last in the table
        with_values = with_values.drop_nulls("low")
    (low, lowest), (high, highest) = (with_values.select(pl.col("estimate").round(3), "name").row(at) for at in (0, -1))
    n = counted(with_values.height, "category")
    are_all = with_values.height == rows.height
    if low == high:
        return [f"{metric} is {low:.3f} in all {n}." if are_all else f"{metric} is {low:.3f} in the {n} {ENOUGH}."]
    among = "" if are_all else f", among the {n} {ENOUGH}"
    return [f"{metric} goes from {low:.3f} ({lowest}) to {high:.3f} ({highest}){among}."]


def last_ones(categories: pl.DataFrame) -> list[str]:
    """Return a line about categories that come last in the table, if some are without an interval and others are not."""
    if categories["low"].null_count() in (0, categories.height):
        return []
    return ["Categories without an interval come last in the table, whatever their numbers."]


def hint(compared: Compared) -> str:
    """Return a line with the columns of the images by which slices could be requested."""
    images = compared.first.dataset.images
    attributes = [name for name in images.columns if name not in _NO_ATTRIBUTES and not images.schema[name].is_nested()]
    if not attributes:
        return "No slices were requested."
    n = counted(len(attributes), "column")
    return f"No slices were requested. The images have {n} to slice by: {', '.join(attributes)}."
