"""run --attach: the child's own window on this terminal, and the call's view once the person is back."""

from __future__ import annotations

import select
import time

from tmuxagents.cli import attaching, words
from tmuxagents.cli.live import Silence
from tmuxagents.commands.inspect import inspect
from tmuxagents.edges import foreground
from tmuxagents.errors import TmuxAgentsError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Self

    from tmuxagents.cli.interrupts import Interrupts
    from tmuxagents.commands.attach import Stand
    from tmuxagents.commands.call import Call

_LOOK_S = 0.2  # whether the person has come back


class Attached(Silence):
    """Shows the first child's window as soon as it is there. `after`: what is seen of the call otherwise."""

    def __init__(self, call: Call, who: Stand, interrupts: Interrupts, after: Silence) -> None:
        self._first = call.tasks[0]
        self._who: Stand | None = who
        self._interrupts = interrupts
        self._after = after
        self._client: foreground.Lent | None = None

    def __enter__(self) -> Self:
        self._after.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        """Wait for the person to come back: they may want to read. Who cancels the call wants its end."""
        while self._client is not None and not self._client.is_over:
            select.select([self._interrupts.handle], [], [], _LOOK_S)
            if self._interrupts.came():
                self._client.end()
        self._after.__exit__()

    def tell(self) -> float:
        """Show the window once it is there; until then, and while it has the terminal, write nothing."""
        if self._who is not None and self._first.is_there:
            who, self._who = self._who, None
            self._show(who)
        shows = self._client is not None and not self._client.is_over
        return time.monotonic() + _LOOK_S if shows or self._who is not None else self._after.tell()

    def _show(self, who: Stand) -> None:
        try:
            who.warnings = [warning for warning in who.warnings if warning not in self._first.warnings]
            argv = attaching.way_to(inspect(self._first.run_dir), who)
            self._client = foreground.Lent(argv, attaching.outside()) if argv else None
        except (TmuxAgentsError, OSError) as error:  # the children work all the same
            words.warn([f"not attached: {error}"])
