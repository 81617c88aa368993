"""The composition root: from settings to adapters, to a profile, to a service that answers."""
