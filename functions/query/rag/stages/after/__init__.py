"""What follows an answer: routing and feedback."""
