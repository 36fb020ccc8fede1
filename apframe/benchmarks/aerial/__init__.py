"""Benchmarks of aerial images."""
