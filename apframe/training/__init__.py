"""Average precision as a loss, as the metric of torchmetrics, and as callbacks of Lightning and Ultralytics."""
