"""What one may wish for proofs, and how the answers of witnesses are reported."""

from __future__ import annotations

from msgspec import Struct


class SignLog(Struct, frozen=True):
    """Sign what the log is now; when nothing came since the last time, nothing happens."""


class RotateKey(Struct, frozen=True):
    """Sign with a new key from now on."""


class ReportWitness(Struct, frozen=True):
    """Report what a witness said."""

    witness: str
    size: int
    signatures: str = ""
    error: str = ""


class TrustLog(Struct, frozen=True):
    """Be a witness for another log, as long as it is signed with this key."""

    key: str


class WitnessLog(Struct, frozen=True):
    """Look at another log: an add-checkpoint request of C2SP tlog-witness."""

    request: str
