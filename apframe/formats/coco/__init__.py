"""COCO JSON."""
