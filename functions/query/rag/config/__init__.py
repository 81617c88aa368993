"""The settings and the prompts; the only readers of the environment."""
