"""Many searches run here, and their results are kept: documents, the store, batches, workers, clusters."""
