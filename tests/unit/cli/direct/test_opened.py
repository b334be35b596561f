"""What all verbs share: outside edits come first, and what could not be carried out is said."""

from __future__ import annotations

from tests.unit.cli.direct.homes import Home


def test_an_outside_edit_is_an_event_of_the_person_before_the_verb_answers(home: Home) -> None:
    home.write("a.txt", b"1")
    (home.folder / "new.txt").write_bytes(b"2")
    (home.folder / "a.txt").unlink()
    assert home.paths() == ["new.txt"]


def test_a_checkpoint_whose_commit_fails_is_a_warning(home: Home) -> None:
    home.write("a.txt", b"1")
    git = home.path / "users/me/.choir/git"
    git.mkdir(parents=True)
    (git / "main.git").write_bytes(b"not a repository")
    done = home.do(lambda client: client.checkpoint("first"))
    assert len(getattr(done, "warnings", [])) == 1
