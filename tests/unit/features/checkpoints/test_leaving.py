"""What a push would send: every commit that has not arrived, and every place in it where a secret may stand."""

import asyncio

import pytest

from choiros.engines.blob.memory import MemoryBlobs
from choiros.engines.repository.memory import MemoryRepository
from choiros.features.checkpoints import leaving as rules
from choiros.features.checkpoints.leaving import Inspector, history, leaving
from choiros.kernel.errors import Rejected
from choiros.kernel.repository import Commit
from choiros.kernel.tree import Entry

CANARY = "gh" + "p_" + "q7Zt2mXv9Lp4Rk8Wc3Bn6Hd1Js5Gf0TyAeUi"


def commit(name: str, *parents: str) -> Commit:
    return Commit(name, parents, message="m", author="a", timestamp=0, seq=None)


def test_what_a_merge_brings_is_leaving_even_when_it_is_older_than_what_arrived() -> None:
    """C-29: the side branch began before the commit that has arrived."""
    line = [commit("merge", "arrived", "side"), commit("arrived", "root"), commit("side", "root")]
    commits = [*line, commit("root")]
    assert [one.id for one in leaving(commits, ["arrived"])] == ["merge", "side"]
    assert leaving(commits, ["merge"]) == []
    assert leaving(commits, []) == commits
    assert leaving(commits, ["of another history"]) == commits


class Story:
    """A repository in memory and what its commits hold."""

    def __init__(self) -> None:
        self.blobs = MemoryBlobs(size_bytes_max=1 << 20)
        self.repository = MemoryRepository()

    async def commit(self, files: dict[str, Entry], message: str = "m") -> None:
        await self.repository.commit(files, self.blobs, message=message, author="a", timestamp=0, seq=1)

    async def findings(self) -> list[str]:
        return await Inspector(self.repository, self.blobs).findings(await history(self.repository))


async def text(story: Story) -> Entry:
    return Entry("file", 0o644, 4, await story.blobs.put(b"text"))


@pytest.mark.parametrize(
    ("where", "reason"),
    [
        ("message", "its message looks like a secret (github_token)"),
        ("name", "the name of a file looks like a secret (github_token)"),
        ("link", "a: what the link says looks like a secret (github_token)"),
    ],
)
def test_a_secret_is_found_wherever_a_commit_carries_text(where: str, reason: str) -> None:
    """C-29: what is found is not repeated."""

    async def told() -> None:
        story = Story()
        match where:
            case "message":
                await story.commit({"a": await text(story)}, f"deploy with {CANARY}")
            case "name":
                await story.commit({f"keys/{CANARY}": await text(story)})
            case _:
                await story.commit({"a": Entry("link", 0o777, target=f"https://x/{CANARY}")})
        (finding,) = await story.findings()
        assert finding.endswith(reason)
        assert CANARY not in finding

    asyncio.run(told())


def test_a_history_is_looked_through_as_a_whole_or_not_pushed(monkeypatch: pytest.MonkeyPatch) -> None:
    """C-29."""
    monkeypatch.setattr(rules, "COMMITS_MAX", 2)

    async def told() -> None:
        story = Story()
        for _ in range(2):
            await story.commit({})
        assert len(await history(story.repository)) == 2
        await story.commit({})
        with pytest.raises(Rejected) as refused:
            await history(story.repository)
        assert refused.value.code == "checkpoint.too_many"

    asyncio.run(told())
