"""Benchmarks of the pixels of segments."""
