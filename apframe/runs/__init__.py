"""Many stored evaluations side by side."""
