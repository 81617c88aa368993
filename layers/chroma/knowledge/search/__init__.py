"""Scores of an open index: by vector, by words."""
