"""CVAT's XML."""

from apframe.formats.cvat.format import Cvat as Cvat
