"""Every keeper of keys keeps the promises of the port; keys in files are their owner's alone."""

import stat
import subprocess
from pathlib import Path

import pytest

from choiros.engines.signer.file import FileSigner
from choiros.engines.signer.memory import MemorySigner
from choiros.kernel.errors import Corrupt, Unavailable
from choiros.kernel.signer import Signer
from choiros.testing.signer_contract import SignerContract


class TestMemorySigner(SignerContract):
    @pytest.fixture
    def signer(self) -> MemorySigner:
        return MemorySigner()

    def again(self, signer: Signer) -> Signer:
        return signer


class TestFileSigner(SignerContract):
    @pytest.fixture
    def signer(self, tmp_path: Path) -> FileSigner:
        return FileSigner(tmp_path / "deep" / "keys")

    def again(self, signer: Signer) -> Signer:
        assert isinstance(signer, FileSigner)
        return FileSigner(signer._directory)


def test_a_seed_gives_the_same_keys_again_and_another_one_others() -> None:
    assert MemorySigner(b"a").create() == MemorySigner(b"a").create() != MemorySigner(b"b").create()


def test_looking_makes_nothing(tmp_path: Path) -> None:
    signer = FileSigner(tmp_path / "keys")
    assert (signer.publics(), signer.remembered("me")) == ([], "")
    assert not (tmp_path / "keys").exists()


def test_nobody_else_can_read_the_keys(tmp_path: Path) -> None:
    signer = FileSigner(tmp_path / "keys")
    signer.create()
    signer.remember("me", "text")
    assert stat.S_IMODE((tmp_path / "keys").stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "keys").iterdir()} == {0o600}


def test_a_key_is_a_file_that_openssl_reads(tmp_path: Path) -> None:
    signer = FileSigner(tmp_path)
    public = signer.create()
    (path,) = tmp_path.glob("*.key")
    command = ["openssl", "pkey", "-in", str(path), "-pubout", "-outform", "DER"]
    done = subprocess.run(command, capture_output=True, check=False)
    assert done.stdout.endswith(public), done.stderr


@pytest.mark.parametrize(
    "content", [b"", b"no key", b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"]
)
def test_a_damaged_key_is_named_and_never_passed_over(tmp_path: Path, content: bytes) -> None:
    signer = FileSigner(tmp_path)
    signer.create()
    (path,) = tmp_path.glob("*.key")
    path.write_bytes(content)
    with pytest.raises(Corrupt) as caught:
        signer.publics()
    assert caught.value.code == "signer.damaged"
    assert path.name in caught.value.message


def test_a_damaged_memory_is_named_and_never_taken_for_none(tmp_path: Path) -> None:
    signer = FileSigner(tmp_path)
    signer.remember("me", "what was signed last")
    path = tmp_path / "me.last"
    for place in range(len(path.read_bytes())):
        raw = bytearray(path.read_bytes())
        raw[place] ^= 1
        path.write_bytes(raw)
        with pytest.raises(Corrupt, match=r"me\.last"):
            signer.remembered("me")
        raw[place] ^= 1
        path.write_bytes(raw)
    path.write_bytes(b"")
    with pytest.raises(Corrupt):
        signer.remembered("me")


def test_a_directory_that_cannot_be_written_is_told_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "keys").write_text("a file")
    for act in (
        FileSigner(tmp_path / "keys").create,
        lambda: FileSigner(tmp_path / "keys").remember("me", "text"),
    ):
        with pytest.raises(Unavailable) as caught:
            act()
        assert caught.value.code == "signer.unavailable"


def test_what_stood_in_the_way_of_a_crash_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / ".me.last.new").write_text("half")
    FileSigner(tmp_path).remember("me", "whole")
    assert FileSigner(tmp_path).remembered("me") == "whole"
