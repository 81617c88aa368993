"""What the pipeline needs from the world, as Protocols; adapters and fakes implement them."""
