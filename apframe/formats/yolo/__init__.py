"""YOLO text."""
