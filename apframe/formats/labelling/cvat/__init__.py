"""CVAT XML."""
