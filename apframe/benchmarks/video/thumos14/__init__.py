"""THUMOS14."""
