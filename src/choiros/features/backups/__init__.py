"""Copies of everything on another disk: which were made, tried and brought back, and which are still kept."""
