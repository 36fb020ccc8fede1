"""Average precision as a loss, and as the metric of torchmetrics."""
