"""Any folder can be turned into any other."""

import asyncio
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from choiros.engines.blob.memory import MemoryBlobs
from choiros.engines.tree.disk import DiskTree
from choiros.engines.tree.memory import MemoryTree
from choiros.engines.worker.inline import InlineWorker
from choiros.kernel.path import is_below
from choiros.kernel.tree import Entry, Step
from choiros.testing.tree_contract import (
    file,
    folder,
    link,
    prepared,
    seen,
    wish,
)

CONTENTS = [b"", b"1", b"22", bytes(1 << 17)]
NAMES = st.sampled_from(["a", "b", "c"])
ENTRIES = st.one_of(
    st.builds(file, st.sampled_from(CONTENTS), st.sampled_from([0o644, 0o600, 0o755])),
    st.builds(link, st.sampled_from(["a", "..", "/nowhere"])),
    st.builds(folder, st.sampled_from([0o755, 0o700, 0o555])),
)
FOLDERS = st.dictionaries(st.lists(NAMES, min_size=1, max_size=3).map("/".join), ENTRIES, max_size=12)


def consistent(wanted: dict[str, Entry]) -> dict[str, Entry]:
    """Leave out what stands below a file or link, and make the directories that are missing."""
    kept: dict[str, Entry] = {}
    for path, entry in sorted(wanted.items()):
        above = [path[:end] for end, character in enumerate(path) if character == "/"]
        if all(kept.get(one, folder()).kind == "dir" for one in above):
            kept |= {one: kept.get(one, folder()) for one in above} | {path: entry}
    return kept


class TestAnyFolder:
    """From any folder to any other, on disk and in memory alike, with any of the steps twice."""

    @settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(st.lists(FOLDERS.map(consistent), min_size=1, max_size=3), st.randoms(use_true_random=False))
    def test_becomes_any_other(self, folders, chance) -> None:
        with tempfile.TemporaryDirectory() as home:
            trees = [DiskTree(Path(home), InlineWorker()), MemoryTree()]
            for tree in trees:
                asyncio.run(self._become(tree, folders, chance))

    async def _become(self, tree, folders, chance) -> None:
        blobs = MemoryBlobs()
        await prepared(blobs, *CONTENTS)
        for wanted in folders:
            present = await seen(tree)
            wishes = {path: wanted.get(path) for path in {*present, *wanted}}
            steps = await wish(tree, wishes)
            chance.shuffle(steps)
            await tree.apply([step for step in steps if self._stands_alone(step, steps)], blobs)
            done = await tree.apply(steps, blobs)
            assert {path: one.diverged for path, one in done.items()} == dict.fromkeys(wishes, "")
            found = await seen(tree)
            assert found == {path: one.stat for path, one in done.items() if one.stat is not None}
            taken = {path: (await tree.take(path, blobs))[0] for path in found}
            assert taken == wanted

    def _stands_alone(self, step: Step, steps: list[Step]) -> bool:
        """Whether no other step is needed for it, so that it can be done beforehand."""
        return not any(is_below(step.path, one.path) or is_below(one.path, step.path) for one in steps)
