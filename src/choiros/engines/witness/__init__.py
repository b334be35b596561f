"""Engines that remember, outside this computer, how far a log had come."""
