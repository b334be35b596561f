"""Which paths may come in, and which names nobody may touch in any spelling."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from choiros.kernel.errors import Rejected
from choiros.kernel.path import (
    NAME_BYTES_MAX,
    PATH_BYTES_MAX,
    TEMPORARY,
    check_path,
    fold,
    is_below,
    is_protected,
    parents,
)

names = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="/\x00"), min_size=1, max_size=12)
plain_names = names.filter(lambda name: name not in {".", ".."} and not name.startswith(TEMPORARY))
plain_paths = st.lists(plain_names, min_size=1, max_size=5).map("/".join)


@pytest.mark.parametrize(
    "path",
    [
        *(
            "a",
            "a/b",
            "notes/today.md",
            ".hidden",
            "...",
            "a b",
            " ",
            "-rf",
            "~",
            "a\\b",
            "C:",
            "a\nb",
            "\x01",
        ),
        *(
            "naïve/café.txt",
            "日本/語",
            "e\u0301",
            "\U0001f600",
            "COM1",
            "a" * 255,
            "/".join(["a" * 200] * 19),
        ),
    ],
)
def test_ordinary_and_odd_names_are_allowed(path: str) -> None:
    assert check_path(path) == path


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("", "path.empty"),
        ("/", "path.absolute"),
        ("/etc/passwd", "path.absolute"),
        ("//a", "path.absolute"),
        ("..", "path.not_plain"),
        (".", "path.not_plain"),
        ("../a", "path.not_plain"),
        ("a/../b", "path.not_plain"),
        ("a/..", "path.not_plain"),
        ("a/./b", "path.not_plain"),
        ("a//b", "path.not_plain"),
        ("a/", "path.not_plain"),
        ("a\x00", "path.nul"),
        ("\x00", "path.nul"),
        ("a/\udcff", "path.not_utf8"),
        ("\ud800", "path.not_utf8"),
        ("a" * (NAME_BYTES_MAX + 1), "path.too_long"),
        ("é" * (NAME_BYTES_MAX // 2 + 1), "path.too_long"),
        ("/".join(["a" * 200] * 20), "path.too_long"),
        ("a/" * 10_000_000, "path.too_long"),
        (TEMPORARY + "1", "path.reserved"),
        (f"a/{TEMPORARY}/b", "path.reserved"),
    ],
)
def test_anything_else_is_refused_and_named(path: str, code: str) -> None:
    with pytest.raises(Rejected) as caught:
        check_path(path)
    assert caught.value.code == code
    assert caught.value.fix
    shown = caught.value.message.encode()
    assert len(shown) < 1500
    assert b"\x00" not in shown


@given(plain_paths)
def test_a_path_of_plain_names_is_allowed_as_it_is(path: str) -> None:
    assert check_path(path) == path


@given(plain_paths, st.sampled_from(["..", ".", ""]), st.integers(0, 5))
def test_a_part_that_is_no_name_is_refused_wherever_it_stands(path: str, part: str, place: int) -> None:
    parts = path.split("/")
    parts.insert(place % (len(parts) + 1), part)
    with pytest.raises(Rejected):
        check_path("/".join(parts))


def test_length_is_measured_in_bytes_up_to_the_last_one() -> None:
    path = "/".join(["é" * 100] * 30)
    whole = path[: PATH_BYTES_MAX // 2] + "x" * 1000
    fitting = next(
        whole[:end] for end in range(len(whole), 0, -1) if len(whole[:end].encode()) <= PATH_BYTES_MAX
    )
    assert check_path(fitting.rstrip("/"))


@pytest.mark.parametrize(
    "path",
    [
        *(".git", ".choir", ".git/config", "a/.git", "a/.choir/log.db", ".GIT", ".Git/hooks/x", ".CHOIR"),
        *(
            ".git.",
            ".git ",
            ".git. .",
            ".g\u200bit",
            ".gi\u00adt",
            "\ufeff.git",
            ".\u202egit",
            ".\uff27\uff29\uff34",
        ),
        *(".chOIR", "x/.g\u200cit/config"),
    ],
)
def test_protected_names_are_known_in_any_spelling(path: str) -> None:
    assert is_protected(path)


@pytest.mark.parametrize(
    "path", ["git", ".gitignore", ".choirignore", "a.git", ".github/x", "choir", "..git"]
)
def test_names_that_only_look_similar_are_free(path: str) -> None:
    assert not is_protected(path)


@given(plain_paths, st.sampled_from([".git", ".choir", ".GiT", ".cHOIR"]), plain_paths)
def test_whatever_lies_around_a_protected_name_it_stays_protected(above: str, name: str, below: str) -> None:
    assert is_protected(f"{above}/{name}/{below}")


@given(st.text(max_size=20))
def test_folding_twice_changes_nothing_more(text: str) -> None:
    assert fold(fold(text)) == fold(text)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("README", "readme"),
        ("é", "e\u0301"),
        ("ﬁle", "file"),
        ("STRASSE", "straße"),
        ("a\u200bb", "ab"),
        ("Å", "å"),
    ],
)
def test_names_that_a_person_takes_for_one_fold_to_one(one: str, other: str) -> None:
    assert fold(one) == fold(other)


def test_names_that_differ_stay_apart() -> None:
    assert len({fold(name) for name in ("a", "b", "a.b", "a-b", "ab", "ä", "а")}) == 7  # noqa: RUF001 - a Cyrillic one


@given(plain_paths)
def test_parents_are_the_directories_above_from_the_outermost(path: str) -> None:
    above = parents(path)
    assert len(above) == path.count("/")
    assert all(is_below(path, directory) for directory in above)
    assert above == sorted(above, key=len)


def test_a_folder_with_a_longer_name_is_no_folder_below() -> None:
    assert not is_below("home/anna2/x", "home/anna")
    assert not is_below("home/anna", "home/anna")
    assert is_below("home/anna/x", "home/anna")
    assert is_below("anything", "")
    assert parents("a") == []
