"""Engines for the port `choiros.kernel.blob`."""
