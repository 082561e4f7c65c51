"""Pages and texts are put together from these: numbers in tables, loop nests, pictures, files."""
