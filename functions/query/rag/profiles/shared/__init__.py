"""What profiles share: their settings, their optional services, and the pipeline that each of them begins with."""
