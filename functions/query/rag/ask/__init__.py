"""From the request to a question that can be searched for."""
