"""Every setting has one value with a known origin (C-13), and a broken one tells what to do (K-46)."""

import tomllib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from choiros.kernel.errors import Rejected
from choiros.settings import (
    NUMBER_MAX,
    Origin,
    Resolved,
    Settings,
    allows_colour,
    flat,
    keys,
    resolve,
    set_in_file,
)

KEYS = [
    "backup.directory",
    "backup.every_hours",
    "backup.keep_daily",
    "backup.keep_weekly",
    "checkpoints.events_max",
    "checkpoints.minutes_max",
    "files.size_bytes_max",
    "lock_timeout_s",
    "proof.events_max",
    "proof.keys",
    "proof.minutes_max",
    "proof.witness_keys",
    "proof.witnesses",
    "snapshots.events_max",
    "snapshots.kept",
    "user",
]
# A value for each setting that is not its default, and two more like it.
TEXTS = {"user", "backup.directory", "proof.keys", "proof.witness_keys", "proof.witnesses"}
MAY_BE_ZERO = {"lock_timeout_s", "snapshots.kept", "backup.every_hours", "backup.keep_weekly"}
OTHERS = {key: ("anna", "bob", "carl") if key in TEXTS else ("5", "8", "9") for key in KEYS}
OTHERS["proof.witnesses"] = (
    "stick=file:/media/a",
    "git=git:/srv/b.git",
    "tower=command:ssh tower choir witness",
)
A_KEY = f"+0123abcd+{'A' * 44}"
OTHERS["proof.witness_keys"] = ("a" + A_KEY, "b" + A_KEY, "c" + A_KEY)


def variable(key: str) -> str:
    return "CHOIR_" + key.replace(".", "_").upper()


def as_toml(key: str, value: str) -> str:
    section, _, name = key.rpartition(".")
    shown = value if value.isdigit() else f'"{value}"'
    return f"[{section}]\n{name} = {shown}\n" if section else f"{name} = {shown}\n"


def at(
    home: Path,
    text: str | None = None,
    flags: dict[str, str] | None = None,
    environment: dict[str, str] | None = None,
) -> Resolved:
    if text is not None:
        (home / "choiros.toml").write_bytes(text.encode())
    return resolve(flags or {}, {"CHOIR_HOME": str(home), **(environment or {})})


def refusal(
    home: Path,
    text: str | None = None,
    flags: dict[str, str] | None = None,
    environment: dict[str, str] | None = None,
) -> Rejected:
    with pytest.raises(Rejected) as caught:
        at(home, text, flags, environment)
    assert caught.value.fix
    assert caught.value.message.endswith(".")
    return caught.value


# --- Origin ---


def test_these_are_all_settings() -> None:
    assert keys() == KEYS == sorted(flat(Settings()))


@pytest.mark.parametrize("key", KEYS)
def test_a_flag_beats_the_environment_which_beats_the_file_which_beats_the_default(
    tmp_path: Path, key: str
) -> None:
    in_file, in_environment, in_flag = OTHERS[key]
    stages: list[tuple[Origin, Resolved, object]] = [
        ("default", at(tmp_path), flat(Settings())[key]),
        ("file", at(tmp_path, as_toml(key, in_file)), in_file),
        ("environment", at(tmp_path, environment={variable(key): in_environment}), in_environment),
        ("flag", at(tmp_path, None, {key: in_flag}, environment={variable(key): in_environment}), in_flag),
    ]
    for origin, resolved, value in stages:
        assert str(flat(resolved.settings)[key]) == str(value)
        assert resolved.origins[key] == origin
        assert all(resolved.origins[other] == "default" for other in KEYS if other != key)
        assert type(flat(resolved.settings)[key]) is type(flat(Settings())[key])


