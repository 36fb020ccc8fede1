"""YOLO's text."""

from apframe.file_formats.yolo.format import Yolo as Yolo
