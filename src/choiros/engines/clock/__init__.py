"""Engines for the port `choiros.kernel.clock`."""
