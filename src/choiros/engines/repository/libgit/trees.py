"""Tree objects, built by hand from a list of files and read back with suspicion; no work tree is involved."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pygit2
from msgspec import Struct
from pygit2.enums import FileMode

from choiros.engines.repository.libgit.faults import damaged, path_refused
from choiros.kernel.errors import Rejected
from choiros.kernel.path import check_path, fold, is_protected, parents
from choiros.kernel.tree import Entry

FILES_MAX = 500_000
"""Few objects can describe a tree of any size by naming the same one again and again: git bombs do so."""

Slot = tuple[int, bytes]
"""What a folder holds under a name: git's mode and the raw id."""

_A_FOLDER: Slot = (FileMode.TREE, b"")


class Found(Struct, frozen=True):
    """A file of a commit as git keeps it."""

    mode: int
    oid: bytes


class Built(Struct, frozen=True):
    """What became of a list of files."""

    root: bytes
    written: list[bytes]
    """The objects that were written for it."""
    changed: dict[str, Slot | None]
    """What differs from the files before, None for what is gone."""


class Trees:
    """Builds the tree of a list of files, and writes only the folders that have changed since the last."""

    def __init__(self, git_dir: Path) -> None:
        self._git_dir = git_dir
        self._files: dict[str, Entry] = {}
        self._folders: dict[str, dict[str, Slot]] = {"": {}}
        self._root = b""

    def forget(self) -> None:
        """Write every folder the next time, as somebody else may have removed what was written."""
        self._files = {}
        self._folders = {"": {}}
        self._root = b""

    def build(
        self, repo: pygit2.Repository, files: Mapping[str, Entry], *, oids: Mapping[str, bytes]
    ) -> Built:
        """Write the folders of these files; after an error only `forget` makes this usable again."""
        wanted = {path: entry for path, entry in files.items() if entry.kind != "dir"}
        gone = [path for path in self._files if path not in wanted]
        new = [path for path, entry in wanted.items() if self._files.get(path) != entry]
        changed: dict[str, Slot | None] = dict.fromkeys(gone)
        for path in gone:
            self._remove(path)
        for path in new:
            changed[path] = self._put(path, _slot(repo, wanted[path], oids=oids))
        written = [slot[1] for slot in changed.values() if slot and slot[0] == FileMode.LINK]
        if changed or not self._root:
            written += self._write_folders(repo, {above for path in changed for above in parents(path)})
            self._root = written[-1]
        self._files = wanted
        return Built(self._root, written, changed)

    def _put(self, path: str, slot: Slot) -> Slot:
        above, _, name = check_path(path).rpartition("/")
        if is_protected(path):
            raise path_refused(path, "git would take a part of its name for its own")
        if slot[0] == FileMode.LINK and fold(name) == ".gitmodules":
            raise path_refused(path, "git refuses a link of this name")
        for folder in parents(path):
            parent, _, own = folder.rpartition("/")
            if self._folders[parent].get(own, _A_FOLDER)[0] != FileMode.TREE:
                raise path_refused(path, f"'{folder}' is a file")
            self._folders.setdefault(folder, {})
        if path in self._folders:
            raise path_refused(path, "there is a folder of the same name")
        self._folders[above][name] = slot
        return slot

    def _remove(self, path: str) -> None:
        """Take away a file, and every folder that holds nothing any more."""
        above, _, name = path.rpartition("/")
        self._folders[above].pop(name, None)
        if above and not self._folders[above]:
            del self._folders[above]
            self._remove(above)

    def _write_folders(self, repo: pygit2.Repository, dirty: set[str]) -> list[bytes]:
        """Write these folders and the root, what lies in a folder before the folder."""
        written: list[bytes] = []
        for folder in sorted(dirty | {""}, reverse=True):
            if folder not in self._folders:
                continue
            builder = repo.TreeBuilder()
            for name, (mode, raw) in self._folders[folder].items():
                self._insert(builder, f"{folder}/{name}", slot=(mode, raw))
            written.append(builder.write().raw)
            if folder:
                above, _, name = folder.rpartition("/")
                self._folders[above][name] = (FileMode.TREE, written[-1])
        return written

    def _insert(self, builder: pygit2.TreeBuilder, path: str, *, slot: Slot) -> None:
        mode, raw = slot
        try:
            builder.insert(path.rpartition("/")[2], pygit2.Oid(raw=raw), FileMode(mode))
        except (pygit2.GitError, ValueError) as error:
            if "invalid name" in str(error):
                raise path_refused(path.lstrip("/"), "some system would take its name for another") from error
            raise damaged(self._git_dir, str(error)) from error


def _slot(repo: pygit2.Repository, entry: Entry, *, oids: Mapping[str, bytes]) -> Slot:
    if entry.kind == "link":
        return FileMode.LINK, repo.create_blob(entry.target.encode()).raw
    return FileMode.BLOB_EXECUTABLE if entry.mode & 0o100 else FileMode.BLOB, oids[entry.content]


def read_tree(repo: pygit2.Repository, root: bytes) -> tuple[dict[str, Found], dict[str, str]]:
    """Return the files of a tree by path, and what is left out of it with the reason.

    Raises Rejected (`repository.path_refused`) for a tree that no honest program writes.
    """
    files: dict[str, Found] = {}
    left_out: dict[str, str] = {}
    folders: set[str] = set()
    for path, found in _walk(repo, root):
        if path in files or path in folders:
            raise path_refused(path, "the commit names it twice")
        if found.mode == FileMode.TREE:
            folders.add(path)
        elif found.mode == FileMode.COMMIT:
            left_out[path] = "It is a submodule: a commit of another repository, which is not stored here."
        else:
            files[path] = found
        if len(files) + len(folders) > FILES_MAX:
            raise Rejected(
                "repository.too_large",
                f"The commit names more than {FILES_MAX} files and folders.",
                fix="Choose another commit.",
            )
    return files, left_out


def _walk(repo: pygit2.Repository, root: bytes) -> Iterator[tuple[str, Found]]:
    """Yield everything in the tree, each folder before what it holds."""
    waiting = [("", root)]
    while waiting:
        folder, oid = waiting.pop()
        tree = repo[pygit2.Oid(raw=oid)]
        if not isinstance(tree, pygit2.Tree):
            raise TypeError(f"{pygit2.Oid(raw=oid)} is no tree")
        for item in tree:
            path = _path_of(folder, item.raw_name or b"")
            yield path, Found(item.filemode, item.id.raw)
            if item.filemode == FileMode.TREE:
                waiting.append((path, item.id.raw))


def _path_of(folder: str, raw_name: bytes) -> str:
    name = raw_name.decode("utf-8", "surrogateescape")
    path = f"{folder}/{name}" if folder else name
    if "/" in name or is_protected(name):
        raise path_refused(path, "such a name leads somewhere else")
    return check_path(path)
