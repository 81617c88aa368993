"""Makes the Lambda layer small enough and quick to start: prune, compile, size."""
