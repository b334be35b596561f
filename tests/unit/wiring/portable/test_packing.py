"""What an export holds, and that nothing damaged is ever packed."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from choiros import __version__
from choiros.features.checkpoints.commands import MakeCheckpoint, PushCheckpoint
from choiros.kernel.errors import Corrupt
from choiros.kernel.event import open_records
from choiros.wiring.portable import records as packing_records
from choiros.wiring.portable.records import unpack
from tests.carrying import START, exported, furnished, manifest_of, opened, packed, records_of, state
from tests.places import Hand

pytestmark = pytest.mark.anyio


async def test_it_holds_every_event_as_it_is_stored_and_every_content_that_one_names(tmp_path: Path) -> None:
    """C-81."""
    await furnished(tmp_path)
    parts, stored = await packed(tmp_path), await records_of(tmp_path)
    manifest = manifest_of(parts)
    inside = [record for name, content in parts if name.startswith("log/") for record in unpack(content)]
    assert inside == stored
    blobs = {path.name: path.read_bytes() for path in tmp_path.glob("users/me/.choir/blobs/??/*")}
    assert {name.rpartition("/")[2]: one for name, one in parts if name.startswith("contents/")} == blobs
    assert (manifest.seq, manifest.hash) == (stored[-1].seq, stored[-1].hash.hex())
    assert manifest.contents.count == len(blobs)
    assert (manifest.user, manifest.product) == ("me", __version__)
    _, digests = await state(tmp_path)
    assert {name: one.digest for name, one in manifest.views.items()} == digests


async def test_it_holds_no_settings_no_keys_and_nothing_that_can_be_made_again(tmp_path: Path) -> None:
    """C-81."""
    await furnished(tmp_path)
    (tmp_path / "choiros.toml").write_text("lock_timeout_s = 9\n")
    (tmp_path / "users/me/.choir/keys").mkdir()
    (tmp_path / "users/me/.choir/keys/sign").write_bytes(b"SECRET-KEY")
    names = [name.partition("/")[0] for name, _ in await packed(tmp_path)]
    assert set(names) == {"manifest.json", "log", "contents"}
    assert not any(b"SECRET-KEY" in content for _, content in await packed(tmp_path))


async def test_a_long_log_becomes_several_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    await furnished(tmp_path)
    monkeypatch.setattr("choiros.wiring.portable.packing.PACKED_BYTES", 2000)
    monkeypatch.setattr("choiros.wiring.portable.packing.READ", 2)
    parts = await packed(tmp_path)
    told = manifest_of(parts).log
    assert len(told) > 3
    assert [one.first for one in told] == [1, *(one.last + 1 for one in told[:-1])]
    inside = [record for name, content in parts if name.startswith("log/") for record in unpack(content)]
    assert [head.seq for head in open_records(inside, START)] == list(range(1, len(inside) + 1))
    assert packing_records.PACKED_BYTES == 4 << 20


async def test_the_same_state_gives_the_same_bytes(tmp_path: Path) -> None:
    await furnished(tmp_path / "home")
    one = await exported(tmp_path / "home", tmp_path / "one.tar")
    two = await exported(tmp_path / "home", tmp_path / "two.tar")
    assert one.written == two.written


async def test_what_an_open_request_names_is_carried_along_if_it_is_there(tmp_path: Path) -> None:
    computer = await opened(tmp_path)
    me = Hand(computer)
    await me.write("a", b"one")
    await me.do(MakeCheckpoint("main", "here"))
    kept, absent = await computer.parts.blobs.put(b"asked for"), "ab" * 32
    await computer.parts.blobs.flush()
    await computer.kernel.handle(PushCheckpoint("main", f"/srv/{kept}/{absent}"), computer.context())
    await computer.close()
    names = [name for name, _ in await packed(tmp_path)]
    assert f"contents/{kept[:2]}/{kept}" in names
    assert not any(absent in name for name in names)


async def test_a_damaged_event_is_not_packed(tmp_path: Path) -> None:
    await furnished(tmp_path / "home")
    computer = await opened(tmp_path / "home")
    with apsw.Connection(str(tmp_path / "home/users/me/.choir/log.db")) as db:
        db.execute("UPDATE events SET payload = CAST(payload || ' ' AS BLOB) WHERE seq = 4")
    await computer.close()
    with pytest.raises(Corrupt, match="at event 4"):
        await exported(tmp_path / "home", tmp_path / "me.tar")
    assert [path.name for path in tmp_path.iterdir()] == ["home"]


@pytest.mark.parametrize("harm", ["missing", "damaged"])
async def test_a_content_that_is_not_there_or_not_right_is_not_packed(tmp_path: Path, harm: str) -> None:
    await furnished(tmp_path / "home")
    blob = next(iter(tmp_path.glob("home/users/me/.choir/blobs/??/*")))
    blob.unlink() if harm == "missing" else blob.write_bytes(b"x" * blob.stat().st_size)
    with pytest.raises(Corrupt, match=blob.name) as caught:
        await exported(tmp_path / "home", tmp_path / "me.tar")
    assert caught.value.code == f"blob.{harm}"
    assert [path.name for path in tmp_path.iterdir()] == ["home"]
