"""A witness that is a branch of a git repository elsewhere, where commits can be added and none be taken away.

Each log has a file `HASH` with its newest note; HASH is the SHA-256 of the log's name. A push is never forced, so
what another computer pushed in between is taken in first. The git program is used, not libgit2, because it signs in
the way the person has set up; it runs in a repository of our own, in no work tree, and never asks at a terminal.
"""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path

from choiros.kernel.errors import Conflict, Unavailable
from choiros.kernel.worker import Worker

BRANCH = "refs/heads/choir-witness"
THERE = "refs/witness/there"
ATTEMPTS = 5
QUIET = {"GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
WHO = ("-c", "user.name=ChoirOS", "-c", "user.email=choir@localhost", "-c", "protocol.ext.allow=never")


class GitWitness:
    """Pushes the notes of logs to a branch; `cache` is a repository of our own that may be thrown away."""

    def __init__(self, name: str, url: str, *, cache: Path, worker: Worker, timeout_s: int = 60) -> None:
        self.name = name
        self._url = url
        self._cache = cache
        self._worker = worker
        self._timeout_s = timeout_s

    async def newest(self, origin: str) -> str:
        """Return the newest note on the branch."""
        return await self._worker.run(lambda: self._newest(_file_of(origin)))

    async def add(self, request: str) -> str:
        """Commit the note of a request on the branch."""
        note = request.partition("\n\n")[2]
        await self._worker.run(lambda: self._add(note))
        return ""

    def _newest(self, name: str) -> str:
        return self._note(name) if self._fetched() else ""

    def _add(self, note: str) -> None:
        name = _file_of(note.partition("\n")[0])
        refused = ""
        for _ in range(ATTEMPTS):
            parent = self._fetched()
            known = self._note(name) if parent else ""
            if known == note:
                return
            if _size(known) > _size(note):
                raise Conflict(
                    "witness.refused",
                    f"The witness '{self.name}' knows the log at {_size(known)} events already.",
                    fix="An older copy of the log may have been put in its place: 'choir verify' compares the two.",
                    size=_size(known),
                )
            commit = self._committed(name, note, parent=parent)
            # Refused when somebody was quicker: then theirs is taken in, and it is tried again.
            done = self._run("push", "--quiet", "--", self._url, f"{commit}:{BRANCH}")
            if done.returncode == 0:
                return
            refused = done.stderr
        raise self._unavailable(refused)

    def _fetched(self) -> str:
        """Return the newest commit of the branch as it is there now, '' when there is no such branch."""
        listed = self._must("ls-remote", "--", self._url, BRANCH)
        if not listed.strip():
            return ""
        self._must("fetch", "--quiet", "--no-tags", "--", self._url, f"+{BRANCH}:{THERE}")
        return self._must("rev-parse", THERE).strip()

    def _committed(self, name: str, note: str, *, parent: str) -> str:
        blob = self._must("hash-object", "-w", "--stdin", text=note).strip()
        rows = self._must("ls-tree", parent).splitlines() if parent else []
        kept = [row for row in rows if not row.endswith(f"\t{name}")]
        tree = self._must("mktree", text="\n".join([*kept, f"100644 blob {blob}\t{name}"]) + "\n").strip()
        origin, size = note.split("\n")[:2]
        above = ("-p", parent) if parent else ()
        return self._must("commit-tree", tree, *above, "-m", f"{origin} at {size} events").strip()

    def _note(self, name: str) -> str:
        found = self._run("show", f"{THERE}:{name}")
        return found.stdout if found.returncode == 0 else ""

    def _must(self, *words: str, text: str = "") -> str:
        done = self._run(*words, text=text)
        if done.returncode != 0:
            raise self._unavailable(done.stderr)
        return done.stdout

    def _run(self, *words: str, text: str = "") -> subprocess.CompletedProcess[str]:
        try:
            if not (self._cache / "HEAD").exists():
                self._cache.mkdir(mode=0o700, parents=True, exist_ok=True)
                self._git("init", "--quiet", "--bare")
            return self._git(*words, text=text)
        except (OSError, subprocess.TimeoutExpired, UnicodeError) as error:
            raise self._unavailable(str(error)) from error

    def _git(self, *words: str, text: str = "") -> subprocess.CompletedProcess[str]:
        settings = [f"{name}={value}" for name, value in QUIET.items()]
        command = ["env", *settings, "git", f"--git-dir={self._cache}", *WHO, *words]
        return subprocess.run(  # noqa: S603 - our own words, and an address from the person's settings behind '--'
            command, input=text, capture_output=True, text=True, timeout=self._timeout_s, check=False
        )

    def _unavailable(self, reason: str) -> Unavailable:
        return Unavailable(
            "witness.unavailable",
            f"The witness '{self.name}' cannot be reached: {reason.strip()[-200:]}.",
            fix="Check the address and your rights there; it hears of the next signature.",
            witness=self.name,
        )


def _file_of(origin: str) -> str:
    return hashlib.sha256(origin.encode()).hexdigest()


def _size(note: str) -> int:
    """Return the size in the second line of a note, 0 for none."""
    digits = [*note.split("\n"), "", ""][1]
    return int(digits) if digits.isascii() and digits.isdigit() else 0
