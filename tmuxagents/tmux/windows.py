"""A run's window, once it is open: found, marked, closed, and only where its tag says that it is the run's.

`find`, `end_of` and `close_ended` go through libtmux. What a launch, the watcher and a wrapper ask goes
straight to the runner: see docs/architecture.md.

Touches: tmux.
"""

from __future__ import annotations

from typing import NamedTuple

from tmuxagents.tmux import opening, script, style
from tmuxagents.tmux.runner import TmuxRefused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from tmuxagents.tmux.library import BoundedServer
    from tmuxagents.tmux.opening import Home, Opened, Order
    from tmuxagents.tmux.runner import Command, Runner

CLOSING = "@tmuxagents_close"  # what the closing timer does; where it is set, the timer runs
LAYOUT = "@tmuxagents_layout"  # of a session: which layout it is
_LAST = ("Pane is dead", style.RULE)  # how the line begins that tmux writes there
YES, NO = "yes", "no"  # how a condition says whether it held
_LIVES = "#{P:#{?pane_dead,,x}}"  # something, if any pane of a window lives: a person may have split it
IS_VIEW = f"#{{m:{style.VIEW}*,#{{session_name}}}}"
_SAID = f"#{{?#{{m/r:^[a-z]+$,#{{{opening.STATE}}}}},#{{{opening.STATE}}},-}}"  # it may hold anything
_ROW = " ".join(
    (
        *("#{window_id}", "#{session_id}", IS_VIEW, "#{window_active_clients}", "#{pane_dead}", _SAID),
        f"#{{{opening.RUN}}}",
    )
)


class RunWindow(NamedTuple):
    """A run's window as it is now. `watched` clients look at it; `dead`: its command has ended."""

    window: str
    session: str
    run_id: str
    watched: int
    dead: bool
    state: str | None = None  # what it says of its run


