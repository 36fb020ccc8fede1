"""Average precision as a loss, as the metric of torchmetrics, and as callbacks of Lightning and Ultralytics."""

from apframe.lazily import public_names

__getattr__, __dir__, __all__ = public_names(__name__)
