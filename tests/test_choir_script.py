"""The script ./choir prepares once, survives a broken preparation, and hands the rest on unchanged."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.checkout import ROOT

# Stands for uv: notes each call and makes an environment whose 'choir' shows what it was given.
UV = """#!/usr/bin/env bash
echo "$*" >>"$CALLS"
if [[ -n ${NOTES:-} ]]; then echo "${UV_DEFAULT_INDEX:-} ${SSL_CERT_FILE:-}" >"$NOTES"; fi
if [[ -n ${SLOW:-} ]]; then sleep "$SLOW"; fi
if [[ -n ${BREAK_AT:-} && "$*" == *"$BREAK_AT"* ]]; then echo 'no such package' >&2; exit 9; fi
if [[ $1 == venv ]]; then
  mkdir -p "${@: -1}/bin"
  printf '#!/usr/bin/env bash\\necho "python $* soak=${CHOIR_SOAK:-}"' >"${@: -1}/bin/python"
  for tool in ruff pyright lint-imports; do printf '#!/bin/sh\\n' >"${@: -1}/bin/$tool"; done
  printf '#!/usr/bin/env bash\\necho "$PWD"; printf "<%%s>" "$@"; exit 7\\n' >"${@: -1}/bin/choir"
  chmod +x "${@: -1}/bin/"*
fi
"""


# Stands for a Python whose pip, or venv, is there only where the test says so; pip brings the uv above.
PYTHON = """#!/usr/bin/env bash
echo "python $*" >>"$CALLS"
case "$*" in
  -c*) exit 0 ;;
  '-m pip --version') [[ $HAS == *pip* ]] ;;
  '-m pip config list') [[ $HAS == *pip* ]] && printf '%s\n' "${CONFIGURED:-}" ;;
  '-m pip config get'*) exit 1 ;; # what is configured in /etc is not found so by some versions
  '-m pip install'*) mkdir -p "${@: -1}/bin" && cp "$UV" "${@: -1}/bin/uv" ;;
  '-m venv'*)
    [[ $HAS == *venv* || -e $CALLS.apt ]] || exit 1
    mkdir -p "${@: -1}/bin" && sed 's/\\$HAS == \\*pip\\*/1/' "$0" >"${@: -1}/bin/python"
    chmod +x "${@: -1}/bin/python" ;;
esac
"""
# Stands for apt-get and for sudo.
APT = """#!/usr/bin/env bash
case $* in
  *install*) echo "apt $*" >>"$CALLS"; touch "$CALLS.apt" ;;
  '-n true') exit "${SUDO_REFUSES:-0}" ;;
esac
"""


class Checkout:
    """A copy of the script and its locks, with a uv that only takes notes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "a checkout"
        self.tools = folder / "bin"
        self.calls_file = folder / "calls"
        shutil.copytree(ROOT / "requirements", self.folder / "requirements")
        for name in ("choir", "pyproject.toml"):
            shutil.copy(ROOT / name, self.folder)
        self.tools.mkdir()
        (self.tools / "python3").symlink_to(sys.executable)
        (self.tools / "uv").write_text(UV)
        (self.tools / "uv").chmod(0o755)
        self.environment = {
            "PATH": f"{self.tools}:/usr/bin:/bin",
            "HOME": str(folder / "home"),
            "CALLS": str(self.calls_file),
            "PIP_INDEX_URL": "http://index.invalid/simple",
        }

    def without_uv(self, has: str) -> None:
        """Take uv away, and leave a Python that has only what is named."""
        (self.tools / "uv").rename(self.folder.parent / "uv")
        (self.tools / "python3").unlink()
        for name, text in {"python3": PYTHON, "apt-get": APT, "sudo": APT}.items():
            (self.tools / name).write_text(text)
            (self.tools / name).chmod(0o755)
        self.environment |= {"HAS": has, "UV": str(self.folder.parent / "uv")}

    def start(self, *args: str, cwd: Path | None = None, **more: str) -> subprocess.Popen[str]:
        script = more.pop("script", str(self.folder / "choir"))
        return subprocess.Popen(
            [script, *args],
            cwd=cwd or self.folder,
            env={**self.environment, **more},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *args: str, cwd: Path | None = None, **more: str) -> tuple[int, str, str]:
        process = self.start(*args, cwd=cwd, **more)
        out, err = process.communicate(timeout=60)
        return process.returncode, out, err

    def calls(self) -> list[str]:
        lines = self.calls_file.read_text().splitlines() if self.calls_file.exists() else []
        self.calls_file.unlink(missing_ok=True)
        return [" ".join(line.split()[:2]) for line in lines]


