"""Embedding models: local, or behind an API."""
