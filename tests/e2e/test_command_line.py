"""The command line as real processes: what a person and a script at a shell meet."""

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.e2e.terminal import CHOIR, WAIT_S, Home, Terminal


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def fill(home: Home) -> Home:
    home.choir("write", "list.md", put=b"bread\nmilk\n")
    home.choir("edit", "list.md", "--old", "milk", "--new", "oat milk", "--run", "breakfast")
    return home


@pytest.fixture
def filled(home: Home) -> Home:
    """A computer with one file, written and then edited in a run."""
    return fill(home)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """The same, for tests that change nothing."""
    return fill(Home(tmp_path_factory.mktemp("shared")))


def eventually(check: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WAIT_S
    while not check():
        assert time.monotonic() < deadline
        time.sleep(0.05)


# --- Writing, looking, going back ---


def test_a_file_is_written_seen_and_taken_back(filled: Home) -> None:
    assert (filled.workspace / "list.md").read_text() == "bread\noat milk\n"
    log = filled.choir("log", "--type", "file.*").out
    assert "created list.md" in log
    assert "[breakfast]" in log
    why = filled.choir("why", "list.md").out.splitlines()
    assert why[0].endswith("| bread")
    assert why[0].split()[1] != why[1].split()[1]
    assert filled.choir("undo", "breakfast", "--yes").code == 0
    assert (filled.workspace / "list.md").read_text() == "bread\nmilk\n"
    assert "(undone by" in filled.choir("log", "--run", "breakfast").out
    assert filled.choir("redo", "--yes").code == 0
    assert (filled.workspace / "list.md").read_text() == "bread\noat milk\n"


def test_the_past_can_be_looked_at(filled: Home) -> None:
    first = filled.choir("log", "--type", "file.write", "--json").objects[0]["seq"]
    assert filled.choir("at", str(first), "cat", "list.md").raw == b"bread\nmilk\n"
    assert filled.choir("at", str(first)).out == "list.md\n"
    assert "+oat milk" in filled.choir("at", str(first), "diff").out
    assert filled.choir("at", str(first), "rm", "list.md").code == 2


def test_every_change_of_a_file_has_its_verb(filled: Home) -> None:
    assert filled.choir("mkdir", "notes/deep").code == 0
    assert filled.choir("mv", "list.md", "notes/").code == 0
    assert filled.choir("chmod", "755", "notes/list.md").code == 0
    assert filled.choir("ln", "list.md", "notes/latest").code == 0
    listed = {line.split()[-1]: line[:5] for line in filled.choir("files", "-l").out.splitlines()}
    assert listed["notes/list.md"] == "- 755"
    assert (filled.workspace / "notes" / "latest").readlink() == Path("list.md")
    assert filled.choir("rm", "notes").code == 1
    assert filled.choir("rm", "-r", "notes").code == 0
    assert list(filled.workspace.glob("*")) == []


def test_bytes_pass_through_exactly(home: Home) -> None:
    content = bytes(range(256)) * 5000 + b"\xff\x1b[2J"
    assert home.choir("write", "bytes.bin", put=content).code == 0
    assert home.choir("cat", "bytes.bin").raw == content


def test_an_edit_made_outside_is_seen_by_the_next_look(filled: Home) -> None:
    (filled.workspace / "list.md").write_text("bread\noat milk\njam\n")
    assert filled.choir("cat", "list.md").raw.endswith(b"jam\n")
    assert "+jam" in filled.choir("diff", "--path", "list.md").out


def test_a_person_who_stands_in_the_workspace_uses_paths_from_there(filled: Home) -> None:
    filled.choir("mkdir", "notes")
    notes = filled.workspace / "notes"
    assert filled.choir("write", "a.md", put=b"x", folder=notes).code == 0
    assert (notes / "a.md").read_bytes() == b"x"
    assert filled.choir("cat", "../list.md", folder=notes).code == 0
    assert filled.choir("files", folder=notes).out == "notes/a.md\n"
    assert filled.choir("cat", str(notes / "a.md")).raw == b"x"
    outside = filled.choir("cat", "../../../x", folder=notes)
    assert (outside.code, "code: path.outside" in outside.err) == (1, True)


def test_on_a_terminal_one_ctrl_d_ends_what_is_typed(home: Home) -> None:
    person = Terminal(home, "write", "note.md")
    person.expect("Ctrl-D on an empty line")
    person.type("hello\nthere\n\x04")
    assert person.code() == 0
    assert (home.workspace / "note.md").read_bytes() == b"hello\nthere\n"
    person = Terminal(home, "write", "note.md")
    person.expect("Ctrl-D on an empty line")
    person.type("never mind\n\x03")
    assert person.code() == 130
    assert (home.workspace / "note.md").read_bytes() == b"hello\nthere\n"


# --- Settling: previews and approvals ---


def test_without_a_terminal_an_undo_only_shows_itself(shared: Home) -> None:
    done = shared.choir("undo", put=b"y\n")
    assert (done.code, "--yes" in done.err) == (1, True)
    assert "list.md" in done.out
    assert (shared.workspace / "list.md").read_text() == "bread\noat milk\n"


def test_on_a_terminal_an_undo_asks(filled: Home) -> None:
    before = "bread\noat milk\n"
    for answer, code, text in (("n\n", 1, before), ("\x03", 130, before), ("y\n", 0, "bread\nmilk\n")):
        person = Terminal(filled, "undo")
        assert "\x1b[" in person.expect("Take this back? [y/N]")
        person.type(answer)
        assert person.code() == code
        assert (filled.workspace / "list.md").read_text() == text


def test_a_push_waits_for_a_person_and_is_carried_out_when_allowed(filled: Home) -> None:
    subprocess.run(["git", "init", "-q", "--bare", "there.git"], cwd=filled.folder, check=True)
    assert filled.choir("checkpoint", "First").code == 0
    there = str(filled.folder / "there.git")
    asked = filled.choir("checkpoints", "push", there, "--json")
    assert asked.code == 3
    request = str(asked.objects[0]["request"])
    assert filled.choir("approvals", "--json").objects[0]["request"] == request
    assert filled.choir("approvals", "allow", request).code == 0
    shown = subprocess.run(
        ["git", "-C", there, "show", "main:list.md"], capture_output=True, text=True, check=False
    )
    assert shown.stdout == "bread\noat milk\n"
    assert filled.choir("approvals", "allow", request).code == 1


def test_on_a_terminal_a_person_can_deny_at_once(filled: Home) -> None:
    filled.choir("checkpoint", "First")
    person = Terminal(filled, "checkpoints", "push", "/nowhere.git")
    person.expect("Allow it?")
    person.type("n\n")
    assert person.code() == 1
    assert filled.choir("approvals", "--json").out == ""


def test_a_checkpoint_is_restored_after_a_preview(filled: Home) -> None:
    filled.choir("checkpoint", "First")
    seq = str(filled.choir("checkpoints", "--json").objects[0]["seq"])
    filled.choir("write", "list.md", put=b"other\n")
    preview = filled.choir("checkpoints", "restore", seq, "--preview")
    assert (preview.code, "list.md" in preview.out) == (0, True)
    assert filled.choir("checkpoints", "restore", seq).code == 1
    assert (filled.workspace / "list.md").read_bytes() == b"other\n"
    assert filled.choir("checkpoints", "restore", seq, "--yes").code == 0
    assert (filled.workspace / "list.md").read_text() == "bread\noat milk\n"


def test_workspaces_are_made_used_and_removed(filled: Home) -> None:
    assert filled.choir("workspaces", "new", "garden").code == 0
    assert filled.choir("workspaces", "use", "garden").code == 0
    assert filled.choir("files").out == ""
    assert filled.choir("files", "--workspace", "main").out == "list.md\n"
    assert filled.choir("workspaces", "use", "main").code == 0
    assert filled.choir("workspaces", "rm", "garden").code == 1
    assert filled.choir("workspaces", "rm", "garden", "--yes").code == 0
    states = {str(line["name"]): line["state"] for line in filled.choir("workspaces", "--json").objects}
    assert states["garden"] == "removed"


# --- Streams ---


def test_following_shows_new_events_and_ends_with_ctrl_c(filled: Home) -> None:
    follower = filled.start("log", "--follow", "--type", "file.*", "--json")
    assert follower.stdout is not None
    first = [json.loads(follower.stdout.readline())["seq"] for _ in range(2)]
    filled.choir("write", "new.md", put=b"x")
    seen = json.loads(follower.stdout.readline())
    assert (seen["sentence"].split()[:2], seen["seq"] > first[-1]) == (["created", "new.md"], True)
    follower.send_signal(signal.SIGINT)
    _, err = follower.communicate(timeout=WAIT_S)
    assert (follower.returncode, err) == (130, b"")


def test_watching_records_what_another_program_writes(filled: Home) -> None:
    watcher = filled.start("watch", "--json")
    assert watcher.stdout is not None
    try:
        path = filled.workspace / "outside.md"
        eventually(lambda: filled.choir("status").code == 0)
        deadline = time.monotonic() + WAIT_S
        while not select.select([watcher.stdout], [], [], 0.5)[0]:
            # Written again until the watcher is awake: nobody knows when it has begun to listen.
            path.write_text(f"{time.monotonic()}\n")
            assert time.monotonic() < deadline
        line = json.loads(watcher.stdout.readline())["lines"][0]
        assert (line["source"], "outside.md" in line["sentence"]) == ("user", True)
    finally:
        watcher.send_signal(signal.SIGINT)
        watcher.communicate(timeout=WAIT_S)
    assert watcher.returncode == 130


def test_a_reader_that_has_seen_enough_is_no_error(shared: Home) -> None:
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; '{CHOIR}' completion bash | head -n 1; '{CHOIR}' log | true"],
        capture_output=True,
        text=True,
        env=shared.environment,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_an_answer_that_cannot_be_written_is_a_failure(shared: Home) -> None:
    with open("/dev/full", "wb") as full:  # noqa: PTH123
        done = subprocess.run(
            [CHOIR, "log"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            env=shared.environment,
            check=False,
        )
    assert done.returncode == 1
    assert "code: output.failed" in done.stderr
    assert done.stderr.count("\n") == 3


# --- Hostile and wrong input ---


def test_nothing_hostile_reaches_a_terminal(filled: Home) -> None:
    (filled.workspace / "ev\x1b[2Jil\u202e.md").write_bytes(b"a\x1b]0;title\x07\xe2\x80\xae\n")
    filled.choir("checkpoint", "re\x1b[31mset")
    for words in (["files", "-l"], ["log"], ["diff", "0"], ["why", "ev\x1b[2Jil\u202e.md"], ["checkpoints"]):
        person = Terminal(filled, *words, "--no-color")
        text = person.rest()
        assert person.code() == 0, text
        assert not set(text) & set("\x1b\x07\u202e"), words
    person = Terminal(filled, "cat", "ev\x1b[2Jil\u202e.md")
    assert person.rest() == "a\\x1b]0;title\\x07\\u202e\r\n"
    assert person.code() == 0


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["frobnicate"], 2),
        (["log", "--folow"], 2),
        (["log", "-n", "0"], 2),
        (["log", "--after", "99999999999999999999"], 2),
        (["cat"], 2),
        (["cat", "no/such"], 1),
        (["cat", "/etc/passwd"], 1),
        (["cat", ""], 1),
        (["cat", "a" * 5000], 1),
        (["show", "999"], 1),
        (["show", "-1"], 2),
        (["undo", "nosuch", "--yes"], 1),
        (["undo", "999", "--preview"], 1),
        (["checkpoints", "restore", "../../etc", "--preview"], 1),
        (["workspaces", "use", "nosuch"], 1),
        (["workspaces", "new", ""], 1),
        (["--workspace", "nosuch", "files"], 1),
        (["--user", "../x", "status"], 1),
        (["--set", "x=1", "status"], 1),
        (["write", ".git/hooks/x"], 1),
        (["write", "notes/"], 1),
        (["chmod", "u+x", "list.md"], 2),
        (["--home", "/dev/null/x", "status"], 1),
        (["config", "user", "Not Good"], 1),
        (["approvals", "allow", "nonsense"], 1),
    ],
    ids=lambda value: " ".join(value)[:40] if isinstance(value, list) else "",
)
def test_nonsense_is_answered_with_a_reason_and_a_fix(shared: Home, words: list[str], code: int) -> None:
    done = shared.choir(*words)
    lines = done.err.splitlines()
    assert done.code == code, done.err
    assert len(lines) == 3
    assert lines[1].startswith("fix: ")
    assert lines[2].startswith("code: ")
    assert "internal.bug" not in lines[2]
    assert json.loads(shared.choir(*words, "--json").out)["exit"] == code


