"""Shapes: boxes, masks, keypoints, corners and intervals; what each one's columns are, and how masks are decoded."""
