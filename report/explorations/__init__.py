"""Explorations sweep a machine's settings: points, their front, pictures, the page."""
