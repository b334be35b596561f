"""The forms of an address, and that a secret in one is neither taken nor repeated."""

import pytest

from choiros.kernel.address import bad_address, check_address, is_local
from choiros.kernel.errors import Rejected

PASSWORD = "s3c" + "ret"


@pytest.mark.parametrize("url", ["https://example.org/a.git", "ssh://git@[::1]:22/a", "/srv/my place.git"])
def test_a_plain_address_is_taken_as_it_is(url: str) -> None:
    assert check_address(url) == url
    assert is_local(url) == url.startswith("/")


def test_a_local_address_is_taken_as_its_path() -> None:
    assert check_address("file:///srv/a.git") == "/srv/a.git"


@pytest.mark.parametrize("url", ["", "a.git", "../a.git", "git@example.org:a.git", "ext::true", "http://a/b"])
def test_any_other_form_is_refused(url: str) -> None:
    with pytest.raises(Rejected) as refused:
        check_address(url)
    assert refused.value.code == bad_address("", "").code == "repository.bad_url"


@pytest.mark.parametrize(
    "url",
    [
        f"https://ada:{PASSWORD}@example.org/a",
        f"https://{PASSWORD}@example.org/a",
        f"http://ada:{PASSWORD}@example.org/a",
        f"ssh://ada:{PASSWORD}@example.org/a",
    ],
)
def test_a_secret_in_an_address_is_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(Rejected, match="holds a name or a secret") as refused:
        check_address(url)
    assert PASSWORD not in f"{refused.value.as_dict()}"
