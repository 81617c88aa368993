"""Who writes the answer: a model, or the engine that quotes."""
