"""A witness that is reached by a command of the person's own: a second ChoirOS, here or behind ssh.

The command (such as `ssh tower choir witness`) gets `--json`, and the request on its standard input; it answers with
one JSON object that holds `signatures`, or `error`. With `--newest ORIGIN` it answers with `note`.
"""

from __future__ import annotations

import json
import shlex
import subprocess
from typing import cast

from choiros.kernel.errors import Conflict, Unavailable
from choiros.kernel.worker import Worker

SHOWN_MAX = 200


class CommandWitness:
    """Asks a program; its command line comes from the settings of this computer, never from a workspace."""

    def __init__(self, name: str, command: str, *, worker: Worker, timeout_s: int = 30) -> None:
        self.name = name
        self._words = shlex.split(command)
        self._worker = worker
        self._timeout_s = timeout_s

    async def newest(self, origin: str) -> str:
        """Return the newest note that it has signed."""
        return await self._worker.run(lambda: self._asked("note", "", "--newest", origin))

    async def add(self, request: str) -> str:
        """Return its signature lines."""
        return await self._worker.run(lambda: self._asked("signatures", request))

    def _asked(self, wanted: str, text: str, *words: str) -> str:
        command = [*self._words, *words, "--json"]
        try:
            done = subprocess.run(  # noqa: S603 - the words come from the person's settings
                command, input=text, capture_output=True, text=True, timeout=self._timeout_s, check=False
            )
            answer = cast("dict[str, object]", json.loads(done.stdout))
            error = cast("dict[str, object] | None", answer.get("error"))
            if error is not None:
                raise self._refused(error)
            return str(answer[wanted])
        except (OSError, subprocess.TimeoutExpired) as error:
            raise self._unavailable(str(error)) from error
        except (ValueError, KeyError, AttributeError, TypeError) as error:
            raise self._unavailable("its answer is none of ChoirOS") from error

    def _refused(self, error: dict[str, object]) -> Conflict | Unavailable:
        message, code = str(error.get("message")), str(error.get("code"))
        if not code.startswith(("witness.", "proof.")):
            return self._unavailable(message)
        fields = cast("dict[str, object]", error.get("fields") or {})
        size = fields.get("size")
        known = {"size": size} if isinstance(size, int) else {}
        return Conflict(
            "witness.refused", f"The witness '{self.name}': {message}", fix=str(error.get("fix")), **known
        )

    def _unavailable(self, reason: str) -> Unavailable:
        return Unavailable(
            "witness.unavailable",
            f"The witness '{self.name}' cannot be asked: {reason[:SHOWN_MAX]}.",
            fix="Run its command by hand to see why; it hears of the next signature.",
            witness=self.name,
        )
