"""The calls of an operating system, answered from a simulated disk: what `os` does for programs, done in memory."""

from __future__ import annotations

import errno
import io
import os
import stat
import zlib
from collections.abc import Iterator
from typing import Any, NoReturn, Self

from choiros.testing.simulator.disk import Disk, Node

PREFIX = "/simulated"
"""Everything at and below this path lies on the simulated disk."""

FIRST_DESCRIPTOR = 1 << 20
FIRST_PROCESS = 1 << 23
"""Numbers that no real descriptor and no real process has."""

_TYPES = {"file": stat.S_IFREG, "dir": stat.S_IFDIR, "link": stat.S_IFLNK}
_LINKS_MAX = 20
_NOREPLACE = 1

Place = str | bytes | os.PathLike[str] | os.PathLike[bytes]


class Handle:
    """An open descriptor of one process."""

    __slots__ = ("node", "path_only", "process", "seat")

    def __init__(self, node: Node, process: int, *, path_only: bool) -> None:
        self.node = node
        self.process = process
        self.path_only = path_only
        self.seat = 0


class Entry:
    """What scanning a directory yields for a name."""

    def __init__(self, name: str, path: str, *, node: Node) -> None:
        self.name = name
        self.path = path
        self._node = node

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:
        """Return whether it is a directory; links are not followed here."""
        del follow_symlinks
        return self._node.kind == "dir"

    def is_file(self, *, follow_symlinks: bool = True) -> bool:
        """Return whether it is a file."""
        del follow_symlinks
        return self._node.kind == "file"

    def is_symlink(self) -> bool:
        """Return whether it is a link."""
        return self._node.kind == "link"

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
        """Return how it looks."""
        del follow_symlinks
        return stat_of(self._node)


class Scanned:
    """The answer of scandir, which is closed by the block that uses it."""

    def __init__(self, entries: list[Entry]) -> None:
        self._entries = iter(entries)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def __iter__(self) -> Iterator[Entry]:
        return self._entries

    def __next__(self) -> Entry:
        return next(self._entries)

    def close(self) -> None:
        """Nothing is held."""


class RawFile(io.RawIOBase):
    """A file object over a descriptor."""

    def __init__(self, calls: Calls, descriptor: int) -> None:
        self._calls = calls
        self._descriptor = descriptor

    def readable(self) -> bool:
        """Both ways; the descriptor knows better."""
        return True

    def writable(self) -> bool:
        """Both ways."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read into a buffer."""
        view = memoryview(buffer)
        data = self._calls.read(self._descriptor, len(view))
        view[: len(data)] = data
        return len(data)

    def write(self, data: Any) -> int:
        """Write."""
        return self._calls.write(self._descriptor, data)

    def close(self) -> None:
        """Let go."""
        if not self.closed:
            super().close()
            self._calls.close(self._descriptor)


