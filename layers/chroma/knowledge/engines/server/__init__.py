"""An index on Chroma's own server or its Cloud: a collection of chunks and one of facts for each content version."""
