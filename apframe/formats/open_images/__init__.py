"""Open Images' CSV."""

from apframe.formats.open_images.format import OpenImages as OpenImages
