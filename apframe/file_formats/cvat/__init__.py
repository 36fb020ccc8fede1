"""CVAT's XML."""

from apframe.file_formats.cvat.format import Cvat as Cvat
