"""The effects: everything that talks to the world outside the process."""
