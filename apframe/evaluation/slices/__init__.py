"""Slices: metrics by columns, bins and conditions."""
