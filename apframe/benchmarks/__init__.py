"""The benchmarks, each in its own folder, which is imported only when the benchmark is named or recognised."""
