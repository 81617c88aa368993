"""A question-answering pipeline as a plain Python library. Only its adapters know AWS."""
