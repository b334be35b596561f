"""Sending commits to another repository, from one that has a single commit and no configuration but ours."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pygit2
from pygit2.enums import CredentialType, Feature, RepositoryOpenFlag

from choiros.engines.repository.libgit.address import check_url
from choiros.engines.repository.libgit.faults import plain, told
from choiros.engines.repository.libgit.sign_in import SignIn, SshAgent, SshKey, Token
from choiros.engines.repository.libgit.store import Store
from choiros.kernel.errors import Rejected, Unavailable

# With this a redirect stays at the same host: elsewhere nobody has agreed to send the commits.
_CONFIG = "[core]\n\trepositoryformatversion = 0\n\tbare = true\n[http]\n\tfollowRedirects = false\n"
_TRANSPORTS = {"https": Feature.HTTPS, "ssh": Feature.SSH}

pygit2.settings.server_connect_timeout = 15_000
pygit2.settings.server_timeout = 60_000


def push(store: Store, url: str, *, branch: str, sign_in: SignIn | None) -> str:
    """Send the head to a branch of another repository and return the commit's id."""
    target = check_url(url, store.work_folder)
    transport = _TRANSPORTS.get(target.partition("://")[0])
    if transport and not pygit2.features & transport:
        raise Unavailable(
            "repository.no_transport",
            "This build of libgit2 cannot push to such an address.",
            fix="Push to a local repository, or install a build with https and ssh.",
        )
    reference = f"refs/heads/{branch}"
    if not pygit2.reference_is_valid_name(reference) or branch.startswith("-"):
        raise _refused("that is no name of a branch", fix="Choose a plain name, such as main.")
    with told(store.git_dir):
        repo = store.open()
        head = store.tip(repo)[1] if repo else None
    if head is None:
        raise _refused("there is no commit yet", fix="Make a checkpoint first.")
    with _outbox(store.git_dir, head) as outbox:
        _send(outbox, target, reference=reference, sign_in=sign_in)
    return str(head)


@contextmanager
def _outbox(git_dir: Path, head: pygit2.Oid) -> Generator[pygit2.Repository]:
    """Yield a repository whose HEAD is the commit and whose objects are those of the git directory.

    The configuration of the git directory is a person's to change; here no line of it rewrites an address.
    """
    own = git_dir / "choir"
    with told(git_dir):
        own.mkdir(exist_ok=True)
        for left_behind in own.glob("push-*"):
            shutil.rmtree(left_behind)
        folder = Path(tempfile.mkdtemp(prefix="push-", dir=own))
    try:
        with told(git_dir):
            for name in ("objects", "refs"):
                (folder / name).mkdir()
            (folder / "config").write_text(_CONFIG)
            (folder / "HEAD").write_text(f"{head}\n")
            flags = RepositoryOpenFlag.NO_SEARCH | RepositoryOpenFlag.BARE | RepositoryOpenFlag.NO_DOTGIT
            repo = pygit2.Repository(os.fspath(folder), flags)
            repo.odb.add_disk_alternate(git_dir / "objects")
        yield repo
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _send(outbox: pygit2.Repository, url: str, *, reference: str, sign_in: SignIn | None) -> None:
    answers = _Answers(url, sign_in)
    try:
        outbox.remotes.create_anonymous(url).push([f"HEAD:{reference}"], callbacks=answers)
    except pygit2.AuthError as error:
        raise sign_in_failed(plain(str(error))) from error
    except pygit2.CertificateError as error:
        raise Unavailable(
            "repository.unknown_server",
            "The server could not prove who it is; nothing was sent to it.",
            fix="Check the address. For ssh, sign in to the server once by hand, so that its key is known.",
            reason=plain(str(error)),
        ) from error
    except (pygit2.GitError, OSError, ValueError, KeyError) as error:
        raise _told_by_server(plain(str(error))) from error
    if answers.refusal:
        raise _refused(f"the server says '{answers.refusal}'", fix="Ask whoever runs the server.")


class _Answers(pygit2.RemoteCallbacks):
    """What libgit2 asks and tells during a push."""

    def __init__(self, url: str, sign_in: SignIn | None) -> None:
        super().__init__()
        self._url = url
        self._offer = sign_in(url) if sign_in else None
        self.refusal = ""

    def credentials(  # noqa: PLR0917 (the signature is libgit2's)
        self,
        url: str,  # noqa: ARG002
        username_from_url: str | None,
        allowed_types: CredentialType,
    ) -> pygit2.UserPass | pygit2.Keypair:
        """Offer what there is once; libgit2 asks again for ever when it was refused."""
        offer, self._offer = self._offer, None
        user = username_from_url or "git"
        if isinstance(offer, Token) and allowed_types & CredentialType.USERPASS_PLAINTEXT:
            return pygit2.UserPass(offer.name, offer.secret)
        if isinstance(offer, SshKey) and allowed_types & CredentialType.SSH_KEY:
            return pygit2.Keypair(user, None, offer.path, offer.passphrase)
        if isinstance(offer, SshAgent) and allowed_types & CredentialType.SSH_KEY:
            return pygit2.KeypairFromAgent(user)
        raise sign_in_failed("there is nothing (more) to show to the server")

    def certificate_check(  # noqa: PLR0917 (the signature is libgit2's)
        self,
        certificate: None,  # noqa: ARG002
        valid: bool,  # noqa: FBT001
        host: bytes,  # noqa: ARG002
    ) -> bool:
        """Speak only to a server that is known; left alone, pygit2 trusts the key of any server at ssh."""
        return valid

    def push_update_reference(self, refname: str, message: str | None) -> None:  # noqa: ARG002
        """Keep the reason when the server refuses; libgit2 calls that a success."""
        if message is not None:
            self.refusal = plain(message)


def sign_in_failed(reason: str) -> Unavailable:
    """Return the error for a server that did not let us in."""
    return Unavailable(
        "repository.sign_in",
        f"The server asks who is pushing, and was not content: {reason}.",
        fix="Give ChoirOS a token or a key for this server.",
        reason=reason,
    )


def _told_by_server(text: str) -> Rejected | Unavailable:
    if "fastforward" in text or "not present locally" in text:
        return _refused("the branch there holds commits that are not here", fix="Push to another branch.")
    if "non-bare" in text:
        return _refused(
            "the repository there has a work tree", fix="Push to a bare repository (git init --bare)."
        )
    return Unavailable(
        "repository.unreachable",
        f"The push did not get through: {text}.",
        fix="Check the address and the network, then try again.",
        reason=text,
    )


def _refused(reason: str, *, fix: str) -> Rejected:
    return Rejected("repository.push_refused", f"Nothing was pushed: {reason}.", fix=fix)
