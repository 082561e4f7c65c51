"""Documents hold results as JSON: mapping.json, plan.json, their schemas, and how older versions are read."""
