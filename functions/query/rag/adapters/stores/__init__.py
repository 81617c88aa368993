"""Answer cache, memory and feedback, written once on the storage port ``table.Table``."""
