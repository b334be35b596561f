"""The one place that names engines and features together and makes a computer of them."""

from choiros.wiring.computer import Computer
from choiros.wiring.disk import disk_parts
from choiros.wiring.garbage import unnamed
from choiros.wiring.opening import open_computer
from choiros.wiring.parts import Folders, Parts, checks, projectors, registry, verify_signature
from choiros.wiring.proving import verified
from choiros.wiring.repair import Rebuilt, rebuild

__all__ = [
    "Computer",
    "Folders",
    "Parts",
    "Rebuilt",
    "checks",
    "disk_parts",
    "open_computer",
    "projectors",
    "rebuild",
    "registry",
    "unnamed",
    "verified",
    "verify_signature",
]
