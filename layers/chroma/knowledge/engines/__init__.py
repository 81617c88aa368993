"""Where vectors and metadata are kept and searched: Chroma."""
