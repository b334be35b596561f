"""The rules for checkpoints: what a message may be, and what must not leave the machine."""

import asyncio
from pathlib import Path

import pytest

from choiros.features.approvals.commands import DecideApproval
from choiros.features.checkpoints import leaving as rules
from choiros.features.checkpoints.commands import MakeCheckpoint, PushCheckpoint, ReportCommit, ReportPush
from choiros.features.checkpoints.decide import (
    MESSAGE_MAX,
    PushState,
    decide_make,
    decide_push,
    decide_pushed,
    decide_report,
)
from choiros.features.checkpoints.events import (
    CheckpointCommitted,
    CheckpointFailed,
    CheckpointMade,
    PushDone,
    PushRequested,
)
from choiros.features.files.commands import Change, ChangeFiles
from choiros.features.workspaces.commands import ArchiveWorkspace, CreateWorkspace
from choiros.kernel.dispatch import Asked, Done
from choiros.kernel.errors import Rejected
from choiros.kernel.repository import Commit
from choiros.kernel.tree import Entry
from choiros.wiring import Computer
from tests.computers import Desk

URL = "/srv/elsewhere.git"
CANARY = "gh" + "p_" + "q7Zt2mXv9Lp4Rk8Wc3Bn6Hd1Js5Gf0TyAeUi"
HEAD = Commit("c" * 40, (), message="m", author="a", timestamp=0, seq=1)


@pytest.mark.parametrize("message", ["x", "  x ", "x" * MESSAGE_MAX, "größer\nals gestern"])
def test_a_message_in_a_few_words_is_taken_without_the_space_around_it(message: str) -> None:
    made = decide_make(MakeCheckpoint("main", message), None).payloads
    assert made == [CheckpointMade("main", message.strip())]


@pytest.mark.parametrize("message", ["", "  \n", "x" * (MESSAGE_MAX + 1)], ids=["none", "blank", "too long"])
def test_a_message_that_says_nothing_or_too_much_is_refused(message: str) -> None:
    with pytest.raises(Rejected) as caught:
        decide_make(MakeCheckpoint("main", message), None)
    assert caught.value.code == "checkpoint.bad_message"


def test_the_outcome_of_a_commit_is_a_commit_or_a_reason() -> None:
    assert decide_report(ReportCommit("main", 7, "abc", 3, 1), False).payloads == [
        CheckpointCommitted("main", 7, "abc", 3, 1)
    ]
    assert decide_report(ReportCommit("main", 7, reason="Full."), False).payloads == [
        CheckpointFailed("main", 7, "Full.")
    ]


def test_the_outcome_of_a_push_names_the_request_and_the_error() -> None:
    assert decide_pushed(ReportPush("main", 7, "abc", "No."), False).payloads == [
        PushDone("main", 7, "abc", "No.")
    ]


def test_an_outcome_is_recorded_once() -> None:
    """I7: an intent has exactly one outcome, whatever a crash makes a reactor forget."""
    assert decide_report(ReportCommit("main", 7, "abc", 3, 1), True).facts == ()
    assert decide_report(ReportCommit("main", 7, reason="Full."), True).facts == ()
    assert decide_pushed(ReportPush("main", 7, "abc", "No."), True).facts == ()


def test_a_push_announces_the_newest_commit() -> None:
    decision = decide_push(PushCheckpoint("main", URL, "work"), PushState(HEAD, ()))
    assert decision.payloads == [PushRequested("main", HEAD.id, URL, "work")]


def test_a_push_without_a_commit_is_refused() -> None:
    with pytest.raises(Rejected) as caught:
        decide_push(PushCheckpoint("main", URL), PushState(None, ()))
    assert caught.value.code == "checkpoint.none"


def test_a_refused_push_tells_the_first_reasons_and_how_many_more_there_are() -> None:
    """C-29."""
    with pytest.raises(Rejected, match=r"f0; f1; f2; f3; f4; and 2 more\.") as caught:
        decide_push(PushCheckpoint("main", URL), PushState(HEAD, [f"f{number}" for number in range(7)]))
    assert caught.value.fields["findings"] == [f"f{number}" for number in range(7)]


# --- With a whole computer ---


async def write(computer: Computer, path: str, content: bytes | None) -> None:
    entry = None
    if content is not None:
        entry = Entry("file", 0o644, len(content), await computer.parts.blobs.put(content))
    command = ChangeFiles("main", (Change(path, entry),))
    assert isinstance(await computer.kernel.handle(command, computer.context()), Done)


async def checkpoint(computer: Computer) -> None:
    done = await computer.kernel.handle(MakeCheckpoint("main", "one"), computer.context())
    assert isinstance(done, Done)
    assert not done.troubles


async def push(computer: Computer) -> Done | Asked:
    return await computer.kernel.handle(PushCheckpoint("main", URL), computer.context())


async def refusal(computer: Computer) -> str:
    with pytest.raises(Rejected) as caught:
        await push(computer)
    assert caught.value.code == "checkpoint.push_refused"
    assert CANARY not in str(caught.value)
    return caught.value.message


async def allow(computer: Computer, asked: Asked) -> Done:
    shown = computer.approvals.get(asked.request)
    assert shown is not None
    await computer.kernel.handle(DecideApproval(asked.request, shown.digest, "allow"), computer.context())
    (event,) = await computer.journal.fetch([shown.seq])
    done = await computer.kernel.recorded(event, asked.request)
    assert isinstance(done, Done)
    return done


def test_a_secret_keeps_a_push_back_with_the_place_and_never_the_secret(tmp_path: Path) -> None:
    """C-29."""

    async def story() -> None:
        desk = Desk(tmp_path)
        computer = await desk.open()
        await write(computer, "notes/a.md", f"one\ntwo\n{CANARY}\n".encode())
        await checkpoint(computer)
        assert "notes/a.md:3: looks like a secret (github_token)" in await refusal(computer)
        assert desk.repositories["main"].places == {}
        await computer.close()

    asyncio.run(story())


