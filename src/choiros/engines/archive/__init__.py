"""Engines for the port `choiros.kernel.archive`."""
