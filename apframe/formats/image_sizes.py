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
"""Beside the files that the formats have of their own: `image_id`, `file_name`, `image_width`, `image_height`."""
NEAREST, FARTHEST = -1.0, 2.0
"""A box may stick out of its image by the size of it; what lies farther out is taken for pixels."""
_TURNED = 5  # from this EXIF orientation on, width and height of a JPEG are exchanged where it is shown
_ORIENTATION = 0x0112


def read_image_sizes(source: Any) -> pl.DataFrame:
    """Sizes of images: `image_id` (the file's name without folders and ending), `file_name`, `image_width`, `image_height`.

    Parameters
    ----------
    source
        a CSV or Parquet file, or anything that holds columns: `file_name`, `image_width` and `image_height`; an `image_id`
        counts where file_name is null, or is not there

    Raises
    ------
    FormatError
        a file that cannot be read, a missing column, sizes that are not positive whole numbers

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


def find_image_sizes(given: Any, folder: Path) -> pl.DataFrame | None:
    """The sizes that are given, else those of `IMAGE_SIZES` in a folder; None where there are none."""
    own = folder / IMAGE_SIZES
    source = own if given is None and is_file(own) else given
    return None if source is None else read_image_sizes(source)


def measure_images(paths: Sequence[Path]) -> list[tuple[int, int]]:
    """Width and height of image files, as they are shown: that of a JPEG which its camera turned is exchanged.

    Only the heads of the files are read, by Pillow.

    Raises
    ------
    ParameterError
        Pillow is not installed
    FormatError
        a file that is no image
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
    """The images with `image_width` and `image_height`, and the file names that come with these.

    Where nothing is known of sizes, all are 1 x 1, and a `UnitWarning` says so.

    Parameters
    ----------
    images
        image_id, and file_name or null
    sizes
        as `read_image_sizes` gives them: found by file_name, else by image_id
    path
        where the images come from, for messages

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
    # a name may lack its ending: what follows the last dot is then a part of it
    without_ending = bare(pl.col("file_name"))
    sizes = sizes.with_columns(
        image_id=pl.when(without_ending.is_in(images["image_id"].implode())).then(without_ending).otherwise("image_id")
    )
    found = []
    for key in ("file_name", "image_id"):
        known = sizes.filter(pl.col(key).is_not_null()).select(key, *SIZE).unique()
        known = known.filter(~known[key].is_duplicated())
        found.append(images.select(key).join(known, on=key, how="left", maintain_order="left"))
    sized = images.with_columns(found[0][name].fill_null(found[1][name]) for name in SIZE)
    unknown = sized.filter(pl.col("image_width").is_null())["image_id"]
    if len(unknown):
        which = listed(unknown.to_list())
        raise FormatError(
            f"no size, or several, for images {which}", f"give {option_name('image_sizes')} with their file_name", path=path
        )
    named = sizes.select("image_id", named="file_name").unique("image_id", keep="none")
    sized = sized.join(named, on="image_id", how="left", maintain_order="left")
    return sized.with_columns(pl.coalesce("file_name", "named").alias("file_name")).drop("named")


def with_sizes_of(found: pl.DataFrame, dataset: Dataset | None, path: Path) -> pl.DataFrame:
    """Results with the sizes of their images, in Float64.

    Images are found by their id, or by the name of their file without folders and ending: by that alone where ids are numbers.
    Those that the data set does not have are taken for 1 x 1: evaluating refuses or drops such results, whatever their boxes.

    Parameters
    ----------
    found
        image_id as it is called in the results
    dataset
        what they are results of
    path
        where the results come from, for messages

    Raises
    ------
    ParameterError
        there is no data set
    FormatError
        images of which it has no size, or several

    >>> dataset = Dataset({"image_id": ["a"], "image_width": [640], "image_height": [480]}, {"category_id": [1]}, {})
    >>> with_sizes_of(pl.DataFrame({"image_id": ["a"]}), dataset, Path("found")).rows()
    [('a', 640.0, 480.0)]
    """
    if dataset is None:
        raise ParameterError("boxes are fractions of their images", "give their data set", path=path)
    images, asked = dataset.core("images"), found["image_id"].unique(maintain_order=True)
    names = (pl.coalesce(form(pl.col("file_name")), pl.col("image_id").cast(pl.String)) for form in (stems, bare))
    ways = [name.alias("image_id") for name in names]
    if images["image_id"].dtype != ID:
        ways = [pl.col("image_id"), *ways]
    called = [images.select(way, *SIZE).unique(maintain_order=True) for way in ways]
    asked_for = [each.filter(is_known(each["image_id"], asked)) for each in called]
    known = max(asked_for, key=lambda each: each["image_id"].n_unique())
    unsized = known.filter(known["image_id"].is_duplicated() | _is_unsized(known))["image_id"].unique(maintain_order=True)
    if len(unsized):
        which = listed(unsized.to_list())
        raise FormatError(
            f"the data set has no size, or several, for images {which}", "give their image_width and image_height", path=path
        )
    sizes = known.cast(dict.fromkeys(SIZE, pl.Float64))
    sized = found.join(sizes, on="image_id", how="left", maintain_order="left")
    return sized.with_columns(pl.col(SIZE).fill_null(1.0))


def with_sizes_to_write(table: str, frame: pl.DataFrame, dataset: Dataset) -> pl.DataFrame:
    """Rows to be written, with the sizes of their images, in Float64.

    Parameters
    ----------
    table, frame
        annotations or detections, canonical
    dataset
        with the same ids

    Raises
    ------
    RowError
        images without a size, rows without a box, or that lie farther out of their image than is read again
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
    """An error where lists of fractions, one for each row, lie farther out of the image than is read again."""
    far = (fractions.list.min() < NEAREST) | (fractions.list.max() > FARTHEST)
    problem = "the object is farther outside its image than the image is large"
    refuse_rows(table, frame, far, problem, "correct them: programs would read such numbers as pixels")


def images_with_sizes(ids: pl.Series, given: Any, folder: Path) -> pl.DataFrame:
    """Images that only their ids tell, with the sizes that are given, or are in the folder, if there are any."""
    sizes = find_image_sizes(given, folder)
    images = ids.to_frame()
    return images if sizes is None else with_image_sizes(images.with_columns(file_name=pl.lit(None, pl.String)), sizes, folder)


def write_image_sizes(images: pl.DataFrame, folder: Path) -> None:
    """Write `IMAGE_SIZES`, which `read_image_sizes` reads back."""
    write_text(folder / IMAGE_SIZES, images.select("image_id", "file_name", *SIZE).write_csv())


def _is_unsized(images: pl.DataFrame) -> pl.Series:
    return images.select(~pl.all_horizontal(pl.col(*SIZE) > 0).fill_null(False)).to_series()
