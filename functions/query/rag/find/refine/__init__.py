"""Refinement: what happens to the hits between retrieval and the gate."""
