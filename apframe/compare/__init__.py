"""Resampling, intervals and tests of differences."""
