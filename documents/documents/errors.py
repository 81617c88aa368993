"""What can be wrong with a file or a site; each message is what follows its name, in words."""

from __future__ import annotations


class DocumentError(Exception):
    """Base of every error that this package raises on purpose."""


class NoText(DocumentError):
    """A file that is as it should be, and in which there is nothing to read."""


class Unconvertible(DocumentError):
    """A file that is not converted: it is locked, too large, or not what its suffix says."""


class Unreadable(DocumentError):
    """A file or a site that cannot be read: it is damaged, or nobody may."""
