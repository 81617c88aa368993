"""Asks a deployed stack whether it does what it is meant to (``make smoke STACK=name``)."""
