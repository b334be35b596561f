"""What is shown before it is done: a preview, then a person's yes, then exactly that and nothing else."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from msgspec import Struct

from choiros.cli.arguments import Parser
from choiros.cli.call import Call
from choiros.cli.client import Asked, Changed, Client
from choiros.cli.exits import DONE, FAILED
from choiros.cli.show import Screen
from choiros.kernel.errors import ChoirError, Conflict, Rejected

Preview = TypeVar("Preview", bound=Struct)


class Plan(Generic[Preview]):
    """Something that is shown before it is done."""

    def __init__(
        self,
        *,
        preview: Callable[[Client], Awaitable[Preview]],
        show: Callable[[Screen, Preview], None],
        act: Callable[[Client], Awaitable[Changed | Asked]],
        question: str,
        obstacle: Callable[[Preview], ChoirError | None] = lambda _: None,
    ) -> None:
        self.preview = preview
        self.show = show
        self.act = act
        self.question = question
        self.obstacle = obstacle


def declare_confirmation(parser: Parser) -> None:
    """Declare --preview and --yes."""
    parser.add_argument("--preview", action="store_true", help="show what would happen, and change nothing")
    parser.add_argument("--yes", action="store_true", help="do it without asking")


async def carry_out(call: Call, plan: Plan[Preview]) -> int:
    """Preview, ask, do; return the exit code. Without a terminal nothing is done unless --yes was said."""
    accepted = call.arguments.flag("yes") and not call.arguments.flag("preview")
    async with call.client(write=True) as client:
        preview = await plan.preview(client)
        answer = await plan.act(client) if accepted else None
    if answer is not None:
        return await call.settle(answer)
    if call.arguments.flag("preview"):
        _show(call.screen, plan, preview=preview)
        return DONE
    if not call.screen.asks:
        return _unconfirmed(call.screen, plan, preview=preview)
    plan.show(call.screen, preview)
    blocked = plan.obstacle(preview)
    if blocked is not None:
        raise blocked
    if call.screen.ask(f"{plan.question} [y/N]") not in {"y", "yes"}:
        call.screen.line("Nothing was changed.")
        return FAILED
    return await call.settle(await _exactly(call, plan, seen=preview))


async def _exactly(call: Call, plan: Plan[Preview], *, seen: Preview) -> Changed | Asked:
    """Do it if it is still what the person saw: others were free to work while the question stood there."""
    async with call.client(write=True) as client:
        if await plan.preview(client) != seen:
            raise Conflict(
                "confirm.changed",
                "Something changed while the question stood there; nothing was done.",
                fix="Give the command again, and look at the new preview.",
            )
        return await plan.act(client)


def _show(screen: Screen, plan: Plan[Preview], *, preview: Preview) -> None:
    if screen.json:
        screen.data(preview)
    else:
        plan.show(screen, preview)


def _unconfirmed(screen: Screen, plan: Plan[Preview], *, preview: Preview) -> int:
    """Show the preview and refuse: nobody is there who could say yes."""
    refusal = Rejected(
        "confirm.needed",
        "Nothing was changed: this needs a yes, and there is no terminal to ask on.",
        fix="Add --yes to do it, or --preview to look only.",
    )
    if not screen.json:
        plan.show(screen, preview)
    screen.trouble(refusal, FAILED, extra={"preview": preview})
    return FAILED
