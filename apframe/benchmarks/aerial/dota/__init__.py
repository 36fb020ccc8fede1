"""DOTA."""
