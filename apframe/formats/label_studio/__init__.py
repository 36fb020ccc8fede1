"""Label Studio's JSON."""

from apframe.formats.label_studio.format import LabelStudio as LabelStudio