@settings(max_examples=25)
@given(st.dictionaries(st.sampled_from(KEYS), st.sampled_from(["file", "environment", "flag"])))
def test_each_setting_comes_from_its_own_place(
    tmp_path_factory: pytest.TempPathFactory, chosen: dict[str, Origin]
) -> None:
    home = tmp_path_factory.mktemp("home")
    plain = [key for key, origin in chosen.items() if origin == "file"]
    plain.sort(key=lambda key: "." in key)
    sections = {key.rpartition(".")[0] for key in plain if "." in key}
    text = "".join(as_toml(key, OTHERS[key][0]) for key in plain if "." not in key)
    for section in sorted(sections):
        inside = [key for key in plain if key.rpartition(".")[0] == section]
        text += f"[{section}]\n" + "".join(
            as_toml(key, OTHERS[key][0]).splitlines()[1] + "\n" for key in inside
        )
    environment = {variable(key): OTHERS[key][1] for key, origin in chosen.items() if origin == "environment"}
    flags = {key: OTHERS[key][2] for key, origin in chosen.items() if origin == "flag"}
    resolved = at(home, text, flags, environment)
    assert resolved.origins == {
        **{key: chosen.get(key, "default") for key in KEYS},
        "home": "environment",
    }


def test_the_data_directory_is_that_of_the_flag_the_environment_or_the_persons_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert resolve({}, {"CHOIR_HOME": ""}).home == tmp_path / ".choir"
    stages: list[tuple[Origin, Resolved, Path]] = [
        ("default", resolve({}, {}), tmp_path / ".choir"),
        ("environment", resolve({}, {"CHOIR_HOME": "/x/y"}), Path("/x/y")),
        ("flag", resolve({"home": "/z"}, {"CHOIR_HOME": "/x/y"}), Path("/z")),
    ]
    for origin, resolved, home in stages:
        assert (resolved.home, resolved.origins["home"]) == (home, origin)
    monkeypatch.chdir(tmp_path)
    assert resolve({"home": "here"}, {}).home == tmp_path / "here"
    assert resolve({}, {"CHOIR_HOME": "/x"}).file == Path("/x/choiros.toml")


def test_without_any_home_a_person_is_told_how_to_name_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", unknown)
    with pytest.raises(Rejected) as caught:
        resolve({}, {})
    assert caught.value.code == "config.no_home"
    assert "CHOIR_HOME" in caught.value.fix
    assert resolve({}, {"CHOIR_HOME": "/x"}).home == Path("/x")


def test_an_empty_home_on_the_command_line_never_falls_back_to_another(tmp_path: Path) -> None:
    assert refusal(tmp_path, None, {"home": ""}).code == "config.no_home"


def test_the_environment_is_read_when_none_is_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHOIR_HOME", str(tmp_path))
    monkeypatch.setenv("CHOIR_USER", "anna")
    assert resolve({}).settings.user == "anna"


def test_other_variables_do_not_matter(tmp_path: Path) -> None:
    assert (
        at(tmp_path, environment={"CHOIRMASTER": "x", "PATH": "y", "choir_user": "z"}).settings == Settings()
    )


def test_an_empty_file_and_one_with_comments_alone_change_nothing(tmp_path: Path) -> None:
    for text in ("", "# nothing\n", "\r\n", "[files]\n", "\ufeff"[:0]):
        assert at(tmp_path, text).settings == Settings()


# --- Broken ---


@pytest.mark.parametrize("key", [key for key in KEYS if key not in TEXTS])
@pytest.mark.parametrize(
    "value", ["many", "", "-1", "1.5", "1e3", "0x10", "true", "1" * 16, "7 8", "\udcff", "\uff11\uff12"]
)
def test_a_number_that_is_none_names_key_value_reason_and_fix(tmp_path: Path, key: str, value: str) -> None:
    """K-46: key, value, origin, reason, and a fix that names what must be changed."""
    for error, origin, place in (
        (refusal(tmp_path, None, {key: value}), "flag", "the command line"),
        (refusal(tmp_path, environment={variable(key): value}), "environment", variable(key)),
    ):
        assert error.code == "config.bad_value"
        assert error.fields["key"] == key
        assert f"'{key}' is '" in error.message
        assert f"({origin})" in error.message
        assert "must be a whole number" in error.message
        assert str(flat(Settings())[key]) in error.fix
        assert place in error.fix


