import time

import pytest

from choiros.features.files.ignore import LINES_MAX, Ignore
from choiros.kernel.errors import Rejected

LOG = Ignore("")
COMMIT = Ignore("", checkpoint=True)


def own(lines: str) -> Ignore:
    return Ignore(lines, defaults=False)


@pytest.mark.parametrize(
    ("path", "is_directory"),
    [
        (".git", True),
        (".git", False),
        ("sub/.git/config", False),
        ("node_modules", True),
        ("a/b/node_modules/c/d.js", False),
        ("pkg/__pycache__/m.pyc", False),
        (".venv/bin/python", False),
        ("venv", True),
        ("x/.mypy_cache", True),
        (".pytest_cache/v", True),
        (".ruff_cache", True),
        (".tox/py311", True),
        (".gradle", True),
        ("infra/.terraform/providers", True),
        ("crate/target/debug/deps/x.o", False),
        ("target/release/.fingerprint", True),
        ("notes/.today.md.swp", False),
        (".swp", False),
        ("a/.#today.md", False),
        (".~lock.report.odt#", False),
        ("~$report.docx", False),
        ("a/.DS_Store", False),
        (".nfs000000000001", False),
    ],
)
def test_what_can_be_made_again_is_not_logged(path: str, is_directory: bool) -> None:
    assert LOG.matches(path, is_directory)


@pytest.mark.parametrize(
    ("path", "is_directory"),
    [
        ("target", True),
        ("target/list.txt", False),
        ("target/debug/openocd.cfg", False),
        ("build", True),
        ("dist/index.html", False),
        ("bin/tool", False),
        ("vendor/lib.go", False),
        ("notes.txt~", False),
        ("#notes.txt#", False),
        ("4913", False),
        ("disk.swp", False),
        ("venv", False),
        ("node_modules.md", False),
        ("a.git", True),
        (".gitignore", False),
        (".github/workflows/ci.yml", False),
        (".env", False),
        ("server.key", False),
        ("app.db", False),
        ("logs/today.log", False),
        ("git", True),
    ],
)
def test_in_doubt_a_path_is_logged_so_that_it_can_be_undone(path: str, is_directory: bool) -> None:
    assert not LOG.matches(path, is_directory)


@pytest.mark.parametrize(
    "path",
    [
        ".env",
        "deep/er/.env.production",
        "a\nb/.env",
        "certs/server.pem",
        "server.key",
        "me.p12",
        "me.pfx",
        "home/.ssh/id_rsa",
        "id_ed25519",
        ".netrc",
        "web/.npmrc",
        ".pypirc",
        ".aws/credentials",
        "x/credentials",
        "credentials.json",
        "x/.docker/config.json",
        "secrets.yaml",
        "terraform.tfstate",
        "logs/today.txt",
        "server.log",
        "server.log.1",
        "app.sqlite",
        "app.sqlite3",
        "data/app.db",
        "data/app.db-wal",
        "data/app.db-shm",
        "data/app.sqlite3-journal",
        "notes.txt~",
        "node_modules/a/index.js",
    ],
)
def test_secrets_logs_and_databases_stay_out_of_commits(path: str) -> None:
    assert COMMIT.matches(path, is_directory=False)


@pytest.mark.parametrize(
    "path",
    [
        ".env.example",
        "web/.env.sample",
        ".envrc",
        "id_rsa.pub",
        "id_ed25519.pub",
        "src/credentials/store.py",
        "src/secrets.py",
        "logging.py",
        "changelog",
        "database.py",
        "keys.md",
        "config.json",
    ],
)
def test_ordinary_files_are_committed(path: str) -> None:
    assert not COMMIT.matches(path, is_directory=False)


def test_an_own_line_wins_over_a_default() -> None:
    ignore = Ignore("!venv/\n*.tmp\n")
    assert not ignore.matches("venv/x", is_directory=False)
    assert ignore.matches("a.tmp", is_directory=False)
    assert ignore.matches("node_modules", is_directory=True)


def test_a_later_line_wins_over_an_earlier_one() -> None:
    assert not own("*.log\n!keep.log").matches("a/keep.log", is_directory=False)
    assert own("!keep.log\n*.log").matches("a/keep.log", is_directory=False)


def test_nothing_below_a_left_out_directory_can_be_taken_back() -> None:
    assert own("out/\n!out/keep").matches("out/keep", is_directory=False)
    assert not own("out/*\n!out/keep").matches("out/keep", is_directory=False)


def test_a_line_with_a_final_slash_speaks_of_directories_only() -> None:
    assert own("x/").matches("x", is_directory=True)
    assert own("x/").matches("a/x/y", is_directory=False)
    assert not own("x/").matches("a/x", is_directory=False)


def test_a_line_with_a_slash_inside_holds_from_the_top_only() -> None:
    assert own("a/b").matches("a/b", is_directory=False)
    assert not own("a/b").matches("x/a/b", is_directory=False)
    assert own("/a").matches("a", is_directory=False)
    assert not own("/a").matches("x/a", is_directory=False)


def test_a_byte_order_mark_and_carriage_returns_are_no_part_of_a_line() -> None:
    ignore = own("\ufeff*.a\r\n\r\n# note\r\n*.b\r\n")
    assert ignore.matches("x.a", is_directory=False)
    assert ignore.matches("x.b", is_directory=False)


@pytest.mark.parametrize("bad", ["[a", "x\\", "!", "[z-a]", "a//b", "a\x00", "\udc80"])
def test_a_line_that_cannot_be_read_is_refused_with_its_number(bad: str) -> None:
    with pytest.raises(Rejected) as caught:
        Ignore(f"*.ok\r\n\r\n{bad}\r\n")
    assert caught.value.code == "ignore.bad_pattern"
    assert caught.value.fields["line"] == 3
    assert caught.value.message.startswith("Line 3 of the ignore rules, ")
    assert caught.value.message.isprintable()


def test_too_many_lines_are_refused() -> None:
    with pytest.raises(Rejected) as caught:
        Ignore("x\n" * (LINES_MAX + 1))
    assert caught.value.code == "ignore.too_long"


def test_a_very_deep_path_is_answered() -> None:
    assert Ignore("").matches("/".join("a" * 1999) + "/node_modules/x", is_directory=False)


def test_remembering_directories_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("choiros.features.files.ignore.DIRECTORIES_MAX", 3)
    ignore = own("out/")
    for _ in range(2):
        assert [ignore.matches(f"{name}/x", is_directory=False) for name in ("a", "b", "c", "d", "out")] == [
            *([False] * 4),
            True,
        ]
    assert len(ignore._directories) <= 5


def test_ten_thousand_paths_take_less_than_a_tenth_of_a_second() -> None:
    paths = [f"src/app/module{number % 100}/file_{number}.py" for number in range(10_000)]
    ignore = Ignore("", checkpoint=True)
    start = time.process_time()
    assert not any(ignore.matches(path, is_directory=False) for path in paths)
    assert time.process_time() - start < 0.1  # measured: 0.01 s
