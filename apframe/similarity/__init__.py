"""Pairs of detections and annotations, and how alike they are."""
