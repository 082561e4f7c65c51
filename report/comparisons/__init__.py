"""Comparisons set layers, machines and dataflows against each other: rows, sentences, pictures, the page."""
