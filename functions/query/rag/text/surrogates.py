r"""Lone surrogates: legal in JSON (``"\ud800"``), but no encoder takes them."""

from __future__ import annotations


def replace_surrogates(text: str) -> str:
    """Return ``text`` with each lone surrogate as U+FFFD, so that it can be encoded."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
