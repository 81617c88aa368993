"""What is searched for: acronyms spelt out, filters."""
