"""Charts of the report as SVG: a module for each kind. They take tables and give markup."""
