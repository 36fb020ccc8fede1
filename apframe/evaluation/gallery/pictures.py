"""Locations of the pictures of images: links to their files, or thumbnails that need no file."""

from __future__ import annotations

import os
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from io import BytesIO
from pathlib import Path, PurePath
from typing import Any
from unicodedata import normalize
from urllib.parse import quote

import polars as pl

from apframe.exceptions import FormatError, InputError, ParameterError, import_optional
from apframe.formats.image_sizes import measure_images
from apframe.lazily import cached_property
from apframe.paths import kind_at
from apframe.tables.schemas import SIZE
from apframe.threads import pool

SIDE = 320  # of thumbnails: pixels of the longer side
_QUALITIES = (70, 60, 50, 40, 30, 20)  # of JPEG: the first one for which a thumbnail is small enough
_LARGEST = 13_000  # bytes of a thumbnail: a page with 300 cards then has at most 8 MB
_LARGEST_DRAWING = 50_000  # bytes of an SVG file that can be embedded in a page
_TYPES = {  # that browsers show, the common ones first
    ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".png": "image/png", ".webp": "image/webp", ".gif": "image/gif",
    ".bmp": "image/bmp", ".avif": "image/avif", ".svg": "image/svg+xml",
}  # fmt: skip


class Pictures:
    """The pictures in a folder and in the folders inside it, which is listed once.

    A picture is found by the name of its image, then by fewer and fewer of the folders in that name, then in the same way
    regardless of its extension. The name must be the end of only one path: a wrong picture is worse than none.

    Browsers turn pictures according to their EXIF data, and so do thumbnails: annotations are drawn as made on the picture as
    people see it. If they were made on the pixels as stored, they are drawn beside their objects; then remove the EXIF data.

    Parameters
    ----------
    folder
        the folder of the pictures; None without pictures
    relative_to
        the folder of the page that links them; None for absolute addresses
    embed
        whether to keep thumbnails for the page instead of links: JPEG of at most 320 pixels and 13 kB. SVG files up to 50 kB
        are embedded unchanged

    Attributes
    ----------
    folder
        the folder of the pictures
    embeds
        whether the page contains thumbnails instead of links
    held
        the thumbnails that `links` has referred to, by their ids: addresses that contain the whole picture. A page contains
        each once

    Raises
    ------
    FormatError
        the folder does not exist, or is a file
    ParameterError
        thumbnails are requested, but Pillow is not installed
    """

    def __init__(self, folder: str | Path | None, relative_to: str | Path | None = None, *, embed: bool = False) -> None:
        self.folder = None if folder is None else Path(folder).resolve()
        self._relative_to = None if relative_to is None else Path(relative_to).resolve()
        self._pillow: Any = None
        self._made: dict[str | None, tuple[str | None, str | None]] = {}
        self.held: dict[str, str] = {}
        if self.folder is None:
            return
        if (kind := kind_at(self.folder)) != "folder":
            problem = "is not there" if kind is None else f"is a {kind}, not a folder of pictures"
            raise FormatError(problem, "name the folder that holds the pictures", path=folder)
        if embed:
            self._pillow = import_optional("PIL.Image", "thumbnails need Pillow", "pillow", "report")

    @property
    def embeds(self) -> bool:  # noqa: D102 - see the class
        return self._pillow is not None

    def find(self, file_names: Iterable[str | None]) -> list[Path | None]:
        """Return the file of each name; None if there is none."""
        return [self._find(name)[0] for name in file_names]

    def links(self, file_names: Iterable[str | None]) -> pl.DataFrame:
        """Return the locations of the pictures with these names.

        Returns
        -------
        href: the location of the picture, a link, or "#" and the id of one of `held`. missing: the reason why there is none;
        one of the two is null.

        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     Pictures(folder).links(["a.jpg"]).rows()
        [(None, 'not in the folder')]
        """
        names = list(file_names)
        new = [name for name in dict.fromkeys(names) if name not in self._made]
        if self._pillow is None:
            self._made |= {name: self._link_or_reason(name) for name in new}
        else:
            with pool() as others:
                new_links = [(self._hold(address), reason) for address, reason in others.map(self._link_or_reason, new)]
            self._made |= dict(zip(new, new_links, strict=True))
        rows = [self._made[name] for name in names]
        return pl.DataFrame(rows, schema={"href": pl.String, "missing": pl.String}, orient="row")

    def sizes(self, images: pl.DataFrame) -> pl.DataFrame:
        """Return image_id, image_width, image_height of images with a file_name; unknown sizes are read from the file.

        Pillow reads files. Without it, or if a file is missing or no image, the size remains null.
        """
        size = [pl.col(name) if name in images.columns else pl.lit(None, pl.Int64).alias(name) for name in SIZE]
        images_with_size = images.select("image_id", "file_name", *size)
        unknown = images_with_size.filter(pl.any_horizontal(pl.col(SIZE).is_null()))
        measured = [None if path is None else _measured(path) for path in self.find(unknown["file_name"])]
        of_files = [dict(zip(SIZE, pair or (None, None), strict=True)) for pair in measured]
        sizes_of_files = unknown.select("image_id").hstack(pl.DataFrame(of_files, schema=dict.fromkeys(SIZE, pl.Int64)))
        return images_with_size.drop("file_name").update(sizes_of_files, on="image_id")

    def _hold(self, address: str | None) -> str | None:
        """Store a thumbnail, and return a reference to it, which is the same for equal thumbnails."""
        if address is None:
            return None
        key = f"picture-{sha256(address.encode()).hexdigest()[:16]}"
        self.held[key] = address
        return f"#{key}"

    def _link_or_reason(self, name: str | None) -> tuple[str | None, str | None]:
        path, reason = self._find(name)
        if path is None:
            return None, reason
        suffix = _suffix(path.name)
        try:
            if kind_at(path) != "file":  # such as a link to a deleted file
                return None, "that cannot be read"
            if self._pillow is not None and suffix != ".svg":
                return self._thumbnail(path), None
            if suffix not in _TYPES:
                return None, "in a format that browsers do not show"
            if self._pillow is None:
                return self._link(path, _TYPES[suffix]), None
            if path.stat().st_size > _LARGEST_DRAWING:
                return None, "too large to be put into the page"
            return _inside(path, _TYPES[suffix]), None
        except Exception:  # for a damaged file, Pillow raises any error of its readers
            return None, "that cannot be read"

    def _link(self, path: Path, media_type: str) -> str:  # noqa: ARG002 - for those who put the file inside
        if self._relative_to is None:
            return path.as_uri()
        try:
            return quote(os.fsencode(PurePath(os.path.relpath(path, self._relative_to)).as_posix()))
        except ValueError:  # on another drive
            return path.as_uri()

    def _thumbnail(self, path: Path) -> str:
        from PIL import ImageOps

        with self._pillow.open(path) as image:
            image.draft("RGB", (2 * SIDE, 2 * SIDE))  # JPEG is decoded in a smaller size
            small = ImageOps.exif_transpose(image)
        if small.mode.startswith("I"):
            small = small.convert("I").point(lambda value: value / 256).convert("L")  # 16 bits, as browsers show them
        small = small.convert("RGB")
        small.thumbnail((SIDE, SIDE))
        for quality in _QUALITIES:
            content = BytesIO()
            small.save(content, "JPEG", quality=quality, optimize=True)
            if content.tell() <= _LARGEST:
                break
        return _data("image/jpeg", content.getvalue())

    def _find(self, name: str | None) -> tuple[Path | None, str]:
        """Return the file of a name, or the reason why there is none."""
        if not name:
            return None, "without a file name"
        ends = list(_ends(normalize("NFC", name).replace("\\", "/")))
        paths = [self._paths.get(end, "") for end in ends]
        if not any(paths):
            paths += [self._stems.get(stem, "") for end in ends for stem in (end, _stem(end))]
        path = next(filter(None, paths), None)
        if path is not None and self.folder is not None:
            return self.folder / path, ""
        return None, "not in the folder" if None not in paths else "of which the folder has several"

    @cached_property
    def _files(self) -> list[str]:
        """The paths of all files inside the folder, sorted. Links to folders are followed, but each folder is read once."""
        files, seen = list[str](), set[str]()
        if self.folder is None:
            return files
        for folder, folders, names in os.walk(self.folder, followlinks=True):
            if (place := os.path.realpath(folder)) in seen:
                folders.clear()
                continue
            seen.add(place)
            folders.sort()
            inside = os.path.relpath(folder, self.folder).replace(os.sep, "/")
            files += names if inside == "." else [f"{inside}/{name}" for name in names]
        return sorted(files)

    @cached_property
    def _paths(self) -> dict[str, str | None]:
        """The file of each path and of each end of a path; None if several files have that end."""
        return _by_ends({path: path for path in self._files})

    @cached_property
    def _stems(self) -> dict[str, str | None]:
        """The same for pictures without their extension. If several only differ in that, the most common one is used."""
        usual = {suffix: number for number, suffix in enumerate(_TYPES)}
        pictures = [path for path in self._files if _suffix(path) in usual]
        pictures.sort(key=lambda path: usual[_suffix(path)], reverse=True)
        return _by_ends({_stem(path): path for path in pictures})


