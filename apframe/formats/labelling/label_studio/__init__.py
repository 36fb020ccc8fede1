"""Label Studio's JSON."""

from apframe.formats.labelling.label_studio.format import LabelStudio as LabelStudio
