"""From hits to exactly what the model sees."""
