"""What every witness promises, as tests that an engine inherits: override the fixture."""

# ruff: noqa: D102 - a test's name is its sentence

from __future__ import annotations

import asyncio

import pytest

from choiros.kernel.errors import Conflict
from choiros.kernel.witness import Witness


def note(size: int, origin: str = "choiros/me/1", *, root: str = "A" * 43 + "=") -> str:
    """Return a note of a size, as far as a witness that only keeps must understand it."""
    return f"{origin}\n{size}\n{root}\n\n\u2014 {origin} AAAAAAAA\n"


def request(size: int, old: int = 0, *, origin: str = "choiros/me/1") -> str:
    """Return a request without a proof."""
    return f"old {old}\n\n{note(size, origin)}"


class WitnessContract:
    """The promises of `choiros.kernel.witness`, kept also by those who only keep."""

    @pytest.fixture
    def witness(self) -> Witness:
        """Return a witness that has seen nothing."""
        raise NotImplementedError

    def test_it_has_seen_nothing_in_the_beginning(self, witness: Witness) -> None:
        assert asyncio.run(witness.newest("choiros/me/1")) == ""
        assert witness.name

    def test_it_remembers_the_newest_of_each_log(self, witness: Witness) -> None:
        async def story() -> None:
            await witness.add(request(3))
            await witness.add(request(7, 3))
            await witness.add(request(5, origin="choiros/you/2"))
            assert (await witness.newest("choiros/me/1")).startswith(note(7))
            assert (await witness.newest("choiros/you/2")).startswith(note(5, "choiros/you/2"))
            assert await witness.newest("choiros/me/2") == ""

        asyncio.run(story())

    def test_it_may_be_shown_the_same_again(self, witness: Witness) -> None:
        async def story() -> None:
            await witness.add(request(3))
            await witness.add(request(3, 3))
            assert (await witness.newest("choiros/me/1")).startswith(note(3))

        asyncio.run(story())

    def test_it_never_goes_back_and_tells_where_it_is(self, witness: Witness) -> None:
        async def story() -> None:
            await witness.add(request(7))
            with pytest.raises(Conflict) as caught:
                await witness.add(request(3))
            assert caught.value.code == "witness.refused"
            assert caught.value.fields["size"] == 7
            assert caught.value.fix
            assert (await witness.newest("choiros/me/1")).startswith(note(7))

        asyncio.run(story())
