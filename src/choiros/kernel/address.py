"""What the address of another repository may look like; checked once, where an address comes in.

Only few and plain forms are taken, so that nothing in an address can mean a command. One with a name or a
secret in it is refused before anything is recorded, as the log keeps what it is told for ever.
"""

from __future__ import annotations

import re

from choiros.kernel.errors import Rejected

_HOST = r"(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?"
_USER = r"[A-Za-z0-9_][A-Za-z0-9._-]*"
_https = re.compile(rf"https://{_HOST}/[A-Za-z0-9._~/+@%:,=-]+")
_ssh = re.compile(rf"ssh://{_USER}@{_HOST}/[A-Za-z0-9._~/+@:,=-]+")
_with_sign_in = re.compile(r"(?:https?://[^/]*@|[a-z+]+://[^/@]*:[^/]*@)")


def check_address(url: str) -> str:
    """Return the address, a local one as its path; raise Rejected (`repository.bad_url`) for any other form."""
    if _with_sign_in.match(url):
        raise bad_address("holds a name or a secret", "Leave it out: an address is kept in the log for ever.")
    if _https.fullmatch(url) or _ssh.fullmatch(url):
        return url
    local = url.removeprefix("file://")
    if local.startswith("/") and not local.startswith("//") and local.isprintable():
        return local
    fix = "Write https://host/path, ssh://user@host/path or the path of a folder."
    raise bad_address("has no known form", fix)


def is_local(url: str) -> bool:
    """Return whether a checked address is a folder of this machine."""
    return url.startswith("/")


def bad_address(reason: str, fix: str) -> Rejected:
    """Return the error for an address that is refused; it never repeats the address."""
    return Rejected("repository.bad_url", f"The address to push to {reason}.", fix=fix)
