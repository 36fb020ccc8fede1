"""Canonical tables from the outputs of detectors: dicts or results with arrays or tensors of any library."""
