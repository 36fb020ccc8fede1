"""From verdicts to metrics: cells of verdicts, weights of images, and the metrics that read them."""