@pytest.fixture
def copy(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path)


WHOLE = ["venv --quiet", "pip sync", "pip install", "pip install"]


def test_the_first_start_prepares_and_the_second_says_nothing(copy: Checkout) -> None:
    status, out, err = copy.run("log", "--after", "3")
    assert (status, out.splitlines()[1]) == (7, "<log><--after><3>")
    assert err.splitlines()[-1] == "choir: ready"
    assert copy.calls() == WHOLE
    assert copy.run("log") == (7, f"{copy.folder}\n<log>", "")
    assert copy.calls() == []


def test_arguments_and_folder_reach_the_product_unchanged_through_a_link(
    copy: Checkout, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "link").symlink_to("../a checkout/choir")
    status, out, _ = copy.run("write", "a b", "", "*", "--x", cwd=elsewhere, script="./link")
    assert (status, out) == (7, f"{elsewhere}\n<write><a b><><*><--x>")
    assert not (elsewhere / ".venv").exists()


def test_up_goes_to_the_product(copy: Checkout) -> None:
    assert copy.run("up", "--detach")[1].endswith("<up><--detach>")


def test_nothing_is_written_outside_the_checkout(copy: Checkout, tmp_path: Path) -> None:
    copy.run("log")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a checkout", "bin", "calls"]


def test_a_failed_step_shows_what_it_said_and_the_next_start_begins_anew(copy: Checkout) -> None:
    status, out, err = copy.run("log", BREAK_AT="pip sync")
    assert (status, out) == (1, "")
    assert "no such package" in err
    assert copy.calls() == WHOLE[:2]
    (copy.folder / ".venv" / "half").touch()
    assert copy.run("log")[0] == 7
    assert copy.calls() == WHOLE
    assert not (copy.folder / ".venv" / "half").exists()


def test_a_changed_lock_is_followed_and_keeps_the_groups_that_were_there(copy: Checkout) -> None:
    copy.run("check")
    copy.calls()
    with (copy.folder / "requirements" / "run.txt").open("a") as lock:
        lock.write("# newer\n")
    copy.run("log")
    assert copy.calls() == ["pip sync", "pip install"]  # the build back end is there already
    assert (copy.folder / ".venv" / "choir-stamp").read_text().splitlines()[0] == "run dev"


def test_a_product_verb_needs_no_second_preparation_after_the_tests(copy: Checkout) -> None:
    copy.run("check")
    copy.calls()
    copy.run("log")
    assert copy.calls() == []


def test_a_moved_checkout_prepares_again(copy: Checkout) -> None:
    copy.run("log")
    copy.calls()
    copy.folder = copy.folder.rename(copy.folder.with_name("moved"))
    copy.run("log")
    assert copy.calls()[-1] == "pip install"


def test_two_starts_at_once_prepare_once(copy: Checkout) -> None:
    both = [copy.start("log", SLOW="0.2"), copy.start("log", SLOW="0.2")]
    ends = [process.communicate(timeout=60) for process in both]
    assert [process.returncode for process in both] == [7, 7], ends
    assert copy.calls() == WHOLE


def test_without_a_recent_python_one_sentence_says_what_to_do(copy: Checkout) -> None:
    (copy.tools / "python3").unlink()
    for name in ("python3", "python3.11", "python3.12", "python3.13"):
        (copy.tools / name).write_text("#!/bin/sh\nexit 1\n")
        (copy.tools / name).chmod(0o755)
    status, _, err = copy.run("log")
    assert status == 1
    assert "Python 3.11 or newer is needed" in err.splitlines()[-1]


def test_pip_brings_uv_where_there_is_none(copy: Checkout) -> None:
    copy.without_uv("pip")
    assert copy.run("log")[0] == 7
    assert (copy.folder / ".choir-tools" / "uv" / "bin" / "uv").exists()
    assert "python -m" in copy.calls()


CONFIGURED = (
    "global.cert='/etc/ssl/our own.pem'\nglobal.index-url='https://index.invalid/a'\nglobal.timeout='9'"
)