class Calls:
    """The operating system of one simulated machine; `process` is the one that runs now."""

    def __init__(self, disk: Disk) -> None:
        self.disk = disk
        self.process = FIRST_PROCESS
        self._handles: dict[int, Handle] = {}
        self._next = FIRST_DESCRIPTOR

    def begin_process(self) -> None:
        """Let go of everything that the former process held."""
        self.process += 1
        self._handles.clear()

    # --- finding ---

    def handle(self, descriptor: int) -> Handle:
        """Return an open descriptor."""
        found = self._handles.get(descriptor)
        if found is None:
            # A process that is gone still tidies up: nobody hears it.
            self.disk.act("lost", self.disk.root)
            _fail(errno.EBADF)
        return found

    def is_ours(self, path: Place | int, dir_fd: int | None) -> bool:
        """Return whether a call is about the simulated disk."""
        if isinstance(path, int):
            return path >= FIRST_DESCRIPTOR
        if dir_fd is not None and dir_fd >= FIRST_DESCRIPTOR:
            return True
        text = os.fsdecode(path)
        if text[:6] == "/proc/":
            number = text.split("/")[2]
            return number.isdecimal() and int(number) >= FIRST_PROCESS
        return text[: len(PREFIX)] == PREFIX and text[len(PREFIX) : len(PREFIX) + 1] in {"", "/"}

    def find(self, path: Place | int, *, dir_fd: int | None = None, follow: bool = True) -> Node:
        """Return what stands at a path."""
        if isinstance(path, int):
            return self.handle(path).node
        node, name = self.above(path, dir_fd=dir_fd)
        found = node if name in {"", "."} else node.entries.get(name)
        if found is None:
            _fail(errno.ENOENT, path)
        if found.kind == "link" and follow:
            return self._followed(node, found, depth=0)
        return found

    def above(self, path: Place, *, dir_fd: int | None = None) -> tuple[Node, str]:
        """Return the directory that holds the last name of a path, and that name."""
        text = os.fsdecode(path)
        names = text.split("/")
        if text[:1] == "/":
            node, names = self.disk.root, names[2:]
        else:
            node = self.handle(dir_fd).node if dir_fd is not None else self.disk.root
        if not names:
            return node, ""
        for name in names[:-1]:
            node = self._enter(node, name, depth=0)
        if node.kind != "dir":
            _fail(errno.ENOTDIR, path)
        return node, names[-1]

    def _enter(self, node: Node, name: str, *, depth: int) -> Node:
        if name in {"", "."}:
            return node
        found = node.entries.get(name)
        if found is None:
            _fail(errno.ENOENT if node.kind == "dir" else errno.ENOTDIR, name)
        return self._followed(node, found, depth=depth) if found.kind == "link" else found

    def _followed(self, directory: Node, link: Node, *, depth: int) -> Node:
        if depth > _LINKS_MAX or link.target[:1] == "/" or ".." in link.target:
            # Links of the workload never lead further; nobody shall follow them anyway.
            _fail(errno.ELOOP, link.target)
        node = directory
        for name in link.target.split("/"):
            node = self._enter(node, name, depth=depth + 1)
        return node

    # --- files ---

    def open(self, path: Place, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        """Open or make a file, or open a directory."""
        if os.fsdecode(path)[:6] == "/proc/":
            return self._process_file(os.fsdecode(path))
        directory, name = self.above(path, dir_fd=dir_fd)
        node = directory if name in {"", "."} else directory.entries.get(name)
        if node is not None and node.kind == "link" and not flags & os.O_NOFOLLOW:
            node = self._followed(directory, node, depth=0)
        if node is None:
            if not flags & os.O_CREAT:
                _fail(errno.ENOENT, path)
            self.disk.act("create", directory, name)
            node = self.disk.new("file", mode & 0o777)
            self.disk.name((directory, name, node))
        else:
            _check_openable(node, flags, path)
        if flags & os.O_TRUNC:
            self.disk.act("truncate", node)
            self.disk.truncate(node, 0)
        return self._descriptor(node, path_only=bool(flags & os.O_PATH))

    def _descriptor(self, node: Node, *, path_only: bool = False) -> int:
        self._next += 1
        self._handles[self._next] = Handle(node, self.process, path_only=path_only)
        return self._next

    def _process_file(self, path: str) -> int:
        number = path.split("/")[2]
        if int(number) != self.process:
            _fail(errno.ENOENT, path)
        node = Node(0, "file", mode=0o444, now=0)
        node.data += f"{number} (choir) S {'0 ' * 18}{number} 0".encode()
        return self._descriptor(node)

    def close(self, descriptor: int) -> None:
        """Close; a process that is gone may close as often as it likes."""
        handle = self._handles.pop(descriptor, None)
        if handle is not None and handle.node.held is handle:
            handle.node.held = None

    def read(self, descriptor: int, count: int) -> bytes:
        """Read from where the descriptor stands."""
        handle = self.handle(descriptor)
        data = self.pread(descriptor, count, handle.seat)
        handle.seat += len(data)
        return data

    def pread(self, descriptor: int, count: int, offset: int) -> bytes:
        """Read from a place."""
        node = self.handle(descriptor).node
        if node.kind == "dir":
            _fail(errno.EISDIR)
        self.disk.act("read", node)
        return bytes(node.data[offset : offset + count])

    def write(self, descriptor: int, data: Any) -> int:
        """Write where the descriptor stands, now and then less than was wanted."""
        handle = self.handle(descriptor)
        count = self.pwrite(descriptor, data, handle.seat)
        handle.seat += count
        return count

    def pwrite(self, descriptor: int, data: Any, offset: int) -> int:
        """Write at a place."""
        node = self.handle(descriptor).node
        content = bytes(data)
        if len(content) > 1 and self.disk.chance.one_in(50):
            content = content[: len(content) // 2]
        self.disk.act("write", node)
        self.disk.write(node, offset, data=content)
        return len(content)

    def lseek(self, descriptor: int, offset: int, whence: int) -> int:
        """Move to a place, counted from the start."""
        assert whence == os.SEEK_SET
        self.handle(descriptor).seat = offset
        return offset

    def ftruncate(self, descriptor: int, size: int) -> None:
        """Change the length."""
        node = self.handle(descriptor).node
        if size != len(node.data):
            self.disk.act("truncate", node)
            self.disk.truncate(node, size)

    def fsync(self, descriptor: int) -> None:
        """Bring a file or directory onto the platter."""
        node = self.handle(descriptor).node
        self.disk.act("sync", node)
        self.disk.sync(node)

    def syncfs(self, descriptor: int) -> None:
        """Bring everything onto the platter."""
        self.disk.act("sync", self.handle(descriptor).node)
        self.disk.sync_all()

    def file(self, path: Place, mode: str = "r", **text: str | None) -> io.IOBase:
        """Return a file object, as `io.open` does."""
        flags = os.O_RDONLY if "r" in mode else os.O_RDWR | os.O_CREAT
        flags |= os.O_TRUNC if "w" in mode else 0
        raw = RawFile(self, self.open(path, flags, 0o666))
        buffered = io.BufferedReader(raw) if "r" in mode else io.BufferedWriter(raw)
        return buffered if "b" in mode else io.TextIOWrapper(buffered, encoding=text.get("encoding"))

    # --- names ---

    def stat(self, path: Place | int, *, dir_fd: int | None = None, follow: bool = True) -> os.stat_result:
        """Return how something looks."""
        return stat_of(self.find(path, dir_fd=dir_fd, follow=follow))

    def mkdir(self, path: Place, mode: int = 0o777, *, dir_fd: int | None = None) -> None:
        """Make a directory."""
        directory, name = self.above(path, dir_fd=dir_fd)
        if not name or name in directory.entries:
            _fail(errno.EEXIST, path)
        self.disk.act("mkdir", directory, name)
        self.disk.name((directory, name, self.disk.new("dir", mode & 0o777)))

    def symlink(self, target: Place, path: Place, *, dir_fd: int | None = None) -> None:
        """Make a link."""
        directory, name = self.above(path, dir_fd=dir_fd)
        if name in directory.entries:
            _fail(errno.EEXIST, path)
        self.disk.act("symlink", directory, name)
        self.disk.name((directory, name, self.disk.new("link", 0o777, target=os.fsdecode(target))))

    def readlink(self, path: Place, *, dir_fd: int | None = None) -> str:
        """Return where a link leads."""
        node = self.find(path, dir_fd=dir_fd, follow=False)
        if node.kind != "link":
            _fail(errno.EINVAL, path)
        return node.target

    def unlink(self, path: Place, *, dir_fd: int | None = None) -> None:
        """Take a name away from a file or link."""
        directory, name = self.above(path, dir_fd=dir_fd)
        node = directory.entries.get(name)
        if node is None or node.kind == "dir":
            _fail(errno.ENOENT if node is None else errno.EISDIR, path)
        self.disk.act("unlink", directory, name)
        self.disk.name((directory, name, None))

    def rmdir(self, path: Place, *, dir_fd: int | None = None) -> None:
        """Take an empty directory away."""
        directory, name = self.above(path, dir_fd=dir_fd)
        node = directory.entries.get(name)
        if node is None or node.kind != "dir" or node.entries:
            _fail(errno.ENOENT if node is None else errno.ENOTEMPTY, path)
        self.disk.act("rmdir", directory, name)
        self.disk.name((directory, name, None))

    def rename(
        self, old: Place, new: Place, *, src_dir_fd: int | None = None, dst_dir_fd: int | None = None
    ) -> None:
        """Give something another name, over whatever stands there."""
        source, before = self.above(old, dir_fd=src_dir_fd)
        target, after = self.above(new, dir_fd=dst_dir_fd)
        node, other = source.entries.get(before), target.entries.get(after)
        if node is None:
            _fail(errno.ENOENT, old)
        if other is not None and other.kind == "dir" and (node.kind != "dir" or other.entries):
            _fail(errno.ENOTEMPTY if node.kind == "dir" else errno.EISDIR, new)
        self.disk.act("rename", target, f"{before} {after}")
        if node is not other:
            self.disk.name((source, before, None), (target, after, node))

    def renameat2(self, source: tuple[int, str], target: tuple[int, str], *, flags: int) -> None:
        """Rename where nothing stands, or let two names change places."""
        here, before = self.above(source[1], dir_fd=source[0])
        there, after = self.above(target[1], dir_fd=target[0])
        node, other = here.entries.get(before), there.entries.get(after)
        if node is None or (other is None and flags != _NOREPLACE):
            _fail(errno.ENOENT, source[1])
        if flags == _NOREPLACE:
            if other is not None:
                _fail(errno.EEXIST, target[1])
            self.disk.act("rename", there, f"{before} {after}")
            # Somebody may have come in just now; the check and the rename are one on a real disk.
            if there.entries.get(after) is not None:
                _fail(errno.EEXIST, target[1])
            self.disk.name((here, before, None), (there, after, node))
        else:
            self.disk.act("exchange", there, f"{before} {after}")
            node, other = here.entries.get(before), there.entries.get(after)
            if node is None or other is None:
                _fail(errno.ENOENT, source[1])
            self.disk.name((here, before, other), (there, after, node))

    def chmod(self, path: Place | int, mode: int, *, dir_fd: int | None = None) -> None:
        """Set the permission bits."""
        node = self.find(path, dir_fd=dir_fd)
        self.disk.act("chmod", node)
        self.disk.change_mode(node, mode & 0o777)

    def names(self, path: Place | int) -> list[str]:
        """Return what a directory holds, in the order of a hash table as on a real disk."""
        node = self.find(path)
        if node.kind != "dir":
            _fail(errno.ENOTDIR)
        self.disk.act("list", node)
        return sorted(node.entries, key=lambda name: (zlib.crc32(os.fsencode(name)), name))

    def scandir(self, path: Place | int) -> Scanned:
        """Return what a directory holds, with its looks."""
        node = self.find(path)
        before = "" if isinstance(path, int) else f"{os.fsdecode(path)}/"
        return Scanned([Entry(name, before + name, node=node.entries[name]) for name in self.names(path)])

    def control(self, descriptor: int, *_: int) -> int:
        """Nobody else has a file open, so that every lease is granted."""
        self.handle(descriptor)
        return 0

    def flock(self, descriptor: int, _: int) -> None:
        """Take the lock on a file."""
        handle = self.handle(descriptor)
        held = handle.node.held
        if isinstance(held, Handle) and held is not handle and held.process == self.process:
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        handle.node.held = handle


def _check_openable(node: Node, flags: int, path: Place) -> None:
    """Refuse what the operating system refuses for what stands there."""
    if flags & os.O_CREAT and flags & os.O_EXCL:
        _fail(errno.EEXIST, path)
    if flags & os.O_DIRECTORY and node.kind != "dir":
        _fail(errno.ENOTDIR, path)
    if node.kind == "dir" and flags & (os.O_WRONLY | os.O_RDWR):
        _fail(errno.EISDIR, path)
    if node.kind == "link" and not flags & os.O_PATH:
        _fail(errno.ELOOP, path)


def stat_of(node: Node) -> os.stat_result:
    """Return the form that the operating system gives to a look."""
    mtime, ctime = node.mtime, node.ctime
    seconds = (0, mtime // 1_000_000_000, ctime // 1_000_000_000)
    return os.stat_result(
        (
            _TYPES[node.kind] | node.mode,
            node.number,
            1,
            1,
            0,
            0,
            node.size,
            *seconds,
            *seconds,
            0,
            mtime,
            ctime,
        )
    )


def _fail(number: int, path: Place | None = None) -> NoReturn:
    raise OSError(number, os.strerror(number), None if path is None else os.fsdecode(path))