def test_a_secret_in_an_older_commit_keeps_a_push_back_too(tmp_path: Path) -> None:
    """C-29."""

    async def story() -> None:
        computer = await Desk(tmp_path).open()
        await write(computer, "a.md", CANARY.encode())
        await checkpoint(computer)
        await write(computer, "a.md", b"clean")
        await checkpoint(computer)
        assert "a.md:1: looks like a secret" in await refusal(computer)
        await computer.close()

    asyncio.run(story())


def test_a_secret_on_the_border_of_two_pieces_is_seen_in_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C-29."""
    monkeypatch.setattr(rules, "SCAN_BYTES_MAX", 4096)
    monkeypatch.setattr(rules, "OVERLAP_BYTES", 512)

    async def story() -> None:
        computer = await Desk(tmp_path).open()
        for before in (4080, 65530, 131070):
            text = b"line\n" * (before // 5) + CANARY.encode() + b"\n" + b"line\n" * 500
            await write(computer, f"{before}.md", text)
        await checkpoint(computer)
        message = await refusal(computer)
        for before in (4080, 65530, 131070):
            assert f"{before}.md:{before // 5 + 1}: looks like a secret" in message
        await computer.close()

    asyncio.run(story())


def test_a_file_that_is_too_large_keeps_a_push_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """C-29."""
    monkeypatch.setattr(rules, "PUSH_FILE_BYTES_MAX", 100)

    async def story() -> None:
        computer = await Desk(tmp_path).open()
        await write(computer, "fits.bin", b"x" * 100)
        await checkpoint(computer)
        assert isinstance(await push(computer), Asked)
        await write(computer, "big.bin", b"x" * 101)
        await checkpoint(computer)
        assert "big.bin: 101 bytes are more than 100" in await refusal(computer)
        await computer.close()

    asyncio.run(story())


def test_a_protected_path_in_a_commit_keeps_a_push_back(tmp_path: Path) -> None:
    """C-29."""

    async def story() -> None:
        desk = Desk(tmp_path)
        computer = await desk.open()
        await write(computer, "a.md", b"clean")
        await checkpoint(computer)
        # No commit of ours holds such a name, but somebody else may have made the commit.
        repository = desk.repositories["main"]
        kept = repository._kept[repository._line()[0]]
        kept.files["deep/.GIT/config"] = kept.files["a.md"]
        assert "deep/.GIT/config: the name is protected" in await refusal(computer)
        await computer.close()

    asyncio.run(story())


@pytest.mark.parametrize("url", ["https://ada:s3c" + "ret@example.org/a", "../a.git", "git@host:a.git"])
def test_an_address_that_cannot_be_pushed_to_is_refused_before_anything_is_recorded(
    tmp_path: Path, url: str
) -> None:
    """C-29: else a question with the secret in it would be in the log for ever."""

    async def story() -> None:
        computer = await Desk(tmp_path).open()
        await write(computer, "a.md", b"clean")
        await checkpoint(computer)
        before = await computer.journal.head()
        with pytest.raises(Rejected) as refused:
            await computer.kernel.handle(PushCheckpoint("main", url), computer.context())
        assert refused.value.code == "repository.bad_url"
        assert await computer.journal.head() == before
        await computer.close()

    asyncio.run(story())


def test_a_push_arrives_once_the_person_has_allowed_it(tmp_path: Path) -> None:
    """C-29."""

    async def story() -> None:
        desk = Desk(tmp_path)
        computer = await desk.open()
        await write(computer, "a.md", b"clean")
        await checkpoint(computer)
        asked = await push(computer)
        assert isinstance(asked, Asked)
        assert URL in asked.reasons
        repository = desk.repositories["main"]
        assert repository.places == {}
        await allow(computer, asked)
        head = await repository.head()
        assert head is not None
        assert repository.places == {(URL, "main"): [head.id]}
        assert computer.checkpoints.pushed("main", URL) == [head.id]
        await computer.close()

    asyncio.run(story())


def test_commits_that_have_arrived_are_not_looked_through_again_but_elsewhere_they_are(
    tmp_path: Path,
) -> None:
    """C-29."""

    async def story() -> None:
        desk = Desk(tmp_path)
        computer = await desk.open()
        await write(computer, "a.md", b"clean")
        await checkpoint(computer)
        asked = await push(computer)
        assert isinstance(asked, Asked)
        await allow(computer, asked)
        repository = desk.repositories["main"]
        kept = repository._kept[repository._line()[0]]
        kept.files[".git/config"] = kept.files["a.md"]
        await write(computer, "b.md", b"clean too")
        await checkpoint(computer)
        assert isinstance(await push(computer), Asked)
        with pytest.raises(Rejected, match="the name is protected"):
            await computer.kernel.handle(PushCheckpoint("main", "/srv/other.git"), computer.context())
        await computer.close()

    asyncio.run(story())


def test_only_an_open_workspace_gets_checkpoints_and_is_pushed(tmp_path: Path) -> None:
    async def story() -> None:
        computer = await Desk(tmp_path).open()
        for first in (CreateWorkspace("other"), ArchiveWorkspace("other")):
            await computer.kernel.handle(first, computer.context())
        for name, code in (("other", "workspaces.closed"), ("nothing", "workspaces.unknown")):
            for command in (MakeCheckpoint(name, "m"), PushCheckpoint(name, URL)):
                with pytest.raises(Rejected) as caught:
                    await computer.kernel.handle(command, computer.context())
                assert caught.value.code == code
        await computer.close()

    asyncio.run(story())
