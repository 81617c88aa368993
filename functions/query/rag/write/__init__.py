"""Write the answer, by a model or by the engine that quotes."""
