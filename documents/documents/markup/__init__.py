"""Markdown of documentation sites as the reader of a rendered page sees it."""
