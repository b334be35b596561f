"""Every error is one that a person can do something about."""

import errno

import pytest

from choiros.cli.errors import explained
from choiros.kernel.errors import Rejected


def test_what_we_foresaw_stays_as_it_is() -> None:
    error = Rejected("a.b", "No.", fix="Do.")
    assert explained(error) is error


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EACCES, errno.EROFS, errno.EIO, errno.ENOTDIR])
def test_a_refusal_of_the_system_has_a_name_and_a_fix(number: int) -> None:
    error = explained(OSError(number, "Refused", "/some/place"))
    assert error.code == f"system.{errno.errorcode[number].lower()}"
    assert "/some/place" in error.message
    assert error.fix.endswith(".")


def test_too_little_memory_is_no_bug_of_ours() -> None:
    error = explained(MemoryError())
    assert error.code == "system.enomem"
    assert "ulimit" in error.fix


def test_anything_else_is_a_bug_of_ours() -> None:
    error = explained(KeyError("x"))
    assert error.code == "internal.bug"
    assert "KeyError" in error.message
    assert "--debug" in error.fix
    assert explained(ValueError()).message.endswith("ValueError.")
