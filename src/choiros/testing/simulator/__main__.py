"""Plays seeds and says what happened: `python -m choiros.testing.simulator --seed 7 --trace`."""

# ruff: noqa: T201 - it prints

from __future__ import annotations

import argparse
import sys
import traceback
from collections import Counter
from time import process_time

from choiros.testing.simulator.chance import Chance
from choiros.testing.simulator.controls import CONTROLS
from choiros.testing.simulator.log_states import check, record, states
from choiros.testing.simulator.simulation import Story, simulate


def main(words: list[str]) -> int:
    """Play what the command line asks for; return 1 when something that was promised does not hold."""
    wanted = _parser().parse_args(words)
    if wanted.states:
        return _log_states(wanted.states)
    first, _, last = str(wanted.seeds or wanted.seed).partition("..")
    plant = next((one for one in CONTROLS if one.__name__ == wanted.plant), None)
    counts, broken, begin = Counter[str](), 0, process_time()
    seeds = range(int(first), int(last or first) + 1)
    for seed in seeds:
        story = simulate(seed, trace=wanted.trace, prepare=plant)
        _tell(story)
        counts.update(story.counts)
        broken += bool(story.broken)
    seconds = process_time() - begin
    for name, count in sorted(counts.items()):
        print(f"{count:9} {name}")
    print(
        f"{len(seeds)} seeds, {broken} broken, {len(seeds) / seconds:.1f} seeds per second of the processor"
    )
    return 1 if broken else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m choiros.testing.simulator", description=__doc__)
    parser.add_argument("--seed", default="0", help="play this seed")
    parser.add_argument("--seeds", help="play these seeds, such as 1..100")
    parser.add_argument(
        "--trace", action="store_true", help="print every operation of the disk and every event"
    )
    parser.add_argument("--plant", choices=[one.__name__ for one in CONTROLS], help="plant a fault first")
    parser.add_argument("--states", type=int, help="open so many states of the log alone instead")
    return parser


def _tell(story: Story) -> None:
    for line in story.trace:
        print(line)
    if story.broken:
        print(f"seed {story.seed}: {story.broken}")
        if story.cause is not None and story.trace:
            traceback.print_exception(story.cause, file=sys.stdout)


def _log_states(wanted: int) -> int:
    count, seed, begin = 0, 0, process_time()
    while count < wanted:
        session = record(seed)
        count += check(session, states(session, Chance(seed, "states"), per_point=100))
        seed += 1
    seconds = process_time() - begin
    print(f"{count} states of {seed} sessions, {count / seconds:.0f} per second of the processor")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
