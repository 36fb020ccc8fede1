"""Ground truth: images, categories and annotations, checked against each other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import fields as dataclass_fields
from typing import TYPE_CHECKING, Any, Never

import polars as pl

from apframe.columns import exact
from apframe.exceptions import ParameterError
from apframe.lazily import cached_property
from apframe.rows import MALFORMED_KEPT, PLACE, treating_malformed
from apframe.tables.box_formats import as_pixel_boxes, warn_of_boxes
from apframe.tables.canonical import canonical, checked
from apframe.tables.column_sources import to_polars
from apframe.tables.ids import is_known, with_id_types, with_known_lists, with_known_references
from apframe.tables.later import Later
from apframe.tables.schemas import GROUND_TRUTH, KEYS, noun
from apframe.validation import validating, without_places
from apframe.wording import counted

if TYPE_CHECKING:
    from apframe.tables.conditions import Condition


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Dataset:
    """Ground truth as three Polars frames: `images`, `categories` and `annotations`.

    Parameters
    ----------
    images, categories, annotations
        anything that holds columns (Polars eager or lazy, pyarrow, pandas, a DuckDB relation, a list of dicts, the path of a
        Parquet, CSV or JSON file), with the columns of `apframe.tables.schemas.TABLES`; further columns are attributes
    box_format
        format of the boxes of the annotations: "xywh" (left, top, width, height), "xyxy" (two corners) or "cxcywh" (the centre,
        width, height). By default column names decide (`x1 y1 x2 y2`, `xmin ymin xmax ymax`, ...); a column `bbox` is "xywh"
    relative
        whether the boxes are fractions of their image, which then requires `image_width` and `image_height`

    Raises
    ------
    ColumnError, RowError, DuplicateIdError, UnknownIdError, IdTypeError
        invalid columns or rows; names the rows

    Warns
    -----
    BoxFormatWarning
        boxes without a `box_format` look like corners or fractions, see `apframe.tables.box_formats.warn_of_boxes`

    >>> truth = Dataset(
    ...     images={"image_id": [1]},
    ...     categories={"category_id": [1], "name": ["cat"]},
    ...     annotations={"image_id": [1], "category_id": [1], "x": [0], "y": [0], "width": [10], "height": [5]},
    ... )
    >>> truth.annotations.select("annotation_id", "area", "is_crowd").rows()
    [(1, 50.0, False)]
    """

    other_sections: Mapping[str, Any]  # further sections of a COCO file, beside the three tables
    merged: pl.DataFrame | None  # the mapping of its categories, see `merge_categories`
    left_out: pl.DataFrame | None  # images that are not evaluated, see `of_images`
    _core: Mapping[str, pl.DataFrame]
    _json_columns: frozenset[tuple[str, str]]
    _later: Later | None
    _places: pl.Series | None  # row numbers of the annotations in their source, from 1, if some were left out

    def __init__(
        self, images: Any, categories: Any, annotations: Any, *, box_format: str | None = None, relative: bool = False
    ) -> None:
        core: dict[str, pl.DataFrame] = {}
        with validating() as report:
            for table, source in (("images", images), ("categories", categories)):
                with report.going_on():
                    core[table] = canonical(table, source)
            with report.going_on():
                if box_format is None and not relative:
                    annotations = to_polars(annotations, "annotations")
                    warn_of_boxes("annotations", annotations, lambda: core.get("images"))
                elif "images" in core:
                    annotations = as_pixel_boxes("annotations", annotations, core["images"], box_format, relative)
                frame = checked("annotations", annotations)
            report.stop()
            self.__dict__.update(
                other_sections={}, merged=None, left_out=None, _core=core, _json_columns=frozenset(), _later=None, _places=None
            )
            frame = with_known_references("annotations", with_id_types("annotations", frame, self), self)
            core["annotations"] = without_places(frame)
            for table in KEYS:
                core[table] = with_known_lists(table, core[table], core["categories"]["category_id"])
        self.__dict__["_places"] = frame.get_column(PLACE, default=None)

    def _with(self, **fields: Any) -> Dataset:
        """Return the data set with some of its fields replaced, unchecked."""
        changed = object.__new__(Dataset)
        changed.__dict__.update({each.name: getattr(self, each.name) for each in dataclass_fields(self)} | fields)
        return changed

    def with_rest(
        self, json_columns: Iterable[tuple[str, str]], other_sections: Mapping[str, Any], later: Later | None = None
    ) -> Dataset:
        """Return the data set with further contents of its file.

        Parameters
        ----------
        json_columns
            attributes that are kept as JSON text, as (table, column)
        other_sections
            sections of a COCO file other than images, categories and annotations
        later
            columns of the annotations that have not been read
        """
        later = later if later is None or self._places is None else later.of_rows(self._places - 1)
        return self._with(_json_columns=frozenset(json_columns), other_sections=other_sections, _later=later)

    @cached_property
    def with_masks(self) -> Dataset:
        """The data set with the masks of its annotations in `core`."""
        later, annotations = self._later, self.core("annotations")
        if later is None or later.read_masks is None or "mask" in annotations.columns:
            return self
        masks = later.read_masks()
        if not masks["mask"].count():
            return self
        return self._with(_core={**self._core, "annotations": _checked_before(annotations.hstack(masks))})

    def core(self, table: str) -> pl.DataFrame:
        """Return a table with at least its canonical columns, without reading attributes for it."""
        return self._later.rows if self._later is not None and table not in self._core else self._core[table]

    @property
    def images(self) -> pl.DataFrame:
        """One row per image: image_id, image_width, image_height, file_name and attributes."""
        return self._core["images"]

    @property
    def categories(self) -> pl.DataFrame:
        """One row per category: category_id, name, supercategory and attributes."""
        return self._core["categories"]

    @cached_property
    def annotations(self) -> pl.DataFrame:
        """One row per annotation: ids, box, area, is_crowd and attributes."""
        core = self.core("annotations")
        if self._later is None:
            return core
        attributes, _ = self._later.attributes
        further = [exact(name) for name in attributes.columns if name not in core.columns]  # masks may have been read
        return _checked_before(core.hstack(attributes.select(further)))

    @property
    def json_columns(self) -> frozenset[tuple[str, str]]:
        """The attributes that are kept as JSON text, as (table, column)."""
        if self._later is None:
            return self._json_columns
        return self._json_columns | {("annotations", name) for name in self._later.attributes[1]}

    def part(self, images: pl.DataFrame, annotations: pl.DataFrame) -> Dataset:
        """Return the data set with some of its images and annotations, unchecked."""
        core = {**self._core, "images": images, "annotations": annotations}
        return self._with(_core=core, _json_columns=self.json_columns, _later=None)

    def of_images(self, chosen: pl.Series) -> Dataset:
        """Return the data set of the flagged images; `left_out` has the others, whose detections are left out as well.

        >>> part = Dataset({"image_id": [1, 2]}, {"category_id": [1]}, {}).of_images(pl.Series([True, False]))
        >>> part.images["image_id"].to_list(), part.left_out["image_id"].to_list()
        ([1], [2])
        """
        others = [] if self.left_out is None else [self.left_out]
        left_out = pl.concat([*others, self.images.filter(~chosen)], how="diagonal")
        return self._part(chosen)._with(left_out=left_out)

    def _part(self, flags: pl.Series) -> Dataset:
        images, annotations = self.images.filter(flags), self.core("annotations")
        rows = is_known(annotations["image_id"], images["image_id"]).arg_true()
        core = {**self._core, "images": images, "annotations": annotations[rows]}
        return self._with(_core=core, _later=None if self._later is None else self._later.of_rows(rows))

    def nameable(self, table: str) -> pl.DataFrame:
        """Return the images or categories that detections may name, including images that are left out."""
        others = self.left_out if table == "images" else None
        return self.core(table) if others is None else pl.concat([self.images, others], how="diagonal")

    def with_late_annotations(self, read: Callable[[], pl.DataFrame], n: int) -> Dataset:
        """Return the data set with `n` other annotations, unchecked, which are read when they are first used.

        >>> dataset = Dataset({"image_id": [1]}, {"category_id": [1]}, {})
        >>> dataset.with_late_annotations(lambda: dataset.annotations, 0)
        Dataset(1 image, 1 category, 0 annotations)
        """
        core = {table: self._core[table] for table in ("images", "categories")}
        return self._with(_core=core, _later=Later(lambda: (pl.DataFrame(), set()), None, read, n))

    def with_images(self, attributes: Any, on: str | None = None) -> Dataset:
        """Return the data set with further columns of its images, such as weather or tags, from a separate table.

        Parameters
        ----------
        attributes
            anything that holds columns, a list of dicts, or the path of a Parquet, CSV or JSON file: `image_id` or
            `file_name`, and the attributes. File names match with or without folders and extension. Columns of lists hold
            several values, each of which is a slice in `Evaluation.by`
        on
            the column to join by, if the table has both: `image_id` by default

        Raises
        ------
        ColumnError
            the table has neither column, or no attributes
        DuplicateIdError
            several rows match one image
        UnknownIdError
            no row matches an image
        RowError
            several images have the same name; or the images already have a column with other values (missing values are filled)

        Warns
        -----
        UnmatchedAttributesWarning
            rows that match no image are left out, and images without a row get null; both are counted

        >>> truth = Dataset({"image_id": [7], "file_name": ["val/a.jpg"]}, {"category_id": [1]}, {})
        >>> truth.with_images({"file_name": ["a.jpg"], "weather": ["fog"]}).images.select("image_id", "weather").rows()
        [(7, 'fog')]
        """
        from apframe.tables.attributes import with_attributes

        n = self.images.height
        images = canonical("images", with_attributes("images", self.nameable("images"), attributes, on, n_expected=n))
        images = with_known_lists("images", images, self.categories["category_id"])
        left_out = None if self.left_out is None else images[n:]
        return self._with(left_out=left_out, _core={**self._core, "images": images[:n]})

    def with_images_changed(self, change: Callable[[pl.DataFrame], pl.DataFrame]) -> Dataset:
        """Return the data set with changed values of its images, in the same rows; `change` maps the old table to the new."""
        images = change(self.images)
        return self if images is self.images else self._with(_core={**self._core, "images": images})

    def with_annotations(self, attributes: Any) -> Dataset:
        """Return the data set with further columns of its annotations, such as occlusion, joined by `annotation_id`.

        Parameters, errors and warnings are the same as in `with_images`.

        >>> box = {"x": [0], "y": [0], "width": [9], "height": [9]}
        >>> truth = Dataset({"image_id": [7]}, {"category_id": [1]}, {"image_id": [7], "category_id": [1], **box})
        >>> truth.with_annotations({"annotation_id": [1], "occlusion": [0.5]}).annotations["occlusion"].to_list()
        [0.5]
        """
        from apframe.tables.attributes import with_attributes

        annotations = with_attributes("annotations", self.annotations, attributes, None)
        return self.part(self.images, _checked_before(annotations))

    def map_categories(self, category_map: Any, unmapped: str = "keep") -> Dataset:
        """Return the data set with its categories renamed and merged. Its detections are mapped in the same way.

        Categories with the same new name become one, with the id and attributes of the category that already had the name, or
        else of the first. (If ids are names, the new name is the id.) Detections refer to the ids or names before mapping.

        Parameters
        ----------
        category_map
            a dict from names (or ids) to names, as in `{"truck": "vehicle", "bus": "vehicle"}`; or a table with columns `from`
            and `to`: anything that holds columns, or a CSV, JSON or Parquet file. Categories mapped to None are left out. The
            map may name categories that only the detections have
        unmapped
            treatment of categories that the map does not name: "keep", "drop" (with annotations and detections) or "error"

        Raises
        ------
        ParameterError
            the map names none of the categories, or not all of them with unmapped="error"; categories are mapped already

        Warns
        -----
        UnknownCategoryWarning
            a name in the map is close to that of a category which the map does not name

        >>> truth = Dataset({"image_id": [7]}, {"category_id": [1, 2], "name": ["car", "truck"]}, {})
        >>> truth.map_categories({"car": "vehicle", "truck": "vehicle"}).categories.select("category_id", "name").rows()
        [(1, 'vehicle')]
        """
        if self.merged is not None:
            raise ParameterError("the categories have already been mapped", "combine both maps into one")
        from apframe.tables.category_map import merge_categories

        merged = merge_categories(self.categories, category_map, unmapped)
        return self.merge(merged)._with(merged=merged)

    def merge(self, merged: pl.DataFrame) -> Dataset:
        """Return the data set with its categories merged, given the result of `category_map.merge_categories`."""
        from apframe.tables.category_map import map_categories, map_ids, map_images

        drops_some = merged.head(self.categories.height)["new_category_id"].null_count() > 0
        dataset = self.part(self.images, self.annotations) if drops_some else self  # attributes are read row by row
        core = {
            "images": map_images(self.images, merged),
            "categories": map_categories(self.categories, merged),
            "annotations": map_ids("annotations", dataset.core("annotations"), merged),
        }
        return dataset._with(_core=core)

    def with_categories(self, names: Sequence[str], *, numbered: bool = False) -> Dataset:
        """Return the data set with categories of these names added, if ids are names; existing categories are unchanged.

        If ids are numbers, no category is added, or with `numbered`, one for each name, with the next free numbers as ids.

        >>> Dataset({}, {"category_id": ["cat"]}, {}).with_categories(["cat", "dog"]).categories["category_id"].to_list()
        ['cat', 'dog']
        """
        ids = self.categories["category_id"]
        if ids.dtype == pl.String:
            further = pl.Series("category_id", [name for name in names if name not in ids], pl.String).to_frame()
            further = further.with_columns(name="category_id")
        elif numbered:
            number = pl.int_range(1, len(names) + 1, eager=True) + (ids.max() or 0)
            further = pl.DataFrame({"category_id": number.cast(ids.dtype), "name": pl.Series(names, dtype=pl.String)})
        else:
            return self
        categories = pl.concat([self.categories, further], how="diagonal")
        return self._with(_core={**self._core, "categories": categories})

    def where(
        self, *conditions: Condition, categories: Sequence[int | str] | None = None, **columns: Never
    ) -> Dataset:  # fmt: skip
        """Return the part of the data set that meets conditions, without other images, categories and annotations.

        To evaluate a part of the objects, use `Evaluation.where`: detections of annotations that are left out here become false
        positives.

        Parameters
        ----------
        conditions
            SQL text, as in "weather = 'fog' AND area > 100", expressions over columns of one table each, or lists of image ids;
            all must hold. Annotations are left out with their image and category
        categories
            only these, by name or id
        columns
            not supported: a column as a keyword, as in `weather="fog"`, is an error that names the condition to write

        Raises
        ------
        ParameterError
            unknown, ambiguous or mixed columns; a column as a keyword or in a dict; nothing left

        >>> truth = Dataset({"image_id": [1, 2], "weather": ["fog", "sun"]}, {"category_id": [1]}, {})
        >>> truth.where("weather = 'fog'").images["image_id"].to_list()
        [1]
        """
        from apframe.tables.conditions import choose_categories, conjunction, refuse_nothing
        from apframe.tables.parts import consistent

        tables = {name: getattr(self, name) for name in GROUND_TRUTH}
        masks = conjunction((*conditions, *([columns] if columns else ())), tables)
        refuse_nothing("where", masks)
        kept = {name: frame.filter(masks[name][name]) if name in masks else frame for name, frame in tables.items()}
        category_ids = choose_categories(kept["categories"], categories)
        if category_ids is not None:
            kept["categories"] = kept["categories"].filter(is_known(kept["categories"]["category_id"], category_ids))
        return self._with(_core=consistent(kept), _json_columns=self.json_columns, _later=None)

    def sample(self, n: int, seed: int = 0) -> Dataset:
        """Return the data set of `n` of its images, chosen at random: a seed gives the same images for any order of rows.

        >>> truth = Dataset({"image_id": [1, 2, 3]}, {"category_id": [1]}, {})
        >>> truth.sample(2, seed=7).images["image_id"].to_list()
        [1, 3]
        """
        from apframe.tables.parts import sampled

        return self._part(sampled(self.images["image_id"], n, seed))

    def split(self, shares: Mapping[str, float], by: str | Sequence[str] = (), seed: int = 0) -> dict[str, Dataset]:
        """Split the data set at random by images: a seed gives the same split for any order of rows.

        Parameters
        ----------
        shares
            the share of each part by name, as in `{"train": 0.8, "val": 0.2}`; they sum to 1
        by
            columns of the images, such as "scene"; images with the same values stay together; null counts as a value
        seed
            another seed gives another split

        Raises
        ------
        ParameterError
            invalid shares, unknown columns, or a part that gets no image

        >>> images = {"image_id": [1, 2, 3, 4], "scene": ["a", "b", "a", "b"]}
        >>> parts = Dataset(images, {"category_id": [1]}, {}).split({"train": 0.5, "val": 0.5}, by="scene")
        >>> {name: part.images["image_id"].to_list() for name, part in parts.items()}
        {'train': [1, 3], 'val': [2, 4]}
        """
        from apframe.tables.parts import part_of_split

        parts = part_of_split(self.images, shares, by, seed)
        return {name: self._part(parts == name) for name in shares}

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for pickle and copies, with all columns read, as readers cannot leave their file."""
        return self.part(self.images, self.annotations).__dict__

    def __repr__(self) -> str:
        heights = {name: frame.height for name, frame in self._core.items()}
        if self._later is not None and "annotations" not in heights:
            heights |= {"annotations": self._later.n_rows}
        return f"Dataset({', '.join(counted(n, noun(name)) for name, n in heights.items())})"

    def _repr_html_(self) -> str:
        from apframe.tables.contents import as_html

        return as_html(self, self._core)


def _checked_before(annotations: pl.DataFrame) -> pl.DataFrame:
    """Return annotations with further columns as a canonical table; malformed rows stay, as when the data set was made."""
    with treating_malformed(MALFORMED_KEPT):
        return canonical("annotations", annotations)


def canonical_detections(source: Any, dataset: Dataset) -> pl.DataFrame:
    """Return detections as a canonical table, checked against the images and categories of their data set.

    Detections of unknown categories stay; evaluation leaves them out with a warning.
    """
    return with_id_types("detections", canonical("detections", source), dataset)
