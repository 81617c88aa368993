"""Documents as chunks."""
