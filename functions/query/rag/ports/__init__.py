"""Protocols of the pipeline's surroundings, implemented by adapters and fakes."""
