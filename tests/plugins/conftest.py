"""The modules of the toy benchmark are those of another package: importing them here would register their values."""

collect_ignore = ["toy_benchmark"]