def test_a_name_that_is_not_utf8_is_refused(shared: Home) -> None:
    done = subprocess.run(
        [CHOIR.encode(), b"cat", b"a\xff"], capture_output=True, env=shared.environment, check=False
    )
    assert done.returncode == 2
    assert b"code: usage.not_utf8" in done.stderr


def test_a_text_that_the_terminal_cannot_show_is_no_error(filled: Home) -> None:
    filled.choir("write", "日本.md", put=b"x")
    filled.environment |= {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    assert filled.choir("files").out == "list.md\n\\u65e5\\u672c.md\n"


# --- The first minutes ---


def test_up_without_a_terminal_says_what_to_do_next(home: Home) -> None:
    done = home.choir("up")
    assert (done.code, "choir write" in done.out) == (0, True)
    assert not (home.folder / "home").exists()


@pytest.fixture
def tour_homes(home: Home) -> Iterator[Path]:
    scratch = home.folder / "scratch"
    scratch.mkdir()
    home.environment["TMPDIR"] = str(scratch)
    yield scratch
    assert list(scratch.iterdir()) == []


def test_the_tour_leads_through_real_commands(home: Home, tour_homes: Path) -> None:
    person = Terminal(home, "up", "--no-color")
    printed = ""
    for _ in range(7):
        printed += person.expect("[Enter runs it, s skips it, q quits]")
        person.type("\n")
    printed += person.rest()
    assert person.code() == 0
    for part in ("created list.md", "[breakfast]", "| bread", "took back the run breakfast", "brought back"):
        assert part in printed
    assert "code: " not in printed
    assert not (home.folder / "home").exists()


@pytest.mark.parametrize(("keys", "code"), [("\nq\n", 0), ("s\n\x03", 130), ("\x04", 0)])
def test_the_tour_can_be_left_at_any_time(home: Home, tour_homes: Path, *, keys: str, code: int) -> None:
    home.environment["TERM"] = "dumb"
    person = Terminal(home, "up")
    for key in keys:
        if key != "\n":
            person.expect("[Enter runs it, s skips it, q quits]")
        person.type(key)
    assert person.code() == code
    assert "\x1b[" not in person.seen


def test_a_closed_terminal_leaves_nothing_of_the_tour(home: Home, tour_homes: Path) -> None:
    person = Terminal(home, "up")
    person.expect("[Enter runs it, s skips it, q quits]")
    os.kill(person.pid, signal.SIGHUP)
    assert person.code() != 0


# --- Speed: no heavy import on the way to a quick answer ---


@pytest.mark.parametrize(
    ("words", "unwanted"),
    [
        (["--version"], {"argparse", "asyncio", "msgspec", "choiros.settings", "choiros.wiring"}),
        (["help"], {"asyncio", "choiros.wiring", "apsw", "pygit2", "shtab"}),
        (["config"], {"asyncio", "choiros.wiring", "apsw", "pygit2"}),
        (["log"], {"pygit2", "watchfiles", "shtab", "difflib", "choiros.cli.tour"}),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_a_quick_answer_imports_nothing_heavy(shared: Home, words: list[str], unwanted: set[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", CHOIR, *words],
        capture_output=True,
        text=True,
        env=shared.environment,
        check=True,
    )
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert not unwanted & imported
