"""Checkpoints: named points of a workspace, also as git commits that other tools can read."""
