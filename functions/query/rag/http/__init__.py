"""The HTTP contract: requests, replies, failures and their schema."""
