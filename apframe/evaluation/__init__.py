"""Detections against annotations: `evaluate`, and the tables behind its numbers."""
