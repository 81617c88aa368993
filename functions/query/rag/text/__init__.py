"""Pure algorithms over text."""
