"""Shapes: boxes, masks, keypoints, corners, intervals and others; the columns of each, and decoding of masks."""
