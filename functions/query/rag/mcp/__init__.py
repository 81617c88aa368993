"""The Model Context Protocol: the replies to its messages, for any transport."""
