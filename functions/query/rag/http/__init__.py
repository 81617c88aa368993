"""The contract: requests in, replies out, and their schema."""
