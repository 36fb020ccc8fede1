"""Where the pictures of images are: links to their files, or thumbnails that need no file."""

from __future__ import annotations

import os
from base64 import b64encode
from collections.abc import Iterable
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.parse import quote

import polars as pl

from apframe.exceptions import FormatError, InputError, ParameterError, import_optional
from apframe.file_formats.image_sizes import measure_images
from apframe.lazily import cached_property
from apframe.paths import kind_at
from apframe.schema import SIZE
from apframe.threads import pool

SIDE, QUALITY = 320, 70  # of thumbnails: pixels of the longer side, and of JPEG
_SUFFIXES = (".jpg", ".jpeg", ".png", ".webp", ".gif", ".bmp", ".avif", ".svg")  # that browsers show, the usual ones first
_LARGEST_DRAWING = 200_000  # bytes of an SVG file that is put into a page


class Pictures:
    """The pictures in a folder and in the folders inside it, which is listed once.

    A picture is found by the name of its image, then without the folders of that name, then whatever its ending. Without its
    folders, a name must be that of one file only: a wrong picture is worse than none.

    Browsers turn pictures as their EXIF data say, and so are thumbnails.

    Parameters
    ----------
    folder
        where the pictures are; None if there are none
    relative_to
        the folder of the page that links them; None gives absolute addresses
    embed
        give thumbnails of at most 320 pixels instead of links. SVG files stay as they are, up to 200 kB

    Raises
    ------
    FormatError
        the folder does not exist, or is a file
    ParameterError
        thumbnails are wanted, and Pillow is not installed
    """

    def __init__(self, folder: str | Path | None, relative_to: str | Path | None = None, *, embed: bool = False) -> None:
        self.folder = None if folder is None else Path(folder).resolve()
        self._relative_to = None if relative_to is None else Path(relative_to).resolve()
        self._pillow: Any = None
        self._made: dict[Path, str | None] = {}
        if self.folder is None:
            return
        if (kind := kind_at(self.folder)) != "folder":
            problem = "is not there" if kind is None else f"is a {kind}, not a folder of pictures"
            raise FormatError(problem, "name the folder that holds the pictures", path=folder)
        if embed:
            self._pillow = import_optional("PIL.Image", "thumbnails need Pillow", '"apframe[report]"')

    def find(self, file_names: Iterable[str | None]) -> list[Path | None]:
        """The file of each name; None where there is none."""
        if self.folder is None:
            return [None for _ in file_names]
        found = [self._find(name) for name in file_names]
        return [None if path is None else self.folder / path for path in found]

    def addresses(self, file_names: Iterable[str | None]) -> pl.Series:
        """What the `src` of each picture is: a link, or the picture itself; null where it is missing or cannot be read."""
        paths = self.find(file_names)
        new = [path for path in dict.fromkeys(paths) if path is not None and path not in self._made]
        if self._pillow is None:
            self._made |= {path: self._link(path) for path in new}
        else:
            with pool() as others:
                self._made |= dict(zip(new, others.map(self._embedded, new), strict=True))
        return pl.Series([None if path is None else self._made[path] for path in paths], dtype=pl.String)

    def sizes(self, images: pl.DataFrame) -> pl.DataFrame:
        """image_id, image_width, image_height of images with a file_name; where a size is not known, that of the file.

        Pillow reads files. Without it, and where a file is missing or no image, the size stays null.
        """
        size = [pl.col(name) if name in images.columns else pl.lit(None, pl.Int64).alias(name) for name in SIZE]
        known = images.select("image_id", "file_name", *size)
        unknown = known.filter(pl.any_horizontal(pl.col(SIZE).is_null()))
        measured = [None if path is None else _measured(path) for path in self.find(unknown["file_name"])]
        of_files = [dict(zip(SIZE, pair or (None, None), strict=True)) for pair in measured]
        found = unknown.select("image_id").hstack(pl.DataFrame(of_files, schema=dict.fromkeys(SIZE, pl.Int64)))
        return known.drop("file_name").update(found, on="image_id")

    @cached_property
    def _names(self) -> dict[str, str | None]:
        """Every name under which a file is found; None where several files have it."""
        assert self.folder is not None
        files = []
        for folder, folders, names in os.walk(self.folder):
            folders.sort()
            inside = os.path.relpath(folder, self.folder).replace(os.sep, "/")
            files += [name if inside == "." else f"{inside}/{name}" for name in sorted(names)]
        order = {suffix: number for number, suffix in enumerate(_SUFFIXES)}
        pictures = sorted((path for path in files if _suffix(path) in order), key=lambda path: order[_suffix(path)])
        known: dict[str, str | None] = {}
        for path in files:  # without its folders
            name = path.rpartition("/")[2]
            known[name] = None if name in known else path
        stems: dict[str, str] = {}
        for path in pictures:  # whatever its ending: the usual ones first
            stems.setdefault(_stem(path), path)
        bare: dict[str, str | None] = {}
        for stem, path in stems.items():
            name = stem.rpartition("/")[2]
            bare[name] = None if name in bare else path
        return {f"{name}.": path for name, path in (bare | stems).items()} | known | {path: path for path in files}

    def _find(self, name: str | None) -> str | None:
        if name is None:
            return None
        plain = name.replace("\\", "/").removeprefix("./")
        bare = plain.rpartition("/")[2]
        tries = (plain, bare, f"{_stem(plain)}.", f"{_stem(bare)}.", f"{bare}.")
        return next((path for each in tries if (path := self._names.get(each)) is not None), None)

    def _link(self, path: Path) -> str | None:
        if self._relative_to is None:
            return path.as_uri()
        try:
            return quote(Path(os.path.relpath(path, self._relative_to)).as_posix())
        except ValueError:  # on another drive
            return path.as_uri()

    def _embedded(self, path: Path) -> str | None:
        from PIL import ImageOps, UnidentifiedImageError

        try:
            if path.suffix.lower() == ".svg":
                drawing = path.read_bytes()
                return _data("image/svg+xml", drawing) if len(drawing) <= _LARGEST_DRAWING else None
            with self._pillow.open(path) as image:
                image.draft("RGB", (2 * SIDE, 2 * SIDE))  # JPEG is decoded in a smaller size
                small = ImageOps.exif_transpose(image).convert("RGB")
            small.thumbnail((SIDE, SIDE))
            content = BytesIO()
            small.save(content, "JPEG", quality=QUALITY)
            return _data("image/jpeg", content.getvalue())
        except (OSError, ValueError, UnidentifiedImageError, self._pillow.DecompressionBombError):
            return None


class PicturesInside(Pictures):
    """Pictures whose addresses hold the whole files, for notebooks: these cannot follow links to files everywhere."""

    def _link(self, path: Path) -> str | None:
        kind = _suffix(path.name).removeprefix(".")
        try:
            return _data("image/svg+xml" if kind == "svg" else f"image/{kind}", path.read_bytes())
        except OSError:
            return None


def _measured(path: Path) -> tuple[int, int] | None:
    try:
        return measure_images([path])[0]
    except (InputError, ParameterError):  # no image, or no Pillow
        return None


def _data(kind: str, content: bytes) -> str:
    return f"data:{kind};base64,{b64encode(content).decode()}"


def _suffix(path: str) -> str:
    return os.path.splitext(path)[1].lower()  # noqa: PTH122 - of many names


def _stem(path: str) -> str:
    return os.path.splitext(path)[0]  # noqa: PTH122 - of many names
