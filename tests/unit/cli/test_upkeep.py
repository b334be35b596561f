"""choir watch, rebuild and gc."""

import json

from choiros.cli.client import Collected, RebuiltState
from tests.unit.cli.fake_client import FakeClient, changed, choir, event


def test_each_outside_edit_is_printed_until_ctrl_c() -> None:
    seen = (changed(event(8)), changed(event(9), warnings=["big.iso is not kept"]), KeyboardInterrupt())
    outcome = choir("watch", client=FakeClient(watch=seen))
    assert outcome.code == 130
    assert [line.split()[0] for line in outcome.out.splitlines()] == ["8", "9"]
    assert "Watching /no/such/workspace" in outcome.err
    assert "warning: big.iso is not kept" in outcome.err
    outcome = choir("watch", "--json", client=FakeClient(watch=seen))
    assert [json.loads(line)["seqs"] for line in outcome.out.splitlines()] == [[8], [9]]
    assert not outcome.err


def test_a_rebuild_tells_what_it_found() -> None:
    found = RebuiltState(1200, 1000, {"files": "ab"}, ["files"], 2, {"big.iso": "too large"})
    client = FakeClient(rebuild=found)
    outcome = choir("rebuild", "--full", client=client)
    assert outcome.out == (
        "Rebuilt up to event 1,200 from the snapshot at event 1000.\n"
        "What was there before was not what the log gives: files.\n"
        "2 files in the folders restored.\n"
    )
    assert client.called("rebuild") == [(True,)]
    same = RebuiltState(7, 0, {}, [], 0, {})
    assert "from the beginning" in choir("rebuild", client=FakeClient(rebuild=same)).out
    assert json.loads(choir("rebuild", "--json", client=FakeClient(rebuild=same)).out)["seq"] == 7


def test_a_collection_tells_what_it_removed_or_would() -> None:
    client = FakeClient(collect=Collected(2, 1_500_000, preview=False))
    assert choir("gc", client=client).out == "Removed 2 stored contents that no event names (1.5 MB).\n"
    client = FakeClient(collect=Collected(1, 1, preview=True))
    outcome = choir("gc", "--preview", client=client)
    assert outcome.out == "Would remove 1 stored content that no event names (1 byte).\n"
    assert client.called("collect") == [(True,)]
    assert json.loads(choir("gc", "--json", client=client).out)["contents"] == 1
