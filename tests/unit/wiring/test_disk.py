"""Where everything of a person lies, and that nothing of it is ever looked for anywhere else (C-05, C-41)."""

import asyncio
import os
import stat
import subprocess
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path

import pytest

from choiros.kernel.errors import Rejected, Unavailable
from choiros.settings import Resolved, Settings, SnapshotSettings, resolve
from choiros.wiring import Computer, disk_parts, open_computer
from tests.places import Hand, recorded


def resolved(home: Path, user: str = "me") -> Resolved:
    return resolve({"home": str(home), "user": user, "snapshots.events_max": "1"}, {})


async def opened(home: Path, user: str = "me") -> Computer:
    at = resolved(home, user)
    return await open_computer(disk_parts(at), at.settings, write=True, notice=pytest.fail)


def tree(home: Path) -> list[str]:
    """Return everything below a directory, content under its name left out."""
    found = [path.relative_to(home).as_posix() for path in home.rglob("*")]
    return sorted(
        path for path in found if not any(part in path for part in ("/blobs/", "/git/", "/snapshots/"))
    )


def test_a_person_gets_exactly_the_documented_places(tmp_path: Path) -> None:
    async def story() -> None:
        computer = await opened(tmp_path)
        await Hand(computer).write("notes/today.md", b"today\n")
        await computer.keep_snapshot()
        await computer.close()

    asyncio.run(story())
    assert tree(tmp_path) == [
        ".gitignore",
        "users",
        "users/me",
        "users/me/.choir",
        "users/me/.choir/.gitignore",
        "users/me/.choir/blobs",
        "users/me/.choir/lock",
        "users/me/.choir/log.db",
        "users/me/.choir/snapshots",
        "users/me/.choir/state.sqlite",
        "users/me/workspace",
        "users/me/workspace/notes",
        "users/me/workspace/notes/today.md",
    ]


def test_nobody_else_can_look_into_the_places_of_a_person(tmp_path: Path) -> None:
    home = tmp_path / "home"

    async def story() -> None:
        computer = await opened(home)
        await Hand(computer).write("a", b"a")
        await computer.keep_snapshot()
        await computer.close()

    asyncio.run(story())
    for path in (
        home,
        home / "users",
        home / "users/me",
        home / "users/me/.choir",
        home / "users/me/workspace",
    ):
        assert stat.S_IMODE(path.stat().st_mode) == 0o700, path


def test_the_data_directory_is_never_committed_by_whoever_makes_a_repository_of_it(tmp_path: Path) -> None:
    asyncio.run(closed(tmp_path))
    assert (tmp_path / ".gitignore").read_text() == "*\n"
    (tmp_path / ".gitignore").write_text("mine\n")
    asyncio.run(closed(tmp_path))
    assert (tmp_path / ".gitignore").read_text() == "mine\n"


async def closed(home: Path, user: str = "me") -> None:
    await (await opened(home, user)).close()


def test_two_people_share_a_data_directory_and_nothing_in_it(tmp_path: Path) -> None:
    async def story() -> None:
        anna, bob = await opened(tmp_path, "anna"), await opened(tmp_path, "bob")
        await Hand(anna).write("secret", b"of anna")
        await Hand(bob).write("plan", b"of bob")
        for computer, other in ((anna, b"bob"), (bob, b"anna")):
            told = b"".join([event.as_json() for event in await recorded(computer)])
            assert other not in told
            assert {event.head.user_id for event in await recorded(computer)} == {computer.settings.user}
        assert list(anna.files.below("main")) == ["secret"]
        assert list(bob.files.below("main")) == ["plan"]
        await anna.close()
        await bob.close()

    asyncio.run(story())
    for user, other in (("anna", b"of bob"), ("bob", b"of anna")):
        own = tmp_path / "users" / user
        for path in own.rglob("*"):
            if path.is_file():
                assert other not in path.read_bytes(), path


@pytest.mark.parametrize("user", ["..", "../bob", "a/b", "", ".choir", "a\x00b"])
def test_a_name_that_leads_elsewhere_is_no_person(tmp_path: Path, user: str) -> None:
    with pytest.raises(Rejected) as caught:
        resolved(tmp_path, user)
    assert caught.value.code == "config.bad_user"
    assert list(tmp_path.iterdir()) == []


