"""From the question to the context that is written from, or to the decision that it is not there."""
