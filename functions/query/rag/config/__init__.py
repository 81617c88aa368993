"""Settings, the profiles' numbers and the prompts: the only readers of the environment."""
