"""choir files and choir cat."""

import base64
import json

from choiros.cli.client import FileLine, FileList
from choiros.kernel.errors import Rejected
from tests.unit.cli.fake_client import FakeClient, choir

LISTED = FileList(
    "main",
    7,
    [
        FileLine("bin", "dir", 0o755, 0, "", "", 2),
        FileLine("bin/go", "file", 0o755, 1234, "ab", "", 3),
        FileLine("latest", "link", 0o777, 3, "", "bin/go", 4),
    ],
    {"big.iso": "larger than the limit"},
)


def test_files_are_one_a_line() -> None:
    outcome = choir("files", client=FakeClient(files=LISTED))
    assert outcome.out == "bin/\nbin/go\nlatest\n"
    assert outcome.err == "not kept: big.iso: larger than the limit\n"


def test_the_long_form_tells_mode_size_event_and_target() -> None:
    lines = choir("files", "-l", client=FakeClient(files=LISTED)).out.splitlines()
    assert lines == [
        "d 755     0       2  bin/",
        "- 755  1234       3  bin/go",
        "l 777     3       4  latest -> bin/go",
    ]


def test_the_present_is_captured_first_and_the_past_only_read() -> None:
    client = FakeClient(files=LISTED)
    choir("files", "bin", client=client)
    choir("files", "bin", "--at", "3", client=client)
    assert client.called("files") == [("bin", None), ("bin", 3)]
    assert client.opened == [(None, True), (None, False)]


def test_no_files_are_said_aside() -> None:
    outcome = choir("files", client=FakeClient(files=FileList("main", 0, [], {})))
    assert (outcome.out, outcome.err) == ("", "There are no files here.\n")
    assert json.loads(choir("files", "--json", client=FakeClient(files=LISTED)).out)["at"] == 7


HOSTILE = b"a\x1b[2J\xff\xe2\x80\xae\n"


def test_a_pipe_gets_every_byte() -> None:
    client = FakeClient(cat=(HOSTILE.replace(b"\xff", b""), b"\xc3", b"\xa9"))
    assert choir("cat", "a", client=client).out == "a\x1b[2J\u202e\né"


def test_a_terminal_gets_nothing_that_it_would_obey() -> None:
    client = FakeClient(cat=(HOSTILE, b"caf\xc3", b"\xa9"))
    assert choir("cat", "a", client=client, terminal=True).out == "a\\x1b[2J\\xff\\u202e\ncafé\n"


def test_raw_is_raw_even_on_a_terminal() -> None:
    client = FakeClient(cat=(b"a\x1b",))
    assert choir("cat", "a", "--raw", client=client, terminal=True).out == "a\x1b"


def test_json_holds_text_or_bytes() -> None:
    found = json.loads(choir("cat", "a", "--json", client=FakeClient(cat=(b"caf\xc3", b"\xa9"))).out)
    assert found == {"path": "a", "size": 5, "text": "café"}
    found = json.loads(choir("cat", "a", "--json", client=FakeClient(cat=(HOSTILE,))).out)
    assert base64.b64decode(found["base64"]) == HOSTILE


def test_a_file_that_is_not_there_is_refused() -> None:
    client = FakeClient(cat=(Rejected("files.not_found", "There is no file 'a'.", fix="Look."),))
    assert choir("cat", "a", client=client).code == 1
