"""Engines for the port `choiros.kernel.watch`."""
