"""CVAT's XML."""
