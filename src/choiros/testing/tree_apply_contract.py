"""What every tree promises about changing its folder, while nobody else does."""

# ruff: noqa: D102, PLR0917 - a test's name is its sentence, and pytest passes fixtures by name

from __future__ import annotations

import pytest

from choiros.kernel.blob import BlobStore
from choiros.kernel.errors import Corrupt, Rejected
from choiros.kernel.path import TEMPORARY
from choiros.kernel.tree import Entry, Kind, Step, Tree
from choiros.testing.tree_contract import (
    CONTENTS,
    KINDS,
    NAMES,
    REFUSED_PATHS,
    Lying,
    Outside,
    TreeContract,
    check,
    file,
    folder,
    fulfil,
    link,
    prepared,
    seen,
    wish,
)


class ApplyContract(TreeContract):
    """Changing the folder when nobody else does."""

    async def test_nothing_to_do_is_done(self, tree: Tree, blobs: BlobStore) -> None:
        assert dict(await tree.apply([], blobs)) == {}

    @pytest.mark.parametrize("content", CONTENTS.values(), ids=CONTENTS.keys())
    async def test_any_content_is_written(
        self, tree: Tree, outside: Outside, blobs: BlobStore, content: bytes
    ) -> None:
        await prepared(blobs, content)
        await fulfil(tree, blobs, {"a": file(content)})
        assert outside.read("a") == content

    @pytest.mark.parametrize("name", NAMES.values(), ids=NAMES.keys())
    async def test_any_name_is_written_replaced_and_removed(
        self, tree: Tree, outside: Outside, blobs: BlobStore, name: str
    ) -> None:
        await prepared(blobs, b"1", b"2")
        inner = f"{name}/{name}"
        await fulfil(tree, blobs, {name: folder(), inner: file(b"1")})
        await fulfil(tree, blobs, {inner: file(b"2", 0o600)})
        assert outside.read(inner) == b"2"
        await fulfil(tree, blobs, {name: None, inner: None})
        assert await seen(tree) == {}

    async def test_names_that_look_alike_stay_apart(
        self, tree: Tree, outside: Outside, blobs: BlobStore
    ) -> None:
        await prepared(blobs, b"1", b"2")
        await fulfil(tree, blobs, {NAMES["composed"]: file(b"1"), NAMES["decomposed"]: file(b"2")})
        assert (outside.read(NAMES["composed"]), outside.read(NAMES["decomposed"])) == (b"1", b"2")

    @pytest.mark.parametrize("mode", [0o000, 0o400, 0o444, 0o600, 0o640, 0o666, 0o700, 0o755, 0o777])
    async def test_any_mode_is_kept(self, tree: Tree, blobs: BlobStore, mode: int) -> None:
        await prepared(blobs, b"x")
        done = await fulfil(tree, blobs, {"f": file(b"x", mode), "d": folder(mode)})
        modes = [look.mode for look in (done["f"].stat, done["d"].stat) if look is not None]
        assert modes == [mode, mode]

    @pytest.mark.parametrize(
        "target", ["nowhere", "/etc/passwd", "..", "l", "x" * 4000, "a\nb\N{GRINNING FACE}"]
    )
    async def test_any_link_is_written_and_not_followed(
        self, tree: Tree, blobs: BlobStore, target: str
    ) -> None:
        await prepared(blobs, b"x")
        await fulfil(tree, blobs, {"l": link(target)})
        await fulfil(tree, blobs, {"l": link(target + "2")})
        await fulfil(tree, blobs, {"l": file(b"x")})

    async def test_a_link_is_replaced_and_its_target_is_not(
        self, tree: Tree, outside: Outside, blobs: BlobStore
    ) -> None:
        outside.write("target", b"mine")
        outside.link("l", "target")
        await prepared(blobs, b"x")
        await fulfil(tree, blobs, {"l": file(b"x")})
        assert outside.read("target") == b"mine"

    async def test_steps_may_come_in_any_order(self, tree: Tree, outside: Outside, blobs: BlobStore) -> None:
        await prepared(blobs, b"x")
        wishes = {
            "a/b/c/d": file(b"x"),
            "a/b/c": folder(0o711),
            "a/b/l": link("c"),
            "a": folder(),
            "a/b": folder(0o700),
            "z": folder(),
            "y": file(b"x"),
        }
        await fulfil(tree, blobs, wishes)
        assert set(await seen(tree)) == set(wishes)
        await fulfil(tree, blobs, dict.fromkeys(wishes))
        assert await seen(tree) == {}
        assert outside is not None

    async def test_a_read_only_directory_can_be_filled_changed_and_removed(
        self, tree: Tree, outside: Outside, blobs: BlobStore
    ) -> None:
        await prepared(blobs, b"1", b"2")
        await fulfil(tree, blobs, {"d": folder(0o555), "d/e": folder(0o500), "d/e/f": file(b"1", 0o444)})
        await fulfil(tree, blobs, {"d/e": folder(0o755), "d/e/f": file(b"2"), "d/g": folder()})
        assert outside.read("d/e/f") == b"2"
        await fulfil(tree, blobs, {"d": None, "d/e": None, "d/e/f": None, "d/g": None})

    async def test_a_file_is_replaced_by_a_new_one_and_not_written_through(
        self, tree: Tree, outside: Outside, blobs: BlobStore
    ) -> None:
        outside.write("a", b"old")
        await prepared(blobs, b"new")
        before = (await seen(tree))["a"]
        done = await fulfil(tree, blobs, {"a": file(b"new")})
        after = done["a"].stat
        assert after is not None
        assert after.inode != before.inode
        assert outside.read("a") == b"new"

    async def test_the_mode_alone_can_change(self, tree: Tree, outside: Outside, blobs: BlobStore) -> None:
        outside.write("f", b"x", mode=0o644)
        outside.mkdir("d", 0o755)
        await prepared(blobs, b"x")
        await fulfil(tree, blobs, {"f": file(b"x", 0o755), "d": folder(0o700)})

    @pytest.mark.parametrize("after", [*KINDS, None])
    @pytest.mark.parametrize("before", KINDS)
    async def test_any_kind_becomes_any_other(
        self, tree: Tree, blobs: BlobStore, before: Kind, after: Kind | None
    ) -> None:
        await prepared(blobs, b"1", b"2")
        first = {"file": file(b"1"), "link": link("1"), "dir": folder(0o700)}
        second = {"file": file(b"2"), "link": link("2"), "dir": folder(0o755)}
        await fulfil(tree, blobs, {"a": first[before]})
        await fulfil(tree, blobs, {"a": second[after] if after else None})
        await fulfil(tree, blobs, {"a": first[before]})

    async def test_a_full_directory_becomes_a_file_and_back(
        self, tree: Tree, outside: Outside, blobs: BlobStore
    ) -> None:
        await prepared(blobs, b"1", b"2")
        full = {"a": folder(), "a/b": folder(), "a/b/c": file(b"1"), "a/l": link("b")}
        empty = {"a": file(b"2"), "a/b": None, "a/b/c": None, "a/l": None}
        await fulfil(tree, blobs, full)
        await fulfil(tree, blobs, empty)
        assert outside.read("a") == b"2"
        await fulfil(tree, blobs, full)
        assert outside.read("a/b/c") == b"1"

    async def test_a_directory_becomes_a_link_to_where_it_was_moved(
        self, tree: Tree, outside: Outside, blobs: BlobStore
    ) -> None:
        outside.write("a/x", b"1")
        await prepared(blobs, b"1")
        await fulfil(tree, blobs, {"a": link("b"), "a/x": None, "b": folder(), "b/x": file(b"1")})
        assert outside.read("b/x") == b"1"

    async def test_many_files_are_written_at_once(self, tree: Tree, blobs: BlobStore) -> None:
        contents = {f"d{number % 40}/{number}": b"%d" % number for number in range(200)}
        await prepared(blobs, *contents.values())
        wishes = {path: file(content) for path, content in contents.items()}
        await fulfil(tree, blobs, {**{f"d{number}": folder() for number in range(40)}, **wishes})

    @pytest.mark.parametrize("path", REFUSED_PATHS)
    async def test_a_bad_path_is_refused_everywhere(
        self, tree: Tree, outside: Outside, blobs: BlobStore, path: str
    ) -> None:
        outside.write("a/b", b"x")
        before = await seen(tree)
        for entry in (folder(), link("x"), None):
            with pytest.raises(Rejected, match="path"):
                await tree.apply([Step("b", folder(), None), Step(path, entry, None)], blobs)
        with pytest.raises(Rejected, match="path"):
            await tree.take(path, blobs)
        with pytest.raises(Rejected, match="path"):
            await tree.look(["a", path])
        assert await seen(tree) == before

    @pytest.mark.parametrize(
        "entry", [folder(0o4755), file(b"x", 0o2755), link(""), link("a\0b"), link("\udcff")]
    )
    async def test_a_bad_entry_is_refused(self, tree: Tree, blobs: BlobStore, entry: Entry) -> None:
        await prepared(blobs, b"x")
        with pytest.raises(Rejected) as raised:
            await tree.apply([Step("b", folder(), None), Step("a", entry, None)], blobs)
        assert raised.value.code == "tree.bad_entry"
        assert await seen(tree) == {}

    async def test_missing_content_changes_nothing(
        self, tree: Tree, outside: Outside, blobs: BlobStore
    ) -> None:
        outside.write("a", b"old")
        outside.write("b", b"old")
        before = await seen(tree)
        steps = await wish(tree, {"a": None, "b": file(b"never put"), "c": folder()})
        with pytest.raises(Corrupt) as raised:
            await tree.apply(steps, blobs)
        assert raised.value.code == "blob.missing"
        assert await seen(tree) == before

    @pytest.mark.parametrize("size", [5, 3 << 20])
    async def test_damaged_content_changes_nothing(
        self, tree: Tree, outside: Outside, blobs: BlobStore, size: int
    ) -> None:
        content = b"x" * size
        outside.write("a", b"old")
        await prepared(blobs, content)
        before = await seen(tree)
        steps = await wish(tree, {"a": file(content), "b": folder(), "c": file(content)})
        with pytest.raises(Corrupt) as raised:
            await tree.apply(steps, Lying(blobs, lambda: None))
        assert raised.value.code == "blob.damaged"
        assert await seen(tree) == before

    async def test_leftovers_are_swept_and_counted(
        self, tree: Tree, outside: Outside, blobs: BlobStore
    ) -> None:
        await prepared(blobs, b"x")
        outside.write(f"{TEMPORARY}1", b"")
        outside.write(f"a/b/{TEMPORARY}of-nobody", b"half")
        outside.write("a/b/c", b"whole")
        outside.link(f"a/{TEMPORARY}2", "b")
        outside.mkdir(f"a/{TEMPORARY}3")
        assert await tree.sweep() == 4
        assert await tree.sweep() == 0
        await fulfil(tree, blobs, {"a/b/c": None, "a/b": None, "a": None})


