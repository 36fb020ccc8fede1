"""The classes of a protocol: the evaluated categories, and copies of other objects that affect them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import polars as pl

from apframe.exceptions import ParameterError, UnknownCategoryWarning, warn
from apframe.protocols.rules.hierarchy import expand_annotations
from apframe.protocols.rules.rule import Rule
from apframe.tables.category_map import map_ids, merge_categories
from apframe.tables.dataset import Dataset
from apframe.tables.ids import is_known
from apframe.tables.names import labels_of
from apframe.wording import listed, nearest, option_name

if TYPE_CHECKING:
    from apframe.protocols.inputs import Inputs
    from apframe.protocols.protocol import Protocol

COPIED = "expanded_from"  # the column of copies with the id of the original


@dataclass(frozen=True)
class Classes(Rule):
    """The evaluated categories by name (case-insensitive), and how other categories affect them.

    Attributes
    ----------
    names
        the names of the evaluated categories
    ignored_as
        (a class, another category): annotations of the other category are ignored annotations of the class
    ignore_regions
        categories whose annotations are regions for every class: unmatched detections there are ignored
    renamed
        (another category, a class): objects of the other category belong to the class
    crowds
        the same, but the annotations of the other category become crowds
    """

    line: ClassVar[str] = "categories"
    names: tuple[str, ...]
    ignored_as: tuple[tuple[str, str], ...] = ()
    ignore_regions: tuple[str, ...] = ()
    renamed: tuple[tuple[str, str], ...] = ()
    crowds: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        if isinstance(self.names, str):
            object.__setattr__(self, "names", (self.names,))
        super().__post_init__()

    @property
    def says(self) -> dict[str, str]:
        """The classes, and how other categories relate to them."""
        ignored = " or ".join(f"{other} for {name}" for name, other in self.ignored_as)
        return {"classes": f"{', '.join(self.names)}, in any case", "ignored as": ignored} | super().says

    @property
    def words(self) -> str:
        """Describe how other categories relate to the classes."""
        renamed = [f"{other} is {name}" for other, name in self.renamed]
        crowds = [f"{other} is {name}, its annotations are crowds" for other, name in self.crowds]
        regions = [f"detections in {', '.join(self.ignore_regions)} are ignored"] if self.ignore_regions else []
        return "; ".join([*renamed, *crowds, *regions])

    def rows(self, inputs: Inputs) -> Inputs:
        """Evaluate the classes as categories, and copy objects of other categories that affect a class.

        Each copy follows its original in the input, which it names in `expanded_from`. Copies are annotations that are ignored
        as members of a class (`ignore`), and regions (`is_crowd`).

        Raises
        ------
        ParameterError
            no category has the name of a class
        """
        detections = inputs.detections
        named = detections["category_id"].unique().to_list() if detections.schema["category_id"] == pl.String else []
        dataset, chosen, merged = self.own_categories(inputs.dataset, inputs.category_ids, inputs.protocol, named)
        detections = detections if merged is None else map_ids("detections", detections, merged)
        annotations, ids = dataset.annotations, ids_by_name(dataset)
        inputs = replace(inputs, dataset=dataset, annotations=annotations, detections=detections, category_ids=chosen)
        ignored = [(ids.get(other.lower()), ids.get(name.lower())) for name, other in self.ignored_as]
        regions = [ids[name.lower()] for name in self.ignore_regions if name.lower() in ids]
        if not ignored and not regions:
            return inputs
        of_region = annotations["category_id"].is_in(pl.Series(regions, dtype=chosen.dtype).implode())
        annotations = annotations.with_columns(is_crowd=annotations["is_crowd"] | of_region)
        targets = [*ignored, *((region, of) for region in regions for of in chosen)]
        annotations = with_copies(annotations, targets, "annotation_id")
        ignore = annotations["ignore"] if "ignore" in annotations.columns else False
        return inputs.with_annotations(annotations.with_columns(ignore=pl.col(COPIED).is_not_null() | ignore))

    def own_categories(
        self, dataset: Dataset, category_ids: pl.Series, protocol: Protocol, further: Sequence[str] = ()
    ) -> tuple[Dataset, pl.Series, pl.DataFrame | None]:
        """Return the data set with the classes under their own names (case-insensitive), and the evaluated ones among some ids.

        `further` are names that detections have in addition to those of the categories. Classes that count even without
        annotations become categories, unless categories were chosen. The last result maps categories to classes, see
        `apframe.tables.category_map.merge_categories`; it is None if all have the names of the protocol.

        Raises
        ------
        ParameterError
            no category has the name of a class

        Warns
        -----
        UnknownCategoryWarning
            a category with annotations is not evaluated, but its name is similar to that of a class

        >>> from apframe.protocols.coco import COCO
        >>> dataset = Dataset({}, {"category_id": [1, 2], "name": ["van", "lane"]}, {})
        >>> classes = Classes(("car",), renamed=(("van", "car"),))
        >>> dataset, chosen, _ = classes.own_categories(dataset, pl.Series([1, 2]), COCO)
        >>> dataset.categories["name"].to_list(), chosen.to_list()
        (['car', 'lane'], [1])
        """
        merged = None
        categories, annotations = dataset.core("categories"), dataset.core("annotations")
        names = labels_of("categories", categories)
        became = {name.lower(): name for name in self.names} | dict(self.renamed) | dict(self.crowds)
        is_ours = names.str.to_lowercase().is_in(list(became))
        if not is_ours.any():
            problem = f"{protocol.name} evaluates {listed(list(self.names))}, but the categories are {listed(names.to_list())}"
            remedy = f"rename yours with {option_name('category_map')}, a map from each name to one of these"
            raise ParameterError(problem, remedy, option="protocol")
        has_annotations = is_known(categories["category_id"], annotations["category_id"].unique())
        self._ask_about(names.filter(~is_ours & has_annotations), protocol)
        became |= {name.lower(): name for name in (*(other for _, other in self.ignored_as), *self.ignore_regions)}
        new = {name: became.get(name.lower(), name) for name in dict.fromkeys([*names, *further])}
        is_new = [*categories["name"], *further] != [new[name] for name in (*names, *further)]  # the names may be null
        if is_new or self.renamed or self.crowds:
            merged = merge_categories(categories, new, "keep")
            of_crowds = categories["category_id"].filter(names.str.to_lowercase().is_in([name for name, _ in self.crowds]))
            is_crowd = annotations["is_crowd"] | is_known(annotations["category_id"], of_crowds)
            flagged = dataset.annotations.with_columns(is_crowd=is_crowd)
            dataset = dataset.part(dataset.images, flagged).merge(merged)
            dataset = dataset.with_categories(self.names) if self.renamed or self.crowds else dataset
            new_ids = merged["new_category_id"].filter(is_known(merged["category_id"], category_ids)).unique()
            category_ids = new_ids if len(category_ids) < categories.height else dataset.core("categories")["category_id"]
        if protocol.counts_absent and len(category_ids) == categories.height:  # not if categories were chosen
            ids = ids_by_name(dataset)
            dataset = dataset.with_categories([name for name in self.names if name.lower() not in ids], numbered=True)
            category_ids = dataset.core("categories")["category_id"]
        ids = ids_by_name(dataset)
        class_ids = pl.Series([ids[name.lower()] for name in self.names if name.lower() in ids], dtype=category_ids.dtype)
        return dataset, category_ids.filter(is_known(category_ids, class_ids)).sort().alias("category_id"), merged

    def _ask_about(self, names: pl.Series, protocol: Protocol) -> None:
        """Warn if categories that are not evaluated have names similar to a class."""
        related = {name.lower() for name in (*(other for _, other in self.ignored_as), *self.ignore_regions)}
        near = {name: nearest(name, self.names) for name in names if name.lower() not in related}
        if questions := [f"{name!r}, {question}" for name, question in near.items() if question]:
            warn(f"{protocol.name} does not evaluate {'; nor '.join(questions)}", UnknownCategoryWarning)


def with_own_classes(dataset: Dataset, category_ids: pl.Series, protocol: Protocol) -> tuple[Dataset, pl.Series]:
    """Return the data set and the evaluated categories as the classes of a protocol, if it has classes.

    >>> from apframe.protocols.coco import COCO
    >>> with_own_classes(Dataset({}, {"category_id": [1]}, {}), pl.Series([1]), COCO)[1].to_list()
    [1]
    """
    classes = protocol.rule(Classes)
    return (dataset, category_ids) if classes is None else classes.own_categories(dataset, category_ids, protocol)[:2]


def ids_by_name(dataset: Dataset) -> dict[str, Any]:
    """Return the ids of the categories by their names in lower case.

    >>> ids_by_name(Dataset({}, {"category_id": [1], "name": ["Car"]}, {}))
    {'car': 1}
    """
    categories = dataset.core("categories")
    return dict(zip(labels_of("categories", categories).str.to_lowercase(), categories["category_id"], strict=True))


def with_copies(frame: pl.DataFrame, targets: Sequence[tuple[Any, Any]], key: str) -> pl.DataFrame:
    """Return the rows, each followed by its copies for other categories; `targets` are pairs of a category and another.

    >>> with_copies(pl.DataFrame({"detection_id": [5, 6], "category_id": [1, 2]}), [(1, 2)], "detection_id").rows()
    [(5, 1, None), (7, 2, 5), (6, 2, None)]
    """
    ids = frame.schema["category_id"]
    chosen = [pair for pair in targets if None not in pair]
    pairs = pl.DataFrame(chosen, schema={"category_id": ids, "ancestor_id": ids}, orient="row")
    place = "place of the original"
    return expand_annotations(frame.with_row_index(place), pairs, key).sort(place, maintain_order=True).drop(place)
