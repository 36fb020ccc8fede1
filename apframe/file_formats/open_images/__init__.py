"""Open Images' CSV."""

from apframe.file_formats.open_images.format import OpenImages as OpenImages
