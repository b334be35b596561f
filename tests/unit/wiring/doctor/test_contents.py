"""What is wrong with a stored content: nothing, its size, its bytes, or that it is not there."""

import hashlib

import pytest

from choiros.engines.blob.disk import DiskBlobs
from choiros.engines.worker.inline import InlineWorker
from choiros.wiring.doctor.contents import fault_of

RIGHT = b"what was stored"
NAME = hashlib.sha256(RIGHT).hexdigest()


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("content", "is_read", "code"),
    [
        (RIGHT, True, ""),
        (RIGHT, False, ""),
        (b"what was st", False, "blob.damaged"),
        (b"what was stareh", True, "blob.damaged"),
        (b"what was stareh", False, ""),
        (None, False, "blob.missing"),
    ],
)
async def test_a_content_is_compared_with_its_name(
    tmp_path_factory: pytest.TempPathFactory, content: bytes | None, is_read: bool, code: str
) -> None:
    root = tmp_path_factory.mktemp("blobs")
    if content is not None:
        (root / NAME[:2]).mkdir()
        (root / NAME[:2] / NAME).write_bytes(content)
    fault = await fault_of(DiskBlobs(root, InlineWorker()), NAME, size=len(RIGHT), is_read=is_read)
    assert (fault.code if fault else "") == code
