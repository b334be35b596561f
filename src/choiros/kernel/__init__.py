"""The small core that everything passes through; it imports nothing else of ChoirOS."""
