"""Published protocols, each a frozen value and a name of `apframe`, such as `apf.COCO`. `apf.list_protocols()` lists them."""

from apframe.lazily import public_names

__getattr__, __dir__, __all__ = public_names(__name__)
