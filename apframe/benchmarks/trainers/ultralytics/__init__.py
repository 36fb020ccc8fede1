"""Ultralytics."""
