"""The command line: a thin client."""
