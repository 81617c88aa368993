"""Pure functions over text that several rooms share."""
