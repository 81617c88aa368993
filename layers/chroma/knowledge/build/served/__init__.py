"""Documents into an index on Chroma's server."""
