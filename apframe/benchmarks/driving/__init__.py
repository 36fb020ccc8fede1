"""Benchmarks of driving."""
