"""The protocols that the service speaks, one module each: from API Gateway's request to a response."""
