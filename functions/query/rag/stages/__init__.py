"""The pipeline's slots, one module each: small callables over the values of ``rag.values.answer``."""
