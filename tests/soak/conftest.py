"""What every test with real faults uses: a fast place, hosts, and a tally of what was done."""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.soak.hosted import Host
from tests.soak.tally import PROPERTY

MEMORY = Path("/dev/shm")
ROOM = 1 << 30


@pytest.fixture
def tally(request: pytest.FixtureRequest) -> Generator[Counter[str]]:
    """What a test counts; the sums stand at the end of the run."""
    counted: Counter[str] = Counter()
    yield counted
    request.node.user_properties += [(PROPERTY + name, number) for name, number in counted.items()]


@pytest.fixture
def bench() -> Generator[Path]:
    """A folder in memory where there is room: what only a power cut can show is tested on a real disk."""
    in_memory = MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > ROOM
    folder = Path(tempfile.mkdtemp(prefix="choiros-soak-", dir=MEMORY if in_memory else None))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def hosts(bench: Path) -> Generator[Callable[..., Host]]:
    """Start hosts that end with the test."""
    with ExitStack() as stack:

        def start(*, sabotage: str = "", preload: str = "") -> Host:
            return stack.enter_context(Host(bench, sabotage=sabotage, preload=preload))

        yield start


@pytest.fixture
def host(hosts: Callable[..., Host]) -> Host:
    """A host without any sabotage."""
    return hosts()
