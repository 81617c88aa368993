"""The command line and the local server. Never imported by the functions."""
