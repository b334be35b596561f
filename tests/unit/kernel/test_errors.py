"""Errors carry what a person, a program and a model need to go on."""

import pytest

from choiros.kernel.errors import ChoirError, Conflict, Corrupt, Rejected, Unavailable


@pytest.mark.parametrize("kind", [Rejected, Conflict, Unavailable, Corrupt])
def test_an_error_tells_what_happened_and_what_to_do(kind: type[ChoirError]) -> None:
    error = kind("log.stale", "The log is at event 3.", fix="Read again.", seq=3, names=["a", "b"])
    assert str(error) == error.message == "The log is at event 3."
    assert error.as_dict() == {
        "kind": kind.__name__.lower(),
        "code": "log.stale",
        "message": "The log is at event 3.",
        "fix": "Read again.",
        "fields": {"seq": 3, "names": ["a", "b"]},
    }


def test_what_leaves_the_program_is_a_copy() -> None:
    error = Rejected("a.b", "No.", fix="Yes.", seq=1)
    told = error.as_dict()["fields"]
    assert isinstance(told, dict)
    told["seq"] = 2
    assert error.fields == {"seq": 1}


def test_no_kind_of_error_is_taken_for_another() -> None:
    kinds = [Rejected, Conflict, Unavailable, Corrupt]
    assert all(not issubclass(one, other) for one in kinds for other in kinds if one is not other)