@pytest.mark.parametrize("value", ["0", "-5", str(NUMBER_MAX + 1), str(10**30)])
@pytest.mark.parametrize("key", [key for key in KEYS if key not in TEXTS | MAY_BE_ZERO])
def test_a_number_out_of_bounds_names_key_value_and_bounds(tmp_path: Path, key: str, value: str) -> None:
    error = refusal(tmp_path, as_toml(key, "7").replace("7", value))
    assert (error.code, error.fields["key"]) == ("config.bad_value", key)
    assert f"'{key}' is '{value}' (file), but must be between 1 and {NUMBER_MAX}" in error.message
    assert str(tmp_path / "choiros.toml") in error.fix


def test_numbers_that_may_be_zero_may(tmp_path: Path) -> None:
    text = "lock_timeout_s = 0\n[snapshots]\nkept = 0\n[backup]\nevery_hours = 0\nkeep_weekly = 0\n"
    values = flat(at(tmp_path, text).settings)
    assert {values[key] for key in MAY_BE_ZERO} == {0}


@pytest.mark.parametrize("wrong", ["1.0", "true", '"many"', "[1]", "2020-01-01", "inf", '""', '"-3"'])
def test_a_value_of_another_kind_in_the_file_names_key_and_kind(tmp_path: Path, wrong: str) -> None:
    error = refusal(tmp_path, f"[files]\nsize_bytes_max = {wrong}\n")
    assert (error.code, error.fields["key"]) == ("config.bad_value", "files.size_bytes_max")
    assert "(file)" in error.message


@pytest.mark.parametrize("wrong", ["5", "true", "['a']"])
def test_a_text_must_be_a_text_in_the_file(tmp_path: Path, wrong: str) -> None:
    error = refusal(tmp_path, f"user = {wrong}\n")
    assert (error.code, error.fields["key"]) == ("config.bad_value", "user")
    assert "must be text" in error.message


@pytest.mark.parametrize(
    "user", ["", "Anna", "a.b", "a*", ">", "a b", "ä", "../x", "a/b", "a" * 65, "a\x00", "a\n", "\udcff", "٣"]
)
def test_a_user_that_could_cross_into_another_is_refused(tmp_path: Path, user: str) -> None:
    error = refusal(tmp_path, None, {"user": user})
    assert error.code == "config.bad_user"
    assert "'user'" in error.message
    assert "(flag)" in error.message
    assert "a-z" in error.fix
    assert len(error.message) < 250
    error.message.encode()


@pytest.mark.parametrize("user", ["a", "anna", "a-b_c", "0", "a" * 64])
def test_a_plain_user_is_taken(tmp_path: Path, user: str) -> None:
    assert at(tmp_path, None, {"user": user}).settings.user == user


@pytest.mark.parametrize(
    "text",
    [
        "usr = 'x'\n",
        "[file]\nsize_bytes_max = 1\n",
        "[files]\nsize = 1\n",
        "[user]\nname = 'x'\n",
        "files = 3\n",
    ],
)
def test_an_unknown_key_in_the_file_is_refused_by_name(tmp_path: Path, text: str) -> None:
    error = refusal(tmp_path, text)
    assert error.code == "config.unknown_key"
    assert str(error.fields["key"]) in error.message
    assert "(file)" in error.message


