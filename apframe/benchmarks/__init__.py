"""The benchmarks, each in a folder of its own, which is imported only when it is named or recognised."""
