"""File formats: one module or folder for each. `apf.list_formats()` lists them."""