def test_an_unknown_key_elsewhere_is_refused_by_name(tmp_path: Path) -> None:
    for error, name in (
        (refusal(tmp_path, environment={"CHOIR_USR": "x"}), "CHOIR_USR"),
        (refusal(tmp_path, environment={"CHOIR_FILES_SIZE": "1"}), "CHOIR_FILES_SIZE"),
        (refusal(tmp_path, None, {"files.size": "1"}), "files.size"),
        (refusal(tmp_path, None, {"": "1"}), ""),
    ):
        assert (error.code, error.fields["key"]) == ("config.unknown_key", name)
        # 'choir config' would meet the same refusal, so it is no way out.
        assert "choir config" not in error.fix
        assert "files.size_bytes_max" in error.fix or "CHOIR_" in error.fix


@pytest.mark.parametrize(
    "content",
    [
        b"user = ",
        b"user = x",
        b"user = 'a'\nuser = 'b'",
        b"\xff\xfe",
        b"[",
        b"\x00",
        b"a = 1 = 2",
        b"a = " + b"[" * 5000,
    ],
)
def test_a_file_that_cannot_be_read_is_refused_with_the_place(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "choiros.toml").write_bytes(content)
    error = refusal(tmp_path)
    place = str(tmp_path / "choiros.toml")
    assert (error.code, error.fields["file"]) == ("config.unreadable", place)
    assert place in error.message
    assert "Correct that line" in error.fix


def test_a_place_where_no_settings_file_can_be_read_is_refused_as_such(tmp_path: Path) -> None:
    (tmp_path / "choiros.toml").mkdir()
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to("loop")
    for home in (tmp_path, tmp_path / "file", tmp_path / "loop", tmp_path / ("x" * 300)):
        error = refusal(home)
        assert error.code == "config.unreadable"
        assert "Errno" not in error.message
        assert "--home" in error.fix


# --- Writing ---

KEPT = """# What I like
user = "me"   # that is me

lock_timeout_s = 5

# --- Files

[files] # how they are kept
# not too large
size_bytes_max = 1000

[ snapshots ]
kept = 3
"""


@pytest.mark.parametrize("key", KEYS)
def test_a_written_value_is_read_again_and_every_other_line_stays(tmp_path: Path, key: str) -> None:
    value = OTHERS[key][0]
    set_in_file(at(tmp_path, KEPT), key, value=value)
    after = at(tmp_path)
    assert str(flat(after.settings)[key]) == value
    assert after.origins[key] == "file"
    name = key.rpartition(".")[2]
    before = [line for line in KEPT.splitlines() if line and line.partition("=")[0].strip() != name]
    assert before == [line for line in after.file.read_text().splitlines() if line in before]
    others = {other: known for other, known in flat(after.settings).items() if other != key}
    assert others == {other: known for other, known in flat(settings_of(KEPT)).items() if other != key}


def settings_of(text: str) -> Settings:
    tree = tomllib.loads(text)
    values = {**flat(Settings()), "user": tree["user"], "lock_timeout_s": tree["lock_timeout_s"]}
    values["files.size_bytes_max"], values["snapshots.kept"] = 1000, 3
    return resolve({key: str(value) for key, value in values.items()}, {"CHOIR_HOME": "/nowhere"}).settings


def test_a_value_can_be_written_where_there_is_no_file_and_no_directory(tmp_path: Path) -> None:
    home = tmp_path / "new" / "home"
    set_in_file(resolve({"home": str(home)}, {}), "files.size_bytes_max", value="7")
    assert (home / "choiros.toml").read_text() == "[files]\nsize_bytes_max = 7\n"
    assert home.stat().st_mode & 0o777 == 0o700
    set_in_file(resolve({"home": str(home)}, {}), "user", value="anna")
    assert resolve({"home": str(home)}, {}).settings.user == "anna"


@pytest.mark.parametrize("text", ["user = 'a'", "user = 'a'\n", "user = 'a'\n\n\n", "\n\nuser = 'a'"])
def test_writing_one_value_twice_leaves_one_line(tmp_path: Path, text: str) -> None:
    set_in_file(at(tmp_path, text), "user", value="b")
    once = (tmp_path / "choiros.toml").read_bytes()
    set_in_file(at(tmp_path), "user", value="b")
    assert (tmp_path / "choiros.toml").read_bytes() == once
    assert at(tmp_path).settings.user == "b"


