"""Engines that keep keys and sign."""
