"""Commits as they are listed, found by name and read back."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice

import pygit2
from pygit2.enums import SortMode

from choiros.engines.repository.libgit.faults import path_refused, plain, told
from choiros.engines.repository.libgit.store import Store
from choiros.engines.repository.libgit.trees import Found, read_tree
from choiros.engines.repository.libgit.wording import message_and_seq, shown
from choiros.kernel.errors import Rejected
from choiros.kernel.repository import Commit

CONTENT_BYTES_MAX = 512 << 20
"""libgit2 holds a content in memory as a whole when it reads it."""

_BATCH_BYTES, _BATCH_COUNT = 4 << 20, 64
_LINK_BYTES_MAX = 4095
_id = re.compile(r"[0-9a-f]{4,40}")
_ID_LENGTH = 40


def commits(store: Store, limit: int) -> list[Commit]:
    """Return commits from the head backwards."""
    with told(store.git_dir):
        repo = store.open()
        head = store.tip(repo)[1] if repo else None
        if repo is None or head is None:
            return []
        return [_listed(commit) for commit in islice(repo.walk(head, SortMode.NONE), limit)]


def commit(store: Store, oid: pygit2.Oid) -> Commit:
    """Return one commit as it is listed."""
    with told(store.git_dir):
        repo = store.open()
        if repo is None:
            raise _unknown(str(oid))
        return _listed(repo[oid].peel(pygit2.Commit))


def listing(store: Store, name: str) -> tuple[dict[str, Found], dict[str, str]]:
    """Return the files of a commit, and what is left out of it with the reason."""
    with told(store.git_dir):
        repo = store.open()
        if repo is None:
            raise _unknown(name)
        return read_tree(repo, _find(repo, name).tree_id.raw)


def contents(store: Store, oids: Sequence[bytes]) -> list[bytes]:
    """Return the first few of these contents: at least one, and no more than are easily held in memory."""
    with told(store.git_dir):
        repo = store.open()
        if repo is None:
            raise _unknown("the commit")
        found: list[bytes] = []
        weight = 0
        for oid in oids[:_BATCH_COUNT]:
            size = repo.odb.read_header(pygit2.Oid(raw=oid))[1]
            if found and weight + size > _BATCH_BYTES:
                break
            if size > CONTENT_BYTES_MAX:
                raise Rejected(
                    "blob.too_large",
                    f"The commit holds a content of {size} bytes; {CONTENT_BYTES_MAX} is the limit.",
                    fix="Take that file out of the repository with git itself.",
                    size_bytes_max=CONTENT_BYTES_MAX,
                )
            weight += size
            found.append(repo.read(pygit2.Oid(raw=oid))[1])
        return found


def backup(store: Store, name: str) -> list[str]:
    """Keep the head and what is staged under references of this name and return them."""
    folder = f"refs/choir/backup/{name}"
    if not pygit2.reference_is_valid_name(f"{folder}/head"):
        raise Rejected(
            "repository.bad_name", "That cannot name a backup.", fix="Use letters, digits and dashes."
        )
    with told(store.git_dir):
        repo = store.open()
        if repo is None:
            return []
        if any(repo.references.get(f"{folder}/{part}") for part in ("head", "index")):
            raise Rejected(
                "repository.name_taken", f"There is a backup '{plain(name)}'.", fix="Choose another name."
            )
        store.writing.begin(repo)
        head = store.tip(repo)[1]
        timestamp = repo[head].peel(pygit2.Commit).commit_time * 1000 if head else 0
        made = [store.keep_index(repo, f"{folder}/index", head=head, timestamp=timestamp, always=True)]
        if head:
            made.insert(0, repo.references.create(f"{folder}/head", head).name)
        store.writing.end()
        return [reference for reference in made if reference]


def link_target(path: str, content: bytes) -> str:
    """Return the target of a link of a commit; raise Rejected when no system could have made it."""
    try:
        target = content.decode()
    except UnicodeDecodeError as error:
        raise path_refused(path, "it is a link whose target is not UTF-8") from error
    if not target or "\x00" in target or len(content) > _LINK_BYTES_MAX:
        raise path_refused(path, "it is a link to nothing that can exist")
    return target


def _find(repo: pygit2.Repository, name: str) -> pygit2.Commit:
    """Return the commit of an id, a reference, a branch, a tag or a unique prefix, in this order.

    Other forms that git knows (`HEAD~3`, `:/text`) are no names of a commit here.
    """
    is_id = bool(_id.fullmatch(name))
    if not (is_id and len(name) == _ID_LENGTH):
        for full in (
            name if name.startswith("refs/") else "refs/",
            f"refs/heads/{name}",
            f"refs/tags/{name}",
        ):
            reference = repo.references.get(full) if pygit2.reference_is_valid_name(full) else None
            if reference is not None:
                return _peeled(reference, name)
    if is_id:
        try:
            found = repo.get(name)
        except ValueError as error:
            raise _unknown(name, "several commits begin so") from error
        if found is not None:
            return _peeled(found, name)
    raise _unknown(name)


def _peeled(found: pygit2.Object | pygit2.Reference, name: str) -> pygit2.Commit:
    try:
        return found.peel(pygit2.Commit)
    except pygit2.InvalidSpecError as error:
        raise _unknown(name, "it is something else") from error


def _listed(found: pygit2.Commit) -> Commit:
    committer = _person(found.committer)
    message, seq = message_and_seq(found.raw_message.decode("utf-8", "replace"), committer)
    return Commit(
        id=str(found.id),
        parents=tuple(str(parent) for parent in found.parent_ids),
        message=message,
        author=_person(found.author),
        timestamp=found.commit_time * 1000,
        seq=seq,
    )


def _person(signature: pygit2.Signature) -> str:
    return shown(
        signature.raw_name.decode("utf-8", "replace"), signature.raw_email.decode("utf-8", "replace")
    )


def _unknown(name: str, reason: str = "there is none") -> Rejected:
    return Rejected(
        "repository.unknown_commit",
        f"No commit is called '{plain(name)}': {reason}.",
        fix="Name a commit by its id, a unique beginning of it, a branch or a tag.",
        commit=plain(name),
    )
