"""Errors of files and sites; each message is a sentence that continues after the name."""

from __future__ import annotations


class DocumentError(Exception):
    """Base of every error that this package raises on purpose."""


class NoText(DocumentError):
    """A correct file without text."""


class Unconvertible(DocumentError):
    """A file that is not converted: it is locked, too large, or does not fit its suffix."""


class Unreadable(DocumentError):
    """A file or a site that cannot be read: it is damaged, or reading is not allowed."""
