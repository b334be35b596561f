"""A computer of its own for a test, a shell that calls the command line, and a person at a terminal."""

import json
import os
import pty
import select
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

CHOIR = str(Path(sys.executable).with_name("choir"))
WAIT_S = 30.0
REACTION_S = 0.1


class Home:
    """A computer of its own, and a way to call the command line on it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.workspace = folder / "home" / "users" / "me" / "workspace"
        clean = {name: value for name, value in os.environ.items() if not name.startswith("CHOIR_")}
        self.environment = {**clean, "CHOIR_HOME": str(folder / "home"), "TERM": "xterm", "COLUMNS": "100"}
        for name in ("NO_COLOR", "PYTHONDONTWRITEBYTECODE"):
            self.environment.pop(name, None)

    def choir(self, *words: str, put: bytes = b"", folder: Path | None = None) -> "Done":
        done = subprocess.run(
            [CHOIR, *words],
            input=put,
            capture_output=True,
            env=self.environment,
            cwd=folder or self.folder,
            check=False,
        )
        return Done(done.returncode, done.stdout, done.stderr.decode())

    def start(self, *words: str) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(
            [CHOIR, *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self.environment,
            cwd=self.folder,
        )


class Done(NamedTuple):
    code: int
    raw: bytes
    err: str

    @property
    def out(self) -> str:
        return self.raw.decode()

    @property
    def objects(self) -> list[dict[str, object]]:
        return [json.loads(line) for line in self.out.splitlines()]


class Terminal:
    """A person at a terminal."""

    def __init__(self, home: Home, *words: str) -> None:
        self.pid, self._end = pty.fork()
        if self.pid == 0:  # pragma: no cover
            os.chdir(home.folder)
            os.execve(CHOIR, [CHOIR, *words], home.environment)
        self.seen = ""

    def expect(self, text: str) -> str:
        """Return what was printed up to a text."""
        deadline = time.monotonic() + WAIT_S
        while text not in self.seen:
            if not self._read(deadline):
                raise AssertionError(f"'{text}' did not appear in: {self.seen}")
        before, _, self.seen = self.seen.partition(text)
        return before

    def rest(self) -> str:
        """Return everything up to the end."""
        while self._read(time.monotonic() + WAIT_S):
            pass
        return self.seen

    def type(self, text: str) -> None:
        # Python notices a Ctrl-C that comes between its last look and the read only behind the next key. Nobody
        # is that quick after a question has appeared, and whoever is presses it again.
        time.sleep(REACTION_S)
        os.write(self._end, text.encode())

    def code(self) -> int:
        """Return the exit code."""
        self.rest()
        _, status = os.waitpid(self.pid, 0)
        os.close(self._end)
        return os.waitstatus_to_exitcode(status)

    def _read(self, deadline: float) -> bool:
        ready, _, _ = select.select([self._end], [], [], max(deadline - time.monotonic(), 0))
        if not ready:
            return False
        try:
            chunk = os.read(self._end, 65536)
        except OSError:
            return False
        self.seen += chunk.decode(errors="replace")
        return bool(chunk)
