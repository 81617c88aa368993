"""Answer cache, memory and feedback in one SQLite file."""
