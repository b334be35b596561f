"""ChoirOS is a self-hosted computer that people and their agents share."""

__version__ = "0.1.0"