WATCHED = """
    import asyncio, sys
    from pathlib import Path

    home, calls = sys.argv[1], []
    WANTED = {"open", "os.listdir", "os.scandir", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.link",
              "os.symlink", "os.truncate", "os.chmod", "os.utime", "shutil.rmtree"}

    def hook(name, arguments):
        if name in WANTED:
            calls.extend((name, str(one)) for one in arguments[:2] if isinstance(one, (str, bytes, Path)))

    sys.path.insert(0, sys.argv[2])
    from tests.places import Hand
    from choiros.features.checkpoints.commands import MakeCheckpoint
    from choiros.features.workspaces.commands import CreateWorkspace
    from choiros.settings import resolve
    from choiros.wiring import disk_parts, open_computer, rebuild
    from choiros.engines.repository.libgit import LibgitRepository
    import choiros.engines.watch.inotify

    async def session(user):
        at = resolve({"home": home, "user": user, "snapshots.events_max": "1"}, {})
        parts = disk_parts(at)
        computer = await open_computer(parts, at.settings, write=True, notice=print)
        hand = Hand(computer)
        await hand.write("notes/a.md", b"a")
        await hand.move("notes", "papers")
        await hand.undo()
        await hand.do(CreateWorkspace("more"))
        await hand.do(MakeCheckpoint("main", "here"))
        (Path(home) / "users" / user / "workspace" / "by-hand").write_text("mine")
        await computer.merger.capture("main")
        await computer.keep_snapshot()
        await hand.remove("notes", recursive=True)
        await computer.close()
        await rebuild(disk_parts(at), at.settings)

    asyncio.run(session("warm"))
    sys.addaudithook(hook)
    asyncio.run(session("anna"))
    for name, path in calls:
        print(name, path)
"""


def test_a_session_of_a_person_opens_nothing_outside_the_places_of_that_person(tmp_path: Path) -> None:
    root = Path(__file__).parents[3]
    command = [sys.executable, "-c", textwrap.dedent(WATCHED), str(tmp_path), str(root)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    calls = [line.partition(" ")[::2] for line in done.stdout.splitlines()]
    own, home = tmp_path / "users" / "anna", str(tmp_path)
    inside = [path for _, path in calls if path.startswith(str(own) + "/") or path == str(own)]
    assert len(inside) > 20, "the watch sees nothing"
    elsewhere = {path for _, path in calls if path.startswith("/")} - set(inside)
    # The data directory itself, its settings and the list of people are looked at; other people's places never.
    # The folder above it is brought onto the disk, so that a power cut does not take the name of a new one.
    allowed = {str(tmp_path.parent), home, f"{home}/users", f"{home}/.gitignore", f"{home}/choiros.toml"}
    system = (
        "/proc/",
        "/dev/",
        "/etc/",
        "/sys/",
        sys.prefix,
        sys.base_prefix,
        str(root / "src"),
        str(root / ".venv"),
    )
    strange = {path for path in elsewhere - allowed if not path.startswith(system)}
    assert strange == set()
    assert not [path for path in elsewhere if path.startswith(f"{home}/users/warm")]


def places(settings: Settings, home: Path) -> Mapping[str, str]:
    parts = disk_parts(Resolved(home, settings, {}))
    return {
        "main": parts.place("main", None),
        "more": parts.place("more", None),
        "own": parts.place("x", "/my/own"),
    }


def test_workspaces_lie_beside_each_other_or_where_the_person_has_them(tmp_path: Path) -> None:
    base = tmp_path / "users" / "me"
    assert places(Settings(snapshots=SnapshotSettings()), tmp_path) == {
        "main": str(base / "workspace"),
        "more": str(base / "workspaces" / "more"),
        "own": "/my/own",
    }


def test_until_there_is_a_log_every_directory_above_it_is_brought_onto_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C-23: an acknowledged event must not vanish with a directory whose name a power cut has taken."""
    real, synced = os.fsync, list[str]()

    def watched(descriptor: int) -> None:
        synced.append(str(Path(f"/proc/self/fd/{descriptor}").readlink()))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", watched)
    home = tmp_path / "new" / "home"
    settings = Settings()
    disk_parts(Resolved(home, settings, {}))
    wanted = [tmp_path, tmp_path / "new", home, home / "users", home / "users" / "me"]
    assert set(map(str, wanted)) <= set(synced)
    (home / "users" / "me" / ".choir" / "log.db").touch()
    synced.clear()
    disk_parts(Resolved(home, settings, {}))
    assert synced == []


def test_a_data_directory_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("a file")
    with pytest.raises(Unavailable) as caught:
        disk_parts(Resolved(tmp_path / "home", Settings(), {}))
    assert caught.value.code == "home.unavailable"


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    parts = disk_parts(Resolved(tmp_path / "home", Settings(), {}))
    (tmp_path / "home" / "users" / "me" / "workspace").write_text("a file")
    with pytest.raises(Unavailable) as caught:
        parts.folder("main", None)
    assert caught.value.code == "tree.unavailable"


def test_a_push_over_ssh_shows_the_keys_of_the_agent_and_no_other_one_shows_anything(tmp_path: Path) -> None:
    parts = disk_parts(Resolved(tmp_path / "home", Settings(), {}))
    repository = parts.repository("main", None)
    sign_in = repository._sign_in  # pyright: ignore[reportAttributeAccessIssue]
    assert type(sign_in("ssh://git@example.com/a.git")).__name__ == "SshAgent"
    assert sign_in("https://example.com/a.git") is None
    assert sign_in("/srv/a.git") is None
