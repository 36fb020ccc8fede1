"""KITTI."""
