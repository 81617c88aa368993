"""Chroma's own server, or its Cloud: one collection for each content version, and what is known of it as a whole."""
