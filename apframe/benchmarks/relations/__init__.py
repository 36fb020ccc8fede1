"""Benchmarks of relations and phrases."""
