"""YOLO's text."""
