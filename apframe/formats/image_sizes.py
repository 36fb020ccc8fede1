"""Sizes of images, for formats whose boxes are fractions of their images."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from apframe.exceptions import FormatError, ParameterError, UnitWarning, import_optional, warn
from apframe.formats.documents import read_csv
from apframe.formats.files import write_text
from apframe.paths import is_file
from apframe.rows import refuse_rows
from apframe.tables.column_sources import to_polars
from apframe.tables.dataset import Dataset
from apframe.tables.ids import is_known
from apframe.tables.names import bare, stems
from apframe.tables.schemas import ID, SIZE
from apframe.tables.shapes.boxes import BOX
from apframe.wording import listed, option_name, reason

IMAGE_SIZES = "image_sizes.csv"
"""A file beside those of a format, with `image_id`, `file_name`, `image_width` and `image_height`."""
NEAREST, FARTHEST = -1.0, 2.0
"""A box may extend beyond its image by the size of the image; coordinates beyond this are interpreted as pixels."""
_TURNED = 5  # from this EXIF orientation on, width and height of a JPEG are exchanged for display
_ORIENTATION = 0x0112


def read_image_sizes(source: Any) -> pl.DataFrame:
    """Read sizes of images: `image_id` (file name without folders and extension), `file_name`, `image_width`, `image_height`.

    Parameters
    ----------
    source
        a CSV or Parquet file, or anything that holds columns: `file_name`, `image_width` and `image_height`; `image_id` is
        used if file_name is null or missing

    Raises
    ------
    FormatError
        the file cannot be read, a column is missing, or sizes are not positive whole numbers

    >>> read_image_sizes({"file_name": ["val/a.jpg"], "image_width": [640], "image_height": [480]}).rows()
    [('a', 'val/a.jpg', 640, 480)]
    """
    is_path = isinstance(source, (str, Path))
    name = str(source) if is_path else "image_sizes"
    table = read_csv(Path(source)) if is_path and Path(source).suffix != ".parquet" else to_polars(source, "image_sizes")
    missing = [column for column in SIZE if column not in table.columns]
    if not {"file_name", "image_id"} & set(table.columns):
        missing.insert(0, "file_name")
    if missing:
        raise FormatError(f"no column {' and '.join(missing)}", f"there are {', '.join(table.columns)}", path=name)
    texts = [pl.col(column) if column in table.columns else pl.lit(None) for column in ("image_id", "file_name")]
    image_id, file_name = (text.cast(pl.String) for text in texts)
    try:
        sizes = table.select(
            pl.coalesce(stems(file_name), image_id).alias("image_id"),
            file_name.alias("file_name"),
            *(pl.col(column).cast(pl.Float64, strict=False) for column in SIZE),
        )
    except pl.exceptions.PolarsError as error:  # lists, structs, bytes
        raise FormatError(f"file names must be text, and sizes numbers ({reason(error)})", path=name) from error
    size = pl.col(*SIZE)
    is_whole = (size > 0) & (size < 2**31) & (size == size.floor())
    wrong = sizes.select(~pl.all_horizontal(is_whole).fill_null(False)).to_series()
    if wrong.any():
        which = listed(sizes["image_id"].filter(wrong).to_list())
        raise FormatError(f"image_width and image_height are not positive whole numbers for images {which}", path=name)
    return sizes.cast(dict.fromkeys(SIZE, pl.Int64))


def find_image_sizes(source: Any, folder: Path) -> pl.DataFrame | None:
    """Return the given sizes, or else those of `IMAGE_SIZES` in a folder; None without either."""
    own = folder / IMAGE_SIZES
    source = own if source is None and is_file(own) else source
    return None if source is None else read_image_sizes(source)


def measure_images(paths: Sequence[Path]) -> list[tuple[int, int]]:
    """Return the displayed width and height of image files: they are exchanged for a JPEG that its camera turned.

    Pillow only reads the headers of the files.

    Raises
    ------
    ParameterError
        Pillow is not installed
    FormatError
        a file is not an image
    """
    pillow = import_optional(
        "PIL.Image", f"without {option_name('image_sizes')}, Pillow is needed to read image files", "pillow", "yolo"
    )
    sizes = []
    for path in paths:
        try:
            with pillow.open(path) as image:
                width, height = image.size
                is_turned = image.format == "JPEG" and image.getexif().get(_ORIENTATION, 1) >= _TURNED
        except (OSError, pillow.DecompressionBombError) as error:
            raise FormatError(
                f"cannot be read as an image ({reason(error)})", f"replace it or give {option_name('image_sizes')}", path=path
            ) from error
        sizes.append((height, width) if is_turned else (width, height))
    return sizes


def with_image_sizes(images: pl.DataFrame, sizes: pl.DataFrame | None, path: Path) -> pl.DataFrame:
    """Return the images with `image_width` and `image_height`, and with file names from the table of sizes.

    Without sizes, all images are 1 x 1, and a `UnitWarning` says so.

    Parameters
    ----------
    images
        image_id, and file_name, which may be null
    sizes
        the result of `read_image_sizes`, joined by file_name, or else by image_id
    path
        the source of the images, for messages

    Raises
    ------
    FormatError
        images without a size, or with several
    """
    if sizes is None:
        warn(
            f"{path}: the image sizes are unknown, so boxes stay fractions, and areas and area ranges are "
            f"meaningless; give {option_name('image_sizes')}: file_name, image_width, image_height",
            UnitWarning,
        )
        return images.with_columns(pl.lit(1, pl.Int64).alias(name) for name in SIZE)
    # a name may lack its extension: the text after the last dot then belongs to the name
    without_ending = bare(pl.col("file_name"))
    sizes = sizes.with_columns(
        image_id=pl.when(without_ending.is_in(images["image_id"].implode())).then(without_ending).otherwise("image_id")
    )
    parts = []
    for key in ("file_name", "image_id"):
        by_key = sizes.filter(pl.col(key).is_not_null()).select(key, *SIZE).unique()
        by_key = by_key.filter(~by_key[key].is_duplicated())
        parts.append(images.select(key).join(by_key, on=key, how="left", maintain_order="left"))
    sized = images.with_columns(parts[0][name].fill_null(parts[1][name]) for name in SIZE)
    unknown = sized.filter(pl.col("image_width").is_null())["image_id"]
    if len(unknown):
        which = listed(unknown.to_list())
        raise FormatError(
            f"no size, or several, for images {which}", f"give {option_name('image_sizes')} with their file_name", path=path
        )
    named = sizes.select("image_id", named="file_name").unique("image_id", keep="none")
    sized = sized.join(named, on="image_id", how="left", maintain_order="left")
    return sized.with_columns(pl.coalesce("file_name", "named").alias("file_name")).drop("named")


def with_sizes_of(results: pl.DataFrame, dataset: Dataset | None, path: Path) -> pl.DataFrame:
    """Return results with the sizes of their images, in Float64.

    Images are matched by id, or by file name without folders and extension; if ids are numbers, only by file name. Unknown
    images get size 1 x 1: evaluation rejects or drops their results in any case.

    Parameters
    ----------
    results
        detections, with image_id as in the files of results
    dataset
        the ground truth of the results
    path
        the source of the results, for messages

    Raises
    ------
    ParameterError
        there is no data set
    FormatError
        the data set has no size, or several, for some images

    >>> dataset = Dataset({"image_id": ["a"], "image_width": [640], "image_height": [480]}, {"category_id": [1]}, {})
    >>> with_sizes_of(pl.DataFrame({"image_id": ["a"]}), dataset, Path("found")).rows()
    [('a', 640.0, 480.0)]
    """
    if dataset is None:
        raise ParameterError("boxes are fractions of their images", "give their data set", path=path)
    images, image_ids = dataset.core("images"), results["image_id"].unique(maintain_order=True)
    names = (pl.coalesce(form(pl.col("file_name")), pl.col("image_id").cast(pl.String)) for form in (stems, bare))
    ways = [name.alias("image_id") for name in names]
    if images["image_id"].dtype != ID:
        ways = [pl.col("image_id"), *ways]
    by_way = [images.select(way, *SIZE).unique(maintain_order=True) for way in ways]
    matches = [each.filter(is_known(each["image_id"], image_ids)) for each in by_way]
    best = max(matches, key=lambda each: each["image_id"].n_unique())
    unsized = best.filter(best["image_id"].is_duplicated() | _is_unsized(best))["image_id"].unique(maintain_order=True)
    if len(unsized):
        which = listed(unsized.to_list())
        raise FormatError(
            f"the data set has no size, or several, for images {which}", "give their image_width and image_height", path=path
        )
    sizes = best.cast(dict.fromkeys(SIZE, pl.Float64))
    sized = results.join(sizes, on="image_id", how="left", maintain_order="left")
    return sized.with_columns(pl.col(SIZE).fill_null(1.0))


def with_sizes_to_write(table: str, frame: pl.DataFrame, dataset: Dataset) -> pl.DataFrame:
    """Return rows to write with the sizes of their images, in Float64.

    Parameters
    ----------
    table, frame
        "annotations" or "detections", and the canonical table
    dataset
        the data set, with the same ids

    Raises
    ------
    RowError
        images without a size, or rows without a box
    """
    images = dataset.images
    problem = "image_width or image_height is missing or not positive"
    remedy = "give both: this format stores boxes as fractions of the image"
    refuse_rows("images", images, _is_unsized(images), problem, remedy)
    no_box = frame.select(pl.any_horizontal(pl.col(*BOX).is_null())).to_series()
    remedy = "this format needs boxes: make them from the shapes, or remove these rows"
    refuse_rows(table, frame, no_box, "there is no box", remedy)
    sizes = images.select("image_id", *SIZE)
    sized = frame.drop(SIZE, strict=False).join(sizes, on="image_id", how="left", maintain_order="left")
    return sized.with_columns(pl.col(*SIZE).cast(pl.Float64))


def refuse_far(table: str, frame: pl.DataFrame, fractions: pl.Series) -> None:
    """Raise an error if lists of fractions, one for each row, are too far outside the image to be read back."""
    far = (fractions.list.min() < NEAREST) | (fractions.list.max() > FARTHEST)
    problem = "the object is farther outside its image than the image is large"
    refuse_rows(table, frame, far, problem, "correct them: programs would read such numbers as pixels")


def images_with_sizes(ids: pl.Series, source: Any, folder: Path) -> pl.DataFrame:
    """Return images from their ids, with the given sizes or those in the folder, if there are any."""
    sizes = find_image_sizes(source, folder)
    images = ids.to_frame()
    return images if sizes is None else with_image_sizes(images.with_columns(file_name=pl.lit(None, pl.String)), sizes, folder)


def write_image_sizes(images: pl.DataFrame, folder: Path) -> None:
    """Write `IMAGE_SIZES`, which `read_image_sizes` reads back."""
    write_text(folder / IMAGE_SIZES, images.select("image_id", "file_name", *SIZE).write_csv())


def _is_unsized(images: pl.DataFrame) -> pl.Series:
    return images.select(~pl.all_horizontal(pl.col(*SIZE) > 0).fill_null(False)).to_series()
