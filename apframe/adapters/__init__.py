"""What detectors return, as canonical tables: lists of dicts or results with arrays or tensors, of any library."""
