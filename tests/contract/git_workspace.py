"""A workspace with a repository of ours, and a person who uses their own git in it."""

import os
import subprocess
from pathlib import Path

from choiros.engines.repository.libgit import LibgitRepository
from choiros.engines.worker.inline import InlineWorker
from choiros.kernel.tree import Entry
from choiros.testing.repository_contract import Shelf

ENVIRONMENT = {
    "PATH": os.environ["PATH"],
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    **{
        f"GIT_{who}_{what}": "person@example.org"
        for who in ("AUTHOR", "COMMITTER")
        for what in ("NAME", "EMAIL")
    },
}


class Workspace:
    """A folder with files, its repository, and the person's git."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "workspace"
        self.git_dir = folder / "home/.choir/git/workspace"
        self.folder.mkdir()
        self.shelf = Shelf()
        self.seq = 0
        self.reopen()

    def reopen(self) -> None:
        self.repository = LibgitRepository(self.git_dir, InlineWorker(), work_folder=self.folder)

    def write(self, path: str, text: str, mode: int = 0o644) -> None:
        target = self.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text.encode())
        target.chmod(mode)

    async def checkpoint(self, message: str = "a checkpoint", seq: int | None = None) -> str:
        """Commit what is in the folder, as the merger's projection would have it."""
        files: dict[str, Entry] = {}
        for path in sorted(self.folder.rglob("*")):
            name = str(path.relative_to(self.folder))
            if name.split("/", maxsplit=1)[0] == ".git" or (path.is_dir() and not path.is_symlink()):
                continue
            if path.is_symlink():
                files[name] = Entry("link", 0o777, target=str(path.readlink()))
            else:
                files[name] = await self.shelf.file(path.read_bytes(), path.stat().st_mode & 0o777)
        self.seq = seq or self.seq + 1
        made = await self.repository.commit(
            files,
            self.shelf,
            message=message,
            author="Ada <ada@example.org>",
            timestamp=1_700_000_000_000,
            seq=self.seq,
        )
        return made.id

    def git(self, *arguments: str, check: bool = True, text: str | None = None, index: str = "") -> str:
        done = subprocess.run(
            ["git", *arguments],
            cwd=self.folder,
            env=ENVIRONMENT | ({"GIT_INDEX_FILE": index} if index else {}),
            input=text,
            capture_output=True,
            text=True,
            check=False,
        )
        assert not check or done.returncode == 0, done.stderr
        return done.stdout.strip()

    def assert_sound(self) -> None:
        """Git finds nothing wrong, and the index is what the head is."""
        assert self.git("fsck", "--strict", "--no-dangling") == ""
        assert self.git("diff", "--cached", "--name-status", "HEAD") == ""
