"""Conversations: what was said, which tools were called, and how each run ended."""
