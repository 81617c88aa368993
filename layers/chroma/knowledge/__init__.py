"""Documents in, a searchable index out: the part of the system that stands on Chroma.

Importing the package is cheap. Import the module that you need:
``knowledge.open.index``, ``knowledge.build.ingest`` and so on.
"""
