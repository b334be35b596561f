"""Engines for the port `choiros.kernel.tree`."""
