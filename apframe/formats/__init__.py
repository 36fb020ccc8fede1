"""Files in and out of canonical tables, one module per format."""
