"""Engines for the port `choiros.kernel.repository`."""
