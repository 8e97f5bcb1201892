"""A question asked with tmux's own tree of windows, in a pane: which of these runs is meant. Touches: tmux.

The chosen window gets a mark, which `answer` reads. tmux itself does not show it: that would move the view of
each client of the same session.
"""

from __future__ import annotations

import os

from tmuxagents.tmux import opening, script

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from tmuxagents.tmux.library import BoundedServer

CHOSEN = "@tmuxagents_chosen"
_MODE = "tree-mode"


class Choosing:
    """One question. Each call raises NoServer or Unanswered where tmux gives no answer."""

    __slots__ = ("_pane", "_server", "_token")

    def __init__(self, of: BoundedServer) -> None:
        self._server = of
        self._pane = ""
        self._token = os.urandom(6).hex()

    def ask(self, pane: str, windows: Iterable[str]) -> None:
        """Show in a pane the tree with these windows and no others."""
        self._pane = script.an_id(pane, "%")
        ids = "|".join(script.an_id(window, "@") for window in windows)
        # `%%%` is where tmux puts the target, quoted for use between double quotes.
        mark = f'set-option -w -t "%%%" {CHOSEN} {self._token}'
        only = f"#{{m/r:^({ids})$,#{{window_id}}}}"
        self._server.pane(pane).cmd("choose-tree", "-Z", "-w", "-f", only, mark)

    def answer(self) -> tuple[bool, str | None]:
        """Say whether the person has chosen or left, and return the run that was chosen."""
        is_it = script.equal(f"#{{{CHOSEN}}}", self._token)
        rows = self._server.ask(
            ["display-message", "-p", "-t", self._pane, "mode #{pane_id} #{pane_mode}"],
            ["list-windows", "-a", "-f", is_it, "-F", f"chosen #{{window_id}} #{{{opening.RUN}}}"],
        )
        chosen = [row.split(" ")[1:] for row in rows if row.startswith("chosen ")]
        if chosen:
            window, run_id = chosen[0]
            self._server.window(window).unset_option(CHOSEN)
            return True, run_id
        return f"mode {self._pane} {_MODE}" not in rows, None
