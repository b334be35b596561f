"""The files of every workspace: who may change them, what changed when, and how they look on the disk."""