def test_odd_line_ends_in_other_lines_stay(tmp_path: Path) -> None:
    text = "# one\r\n# two \u2028 still two\r\nuser = 'a'\r\n[files]\r\nsize_bytes_max = 1\r\n"
    set_in_file(at(tmp_path, text), "files.size_bytes_max", value="2")
    after = (tmp_path / "choiros.toml").read_bytes().decode()
    assert after == text.replace("size_bytes_max = 1\r", "size_bytes_max = 2")


@pytest.mark.parametrize(
    "text",
    [
        "files.size_bytes_max = 1\n",
        "files = { size_bytes_max = 1 }\n",
        "[files]\n'size_bytes_max' = 1\n",
        "['files']\nsize_bytes_max = 1\n",
    ],
)
def test_what_is_written_too_artfully_is_left_to_the_person(tmp_path: Path, text: str) -> None:
    resolved = at(tmp_path, text)
    with pytest.raises(Rejected) as caught:
        set_in_file(resolved, "files.size_bytes_max", value="2")
    assert (caught.value.code, caught.value.fields["key"]) == ("config.not_editable", "files.size_bytes_max")
    assert (tmp_path / "choiros.toml").read_text() == text


@pytest.mark.parametrize(
    ("key", "value", "code"),
    [
        ("nothing", "1", "config.unknown_key"),
        ("files.size_bytes_max", "many", "config.bad_value"),
        ("files.size_bytes_max", "0", "config.bad_value"),
        ("user", "../you", "config.bad_user"),
    ],
)
def test_a_wrong_value_is_never_written(tmp_path: Path, key: str, value: str, code: str) -> None:
    resolved = at(tmp_path, KEPT)
    with pytest.raises(Rejected) as caught:
        set_in_file(resolved, key, value=value)
    assert caught.value.code == code
    assert (tmp_path / "choiros.toml").read_text() == KEPT
    assert [path.name for path in tmp_path.iterdir()] == ["choiros.toml"]


@settings(max_examples=25)
@given(st.sampled_from(KEYS), st.lists(st.sampled_from(KEYS), max_size=4))
def test_writing_many_values_one_after_the_other_keeps_them_all(
    tmp_path_factory: pytest.TempPathFactory, first: str, more: list[str]
) -> None:
    home = tmp_path_factory.mktemp("home")
    written: dict[str, str] = {}
    for number, key in enumerate([first, *more]):
        written[key] = OTHERS[key][number % 3]
        set_in_file(at(home), key, value=written[key])
    found = flat(at(home).settings)
    assert {key: str(found[key]) for key in written} == written


def test_a_refused_value_is_told_with_the_default_and_not_with_the_present_value(tmp_path: Path) -> None:
    with pytest.raises(Rejected) as caught:
        set_in_file(at(tmp_path, "lock_timeout_s = 77\n"), "lock_timeout_s", value="soon")
    assert "the default 10" in caught.value.fix


def test_a_value_that_cannot_be_stored_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    resolved = at(tmp_path, KEPT)

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        set_in_file(resolved, "user", value="anna")
    assert [path.name for path in tmp_path.iterdir()] == ["choiros.toml"]
    assert (tmp_path / "choiros.toml").read_text() == KEPT


# --- Colour ---


@pytest.mark.parametrize(
    ("environment", "allowed"),
    [
        ({}, False),
        ({"TERM": "xterm"}, True),
        ({"TERM": "dumb"}, False),
        ({"TERM": ""}, False),
        ({"TERM": "xterm", "NO_COLOR": "1"}, False),
        ({"TERM": "xterm", "NO_COLOR": ""}, True),
    ],
)
def test_colour_is_for_terminals_whose_owner_likes_it(environment: dict[str, str], allowed: bool) -> None:
    assert allows_colour(environment) is allowed