class RepeatContract(TreeContract):
    """A crash may come between doing and writing down: so doing it again is harmless."""

    async def test_applied_again_every_step_is_done(
        self, tree: Tree, outside: Outside, blobs: BlobStore
    ) -> None:
        outside.write("changed", b"old")
        outside.write("gone/inner", b"old")
        outside.mkdir("narrowed")
        outside.write("kind", b"old")
        await prepared(blobs, b"new")
        wishes = {
            "changed": file(b"new", 0o600),
            "new": file(b"new"),
            "link": link("x"),
            "made": folder(0o711),
            "gone": None,
            "gone/inner": None,
            "narrowed": folder(0o555),
            "kind": folder(),
            "never": None,
        }
        steps = await wish(tree, wishes)
        first = await tree.apply(steps, blobs)
        for again in (await tree.apply(steps, blobs), await tree.apply(list(reversed(steps)), blobs)):
            assert {path: one.diverged for path, one in again.items()} == dict.fromkeys(wishes, "")
            assert dict(again) == dict(first)
            await check(tree, blobs, again)

    async def test_half_applied_the_rest_is_done(
        self, tree: Tree, outside: Outside, blobs: BlobStore
    ) -> None:
        outside.write("a/b", b"old")
        outside.write("c", b"old")
        await prepared(blobs, b"new")
        wishes = {"a": file(b"new"), "a/b": None, "c": file(b"new"), "d": folder(0o500), "d/e": file(b"new")}
        steps = await wish(tree, wishes)
        for count in range(1, len(steps)):
            await tree.apply([step for step in steps if step.path in {"a/b", "d"}], blobs)
            await tree.apply(steps[:count], blobs)
        done = await tree.apply(steps, blobs)
        assert [one.diverged for one in done.values()] == [""] * len(steps)

    async def test_what_somebody_else_has_done_already_is_done(
        self, tree: Tree, outside: Outside, blobs: BlobStore
    ) -> None:
        outside.write("a", b"old")
        outside.write("b", b"old")
        await prepared(blobs, b"new")
        steps = await wish(tree, {"a": file(b"new"), "b": None, "c": folder(), "d": link("a")})
        outside.write("a", b"new", mode=0o644)
        outside.remove("b")
        outside.mkdir("c", 0o755)
        outside.link("d", "a")
        before = await seen(tree)
        done = await tree.apply(steps, blobs)
        assert [one.diverged for one in done.values()] == ["", "", "", ""]
        assert await seen(tree) == before
        await check(tree, blobs, done)
