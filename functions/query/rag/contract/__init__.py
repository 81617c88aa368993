"""The forms that prompts ask models to keep: decisions, the decline sentence, citation marks."""
