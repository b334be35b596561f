"""A push goes where it was told, shows what it was given, and tells what the server says."""

import shutil
import subprocess
from pathlib import Path

import pygit2
import pytest

from choiros.engines.repository.libgit import LibgitRepository
from choiros.engines.repository.libgit.address import check_url
from choiros.engines.repository.libgit.push import _Answers
from choiros.engines.repository.libgit.sign_in import SignIn, SshAgent, SshKey, Token
from choiros.engines.worker.inline import InlineWorker
from choiros.engines.worker.thread import ThreadWorker
from choiros.kernel.errors import Rejected, Unavailable
from choiros.testing.repository_contract import Shelf, Writer
from tests.contract.git_server import SECRET, make_certificate, serving

pytestmark = pytest.mark.anyio

needs_openssl = pytest.mark.skipif(not shutil.which("openssl"), reason="allowed: openssl is not installed")


def make_place(folder: Path, *, bare: bool = True) -> Path:
    subprocess.run(["git", "init", "-q", *(["--bare"] if bare else []), folder], check=True)
    return folder


def head_of(place: Path, branch: str = "main") -> str:
    command = ["git", "--git-dir", place, "rev-parse", "-q", "--verify", branch]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def checked(place: Path) -> str:
    """Return what git finds wrong in a repository."""
    command = ["git", "--git-dir", place, "fsck", "--strict"]
    return subprocess.check_output(command, stderr=subprocess.STDOUT, text=True)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return make_place(tmp_path / "srv/place.git")


def repository(folder: Path, sign_in: SignIn | None = None) -> LibgitRepository:
    return LibgitRepository(folder / "git", InlineWorker(), work_folder=folder / "workspace", sign_in=sign_in)


@pytest.fixture
async def writer(tmp_path: Path) -> Writer:
    (tmp_path / "workspace").mkdir()
    writer = Writer(repository(tmp_path), Shelf())
    await writer.commit({"a": "1", "folder/b": "2"})
    return writer


async def test_a_push_arrives_whole(writer: Writer, place: Path) -> None:
    second = await writer.commit({"a": "2"})
    assert await writer.repository.push(str(place), "feature/x") == second.id
    assert head_of(place, "feature/x") == second.id
    found = checked(place)
    assert "missing" not in found
    assert "error" not in found


async def test_a_push_leaves_nothing_behind(writer: Writer, tmp_path: Path, place: Path) -> None:
    (tmp_path / "git/choir/push-left-by-a-crash").mkdir()
    await writer.repository.push(str(place), "main")
    with pytest.raises(Rejected):
        await writer.repository.push(str(tmp_path / "none"), "main")
    assert not list((tmp_path / "git/choir").glob("push-*"))


@pytest.mark.parametrize("branch", ["", "-x", "a:b", "a..b", "a b", "a\n", "refs/../x", "x.lock", "a^", "*"])
async def test_what_is_no_name_of_a_branch_is_refused(writer: Writer, place: Path, branch: str) -> None:
    with pytest.raises(Rejected) as refused:
        await writer.repository.push(str(place), branch)
    assert refused.value.code == "repository.push_refused"
    assert not [path for path in (place / "refs").rglob("*") if path.is_file()]


async def test_a_detached_head_is_pushed(writer: Writer, tmp_path: Path, place: Path) -> None:
    head = head_of(tmp_path / "git")
    (tmp_path / "git/HEAD").write_text(head + "\n")
    assert await writer.repository.push(str(place), "main") == head == head_of(place)


async def test_a_repository_with_a_work_tree_is_not_written_to(writer: Writer, tmp_path: Path) -> None:
    place = make_place(tmp_path / "theirs", bare=False)
    with pytest.raises(Rejected) as refused:
        await writer.repository.push(str(place / ".git"), "main")
    assert refused.value.code == "repository.push_refused"
    assert "--bare" in refused.value.fix


@pytest.mark.parametrize(
    "where", ["workspace/place.git", "home/.choir/git/place.git", "home/.CHOIR/git/place.git"]
)
@pytest.mark.parametrize("through_a_link", [False, True])
async def test_a_push_into_the_workspace_or_a_data_directory_is_refused(
    writer: Writer, tmp_path: Path, where: str, *, through_a_link: bool
) -> None:
    place = make_place(tmp_path / where)
    link = tmp_path / "link"
    link.symlink_to(place)
    with pytest.raises(Rejected) as refused:
        await writer.repository.push(str(link if through_a_link else place), "main")
    assert refused.value.code == "repository.bad_url"
    assert head_of(place) == ""


@pytest.mark.parametrize(
    "url",
    [
        "https://ada:" + "s3cret@example.org/a",
        "https://ada@example.org/a",
        "https://-x/a",
        "https://example.org",
        "https://example.org/a b",
        "https://example.org/a?x=1",
        "https://example.org/a#x",
        "https://exa\u200bmple.org/a",
        "https:///a",
        "https://[::1/a",
        "ssh://example.org/a",
        "ssh://-oProxyCommand=x@example.org/a",
        "ssh://git@-oProxyCommand=x/a",
        "ssh://git@example.org/a'b",
        "ssh://git@example.org/a%27b",
        "ssh://git@example.org/$(x)",
        "ssh://git@example.org:port/a",
        "ssh://git:secret@example.org/a",
        "git+ssh://git@example.org/a",
        "ssh+ext://x",
        "file://host/a",
        "file:////host/a",
        "//host/a",
        "/a\nb",
        "/a\x1b[2J",
        "ext::/bin/true",
        " /a",
        "/nonexistent/place",
        "/",
    ],
)
def test_an_address_with_anything_unusual_is_refused(url: str) -> None:
    with pytest.raises(Rejected) as refused:
        check_url(url, None)
    assert refused.value.code == "repository.bad_url"
    assert "s3cret" not in f"{refused.value.as_dict()}"


