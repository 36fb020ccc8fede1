"""PASCAL VOC's XML and lists."""

from apframe.file_formats.voc.format import Voc as Voc
