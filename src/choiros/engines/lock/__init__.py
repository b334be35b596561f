"""Engines for the port `choiros.kernel.lock`."""
