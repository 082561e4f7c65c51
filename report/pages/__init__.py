"""Texts of single answers: mappings, machines, bounds, spaces, rooflines."""
