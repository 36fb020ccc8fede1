"""Any ranked list in a frame: expressions, curves, measures."""

from apframe.lazily import public_names

__getattr__, __dir__, __all__ = public_names(__name__)
