"""The git directory: made by us, opened without anybody's configuration, written so that it survives."""

from __future__ import annotations

import contextlib
import glob
import os
import shutil
import tempfile
from collections.abc import Generator, Iterable, Mapping, Sequence
from io import IOBase
from pathlib import Path
from typing import IO, cast

import pygit2
from pygit2.enums import ConfigLevel, ObjectType, RepositoryOpenFlag

from choiros.engines.repository.libgit.faults import busy, damaged, told
from choiros.engines.repository.libgit.index import GitIndex
from choiros.engines.repository.libgit.oids import Oids
from choiros.engines.repository.libgit.trees import Trees
from choiros.engines.repository.libgit.wording import COMMITTER, message_with_seq, signed
from choiros.engines.repository.libgit.writing import Writing
from choiros.kernel.tree import Entry

CONFIG = """\
[core]
\trepositoryformatversion = 0
\tfilemode = true
\tbare = false
\tlogallrefupdates = true
\tautocrlf = false
"""
EMPTY_TREE = bytes.fromhex("4b825dc642cb6eb9a060e54bf8d69288fbee4904")
_SYNC_ONE_BY_ONE_MAX = 64
_SYMBOLIC_MAX = 5
_LEFT_OVER_S = 3600

# The configuration of the person and of the system is theirs: libgit2 finds none, whatever is asked of it.
for _level in (ConfigLevel.SYSTEM, ConfigLevel.GLOBAL, ConfigLevel.XDG, ConfigLevel.PROGRAMDATA):
    pygit2.settings.search_path[_level] = ""
# Else each object is opened when a folder that names it is written; `missing` looks for them when it must.
pygit2.settings.enable_strict_object_creation(value=False)


