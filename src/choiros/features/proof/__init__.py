"""Showing that the log is what it was: a tree of hashes, signed points of it, and those who have seen them."""
