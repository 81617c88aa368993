"""What is done to a completion's text before it is cited."""
