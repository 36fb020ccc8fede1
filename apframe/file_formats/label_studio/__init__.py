"""Label Studio's JSON."""

from apframe.file_formats.label_studio.format import LabelStudio as LabelStudio
