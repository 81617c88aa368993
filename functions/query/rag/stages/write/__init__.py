"""From a context to a completion: by a chat model, or by quoting."""
