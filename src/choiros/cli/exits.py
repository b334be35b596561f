"""What the exit code of the command line says."""

from __future__ import annotations

DONE = 0
FAILED = 1
"""Refused, or failed with a reason."""
WRONG_USAGE = 2
WAITING = 3
"""A person must answer first: 'choir approvals'."""
INTERRUPTED = 130
"""Stopped by Ctrl-C."""
