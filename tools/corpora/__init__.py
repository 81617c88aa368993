"""Measure how completely real folders of documents are read into an index: a row of figures for each folder."""
