"""TinyPerson."""
