"""Charts of the report as SVG: a module for each kind, which turns tables into markup."""
