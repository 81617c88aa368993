"""From a search query to hits."""
