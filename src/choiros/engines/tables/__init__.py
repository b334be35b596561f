"""Engines for the port `choiros.kernel.tables`."""
