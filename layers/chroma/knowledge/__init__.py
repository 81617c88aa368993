"""Documents in, a searchable index out: the part of the system that stands on Chroma.

Importing the package is cheap; import the module that you need (``knowledge.index``, ``knowledge.ingest`` ...).
"""
