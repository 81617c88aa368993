"""How sure the service is of an answer."""
