"""The sections of the report: a module for each question, with a function that makes the section."""