@pytest.mark.parametrize("has", ["pip", "venv"])
@pytest.mark.parametrize(
    ("environment", "followed"),
    [
        ({}, "https://index.invalid/a /etc/ssl/our own.pem"),
        ({"PIP_INDEX_URL": "https://index.invalid/b"}, "https://index.invalid/b /etc/ssl/our own.pem"),
        ({"PIP_CERT": "/mine.pem"}, "https://index.invalid/a /mine.pem"),
        ({"SSL_CERT_FILE": "/uv.pem", "UV_DEFAULT_INDEX": "https://u"}, "https://u /uv.pem"),
        ({"CONFIGURED": ""}, " "),
    ],
)
def test_uv_uses_the_index_and_the_certificate_that_pip_was_told_of(
    copy: Checkout, tmp_path: Path, environment: dict[str, str], followed: str, has: str
) -> None:
    copy.without_uv(has)
    copy.environment.pop("PIP_INDEX_URL")
    notes = tmp_path / "notes"
    copy.environment |= {"CONFIGURED": CONFIGURED, **environment}
    assert copy.run("log", NOTES=str(notes))[0] == 7
    assert notes.read_text() == followed + "\n"


def test_a_python_without_pip_makes_one_inside_the_checkout(copy: Checkout, tmp_path: Path) -> None:
    copy.without_uv("venv")
    assert copy.run("log")[0] == 7
    assert not (tmp_path / "calls.apt").exists()


def test_a_debian_with_neither_pip_nor_venv_is_completed_with_apt(copy: Checkout, tmp_path: Path) -> None:
    copy.without_uv("nothing")
    status, _, err = copy.run("log")
    assert (status, "choir: installing python3-venv with apt-get" in err) == (7, True)
    assert (tmp_path / "calls.apt").exists()


def test_what_the_faults_need_is_installed_with_apt_and_asked_for_once(
    copy: Checkout, tmp_path: Path
) -> None:
    bare = tmp_path / "bare"
    bare.mkdir()
    for program in [*Path("/bin").iterdir(), *Path("/usr/bin").iterdir()]:
        if (
            program.name not in {"strace", "faketime", "apt-get", "sudo"}
            and not (bare / program.name).exists()
        ):
            (bare / program.name).symlink_to(program)
    for name in ("apt-get", "sudo"):
        (bare / name).write_text(APT)
        (bare / name).chmod(0o755)
    (bare / "sudo").write_text('#!/bin/sh\nshift\nexec "$@"\n')
    copy.environment["PATH"] = f"{copy.tools}:{bare}"
    copy.run("check")
    copy.calls()
    first = copy.run("test")
    assert "choir: installing strace faketime" in first[2]
    assert [line for line in copy.calls() if line.startswith("apt")] == ["apt install"]
    assert copy.run("test")[2] == ""
    assert copy.calls() == []


@pytest.mark.skipif(os.geteuid() == 0, reason="allowed: root needs no sudo")
def test_without_sudo_one_sentence_says_what_to_install(copy: Checkout) -> None:
    copy.without_uv("nothing")
    status, _, err = copy.run("log", SUDO_REFUSES="1")
    assert status == 1
    assert err.splitlines()[-1].endswith("run 'sudo apt-get install python3-venv', then call this again.")


def test_the_tests_follow_the_check_in_parallel_unless_some_are_chosen(copy: Checkout) -> None:
    *checks, last = copy.run("test", "-x")[1].splitlines()
    assert [line.split()[1:] for line in checks] == [
        ["format", "ok"], ["lint", "ok"], ["types", "ok"], ["imports", "ok"]
    ]  # fmt: skip
    assert last == "python -m pytest -rs -n auto -x soak="
    assert copy.run("test", "tests/unit")[1].splitlines()[-1] == "python -m pytest -rs tests/unit soak="


def test_the_long_form_of_the_tests_is_asked_for_by_a_flag(copy: Checkout) -> None:
    assert copy.run("test", "--soak")[1].splitlines()[-1] == "python -m pytest -rs -n auto soak=1"


def test_a_failed_check_is_named_and_stops_before_the_tests(copy: Checkout) -> None:
    copy.run("check")
    (copy.folder / ".venv" / "bin" / "pyright").write_text("#!/bin/sh\necho 'not a number'\nexit 1\n")
    status, out, err = copy.run("test")
    assert (status, err) == (1, "choir: check failed: types\n")
    assert "not a number" in out
    assert "pytest" not in out


def test_continuous_integration_calls_the_tests_and_nothing_else() -> None:
    assert (ROOT / ".ci" / "run").read_text().splitlines()[-1] == 'exec "${BASH_SOURCE[0]%/*}/../choir" test'
    assert os.access(ROOT / ".ci" / "run", os.X_OK)
