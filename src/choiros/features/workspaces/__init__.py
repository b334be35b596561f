"""Workspaces: separate folders of one person, each with its own files, history and undo."""
