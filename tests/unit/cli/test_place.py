"""Which path a person means."""

from pathlib import Path

import pytest

from choiros.cli.place import Place, current_directory
from choiros.kernel.errors import Rejected

FOLDER = "/home/ann/garden"


def test_outside_the_folder_a_path_is_relative_to_the_workspace() -> None:
    assert Place(FOLDER, "/tmp").path("notes/a.md") == "notes/a.md"


def test_inside_the_folder_a_path_is_relative_to_where_one_stands() -> None:
    place = Place(FOLDER, f"{FOLDER}/notes")
    assert place.path("a.md") == "notes/a.md"
    assert place.path("../b.md") == "b.md"
    assert place.path("./x/../a.md") == "notes/a.md"


def test_an_absolute_path_in_the_folder_is_accepted() -> None:
    assert Place(FOLDER, None).path(f"{FOLDER}/notes//a.md") == "notes/a.md"


def test_a_folder_whose_name_begins_alike_is_outside() -> None:
    with pytest.raises(Rejected, match="outside the workspace") as refused:
        Place(FOLDER, None).path("/home/ann/garden2/a.md")
    assert refused.value.code == "path.outside"


@pytest.mark.parametrize("text", ["..", "a/../../b", "../garden/a.md", "/etc/passwd", f"{FOLDER}/../x"])
def test_what_leads_out_of_the_workspace_is_refused(text: str) -> None:
    with pytest.raises(Rejected, match="outside the workspace"):
        Place(FOLDER, "/tmp").path(text)


def test_from_a_directory_in_the_workspace_one_cannot_climb_out_of_it() -> None:
    with pytest.raises(Rejected, match="outside the workspace"):
        Place(FOLDER, f"{FOLDER}/notes").path("../../x")


@pytest.mark.parametrize("text", ["", ".", "a/..", FOLDER])
def test_the_workspace_itself_is_no_file(text: str) -> None:
    with pytest.raises(Rejected) as refused:
        Place(FOLDER, "/tmp").path(text)
    assert refused.value.code == "path.root"


def test_the_workspace_itself_is_a_directory() -> None:
    assert not Place(FOLDER, "/tmp").directory(".")
    assert Place(FOLDER, f"{FOLDER}/notes").directory(".") == "notes"


def test_a_file_does_not_end_in_a_slash() -> None:
    with pytest.raises(Rejected) as refused:
        Place(FOLDER, "/tmp").path("notes/")
    assert refused.value.code == "path.directory"


def test_what_goes_into_a_directory_keeps_its_name() -> None:
    place = Place(FOLDER, "/tmp")
    assert place.target("notes/", "drafts/a.md") == "notes/a.md"
    assert place.target("notes", "drafts/a.md") == "notes"
    assert place.target(".", "drafts/a.md") == "a.md"
    assert place.target("./", "drafts/a.md") == "a.md"


def test_a_folder_may_be_reached_through_a_link(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    (real / "notes").mkdir(parents=True)
    link.symlink_to(real)
    assert Place(str(real), str(link / "notes")).is_inside is False
    assert Place(str(link), str(real / "notes")).path("a.md") == "notes/a.md"
    assert Place(str(real), None).path(str(link / "notes" / "a.md")) == "notes/a.md"


def test_a_link_in_the_workspace_is_meant_itself(tmp_path: Path) -> None:
    (tmp_path / "latest").symlink_to("/etc/passwd")
    assert Place(str(tmp_path), None).path(str(tmp_path / "latest")) == "latest"


def test_a_current_directory_that_is_gone_is_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert current_directory() is None
    assert Place(FOLDER, None).path("a.md") == "a.md"
