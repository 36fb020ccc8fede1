"""Benchmarks of people."""
