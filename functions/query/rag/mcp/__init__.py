"""The Model Context Protocol: messages in, messages out, whatever carries them."""
