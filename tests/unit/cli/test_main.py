"""Every outcome is an exit code, and every error a sentence."""

import asyncio
import json
import signal
import sys
from collections.abc import Awaitable, Callable

import pytest

from choiros import __version__
from choiros.cli.main import main, run, verbs
from choiros.kernel.errors import Rejected
from tests.unit.cli.fake_client import STATUS, FakeClient, Outcome, Stream, choir, event


def test_every_verb_is_named() -> None:
    assert {"log", "undo", "help", "at", "workspaces"} <= set(verbs())


def test_the_version_is_printed() -> None:
    assert choir("--version") == Outcome(0, f"choir {__version__}\n", "")


def test_main_reads_the_command_line_of_the_process(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["choir", "--version"])
    former = signal.getsignal(signal.SIGINT)
    try:
        assert main() == 0
    finally:
        signal.signal(signal.SIGINT, former)
    assert capsys.readouterr().out == f"choir {__version__}\n"


def test_a_refusal_is_three_lines_and_exit_code_1() -> None:
    outcome = choir(
        "show", "9", client=FakeClient(show=Rejected("log.x", "There is no event 9.", fix="Look."))
    )
    assert outcome == Outcome(1, "", "There is no event 9.\nfix: Look.\ncode: log.x\n")


def test_wrong_usage_is_exit_code_2() -> None:
    outcome = choir("lgo")
    assert outcome.code == 2
    assert outcome.err.endswith("code: usage.unknown_verb\n")


def test_errors_are_one_object_on_standard_output_with_json() -> None:
    for words in (["lgo", "--json"], ["--json", "lgo"], ["show", "x", "--json"]):
        outcome = choir(*words)
        assert (outcome.code, outcome.err) == (2, "")
        assert json.loads(outcome.out)["exit"] == 2


def test_a_bad_setting_is_refused_before_anything_is_opened() -> None:
    client = FakeClient()
    outcome = choir("status", "--set", "no.such=1", client=client)
    assert outcome.code == 1
    assert "code: config.unknown_key" in outcome.err
    assert client.opened == []


def test_a_bug_of_ours_is_one_sentence_and_with_debug_a_traceback() -> None:
    outcome = choir("status", client=FakeClient(status=KeyError("x")))
    assert outcome.code == 1
    assert outcome.err.startswith("This is a bug in ChoirOS: KeyError: 'x'.")
    assert "Traceback" not in outcome.err
    assert "Traceback" in choir("status", "--debug", client=FakeClient(status=KeyError("x"))).err


def test_a_refusal_of_the_system_is_no_bug() -> None:
    outcome = choir("status", client=FakeClient(status=PermissionError(13, "Permission denied", "/x")))
    assert "code: system.eacces" in outcome.err


def test_ctrl_c_is_exit_code_130_and_says_nothing() -> None:
    assert choir("status", client=FakeClient(status=KeyboardInterrupt())) == Outcome(130, "", "")


class Full(Stream):
    def flush(self) -> None:
        if self.tell_bytes():
            raise OSError(28, "No space left on device")

    def tell_bytes(self) -> bool:
        return getattr(self, "written", False)

    def write(self, text: str) -> int:
        self.written = True
        return len(text)


def test_an_answer_that_cannot_be_written_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    err = Stream()
    monkeypatch.setattr(sys, "stdout", Full())
    monkeypatch.setattr(sys, "stderr", err)
    assert run(["status"], connect=FakeClient().connect) == 1
    assert "code: output.failed" in err.all()
    assert "recorded all the same" in err.all()


def test_an_error_that_cannot_be_written_as_json_is_told_on_the_other_stream(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    err = Stream()
    monkeypatch.setattr(sys, "stdout", Full())
    monkeypatch.setattr(sys, "stderr", err)
    assert run(["lgo", "--json"]) == 2
    assert "code: usage.unknown_verb" in err.all()
    monkeypatch.setattr(sys, "stdout", Full())
    assert run(["status", "--json"], connect=FakeClient().connect) == 1
    assert "code: output.failed" in err.all()


def test_a_process_without_output_still_works(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.setattr(sys, "stderr", None)
    monkeypatch.setattr(sys, "stdin", None)
    assert run(["status"], connect=FakeClient().connect) == 0
    assert run(["lgo"]) == 2
    sys.stdout.close()
    sys.stderr.close()


def test_verbs_that_do_not_wait_need_no_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: Awaitable[int]) -> int:
        raise AssertionError

    runner: Callable[[Awaitable[int]], int] = refuse
    monkeypatch.setattr(asyncio, "run", runner)
    assert choir("config").code == 0


def test_colour_needs_a_terminal_and_can_be_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    client = FakeClient(log=[[event(1)]], status=STATUS)
    assert "\x1b[" in choir("log", client=client, terminal=True).out
    assert "\x1b[" not in choir("log", client=client).out
    assert "\x1b[" not in choir("log", "--no-color", client=client, terminal=True).out
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" not in choir("log", client=client, terminal=True).out


def test_a_reader_that_has_seen_enough_is_no_error() -> None:
    assert choir("status", client=FakeClient(status=BrokenPipeError())) == Outcome(0, "", "")
