"""Waymo Open Dataset."""
