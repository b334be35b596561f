"""Where lines come from, against a slow model that tags every line and carries the tags along itself."""

from hypothesis import given
from hypothesis import strategies as st

from choiros.features.files.blame import attribute

Tagged = list[tuple[str, int]]


@st.composite
def histories(draw: st.DrawFn) -> list[Tagged | None]:
    """Draw versions in which every new line differs from all others, so that its origin cannot be argued."""
    lines: Tagged = []
    versions: list[Tagged | None] = []
    for seq in range(1, draw(st.integers(1, 8)) + 1):
        if draw(st.integers(0, 9)) == 0:
            lines = []
            versions.append(None)
            continue
        lines = list(lines)
        for number in range(draw(st.integers(0, 3))):
            start = draw(st.integers(0, len(lines)))
            end = draw(st.integers(start, min(len(lines), start + 3)))
            fresh = [(f"{seq}.{number}.{part}", seq) for part in range(draw(st.integers(0, 3)))]
            lines[start:end] = fresh
        versions.append(lines)
    return versions


def content(version: Tagged | None) -> bytes | None:
    return None if version is None else "".join(text + "\n" for text, _ in version).encode()


@given(histories())
def test_every_line_belongs_to_the_version_that_brought_it(versions: list[Tagged | None]) -> None:
    found = attribute([(seq, content(version)) for seq, version in enumerate(versions, 1)])
    assert [(line.text, line.seq) for line in found] == (versions[-1] or [])
    assert [line.number for line in found] == list(range(1, len(found) + 1))


repetitive = st.lists(
    st.one_of(st.none(), st.lists(st.sampled_from([b"a\n", b"b\n", b"\n"]), max_size=6)), max_size=6
)


@given(repetitive)
def test_no_line_belongs_to_a_version_that_did_not_have_it(versions: list[list[bytes] | None]) -> None:
    fed = [(seq, None if lines is None else b"".join(lines)) for seq, lines in enumerate(versions, 1)]
    for line in attribute(fed):
        since = [lines for seq, lines in enumerate(versions, 1) if seq >= line.seq]
        assert all(lines is not None and line.text.encode() + b"\n" in lines for lines in since)
