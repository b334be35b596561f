"""What holds for every test: its own home, known profiles, and no silent skip in continuous integration."""

import os
import shutil
import signal
import tempfile
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.soak import tally

ALLOWED_SKIP = "allowed:"
IN_CI = os.environ.get("CI", "").lower() in {"1", "true"}
SOAK = os.environ.get("CHOIR_SOAK") == "1"

# The machines that run this are busy: a deadline per example would measure the neighbours.
settings.register_profile("default", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("default"), derandomize=True, print_blob=True)
settings.load_profile("ci" if IN_CI else "default")

_home = pytest.StashKey[Path]()
_report = pytest.StashKey[str]()


def pytest_configure(config: pytest.Config) -> None:
    """No test sees the person's own ChoirOS, git configuration or home."""
    home = config.stash[_home] = Path(tempfile.mkdtemp(prefix="choiros-tests-"))
    config.stash[_report] = os.environ.get("CHOIR_SOAK_REPORT", "")
    for name in [name for name in os.environ if name.startswith("CHOIR_") and name != "CHOIR_SOAK"]:
        del os.environ[name]
    # Whoever runs this in the background of a shell has Ctrl-C ignored, and so would every program that is tested.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ["HOME"] = str(home)
    os.environ["CHOIR_HOME"] = str(home / ".choir")


def pytest_unconfigure(config: pytest.Config) -> None:
    if _home in config.stash:
        shutil.rmtree(config.stash[_home], ignore_errors=True)


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def soak() -> bool:
    """Whether the long form of a test was asked for (./choir test --soak)."""
    return SOAK


def refuse_skip(report: pytest.TestReport | pytest.CollectReport) -> None:
    """Turn a skip without an allowed reason into a failure."""
    if not report.skipped or hasattr(report, "wasxfail") or not isinstance(report.longrepr, tuple):
        return
    reason = str(report.longrepr[2]).removeprefix("Skipped: ")
    if not reason.startswith(ALLOWED_SKIP):
        report.outcome = "failed"
        report.longrepr = f"skipped in CI without an '{ALLOWED_SKIP}' reason: {reason}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if IN_CI:
        refuse_skip(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    if IN_CI:
        refuse_skip(report)
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Tell how many faults there were, and what they did."""
    reports = [report for some in terminalreporter.stats.values() for report in some]
    counted = tally.totals(reports)
    if counted and (file := config.stash[_report]):
        tally.report(Path(file), counted, failed=len(terminalreporter.stats.get("failed", ())))
    if counted:
        terminalreporter.section("faults")
        for name, number in counted.items():
            terminalreporter.line(f"{number:>9,}  {name}")
