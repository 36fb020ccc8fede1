"""YOLO's text."""

from apframe.formats.yolo.format import Yolo as Yolo
