"""What a prompt asks of a model, and whether its words keep to it."""
