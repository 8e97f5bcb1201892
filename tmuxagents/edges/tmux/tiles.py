"""What comes and goes with the runs in the session of a layout: their own windows, and panes for them.

Below libtmux: each step looks and acts at once, and a pane is known by our tag alone.
"""

from __future__ import annotations

from tmuxagents.edges.tmux import runner, script, windows
from tmuxagents.edges.tmux.sessions import BUILT, EACH, ROOM

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from tmuxagents.edges.tmux.runner import Command, Runner

SHOWS = "@tmuxagents_shows"  # of a pane: the run that it came for
_NO_ROOM = "no space for"


class Tiles:
    """The session of one layout. Each call raises NoServer, Unanswered or Refused."""

    __slots__ = ("_runner", "_session")

    def __init__(self, of: Runner, session: str) -> None:
        self._runner = of
        self._session = script.an_id(session, "$")

    def is_built(self) -> bool:
        """Say whether a session is whole: before, nothing must come into it."""
        target = f"{self._session}:"
        return self._runner.ask(["show-options", "-qv", "-t", target, BUILT]) == ["1"]

    def wants_windows(self) -> bool:
        """Say whether a window is to come for each live run."""
        target = f"{self._session}:"
        return self._runner.ask(["show-options", "-qv", "-t", target, EACH]) == ["window"]

    def linked(self) -> set[str]:
        """Return the windows that a session has."""
        return set(self._runner.ask(["list-windows", "-t", self._session, "-F", "#{window_id}"]))

    def link(self, window: str, run_id: str) -> bool:
        """Put a run's own window into a session, too; say whether it was there, and the run's."""
        act = ["link-window", "-d", "-s", window, "-t", f"{self._session}:"]
        return windows.answers(self._runner, window, windows.tagged(window, run_id), [act])

    def panes(self) -> tuple[str | None, dict[str, str]]:
        """Return the window where a pane is to come for each live run, and the panes that have come.

        None: there is no such window now, or somebody has zoomed into it and is not to be disturbed.
        """
        here = ["-t", self._session]
        wanted = script.both(script.equal(f"#{{{EACH}}}", "pane"), "#{?window_zoomed_flag,0,1}")
        rows = self._runner.ask(["list-windows", *here, "-f", wanted, "-F", "#{window_id}"])
        row = f"#{{pane_id}} #{{{SHOWS}}}"
        panes = self._runner.ask(["list-panes", "-s", *here, "-f", f"#{{{SHOWS}}}", "-F", row])
        shown = {run_id: pane for pane, _, run_id in (line.partition(" ") for line in panes)}
        return (rows[0] if rows else None), shown

    def wants_panes(self) -> bool:
        """Say whether a pane is to come for each live run."""
        here = ["-t", self._session, "-f", script.equal(f"#{{{EACH}}}", "pane")]
        return bool(self._runner.ask(["list-windows", *here, "-F", "#{window_id}"]))

    def add(self, window: str, run_id: str, argv: Sequence[str], folder: str) -> bool:
        """Add a pane for a run; say whether there was room for it."""
        split = ["split-window", "-d", "-t", window, "-P", "-F", "#{pane_id}"]
        room: Command = ["select-layout", "-t", script.an_id(window, "@"), ROOM]
        answer = self._runner.run(room, [*split, *argv], folder=folder)
        if answer.code != 0 or not answer.lines:
            if _NO_ROOM in answer.error:
                return False
            raise runner.refusal(answer, "window")
        pane = script.an_id(answer.lines[0], "%")
        self._runner.ask(["set-option", "-p", "-t", pane, SHOWS, script.a_run(run_id)], room)
        return True

    def remove(self, pane: str, run_id: str) -> None:
        """Close the pane that came for a run, if it is still that."""
        is_it = script.both(
            script.equal("#{pane_id}", script.an_id(pane, "%")),
            script.equal(f"#{{{SHOWS}}}", script.a_run(run_id)),
        )
        self._runner.ask(script.when(pane, is_it, [["kill-pane", "-t", pane]]))

    def arrange(self, window: str) -> None:
        """Give the panes of a window the same room, now that some have gone."""
        self._runner.ask(["select-layout", "-t", script.an_id(window, "@"), ROOM])
