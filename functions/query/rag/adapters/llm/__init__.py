"""Chat models behind the openai client."""
