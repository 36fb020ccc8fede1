"""Panoptic segmentation: COCO and Cityscapes."""
