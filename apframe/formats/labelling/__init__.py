"""Formats of labelling tools."""
