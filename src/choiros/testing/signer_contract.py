"""What every keeper of keys promises, as tests that an engine inherits: override the fixtures."""

# ruff: noqa: D102 - a test's name is its sentence

from __future__ import annotations

import pytest

from choiros.kernel.errors import Unavailable
from choiros.kernel.signer import Signer

MESSAGE = b"the log is this"

# RFC 8032, section 7.1, the second test: a key, a message, and the signature that everybody must believe.
PUBLIC = bytes.fromhex("3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c")
SIGNATURE = bytes.fromhex(
    "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
    "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"
)


class SignerContract:
    """The promises of `choiros.kernel.signer`."""

    @pytest.fixture
    def signer(self) -> Signer:
        """Return a keeper without keys."""
        raise NotImplementedError

    def again(self, signer: Signer) -> Signer:
        """Return the keeper as another process finds it."""
        raise NotImplementedError

    def test_keys_are_kept_in_the_order_in_which_they_were_made(self, signer: Signer) -> None:
        assert signer.publics() == []
        made = [signer.create() for _ in range(12)]
        assert len(set(made)) == len(made)
        assert {len(key) for key in made} == {32}
        assert signer.publics() == made
        assert self.again(signer).publics() == made

    def test_a_signature_belongs_to_its_key_and_its_message(self, signer: Signer) -> None:
        one, other = signer.create(), signer.create()
        signature = signer.sign(one, MESSAGE)
        assert signature == self.again(signer).sign(one, MESSAGE)
        assert signer.verify(one, MESSAGE, signature=signature)
        assert not signer.verify(other, MESSAGE, signature=signature)
        assert not signer.verify(one, MESSAGE + b".", signature=signature)
        for place in (0, 31, 32, 63):
            wrong = bytearray(signature)
            wrong[place] ^= 1
            assert not signer.verify(one, MESSAGE, signature=bytes(wrong))

    def test_what_others_signed_by_the_standard_is_believed(self, signer: Signer) -> None:
        assert signer.verify(PUBLIC, b"\x72", signature=SIGNATURE)
        assert not signer.verify(PUBLIC, b"\x73", signature=SIGNATURE)

    @pytest.mark.parametrize("public", [b"", b"short", bytes(33), b"\xff" * 32])
    @pytest.mark.parametrize("signature", [b"", b"short", bytes(64), bytes(65)])
    def test_what_is_no_key_or_no_signature_is_not_believed(
        self, signer: Signer, public: bytes, *, signature: bytes
    ) -> None:
        assert not signer.verify(public, MESSAGE, signature=signature)

    def test_nobody_signs_with_a_key_that_is_not_here(self, signer: Signer) -> None:
        signer.create()
        with pytest.raises(Unavailable) as caught:
            signer.sign(PUBLIC, MESSAGE)
        assert caught.value.code == "signer.no_key"
        assert caught.value.fix

    def test_the_newest_text_of_each_name_is_remembered(self, signer: Signer) -> None:
        assert signer.remembered("me") == ""
        signer.remember("me", "one")
        signer.remember("you", "two \u2014 and more\n")
        signer.remember("me", "three")
        for keeper in (signer, self.again(signer)):
            assert (keeper.remembered("me"), keeper.remembered("you")) == ("three", "two \u2014 and more\n")
        assert signer.publics() == []
