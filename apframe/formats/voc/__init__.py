"""PASCAL VOC's XML and lists."""

from apframe.formats.voc.format import Voc as Voc
