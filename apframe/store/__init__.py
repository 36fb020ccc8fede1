"""What is kept of an evaluation: Parquet sets, SQL over tables, DuckDB files."""
