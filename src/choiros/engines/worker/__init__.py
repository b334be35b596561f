"""Engines for the port `choiros.kernel.worker`."""
