"""What an index on Chroma's own server costs and how fast it answers, by its size."""
