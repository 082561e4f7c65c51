"""An independent exact strategy: the even space with perfect tiling as a constraint model for CP-SAT."""
