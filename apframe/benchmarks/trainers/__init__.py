"""Benchmarks of libraries that train detectors."""
