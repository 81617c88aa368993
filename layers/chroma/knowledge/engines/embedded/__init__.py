"""Chroma in this process: one collection in a folder."""
