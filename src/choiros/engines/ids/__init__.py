"""Engines for the port `choiros.kernel.ids`."""
