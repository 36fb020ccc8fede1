"""The report: one HTML file that needs no network, no server and no other file."""
