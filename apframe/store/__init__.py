"""Stored evaluations: Parquet sets, SQL over tables, DuckDB files."""