class RunWindows:
    """The windows of runs on one server. Each raises NoServer or Unanswered where tmux gives no answer."""

    __slots__ = ("_runner",)

    def __init__(self, runner: Runner) -> None:
        self._runner = runner

    def open(self, order: Order, home: Home) -> Opened:
        """Open a run's window, never taking focus; tag, state and name are set in the same call."""
        return opening.open_window(self._runner, order, home)

    @property
    def _server(self) -> BoundedServer:
        from tmuxagents.tmux.library import BoundedServer  # noqa: PLC0415  (40 ms)

        return BoundedServer(self._runner)

    def find(self, run_id: str) -> RunWindow | None:
        """Return a run's window, None where this server has none."""
        tagged = script.equal(f"#{{{opening.RUN}}}", script.a_run(run_id))
        listing = self._server.cmd("list-windows", "-a", "-f", tagged, "-F", _ROW)
        return _windows(listing.stdout).get(run_id)

    def all(self) -> dict[str, RunWindow]:
        """Return the windows of runs, by run. One is listed where it is at home, not in a view of it."""
        return _windows(self._runner.ask(["list-windows", "-a", "-f", f"#{{{opening.RUN}}}", "-F", _ROW]))

    def session_of(self, pane: str, *, with_layout: bool = False) -> str | None:
        """Return the session where a pane is at home, None if none, or none of a layout where asked."""
        here = script.equal("#{pane_id}", script.an_id(pane, "%"))
        here = script.both(here, f"#{{{LAYOUT}}}") if with_layout else here
        found = self._runner.ask(["list-panes", "-a", "-f", here, "-F", f"{IS_VIEW} #{{session_id}}"])
        return min(found).split(" ")[1] if found else None

    def set_state(self, window: str, run_id: str, state: str) -> int | None:
        """Show a run's state on its window; return how many clients look at that, None if it has gone."""
        setting = ["set-option", "-w", "-t", window, opening.STATE, script.a_name(state)]
        watched = ["display-message", "-p", "-t", window, "#{window_active_clients}"]
        is_it = script.when(window, tagged(window, run_id), [setting, watched], [script.say(NO)])
        (answer,) = self._runner.ask(is_it)
        return None if answer == NO else int(answer)

    def close_pane(self, pane: str, run_id: str) -> bool:
        """Close a pane, and with its last one the window, if that is the run's; say whether it was so."""
        is_it = script.equal("#{pane_id}", script.an_id(pane, "%"))
        ours = script.both(is_it, script.equal(f"#{{{opening.RUN}}}", script.a_run(run_id)))
        return answers(self._runner, pane, ours, [["kill-pane", "-t", pane]])

    def end_of(self, pane: str) -> tuple[str, str] | None:
        """Return with which exit status the program of a pane has ended, and the first line that it said.

        None: it runs. The status is empty where a signal ended it, or tmux does not know. Raises TmuxRefused
        where the pane has gone.
        """
        here = script.equal("#{pane_id}", script.an_id(pane, "%"))
        server = self._server
        row = "#{pane_dead} #{pane_dead_status}"
        rows = server.cmd("list-panes", "-a", "-f", here, "-F", row).stdout
        if not rows:
            raise TmuxRefused(f"tmux has no pane {pane} any more.", kind="window")
        dead, _, status = rows[0].partition(" ")
        if dead != "1":
            return None
        shown = server.pane(pane).capture_pane(start="-")
        return status, next((line for line in shown if line.strip() and not line.startswith(_LAST)), "")

    def close_ended(self, window: str, run_id: str) -> bool:
        """Close a run's window if nothing in it lives and no client shows it; say whether that was so."""
        unseen = script.equal("#{window_active_clients}", "0")
        ended = script.both(tagged(window, run_id), script.both(script.equal(_LIVES, ""), unseen))
        server = self._server
        return server.holds(server.window(window), ended, ["kill-window", "-t", window])

    def arm_close(self, window: str, run_id: str, after_s: int) -> bool:
        """Let tmux close a run's window after a time; say whether it will.

        Later, if then it is looked at, or anything lives in it: a person may have split it. No process waits.
        Armed twice, it runs once.
        """
        # Expanded when armed, to the option's value, which is not expanded further: it can arm itself again.
        again = script.later(after_s, window, f"#{{{CLOSING}}}")
        used = f"#{{||:#{{window_active_clients}},#{{!=:{_LIVES},}}}}"
        close = script.when(window, used, [again], [["kill-window", "-t", window]])
        text = script.by_shell(script.when(window, tagged(window, run_id), [close]))
        keep = ["set-option", "-w", "-t", window, CLOSING, text]
        unarmed = script.equal(f"#{{{CLOSING}}}", "")
        arming = script.when(window, unarmed, [keep, again])
        return answers(self._runner, window, tagged(window, run_id), [arming])


def tagged(window: str, run_id: str) -> str:
    """Return the condition that this window is here, and the run's."""
    is_it = script.equal("#{window_id}", script.an_id(window, "@"))
    return script.both(is_it, script.equal(f"#{{{opening.RUN}}}", script.a_run(run_id)))


def answers(runner: Runner, target: str, condition: str, commands: Sequence[Command]) -> bool:
    """Carry commands out where a condition holds; say whether it held."""
    # Said first: with its last window a server ends, and says no more.
    then = [script.say(YES), *commands]
    return runner.ask(script.when(target, condition, then, [script.say(NO)])) == [YES]


def _windows(rows: Sequence[str]) -> dict[str, RunWindow]:
    """Return windows by their runs, each where it is at home, or else in a view of it."""
    found: dict[str, RunWindow] = {}
    for row in rows:
        window, session, is_view, watched, dead, said, run_id = row.split(" ", 6)
        if is_view == "0" or run_id not in found:
            state = None if said == "-" else said
            found[run_id] = RunWindow(window, session, run_id, int(watched), dead == "1", state)
    return found
