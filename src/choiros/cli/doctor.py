"""choir doctor: look at everything that is kept, name what is wrong with its fix, mend what can be mended."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from msgspec.structs import replace

from choiros.cli.arguments import Parser
from choiros.cli.call import Call, flags_of
from choiros.cli.exits import DONE, FAILED
from choiros.cli.show import Colour, Paint, Screen, amount_of
from choiros.cli.verb import Verb
from choiros.kernel.errors import Rejected

if TYPE_CHECKING:
    from choiros.wiring.doctor import Checkup, Finding

AreaProgress = Callable[[str, int, int], None]
"""Is told now and then which area is looked at, how much of it is done, and of how much."""


class Doctor(Protocol):
    """Looks at one person's computer without opening it as every other verb does, which would mend some of it."""

    async def examine(self, *, deep: bool, progress: AreaProgress) -> Checkup:
        """Return everything that was looked at and found; whatever it meets becomes a finding."""
        ...

    async def mend(self, seen: Checkup) -> list[str]:
        """Mend what can be mended of what was found, and return in sentences what was and what was not done."""
        ...


COLOURS: dict[str, Colour] = {
    "ok": "green",
    "note": "cyan",
    "warning": "yellow",
    "broken": "red",
    "skipped": "dim",
}
SHOWN_MAX = 8
"""So many findings of one kind are shown one by one; --json tells all of them."""

STEP = 500
"""After so many of anything a person is told how far it is."""


def _declare(parser: Parser) -> None:
    parser.add_argument("--deep", action="store_true", help="read every content and every file, not a sample")
    parser.add_argument("--fix", action="store_true", help="mend what can be made again from the log")
    parser.add_argument("--yes", action="store_true", help="mend without asking")


async def _doctor(call: Call) -> int:
    doctor, deep = _made(call), call.arguments.flag("deep")
    progress, done = _progress(call)
    seen = await doctor.examine(deep=deep, progress=progress)
    done()
    if not call.arguments.flag("fix") or not any(one.mends for one in seen.findings):
        _show(call.screen, seen)
        if call.arguments.flag("fix") and not call.screen.json:
            call.screen.line("There is nothing here that --fix could mend.")
        return DONE if seen.is_sound else FAILED
    if not _may_mend(call, seen):
        return FAILED
    mended = await doctor.mend(seen)
    after = await doctor.examine(deep=deep, progress=progress)
    done()
    left = replace(after, mended=mended)
    _show(call.screen, left)
    return DONE if left.is_sound else FAILED


def _made(call: Call) -> Doctor:
    """Return who looks: not the client of the other verbs, which mends some things by being opened."""
    from choiros.cli.direct.doctor import DirectDoctor

    return DirectDoctor(flags_of(call.arguments))


def _may_mend(call: Call, seen: Checkup) -> bool:
    """Say what would be done, and ask; without a terminal nothing is done unless --yes was said."""
    from choiros.wiring.doctor import MENDS, plan

    screen, accepted = call.screen, call.arguments.flag("yes")
    if not accepted and not screen.asks:
        refusal = Rejected(
            "confirm.needed",
            "Nothing was changed: this needs a yes, and there is no terminal to ask on.",
            fix="Add --yes to do it, or leave --fix out to look only.",
        )
        if not screen.json:
            _show(screen, seen)
        screen.trouble(refusal, FAILED, extra={"checkup": seen})
        return False
    if not screen.json:
        _show(screen, seen)
        screen.line("To be done:")
        for mend, findings in plan(seen.findings).items():
            screen.line(f"  {MENDS[mend]} ({amount_of(len(findings), 'finding')})")
    if accepted or screen.ask("Do it? [y/N]") in {"y", "yes"}:
        return True
    screen.line("Nothing was changed.")
    return False


def _progress(call: Call) -> tuple[AreaProgress, Callable[[], None]]:
    """Return what tells a person at a terminal how far it is, and what takes that away again."""
    if call.screen.json or not sys.stderr.isatty():
        return _silent, lambda: None

    def tell(area: str, done: int, total: int) -> None:  # noqa: PLR0917 - the port calls it by position
        if total > STEP and (done % STEP == 0 or done >= total):
            sys.stderr.write(f"\r\x1b[K{area}: {done:,} of {total:,}")
            sys.stderr.flush()

    def end() -> None:
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()

    return tell, end


def _silent(area: str, done: int, total: int) -> None:  # noqa: PLR0917 - called by position
    """Say nothing."""


def _show(screen: Screen, seen: Checkup) -> None:
    if screen.json:
        screen.data(seen)
        return
    for sentence in seen.mended:
        screen.line(sentence)
    for area in seen.areas:
        screen.row(Paint(f"{area.state:<8}", COLOURS[area.state]), f"{area.name:<12} {area.summary}")
        _show_findings(screen, [one for one in seen.findings if one.area == area.name])
    _show_findings(screen, _outside(seen))
    _show_end(screen, seen)


def _outside(seen: Checkup) -> list[Finding]:
    """Return what was found without an area of its own."""
    names = {area.name for area in seen.areas}
    return [one for one in seen.findings if one.area not in names]


def _show_findings(screen: Screen, findings: list[Finding]) -> None:
    shown: Counter[str] = Counter()
    for one in findings:
        shown[one.code] += 1
        if shown[one.code] > SHOWN_MAX:
            continue
        screen.line("  ", Paint(f"{one.severity}: ", COLOURS[one.severity]), one.what)
        if one.where:
            screen.line(Paint("    where: ", "dim"), one.where)
        screen.line(Paint("    fix:   ", "dim"), one.fix)
        screen.line(Paint("    code:  ", "dim"), one.code)
    for code, count in shown.items():
        if count > SHOWN_MAX:
            screen.line(f"  and {count - SHOWN_MAX:,} more of {code}; --json tells all of them")


def _show_end(screen: Screen, seen: Checkup) -> None:
    counts = Counter(one.severity for one in seen.findings)
    words = [f"{counts['broken']:,} broken"] if counts["broken"] else []
    words += [amount_of(counts[one], one) for one in ("warning", "note") if counts[one]]
    if not words:
        screen.line(Paint("Everything is as it should be.", "green"))
        return
    screen.line(f"Found: {', '.join(words)}.")
    if any(one.mends for one in seen.findings):
        screen.line("'choir doctor --fix' mends some of it, after it has said what it will do.")


VERBS = {
    "doctor": Verb(
        "Look at everything that is kept, name whatever is wrong with its place and its fix, and mend what can "
        "be made again from the log.",
        ("choir doctor", "choir doctor --deep --fix"),
        _doctor,
        _declare,
    )
}
