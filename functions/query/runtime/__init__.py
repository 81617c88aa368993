"""A Lambda runtime that can stream: in place of the managed one, until that can (docs/adr/0020)."""