class Store:
    """The blocking half of the engine; each call opens the repository anew, as a person may change it too."""

    def __init__(self, git_dir: Path, work_folder: Path | None, *, exclude: str = "") -> None:
        self.git_dir = git_dir
        self._exclude = exclude
        self.work_folder = work_folder
        self.index = GitIndex(git_dir)
        self.writing = Writing(git_dir)
        self._own = git_dir / "choir"
        self._oids = Oids(self._own / "oids")
        self._trees = Trees(git_dir)
        self._unsynced: set[bytes] = set()

    def open(self) -> pygit2.Repository | None:
        """Return the repository, None before the first commit; raises Corrupt when it is damaged."""
        if not self.git_dir.is_dir() or not any(self.git_dir.iterdir()):
            return None
        flags = RepositoryOpenFlag.NO_SEARCH | RepositoryOpenFlag.BARE | RepositoryOpenFlag.NO_DOTGIT
        return pygit2.Repository(os.fspath(self.git_dir), flags)

    def tip(self, repo: pygit2.Repository) -> tuple[str, pygit2.Oid | None]:
        """Return the reference that HEAD leads to, and its commit, None when it is not born yet."""
        name = "HEAD"
        for _ in range(_SYMBOLIC_MAX):
            reference = repo.references.get(name)
            if reference is None and name != "HEAD":
                return name, None
            if reference is None:
                break
            if isinstance(reference.target, pygit2.Oid):
                return name, reference.target
            name = reference.target
        raise damaged(self.git_dir, "HEAD leads nowhere")

    def missing(self, files: Mapping[str, Entry]) -> list[str]:
        """Return the digests of the contents that git does not hold yet."""
        with told(self.git_dir):
            repo = self.open() or self._make()
            self._own.mkdir(exist_ok=True)
            was_spoiled = self.writing.begin(repo)
            if was_spoiled:
                repo = self.open() or self._make()
            head = self.tip(repo)[1]
            if head:
                tree_of(repo, head)  # a head that is not there must not become a parent
            self._oids.load()
            if head is None or self._oids.head != head.raw or was_spoiled:
                # Whatever was reachable from our last commit may have been removed since.
                self._forget()
                self._oids.keep_only(lambda oid: pygit2.Oid(raw=oid) in repo.odb)
            wanted = {entry.content: None for entry in files.values() if entry.kind == "file"}
            return [digest for digest in wanted if digest not in self._oids.by_digest]

    def _remove_left_over(self, now_s: int) -> None:
        """Remove objects that a crash left half written, as git's own cleaning does not know them.

        Young ones may belong to another program that is at work.
        """
        for path in (self.git_dir / "objects").glob("tmp_object_git2_*"):
            if now_s - path.stat().st_mtime > _LEFT_OVER_S:
                path.unlink()

    def add(self, contents: Iterable[tuple[str, bytes | IO[bytes]]]) -> None:
        """Take contents, each with its digest; a large one comes as a file."""
        with told(self.git_dir):
            repo = self.open() or self._make()
            for digest, content in contents:
                if isinstance(content, bytes):
                    oid = repo.create_blob(content)
                else:
                    content.seek(0)
                    oid = repo.create_blob_fromiobase(cast("IOBase", content))
                self._oids.by_digest[digest] = oid.raw
                self._unsynced.add(oid.raw)

    def spill(self) -> IO[bytes]:
        """Return a file without a name for a content that is too large for memory."""
        with told(self.git_dir):
            return tempfile.TemporaryFile(dir=self._own)

    def append(self, file: IO[bytes], data: bytes) -> None:
        """Write on at the end of such a file."""
        with told(self.git_dir):
            file.write(data)

    def record(
        self, files: Mapping[str, Entry], *, message: str, author: str, timestamp: int, seq: int
    ) -> pygit2.Oid:
        """Make the commit, let HEAD's branch point to it, set the index to it, and return its id."""
        with told(self.git_dir), self.index.held(), self._distrust_on_failure():
            repo = self.open() or self._make()
            name, head = self.tip(repo)
            built = self._trees.build(repo, files, oids=self._oids.by_digest)
            if not self.index.is_ours():
                self.keep_index(repo, f"refs/choir/index/{seq}", head=head, timestamp=timestamp)
            parents = [head] if head else []
            text = message_with_seq(message, seq)
            commit = write_commit(
                repo, built.root, parents=parents, author=author, timestamp=timestamp, message=text
            )
            self.index.prepare(tree_of(repo, commit), built.changed)
            self._sync([*self._unsynced, *built.written, commit.raw])
            self._advance(repo, name, head=head, commit=commit)
            self.index.replace()
            self.writing.end()
        self._unsynced.clear()
        with contextlib.suppress(OSError):  # a cache that could not be saved costs time, nothing else
            self._oids.save(commit.raw, {entry.content for entry in files.values() if entry.kind == "file"})
        with contextlib.suppress(OSError):  # what is left over is in nobody's way
            self._remove_left_over(timestamp // 1000)
        return commit

    def keep_index(
        self,
        repo: pygit2.Repository,
        name: str,
        *,
        head: pygit2.Oid | None,
        timestamp: int,
        always: bool = False,
    ) -> str | None:
        """Keep what is staged as a commit under this reference and return it; None when nothing is staged."""
        staged = self.index.tree(repo)
        unchanged = tree_of(repo, head).id.raw if head else EMPTY_TREE
        if staged is None or (staged == unchanged and not always):
            return None
        parents = [head] if head else []
        text = "What was staged\n"
        kept = write_commit(
            repo, staged, parents=parents, author=COMMITTER, timestamp=timestamp, message=text
        )
        os.sync()  # git does not wait for the disk when something is staged
        attempt, full = 1, name
        while (taken := repo.references.get(full)) is not None:
            if taken.target == kept:
                return full
            attempt += 1
            full = f"{name}.{attempt}"
        repo.references.create(full, kept)
        return full

    def _advance(
        self, repo: pygit2.Repository, name: str, *, head: pygit2.Oid | None, commit: pygit2.Oid
    ) -> None:
        repo.set_ident("ChoirOS", "choiros@localhost")  # for the reflog, which else names nobody
        reference = repo.references.get(name)
        if head is None:
            repo.references.create(name, commit)
        elif reference is None or reference.target != head:
            raise busy(self.git_dir, f"{name} has moved")
        else:
            reference.set_target(commit, "commit: checkpoint")
        _sync_files([self.git_dir / name])

    def _sync(self, oids: Sequence[bytes]) -> None:
        """Have these objects on disk before anything names them."""
        if len(oids) > _SYNC_ONE_BY_ONE_MAX:
            os.sync()
            return
        objects = self.git_dir / "objects"
        _sync_files([objects / oid.hex()[:2] / oid.hex()[2:] for oid in oids])
        _sync_files([objects])

    @contextlib.contextmanager
    def _distrust_on_failure(self) -> Generator[None]:
        try:
            yield
        except BaseException:
            self._forget()
            self._oids.distrust()
            raise

    def _forget(self) -> None:
        self._trees.forget()
        self.index.forget()

    def _make(self) -> pygit2.Repository:
        above = self.git_dir.parent
        above.mkdir(mode=0o700, parents=True, exist_ok=True)
        for left_behind in above.glob(f"{glob.escape(self.git_dir.name)}.new-*"):
            shutil.rmtree(left_behind)
        self._write_gitfile()
        new = Path(tempfile.mkdtemp(prefix=f"{self.git_dir.name}.new-", dir=above))
        for folder in ("objects/info", "objects/pack", "refs/heads", "refs/tags", "info", "choir"):
            (new / folder).mkdir(parents=True)
        (new / "config").write_text(CONFIG)
        (new / "info/exclude").write_text(f".choir-tmp-*\n{self._exclude}")
        (new / "HEAD").write_text("ref: refs/heads/main\n")
        # A name that reaches the disk before what stands under it is a damaged repository after a power cut.
        _sync_files([new / "config", new / "info/exclude", new / "HEAD"])
        new.rename(self.git_dir)
        _sync_files([above])
        repo = self.open()
        if repo is None:
            raise damaged(self.git_dir, "it vanished right after it was made")
        return repo

    def _write_gitfile(self) -> None:
        """Let the person's own git find the repository from the workspace, if nothing is there yet."""
        if self.work_folder is None:
            return
        folder = os.open(self.work_folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            file = os.open(".git", flags, 0o644, dir_fd=folder)
            with os.fdopen(file, "w") as gitfile:
                gitfile.write(f"gitdir: {self.git_dir}\n")
                gitfile.flush()
                os.fsync(gitfile.fileno())
        except FileExistsError:
            pass
        finally:
            os.close(folder)


def write_commit(
    repo: pygit2.Repository,
    tree: bytes,
    *,
    parents: Sequence[pygit2.Oid],
    author: str,
    timestamp: int,
    message: str,
) -> pygit2.Oid:
    """Write a commit object from nothing but the arguments, so that the same ones give the same id.

    It is spelt out because libgit2 demands a mail address of an author.
    """
    when = f"{max(timestamp, 0) // 1000} +0000"
    lines = [
        f"tree {tree.hex()}",
        *(f"parent {parent}" for parent in parents),
        f"author {signed(author)} {when}",
        f"committer {COMMITTER} {when}",
        "",
        message,
    ]
    return repo.write(ObjectType.COMMIT, "\n".join(lines).encode())


def tree_of(repo: pygit2.Repository, commit: pygit2.Oid) -> pygit2.Tree:
    """Return the tree of a commit."""
    return repo[commit].peel(pygit2.Tree)


def _sync_files(paths: Iterable[Path]) -> None:
    """Have these files on disk, and that they are where they are; what lies in a pack is there already."""
    there = [path for path in paths if path.exists()]
    for path in dict.fromkeys([*there, *(path.parent for path in there)]):
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(file)
        finally:
            os.close(file)