@pytest.mark.parametrize(
    "url",
    [
        "https://example.org/ada/notes.git",
        "https://example.org:8443/~ada/a%20b",
        "https://[::1]:8443/a",
        "ssh://git@example.org/ada/notes.git",
        "ssh://git@example.org:2222/~/notes",
    ],
)
def test_an_ordinary_address_is_taken_as_it_is(url: str) -> None:
    assert check_url(url, Path("/workspace")) == url


def test_a_secret_in_an_address_is_refused_with_the_reason() -> None:
    with pytest.raises(Rejected, match="holds a name or a secret"):
        check_url("https://ada:" + "s3cret@example.org/a", None)


def test_a_secret_is_not_shown() -> None:
    shown = f"{Token('ada', 's3cret')!r} {SshKey('/key', 's3cret')!r}"
    assert "s3cret" not in shown


async def test_a_server_that_is_not_there_is_unavailable(writer: Writer) -> None:
    for url in ("https://127.0.0.1:1/a", "ssh://git@127.0.0.1:1/a"):
        with pytest.raises(Unavailable) as failed:
            await writer.repository.push(url, "main")
        assert failed.value.code == "repository.unreachable"


async def test_a_build_without_ssh_says_so(writer: Writer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pygit2, "features", 0)
    with pytest.raises(Unavailable) as failed:
        await writer.repository.push("ssh://git@example.org/a", "main")
    assert failed.value.code == "repository.no_transport"


def test_only_a_server_that_is_known_is_spoken_to() -> None:
    """Tried with a real sshd as well: without this, pygit2 accepts the key of any host."""
    answers = _Answers("ssh://git@example.org/a", None)
    assert not answers.certificate_check(None, False, b"example.org")
    assert answers.certificate_check(None, True, b"example.org")


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return make_certificate(tmp_path_factory.mktemp("certificate"))


@pytest.fixture
def trusted(certificate: tuple[Path, Path]) -> tuple[Path, Path]:
    """Return a certificate that libgit2 trusts from now on; there is no way back, so each run makes one."""
    pygit2.settings.set_ssl_cert_locations(str(certificate[0]), None)
    return certificate


async def pushed(folder: Path, sign_in: SignIn | None, url: str) -> str:
    """Push from a thread, as the server of this test lives in others."""
    worker = ThreadWorker("git")
    try:
        there = LibgitRepository(folder / "git", worker, sign_in=sign_in)
        return await there.push(url, "main")
    finally:
        worker.close()


@needs_openssl
async def test_a_server_without_a_known_certificate_gets_nothing(writer: Writer, tmp_path: Path) -> None:
    stranger = tmp_path / "stranger"
    stranger.mkdir()
    asked: list[str] = []
    with (
        serving(tmp_path / "srv", make_certificate(stranger)) as address,
        pytest.raises(Unavailable) as failed,
    ):
        await pushed(tmp_path, lambda url: asked.append(url) or Token("ada", SECRET), f"{address}/place.git")
    assert failed.value.code == "repository.unknown_server"


@needs_openssl
async def test_a_token_opens_a_server_at_https(
    writer: Writer, tmp_path: Path, place: Path, *, trusted: tuple[Path, Path]
) -> None:
    head = head_of(tmp_path / "git")
    with serving(tmp_path / "srv", trusted) as address:
        url = f"{address}/place.git"
        for wrong in (None, lambda _: None, lambda _: Token("ada", "guess"), lambda _: SshAgent()):
            with pytest.raises(Unavailable) as failed:
                await pushed(tmp_path, wrong, url)
            assert failed.value.code == "repository.sign_in"
            assert head_of(place) == ""
        assert await pushed(tmp_path, lambda _: Token("ada", SECRET), url) == head
    assert head_of(place) == head


@needs_openssl
async def test_what_a_server_refuses_is_told_in_its_words(
    writer: Writer, tmp_path: Path, place: Path, *, trusted: tuple[Path, Path]
) -> None:
    hook = place / "hooks/update"
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    with (
        serving(tmp_path / "srv", trusted, wants_sign_in=False) as address,
        pytest.raises(Rejected) as refused,
    ):
        await pushed(tmp_path, None, f"{address}/place.git")
    assert refused.value.code == "repository.push_refused"
    assert "hook declined" in refused.value.message
    assert head_of(place) == ""


@needs_openssl
async def test_commits_at_the_server_are_never_taken_away(
    writer: Writer, tmp_path: Path, place: Path, *, trusted: tuple[Path, Path]
) -> None:
    theirs = Writer(LibgitRepository(tmp_path / "other", InlineWorker()), Shelf())
    there = await theirs.commit({"theirs": "1"})
    await theirs.repository.push(str(place), "main")
    with (
        serving(tmp_path / "srv", trusted, wants_sign_in=False) as address,
        pytest.raises(Rejected) as refused,
    ):
        await pushed(tmp_path, None, f"{address}/place.git")
    assert refused.value.code == "repository.push_refused"
    assert head_of(place) == there.id


@needs_openssl
async def test_a_redirect_to_another_host_is_not_followed(
    writer: Writer, tmp_path: Path, place: Path, *, trusted: tuple[Path, Path]
) -> None:
    with (
        serving(tmp_path / "srv", trusted, wants_sign_in=False) as elsewhere,
        serving(
            tmp_path / "srv", trusted, redirect_to=elsewhere.replace("127.0.0.1", "localhost")
        ) as address,
        pytest.raises(Unavailable, match="redirect"),
    ):
        await pushed(tmp_path, None, f"{address}/place.git")
    assert head_of(place) == ""
