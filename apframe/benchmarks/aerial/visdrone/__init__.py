"""VisDrone."""
