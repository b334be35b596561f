"""A folder in memory: the complete double of a tree, with hooks that change it as somebody outside would."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from choiros.kernel.blob import BlobStore
from choiros.kernel.errors import Conflict, Corrupt, Rejected
from choiros.kernel.path import TEMPORARY, check_path, is_below, parents
from choiros.kernel.tree import Done, Entry, Kind, Stat, Step

_LINK_MODE = 0o777
_ATTEMPTS = 4


@dataclass
class _Node:
    kind: Kind | Literal["other"]
    mode: int
    inode: int
    data: bytes = b""
    target: str = ""
    mtime: int = 0
    ctime: int = 0

    def stat(self) -> Stat:
        size = len(self.data) if self.kind == "file" else len(self.target.encode("utf-8", "surrogateescape"))
        return Stat(self.kind, self.mode, size, self.mtime, self.ctime, self.inode)


class MemoryTree:
    """One folder, as long as the object lives.

    `on_step`, when a test sets it, is called with each path just before its step is carried out.
    """

    def __init__(self) -> None:
        self._nodes: dict[str, _Node] = {}
        self._ticks = 0
        self.on_step: Callable[[str], None] | None = None

    async def scan(self, skip: Callable[[str, bool], bool]) -> tuple[dict[str, Stat], dict[str, str]]:
        """Return the look of everything that is not skipped, and what of it cannot be kept."""
        found: dict[str, Stat] = {}
        odd: dict[str, str] = {}
        left_out: set[str] = set()
        for path, node in sorted(self._nodes.items()):
            name = path.rpartition("/")[2]
            if not left_out.isdisjoint(parents(path)):
                continue
            if name.startswith(TEMPORARY) or skip(path, node.kind == "dir"):
                left_out.add(path)
                continue
            if not _is_utf8(path):
                left_out.add(path)
                shown = path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
                odd[shown] = "Its name is not valid UTF-8."
                continue
            found[path] = node.stat()
            if node.kind == "other":
                odd[path] = "It is neither a file, nor a link, nor a directory."
        return found, odd

    async def look(self, paths: Iterable[str]) -> dict[str, Stat | None]:
        """Return how each of these paths looks."""
        return {path: self._look(check_path(path)) for path in paths}

    async def take(self, path: str, blobs: BlobStore) -> tuple[Entry, Stat]:
        """Read what stands at the path; raises as the port says."""
        for _ in range(_ATTEMPTS):
            node = self._reach(check_path(path))
            if node is None:
                raise Rejected(
                    "tree.not_found", f"There is nothing at '{path}'.", fix="Check the path.", path=path
                )
            if node.kind == "other":
                raise Rejected(
                    "tree.not_kept",
                    f"'{path}' is neither a file, nor a link, nor a directory, and cannot be kept.",
                    fix="Leave it out with .choirignore.",
                    path=path,
                )
            before = node.stat()
            content = await blobs.put(node.data) if node.kind == "file" else ""
            if self._look(path) == before:
                size = before.size if node.kind == "file" else 0
                return Entry(node.kind, node.mode, size, content, node.target), before
        raise Conflict(
            "tree.changing",
            f"'{path}' changes while it is read.",
            fix="Try again when whatever writes it has finished.",
            path=path,
        )

    async def apply(self, steps: Sequence[Step], blobs: BlobStore) -> Mapping[str, Done]:
        """Carry out the steps; every content is read before the first change."""
        contents: dict[str, bytes] = {}
        for step in steps:
            _check(step)
        for step in steps:
            if step.entry is not None and step.entry.kind == "file" and not self._is_fulfilled(step):
                contents[step.path] = await _content(step.entry, blobs)
        done: dict[str, Done] = {}
        for step in sorted(steps, key=_order):
            if self.on_step is not None:
                self.on_step(step.path)
            reason = self._carry_out(step, contents.get(step.path, b""))
            done[step.path] = Done(step.path, self._look(step.path), reason)
        # What a directory holds changes how it looks, so directories are looked at when all is done.
        for path, one in done.items():
            if one.stat is not None and one.stat.kind == "dir":
                done[path] = Done(path, self._look(path), one.diverged)
        return done

    async def sweep(self) -> int:
        """Remove what has a temporary name."""
        left = [path for path in self._nodes if path.rpartition("/")[2].startswith(TEMPORARY)]
        for path in left:
            self.outside_remove(path)
        return len(left)

    def outside_write(self, path: str, data: bytes, *, mode: int | None = None) -> None:
        """Write a file in place, or make one and the directories above it."""
        self._outside_make(path, "file", mode=0o644 if mode is None else mode)
        node = self._nodes[path]
        node.data = data
        node.mode = node.mode if mode is None else mode
        node.mtime = node.ctime = self._tick()

    def outside_link(self, path: str, target: str) -> None:
        """Make a symbolic link where nothing stands, or in place of what stands there."""
        self.outside_remove(path)
        self._outside_make(path, "link", mode=_LINK_MODE)
        self._nodes[path].target = target

    def outside_mkdir(self, path: str, mode: int = 0o755) -> None:
        """Make a directory and the directories above it."""
        self._outside_make(path, "dir", mode=mode)

    def outside_special(self, path: str) -> None:
        """Make something that is neither file, link nor directory, such as a socket."""
        self._outside_make(path, "other", mode=0o644)

    def outside_chmod(self, path: str, mode: int) -> None:
        """Change the nine permission bits."""
        self._nodes[path].mode = mode
        self._nodes[path].ctime = self._tick()

    def outside_remove(self, path: str) -> None:
        """Remove what stands at the path with everything below; nothing there is no error."""
        for below in [other for other in self._nodes if other == path or is_below(other, path)]:
            del self._nodes[below]
            self._touch_parent(below)

    def outside_move(self, path: str, target: str) -> None:
        """Move what stands at the path, with everything below, over whatever stands at the target."""
        self.outside_remove(target)
        for below in sorted(other for other in self._nodes if other == path or is_below(other, path)):
            self._nodes[target + below[len(path) :]] = self._nodes.pop(below)
        self._nodes[target].ctime = self._tick()
        self._touch_parent(path)
        self._touch_parent(target)

    def outside_read(self, path: str) -> bytes:
        """Return the content of a file."""
        return self._nodes[path].data

    def _carry_out(self, step: Step, content: bytes) -> str:
        """Do one step and return why it was not done, if so."""
        current = self._reach(step.path)
        if self._is_fulfilled(step):
            return ""
        if self._look(step.path) != step.expect and not _is_same_directory(current, step.expect):
            return "It was changed in the meantime."
        is_kept = step.entry is not None and step.entry.kind == "dir"
        if not is_kept and any(is_below(path, step.path) for path in self._nodes if current is not None):
            return "The directory still holds something."
        above = parents(step.path)
        if above and not self._is_way(above[-1]):
            return "There is no directory to hold it."
        self._put(step, content)
        return ""

    def _put(self, step: Step, content: bytes) -> None:
        if step.entry is not None and step.entry.kind == "dir" and self._is_way(step.path):
            self.outside_chmod(step.path, step.entry.mode)
            return
        self._nodes.pop(step.path, None)
        self._touch_parent(step.path)
        if step.entry is not None:
            mode = _LINK_MODE if step.entry.kind == "link" else step.entry.mode
            self._make(step.path, step.entry.kind, mode=mode)
            self._nodes[step.path].data = content
            self._nodes[step.path].target = step.entry.target

    def _is_fulfilled(self, step: Step) -> bool:
        node = self._reach(step.path)
        match node, step.entry:
            case None, None:
                return True
            case _Node(kind="file"), Entry(kind="file", content=content):
                return node.mode == step.entry.mode and hashlib.sha256(node.data).hexdigest() == content
            case _Node(kind="link"), Entry(kind="link", target=target):
                return node.target == target
            case _Node(kind="dir"), Entry(kind="dir", mode=mode):
                return node.mode == mode
            case _:
                return False

    def _look(self, path: str) -> Stat | None:
        node = self._reach(path)
        return None if node is None else node.stat()

    def _reach(self, path: str) -> _Node | None:
        """Return what stands at the path; None also when the way leads through anything but directories."""
        return self._nodes.get(path) if all(map(self._is_way, parents(path))) else None

    def _is_way(self, path: str) -> bool:
        return path in self._nodes and self._nodes[path].kind == "dir"

    def _outside_make(self, path: str, kind: Kind | Literal["other"], *, mode: int) -> None:
        for above in parents(path):
            if not self._is_way(above):
                self._make(above, "dir", mode=0o755)
        if path not in self._nodes or self._nodes[path].kind != kind:
            self.outside_remove(path)
            self._make(path, kind, mode=mode)

    def _make(self, path: str, kind: Kind | Literal["other"], *, mode: int) -> None:
        now = self._tick()
        self._nodes[path] = _Node(kind, mode, inode=now, mtime=now, ctime=now)
        self._touch_parent(path)

    def _touch_parent(self, path: str) -> None:
        above = self._nodes.get(path.rpartition("/")[0])
        if above is not None:
            above.mtime = above.ctime = self._tick()

    def _tick(self) -> int:
        self._ticks += 1
        return self._ticks


def _check(step: Step) -> None:
    check_path(step.path)
    if step.entry is None:
        return
    target = step.entry.target
    is_bad_link = step.entry.kind == "link" and (not target or "\0" in target or not _is_utf8(target))
    if is_bad_link or step.entry.mode & ~0o777:
        raise Rejected(
            "tree.bad_entry",
            f"'{step.path}' cannot be written: its mode or its target is out of the question.",
            fix="Correct the entry.",
            path=step.path,
        )


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _order(step: Step) -> tuple[int, int, str]:
    """Removals first and from the deepest, then directories from the outermost, then the rest."""
    depth = step.path.count("/")
    if step.entry is None:
        return 0, -depth, step.path
    return (1 if step.entry.kind == "dir" else 2), depth, step.path


def _is_same_directory(node: _Node | None, expect: Stat | None) -> bool:
    """A directory's size and times tell of what it holds; inode and mode make it the same."""
    if node is None or expect is None or node.kind != "dir" or expect.kind != "dir":
        return False
    return (node.inode, node.mode) == (expect.inode, expect.mode)


async def _content(entry: Entry, blobs: BlobStore) -> bytes:
    content = b"".join([chunk async for chunk in blobs.read(entry.content)])
    if hashlib.sha256(content).hexdigest() != entry.content:
        raise Corrupt(
            "blob.damaged",
            f"The content {entry.content} is not what was stored.",
            fix="Bring it back from a backup.",
            digest=entry.content,
        )
    return content
