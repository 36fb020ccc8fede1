"""COCO's JSON."""
