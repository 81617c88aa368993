"""Find the passages of a question, or decide that the documents do not answer it."""
