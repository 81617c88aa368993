"""The values that flow through ingest and search, their errors, and the manifest of an index."""
