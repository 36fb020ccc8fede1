"""Checks of data sets, results and runs; one file for each family of findings."""
