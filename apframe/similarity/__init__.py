"""Pairs of detections and annotations, and how alike they are."""

from apframe.lazily import public_names

__getattr__, __dir__, __all__ = public_names(__name__)
