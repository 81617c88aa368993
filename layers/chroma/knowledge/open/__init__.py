"""Opening an index, in a folder or on Chroma's server, and keeping it open for requests."""
