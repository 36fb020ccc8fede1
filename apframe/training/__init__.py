"""Average precision as a loss."""