class PicturesInside(Pictures):
    """Pictures whose addresses contain the whole files, for notebooks, where links to files may not work."""

    def _link(self, path: Path, media_type: str) -> str:
        return _inside(path, media_type)


def _measured(path: Path) -> tuple[int, int] | None:
    try:
        return measure_images([path])[0]
    except (InputError, ParameterError):  # not an image, or no Pillow
        return None


def _inside(path: Path, media_type: str) -> str:
    return _data(media_type, path.read_bytes())


def _data(media_type: str, content: bytes) -> str:
    return f"data:{media_type};base64,{b64encode(content).decode()}"


def _by_ends(files: Mapping[str, str]) -> dict[str, str | None]:
    """Return files by their keys, which are paths, and by the ends of these; None if several files have an end."""
    file_of_end: dict[str, str | None] = {}
    normalized = {normalize("NFC", key): path for key, path in files.items()}
    for key, path in normalized.items():
        for end in _ends(key):
            file_of_end[end] = None if end in file_of_end else path
    return file_of_end | normalized


def _ends(path: str) -> Iterator[str]:
    """Yield a path, then the path with fewer and fewer of its folders.

    >>> list(_ends("a/b/c.jpg"))
    ['a/b/c.jpg', 'b/c.jpg', 'c.jpg']
    """
    while path:
        yield path
        path = path.partition("/")[2]


def _suffix(path: str) -> str:
    return os.path.splitext(path)[1].lower()  # noqa: PTH122 - of many names


def _stem(path: str) -> str:
    return os.path.splitext(path)[0]  # noqa: PTH122 - of many names
