"""What would be done about findings, in which order, and from where on commits are made again."""

from choiros.features.checkpoints.view import Checkpoint
from choiros.wiring.doctor import found, plan
from choiros.wiring.doctor.mending import _behind

POINTS = [
    Checkpoint(seq, "main", 1, "", automatic=False, commit=commit, error=None)
    for seq, commit in [(3, "a"), (5, "b"), (9, "c")]
]


def test_what_others_need_is_done_first_and_what_cannot_be_mended_is_left_alone() -> None:
    findings = [
        found("git.missing", ""),
        found("workspaces.lacking", ""),
        found("projections.behind", ""),
        found("projections.differs", ""),
        found("blobs.missing", ""),
        found("blobs.missing", "", mends=False),
        found("chain.broken", ""),
        found("leftovers.left", ""),
    ]
    done = plan(findings)
    assert list(done) == ["sweep", "contents", "views", "folders", "commits"]
    assert [len(done[one]) for one in ("contents", "views")] == [1, 2]
    assert plan([found("chain.broken", ""), found("blobs.garbage", "")]) == {}


def test_commits_are_made_again_behind_the_head_and_nowhere_else() -> None:
    assert [point.seq for point in _behind(POINTS, None)] == [3, 5, 9]
    assert [point.seq for point in _behind(POINTS, "b")] == [9]
    assert list(_behind(POINTS, "c")) == []
    assert list(_behind(POINTS, "somebody's own")) == []
