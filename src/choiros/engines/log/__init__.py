"""Engines for the port `choiros.kernel.log`."""
