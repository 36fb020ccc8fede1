"""CVAT's XML."""

from apframe.formats.labelling.cvat.format import Cvat as Cvat
