"""What every tree promises about its folder while somebody else changes it too."""

# ruff: noqa: D102, PLR0917 - a test's name is its sentence, and pytest passes fixtures by name

from __future__ import annotations

from collections.abc import Callable

import pytest

from choiros.kernel.blob import BlobStore
from choiros.kernel.tree import Done, Kind, Step, Tree
from choiros.testing.tree_contract import (
    KINDS,
    Outside,
    TreeContract,
    check,
    file,
    folder,
    link,
    prepared,
    seen,
    wish,
)

CHANGES = ["content", "mode", "kind", "directory", "link", "removed"]
# What was to be removed and is removed is no divergence.
MEANWHILE = [
    (mine, theirs) for mine in [*KINDS, None] for theirs in CHANGES if (mine, theirs) != (None, "removed")
]


class DivergeContract(TreeContract):
    """Somebody else was faster: what he wrote is untouched, and the step says so."""

    async def _diverged(self, tree: Tree, steps: list[Step], blobs: BlobStore) -> Done:
        """Apply, check that nothing has changed, and return what became of the step."""
        before = await seen(tree)
        done = await tree.apply(steps, blobs)
        assert await seen(tree) == before
        assert list(done) == [step.path for step in steps]
        await check(tree, blobs, done)
        one = done[steps[0].path]
        assert one.diverged.endswith(".")
        return one

    @pytest.mark.parametrize(("mine", "theirs"), MEANWHILE)
    async def test_what_was_changed_meanwhile_is_kept(
        self, tree: Tree, outside: Outside, blobs: BlobStore, mine: Kind | None, theirs: str
    ) -> None:
        outside.write("a", b"old")
        await prepared(blobs, b"my own")
        entries = {"file": file(b"my own", 0o640), "link": link("mine"), "dir": folder(0o711), None: None}
        steps = await wish(tree, {"a": entries[mine]})
        changes: dict[str, Callable[[], None]] = {
            "content": lambda: outside.write("a", b"new"),
            "mode": lambda: outside.chmod("a", 0o755),
            "kind": lambda: outside.special("a"),
            "directory": lambda: outside.write("a/b", b"theirs"),
            "link": lambda: outside.link("a", "theirs"),
            "removed": lambda: outside.remove("a"),
        }
        if theirs in {"kind", "directory"}:
            outside.remove("a")
        changes[theirs]()
        if theirs == "kind":
            looks = await tree.look(["a"])
            done = await tree.apply(steps, blobs)
            assert await tree.look(["a"]) == looks == {"a": done["a"].stat}
            assert done["a"].diverged
        else:
            await self._diverged(tree, steps, blobs)

    @pytest.mark.parametrize("mine", KINDS)
    @pytest.mark.parametrize("theirs", KINDS)
    async def test_what_was_made_meanwhile_is_kept(
        self, tree: Tree, outside: Outside, blobs: BlobStore, mine: Kind, theirs: Kind
    ) -> None:
        await prepared(blobs, b"my own")
        entries = {"file": file(b"my own", 0o640), "link": link("mine"), "dir": folder(0o711)}
        changes: dict[Kind, Callable[[], None]] = {
            "file": lambda: outside.write("a", b"theirs"),
            "link": lambda: outside.link("a", "theirs"),
            "dir": lambda: outside.mkdir("a"),
        }
        steps = await wish(tree, {"a": entries[mine]})
        changes[theirs]()
        await self._diverged(tree, steps, blobs)

    async def test_equal_content_with_another_mode_is_not_the_wish(
        self, tree: Tree, outside: Outside, blobs: BlobStore
    ) -> None:
        await prepared(blobs, b"same")
        steps = await wish(tree, {"a": file(b"same", 0o600)})
        outside.write("a", b"same", mode=0o644)
        await self._diverged(tree, steps, blobs)

    async def test_one_that_diverged_holds_up_no_other(
        self, tree: Tree, outside: Outside, blobs: BlobStore
    ) -> None:
        await prepared(blobs, b"new")
        outside.write("a", b"old")
        outside.write("b", b"old")
        steps = await wish(tree, {"a": file(b"new"), "b": file(b"new"), "c": None})
        outside.write("a", b"theirs")
        done = await tree.apply(steps, blobs)
        assert [bool(done[path].diverged) for path in "abc"] == [True, False, False]
        assert (outside.read("a"), outside.read("b")) == (b"theirs", b"new")
        await check(tree, blobs, done)

    @pytest.mark.parametrize("after", ["file", "link", None])
    async def test_a_directory_that_still_holds_something_is_kept(
        self, tree: Tree, outside: Outside, blobs: BlobStore, after: Kind | None
    ) -> None:
        await prepared(blobs, b"x")
        outside.write("d/ignored", b"")
        entries = {"file": file(b"x"), "link": link("x"), None: None}
        one = await self._diverged(tree, await wish(tree, {"d": entries[after]}), blobs)
        assert "still holds something" in one.diverged

    async def test_a_child_that_diverged_keeps_its_directory(
        self, tree: Tree, outside: Outside, blobs: BlobStore
    ) -> None:
        outside.write("d/e/f", b"old")
        steps = await wish(tree, {"d": None, "d/e": None, "d/e/f": None})
        outside.write("d/e/f", b"theirs")
        done = await tree.apply(steps, blobs)
        assert all(one.diverged for one in done.values())
        assert outside.read("d/e/f") == b"theirs"
        await check(tree, blobs, done)

    async def test_a_directory_that_gained_a_file_is_kept_with_it(
        self, tree: Tree, outside: Outside, blobs: BlobStore
    ) -> None:
        outside.write("d/old", b"old")
        steps = await wish(tree, {"d": None, "d/old": None})
        outside.write("d/new", b"theirs")
        done = await tree.apply(steps, blobs)
        assert [bool(done[path].diverged) for path in ("d", "d/old")] == [True, False]
        assert set(await seen(tree)) == {"d", "d/new"}
        await check(tree, blobs, done)

    async def test_changes_inside_a_directory_are_no_change_of_it(
        self, tree: Tree, outside: Outside, blobs: BlobStore
    ) -> None:
        outside.write("d/a", b"")
        outside.mkdir("e")
        steps = await wish(tree, {"d": folder(0o711), "e": None})
        outside.write("d/b", b"")
        outside.write("e/x", b"")
        outside.remove("e/x")
        done = await tree.apply(steps, blobs)
        assert [one.diverged for one in done.values()] == ["", ""]

    @pytest.mark.parametrize("entry", [*KINDS, None])
    async def test_without_a_directory_to_hold_it_nothing_is_done(
        self, tree: Tree, outside: Outside, blobs: BlobStore, entry: Kind | None
    ) -> None:
        await prepared(blobs, b"x")
        outside.write("file", b"")
        entries = {"file": file(b"x"), "link": link("x"), "dir": folder(), None: None}
        for path in ("none/a", "file/a"):
            steps = [Step(path, entries[entry], None)]
            before = await seen(tree)
            done = await tree.apply(steps, blobs)
            assert await seen(tree) == before
            assert done[path].stat is None
            # What is wished away and cannot be there is away.
            assert bool(done[path].diverged) == (entry is not None)

    @pytest.mark.parametrize("entry", [*KINDS, None])
    async def test_a_link_in_the_way_is_never_followed(
        self, tree: Tree, outside: Outside, blobs: BlobStore, entry: Kind | None
    ) -> None:
        await prepared(blobs, b"x")
        outside.write("real/a", b"theirs")
        outside.mkdir("d")
        entries = {"file": file(b"x"), "link": link("x"), "dir": folder(), None: None}
        expect = (await tree.look(["real/a"]))["real/a"]
        steps = [Step("d/a", entries[entry], expect), Step("d/new", entries[entry], None)]
        outside.link("d", "real")
        before = await seen(tree)
        done = await tree.apply(steps, blobs)
        assert await seen(tree) == before
        assert [bool(one.diverged) for one in done.values()] == [entry is not None] * 2
        assert outside.read("real/a") == b"theirs"
