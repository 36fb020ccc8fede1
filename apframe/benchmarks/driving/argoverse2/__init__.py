"""Argoverse 2."""
