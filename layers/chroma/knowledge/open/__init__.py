"""An index on disk as an open index."""
