"""What was said before, and what a question means in its light."""
