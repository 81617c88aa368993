"""Turn a request into a question that can be searched for."""
