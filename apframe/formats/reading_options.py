"""The options of reading, declared only here. Signatures, docstrings, `Reading` and the command follow from them."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Annotated, Any, TypedDict

from apframe.keywords import Keyword
from apframe.tables.box_formats import BOX_FORMATS


class FormatOptions(TypedDict, total=False):
    """The formats of ground truth and results at paths."""

    format: Annotated[
        str | None,
        Keyword(
            text="the format of ground truth at a path, detected from the path by default; see `formats`.",
            help="format of the ground truth, if the path does not show it; see `apframe formats`",
            metavar="NAME",
            flag="--gt-format",
        ),
    ]
    results_format: Annotated[
        str | None,
        Keyword(
            text="the format of results at a path, detected from the path by default.",
            help="format of the results, if the path does not show it",
            metavar="NAME",
            flag="--dt-format",
        ),
    ]


class FileOptions(TypedDict, total=False):
    """Options of readers of data sets whose format has them in `Format.options`."""

    split: Annotated[
        str | None,
        Keyword(
            text=(
                "which part of a data set at a path that has several: a name, such as val, which is an image set, a folder "
                "inside, or a list of images in `ImageSets`; or the path of such a list, see `images`."
            ),
            help="part of the ground truth to read: a name such as val, or the file that lists it",
            metavar="NAME",
        ),
    ]
    image_sizes: Annotated[
        Any,
        Keyword(
            text=(
                "for formats whose boxes are fractions of the image, and class-and-box text: `file_name` (with or "
                "without folders and ending), `image_width`, `image_height`, as anything that holds columns, or a CSV"
                " or Parquet file."
            ),
            help="CSV or Parquet with file_name, image_width, image_height; needed if boxes are fractions",
            metavar="FILE",
            advanced=True,
        ),
    ]


class ImageOptions(TypedDict, total=False):
    """The choice of the images that are evaluated."""

    images: Annotated[
        Any,
        Keyword(
            text=(
                "evaluate only these images: ids or file names (with or without folders and ending), or a text file with "
                "one in each line. Detections of the other images are left out."
            ),
            help="use only these images of all that are read: a text file with an image name or id in each line",
            metavar="FILE",
            flag="--images-list",
            advanced=True,
        ),
    ]


class BoxOptions(TypedDict, total=False):
    """The format of boxes, if the file format leaves it open."""

    box_format: Annotated[
        str | None,
        Keyword(
            text=(
                'how boxes are written, if the format leaves that open: "xywh" (left, top, width, height; the '
                'default), "xyxy" (corners) or "cxcywh" (the centre, width, height). It applies to detections in '
                "memory, as COCO results, Parquet or class-and-box text, and to ground truth as such text. A "
                "`Dataset`, COCO's ground truth and formats that say it themselves are not changed: if the two sides "
                "differ, read the ground truth with `read_dataset(path, box_format=...)` first. Columns `x1 y1 x2 "
                "y2`, `xmin ymin xmax ymax` and the like need no option."
            ),
            help="how boxes are written, if the format does not say",
            metavar="|".join(BOX_FORMATS),
        ),
    ]
    relative: Annotated[
        bool,
        Keyword(
            default=False,
            text="whether the same boxes are fractions of their image; the ground truth must have the image sizes.",
            help="boxes are fractions of their image",
            advanced=True,
        ),
    ]


class NameOptions(TypedDict, total=False):
    """The joining of results to their ground truth."""

    join_by_name: Annotated[
        str | Collection[str],
        Keyword(
            default=(),
            text=(
                '"images", "categories" or both: match these by file name or category name instead of id; see '
                "`apframe.formats.by_name.with_ids_by_name`."
            ),
            help="match images or categories by name instead of id",
            metavar="images,categories",
            several=True,
            advanced=True,
        ),
    ]


class ClassOptions(TypedDict, total=False):
    """The names of classes, for files that only have numbers."""

    names: Annotated[
        Any,
        Keyword(
            text=(
                "the names of classes where the results number these: a list, or a file with a name in each line, a "
                "data.yaml or JSON; they are joined to the categories of the ground truth. Ground truth as text that "
                "numbers its classes gets them too: label files of YOLO alone, and class-and-box text."
            ),
            help="class names, if results or text files number them: a name per line, a data.yaml, or JSON",
            metavar="FILE",
            advanced=True,
        ),
    ]


class CategoryOptions(TypedDict, total=False):
    """The mapping of the categories of both sides."""

    category_map: Annotated[
        Any,
        Keyword(
            text=(
                'rename and merge categories of both sides before matching, as in `{"truck": "vehicle", "bus": '
                '"vehicle"}`; see `Dataset.map_categories`.'
            ),
            help='rename and merge categories: CSV with columns from and to, or JSON such as {"truck": "vehicle"}',
            metavar="FILE",
            advanced=True,
        ),
    ]
    unmapped: Annotated[
        str,
        Keyword(
            default="keep",
            text='"keep", drop ("drop") or refuse ("error") categories that `category_map` does not name.',
            help="what to do with categories that --category-map does not name",
            metavar="keep|drop|error",
            advanced=True,
        ),
    ]


class DatasetOptions(FileOptions, ImageOptions, ClassOptions, BoxOptions, total=False):
    """The options of reading ground truth, except its format."""


class ResultsOptions(NameOptions, ClassOptions, BoxOptions, total=False):
    """The options of reading results, except their format."""


class PathOptions(FormatOptions, FileOptions, ImageOptions, BoxOptions, NameOptions, ClassOptions, total=False):
    """The options of reading ground truth and results, except those that also apply to shards, which are tables."""


class ReadingOptions(PathOptions, CategoryOptions, total=False):
    """The options of reading ground truth and results."""


def joined_tables(join_by_name: str | Collection[str], names: Any) -> Collection[str]:
    """Return the tables that results are joined to by name: the requested ones, and categories if `names` are given.

    >>> list(joined_tables("images", ["cat"]))
    ['images', 'categories']
    """
    requested: Iterable[str] = [join_by_name] if isinstance(join_by_name, str) else join_by_name
    return list(dict.fromkeys([*requested, *(["categories"] if names is not None else [])]))
