"""Every kind of drift that is looked for: how bad it is, what it means, and what mends it."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

Severity = Literal["note", "warning", "broken"]
Mend = Literal["", "sweep", "contents", "views", "folders", "snapshots", "commits"]

MENDS: dict[Mend, str] = {
    "sweep": "remove what a crash left behind",
    "contents": "bring contents back from files in the folders that still hold them",
    "views": "make every view again from the log",
    "folders": "bring back what the folders lack",
    "snapshots": "remove snapshots that do not fit the log",
    "commits": "make missing commits again",
}
"""What --fix does, in the order in which it does it."""

FIX = "choir doctor --fix"
BACKUP = "Bring the newest backup back, then look again: choir restore FILE"


class Kind(Struct, frozen=True):
    """One kind of drift; `{where}` in the fix is the place that was found."""

    code: str
    severity: Severity
    means: str
    fix: str
    mend: Mend = ""
    otherwise: str = ""
    """What to do where --fix cannot mend this one."""


_ALL = (
    Kind(
        "settings.refused",
        "broken",
        "A setting is not understood, so that every command refuses to start. The rest is looked at with the "
        "defaults.",
        "Correct it where the finding says; 'choir config' then shows every setting.",
    ),
    Kind(
        "settings.witness_key",
        "broken",
        "A key in `proof.witness_keys` cannot be read, so that no signature of a witness is checked.",
        "Give the keys anew: choir config proof.witness_keys 'KEY KEY'",
    ),
    Kind(
        "versions.python",
        "broken",
        "Python is older than 3.11.",
        "Install Python 3.11 or newer, then prepare the checkout again: ./choir up",
    ),
    Kind(
        "versions.sqlite",
        "broken",
        "SQLite is older than 3.51.3, which can damage a log that two programs write at once.",
        "Prepare the checkout again, with the versions that it names: ./choir up",
    ),
    Kind(
        "versions.newer_log",
        "broken",
        "The log was written by a newer ChoirOS.",
        "Use that newer ChoirOS. Nothing is changed by this one.",
    ),
    Kind(
        "versions.newer_state",
        "broken",
        "The views were written by a newer ChoirOS.",
        "Use that newer ChoirOS; or move state.sqlite away and run: choir rebuild",
    ),
    Kind(
        "versions.unknown_events",
        "note",
        "The log holds events of a type that this ChoirOS does not know; they are kept as they are.",
        "Use the newer ChoirOS that wrote them, to see what they say.",
    ),
    Kind(
        "disk.unusable",
        "broken",
        "The data directory cannot be used at all.",
        "See what stands there and who may read and write it: ls -ld {where}",
    ),
    Kind(
        "disk.space",
        "warning",
        "Less than 1 GB, or less than 5 %, of the disk is free.",
        "Free some space; what ChoirOS itself can give back: choir gc",
    ),
    Kind(
        "disk.inodes",
        "warning",
        "Less than 5 % of the files that the disk can hold are left.",
        "Remove files that nobody needs; what ChoirOS itself can give back: choir gc",
    ),
    Kind(
        "disk.volatile",
        "warning",
        "The data lies in memory: it is gone when the computer is switched off.",
        "Move the data directory to a disk, and say where it is: choir --home DIR status",
    ),
    Kind(
        "disk.remote",
        "warning",
        "The data lies on a network or shared file system, whose locks and whose word that something is on disk "
        "cannot be relied on.",
        "Move the data directory to a disk of this computer, and say where it is: choir --home DIR status",
    ),
    Kind(
        "disk.permissions",
        "warning",
        "Other users of the computer may look into the data directory.",
        "chmod 700 {where}",
    ),
    Kind(
        "lock.held",
        "note",
        "Another ChoirOS is changing the data; what moves meanwhile is not looked at.",
        "Wait for it to end, then run: choir doctor",
    ),
    Kind(
        "lock.unwritable",
        "broken",
        "The lock cannot be taken because nothing can be written there.",
        "See who may write there, and whether the disk is mounted read-only: ls -ld {where}",
    ),
    Kind("log.missing", "broken", "The log is not there, although other data is.", BACKUP),
    Kind("log.unopened", "broken", "The log is there and cannot be opened.", BACKUP),
    Kind("log.integrity", "broken", "SQLite finds the file of the log damaged.", BACKUP),
    Kind(
        "chain.broken",
        "broken",
        "An event is not what was appended, or is missing.",
        f"{BACKUP}; until then looking is possible: choir log",
    ),
    Kind(
        "chain.unreadable",
        "broken",
        "An event is intact, and yet not readable as what its type says.",
        "Use the ChoirOS that wrote it, or report this as a bug.",
    ),
    Kind("leftovers.left", "note", "A crash left something half made.", FIX, "sweep"),
    Kind("projections.missing", "warning", "There are no views; they are made from the log.", FIX, "views"),
    Kind("projections.damaged", "broken", "The file of the views is damaged.", FIX, "views"),
    Kind("projections.behind", "warning", "The views have not seen the newest events.", FIX, "views"),
    Kind(
        "projections.ahead",
        "broken",
        "The views have seen events that the log does not hold: its end is missing, or it was replaced.",
        "Put the newest log.db that you have in its place. If this log is the right one, move state.sqlite away "
        "and run: choir rebuild",
    ),
    Kind("projections.differs", "broken", "A view is not what the log gives.", FIX, "views"),
    Kind("projections.older", "note", "A view has the form of an older ChoirOS.", FIX, "views"),
    Kind("snapshots.damaged", "warning", "A snapshot is not what was kept.", FIX, "snapshots"),
    Kind("snapshots.unvouched", "warning", "The log does not know a snapshot.", FIX, "snapshots"),
    Kind(
        "signatures.broken",
        "broken",
        "A signed point, a key or a signature of a witness in the log does not fit the log.",
        "Compare with a backup, and with what witnesses keep: choir verify",
    ),
    Kind(
        "keys.damaged",
        "broken",
        "A key, or what is remembered beside the keys, cannot be read.",
        "Bring the file back from where you keep a copy of the keys, then run: choir verify",
    ),
    Kind(
        "keys.missing",
        "warning",
        "The private half of the key is not here, so that nothing new can be signed.",
        "Bring the keys back, or go on with a new key: choir keys rotate",
    ),
    Kind(
        "keys.forgotten",
        "warning",
        "Nothing is remembered beside the keys although the log is signed, so that an older copy of the log would "
        "not be noticed at the next start.",
        "The next signature is remembered again; as soon as something new was recorded, run: choir keys sign",
    ),
    Kind("keys.permissions", "warning", "Other users of the computer may read a key.", "chmod go= {where}"),
    Kind(
        "keys.memory",
        "broken",
        "What is remembered beside the keys does not fit the log: an older or another log stands in its place.",
        BACKUP,
    ),
    Kind(
        "witnesses.unreachable",
        "warning",
        "A witness cannot be asked.",
        "Make it reachable, then run: choir keys sign",
    ),
    Kind(
        "witnesses.behind",
        "warning",
        "A witness lacks more than one signed point.",
        "See what it said last: choir keys; it is shown the next point by: choir keys sign",
    ),
    Kind(
        "witnesses.contradicts",
        "broken",
        "A witness remembers another history, or more of it, than the log holds.",
        BACKUP,
    ),
    Kind(
        "blobs.missing",
        "broken",
        "A content that an event names is not there.",
        FIX,
        "contents",
        "Bring {where} back from a backup, or write a file with the same content once more: choir write PATH",
    ),
    Kind(
        "blobs.damaged",
        "broken",
        "A content that an event names is not what was stored.",
        FIX,
        "contents",
        "Bring {where} back from a backup, or write a file with the same content once more: choir write PATH",
    ),
    Kind("blobs.garbage", "note", "Contents are stored that no event names.", "choir gc"),
    Kind("workspaces.no_folder", "broken", "The folder of a workspace is not there.", FIX, "folders"),
    Kind("workspaces.lacking", "broken", "A folder lacks what the log holds.", FIX, "folders"),
    Kind("workspaces.behind", "warning", "A folder still shows an older version.", FIX, "folders"),
    Kind(
        "workspaces.unrecorded",
        "note",
        "Something was changed in a folder and is not recorded yet.",
        "choir files --workspace {workspace}",
    ),
    Kind(
        "workspaces.unseen",
        "warning",
        "A file holds something else than what was recorded, and looks as if nobody had changed it.",
        "Look at it. To record what it holds: touch {where}; choir files --workspace {workspace}",
    ),
    Kind(
        "workspaces.unkept",
        "warning",
        "Something in a folder cannot be kept: its name, its kind or its permissions forbid it.",
        "Rename it, let yourself read it, or leave it out by a line in .choirignore. Then: choir files",
    ),
    Kind(
        "workspaces.unreadable",
        "broken",
        "The folder of a workspace cannot be looked at.",
        "See what stands there and who may read it: ls -ld {where}",
    ),
    Kind(
        "git.damaged",
        "broken",
        "The repository of a workspace cannot be read.",
        "Move it away, then have its commits made again: mv {where} {where}.damaged; choir doctor --fix",
    ),
    Kind(
        "git.missing",
        "broken",
        "A checkpoint's commit is not in the repository.",
        FIX,
        "commits",
        "Move the repository away, then have its commits made again: mv {where} {where}.old; choir doctor --fix",
    ),
    Kind(
        "git.differs",
        "broken",
        "A checkpoint's commit holds other files than stood there at its event.",
        "The checkpoint itself holds, because the log does: choir checkpoints restore SEQ",
    ),
    Kind(
        "git.head",
        "warning",
        "The newest checkpoint's commit is not in the history of the branch that is checked out: somebody changed "
        "the branch, or its reference was lost, and the next commit would not follow.",
        "If nobody did that on purpose: git --git-dir={where} update-ref HEAD COMMIT",
    ),
    Kind("git.pending", "warning", "A checkpoint has no commit yet.", FIX, "commits"),
    Kind(
        "git.failed",
        "warning",
        "The commit of the newest checkpoint could not be made.",
        "Mend what the finding says, then make another one: choir checkpoint 'Again'",
    ),
    Kind(
        "doctor.failed",
        "broken",
        "An area could not be looked at.",
        "Mend what the finding says, then run: choir doctor",
    ),
)

KINDS = {kind.code: kind for kind in _ALL}
