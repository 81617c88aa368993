"""Frozen values that the rooms pass to each other."""
