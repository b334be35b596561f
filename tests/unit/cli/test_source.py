"""Where new content comes from."""

import asyncio
import os
import threading
from pathlib import Path

import pytest

from choiros.cli.show import Screen
from choiros.cli.source import Source, opened_source
from choiros.kernel.errors import Rejected
from tests.unit.cli.fake_client import Stream


def screen(keys: Stream | None) -> tuple[Screen, Stream]:
    err = Stream()
    return Screen(Stream(), err, keys=keys), err


def content(source: Source) -> bytes:
    async def read() -> bytes:
        return b"".join([chunk async for chunk in source.chunks()])

    return asyncio.run(read())


def test_standard_input_is_read_to_its_end() -> None:
    for name in (None, "-"):
        with opened_source(name, screen(Stream(b"abc"))[0]) as source:
            assert content(source) == b"abc"
            assert content(source) == b"abc"


def test_on_a_terminal_it_says_how_to_end() -> None:
    known, err = screen(Stream(b"abc\n", terminal=True))
    with opened_source(None, known):
        assert "Ctrl-D" in err.all()


def test_without_standard_input_the_way_out_is_named() -> None:
    with pytest.raises(Rejected, match="no standard input") as refused, opened_source(None, screen(None)[0]):
        pass
    assert "--from" in refused.value.fix


def test_a_pipe_is_read_to_its_end_first(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(b"x" * 100_000))
    writer.start()
    with opened_source(str(pipe), screen(None)[0]) as source:
        writer.join()
        assert content(source) == b"x" * 100_000


def test_a_directory_is_no_source(tmp_path: Path) -> None:
    with pytest.raises(Rejected) as refused, opened_source(str(tmp_path), screen(None)[0]):
        pass
    assert refused.value.code == "write.no_source"
