"""Checks of a deployed stack (``make smoke STACK=name``)."""
