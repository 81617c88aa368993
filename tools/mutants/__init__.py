"""Mutation testing: which tests notice one change of the product's code, and which tests notice nothing alone."""
