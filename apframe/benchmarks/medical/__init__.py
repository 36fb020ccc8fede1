"""Benchmarks of medical images."""
