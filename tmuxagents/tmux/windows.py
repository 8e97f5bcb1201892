"""A run's window, once it is open: found, marked, closed, and only where its tag says that it is the run's.

libtmux finds a window, by a filter inside tmux. The rest is below it: its rows do not carry our tags, and it
has no `if-shell -F`, which looks at the tag and acts in one step.

Touches: tmux.
"""

from __future__ import annotations

from tmuxagents.tmux import library, opening, script
from tmuxagents.tmux.runner import Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    import libtmux

    from tmuxagents.tmux.opening import Home, Opened, Order
    from tmuxagents.tmux.runner import Command, Runner

CLOSING = "@tmuxagents_close"  # what the closing timer does; where it is set, the timer runs
VIEW = "view-"  # how sessions are called that only show a window of another one
_DEAD = "Pane is dead"  # what tmux itself writes there
_YES, _NO = "yes", "no"
_LIVES = "#{P:#{?pane_dead,,x}}"  # something, if any pane of a window lives: a person may have split it
IS_VIEW = f"#{{m:{VIEW}*,#{{session_name}}}}"
_SAID = (
    f"#{{?#{{m/r:^[a-z]+$,#{{{opening.STATE}}}}},#{{{opening.STATE}}},-}}"  # anybody may have set anything
)
_ROW = f"#{{window_id}} #{{session_id}} {IS_VIEW} #{{window_active_clients}} #{{pane_dead}} {_SAID}"


class Window:
    """A run's window as it is now. `watched` clients look at it; `dead`: its command has ended.

    `state` is what it says of its run, None where it was not asked or says nothing.
    """

    __slots__ = ("dead", "run_id", "session", "state", "watched", "window")

    def __init__(self, window: str, *, session: str, run_id: str, watched: int, dead: bool) -> None:
        self.window = window
        self.session = session
        self.run_id = run_id
        self.watched = watched
        self.dead = dead
        self.state: str | None = None


class Windows:
    """The windows of runs on one server. Each raises NoServer or Unanswered where nobody can say."""

    __slots__ = ("_runner",)

    def __init__(self, runner: Runner) -> None:
        self._runner = runner

    def open(self, order: Order, home: Home) -> Opened:
        """Open a run's window, never taking focus; tag, state and name are set in the same call."""
        return opening.open_window(self._runner, order, home)

    def find(self, run_id: str) -> Window | None:
        """Return a run's window, None where this server has none."""
        tagged = script.equal(f"#{{{opening.RUN}}}", script.a_run(run_id))
        try:
            rows = library.windows(self._runner, tagged)
        except ValueError:
            # A child with a terminal can give its pane a title that libtmux takes for the end of a field.
            return self._listed(tagged).get(run_id)
        home = [row for row in rows if not str(row.session_name).startswith(VIEW)] or rows
        return next((_window(row, run_id) for row in home), None)

    def all(self) -> dict[str, Window]:
        """Return the windows of all runs on this server, by run."""
        return self._listed(f"#{{{opening.RUN}}}")

    def _listed(self, condition: str) -> dict[str, Window]:
        row = f"{_ROW} #{{{opening.RUN}}}"
        found: dict[str, Window] = {}
        for line in self._runner.ask(["list-windows", "-a", "-f", condition, "-F", row]):
            window, session, is_view, watched, dead, said, run_id = line.split(" ", 6)
            if is_view == "0" or run_id not in found:
                one = Window(window, session=session, run_id=run_id, watched=int(watched), dead=dead == "1")
                one.state = None if said == "-" else said
                found[run_id] = one
        return found

    def set_state(self, window: str, run_id: str, state: str) -> bool:
        """Show a run's state on its window; say whether it is there, and the run's."""
        return self._if_tagged(
            window, run_id, ["set-option", "-w", "-t", window, opening.STATE, script.a_name(state)]
        )

    def close_pane(self, pane: str, run_id: str) -> bool:
        """Close a pane, and with its last one the window, if that is the run's; say whether it was so."""
        is_it = script.equal("#{pane_id}", script.an_id(pane, "%"))
        ours = script.both(is_it, script.equal(f"#{{{opening.RUN}}}", script.a_run(run_id)))
        return answers(self._runner, pane, ours, [["kill-pane", "-t", pane]])

    def end_of(self, pane: str) -> tuple[str, str] | None:
        """Return with which exit status the program of a pane has ended, and the first line that it said.

        None: it runs. The status is empty where a signal ended it, or tmux does not know. Raises Refused if
        there is no such pane any more.
        """
        here = script.equal("#{pane_id}", script.an_id(pane, "%"))
        rows = self._runner.ask(["list-panes", "-a", "-f", here, "-F", "#{pane_dead} #{pane_dead_status}"])
        if not rows:
            raise Refused(f"tmux has no pane {pane} any more.", kind="window")
        dead, _, status = rows[0].partition(" ")
        if dead != "1":
            return None
        shown = self._runner.ask(["capture-pane", "-p", "-S", "-", "-t", pane])
        return status, next((line for line in shown if line.strip() and not line.startswith(_DEAD)), "")

    def close_ended(self, window: str, run_id: str) -> bool:
        """Close a run's window if nothing in it lives and nobody looks at it; say whether that was so."""
        unseen = script.equal("#{window_active_clients}", "0")
        ended = script.both(tagged(window, run_id), script.both(script.equal(_LIVES, ""), unseen))
        return answers(self._runner, window, ended, [["kill-window", "-t", window]])

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
        return self._if_tagged(window, run_id, script.when(window, unarmed, [keep, again]))

    def _if_tagged(self, window: str, run_id: str, *commands: Command) -> bool:
        return answers(self._runner, window, tagged(window, run_id), commands)


def tagged(window: str, run_id: str) -> str:
    """Return the condition that this window is here, and the run's."""
    is_it = script.equal("#{window_id}", script.an_id(window, "@"))
    return script.both(is_it, script.equal(f"#{{{opening.RUN}}}", script.a_run(run_id)))


def answers(runner: Runner, target: str, condition: str, commands: Sequence[Command]) -> bool:
    """Carry commands out where a condition holds; say whether it held."""
    # Said first: with its last window a server ends, and says no more.
    then = [script.say(_YES), *commands]
    return runner.ask(script.when(target, condition, then, [script.say(_NO)])) == [_YES]


def _window(row: libtmux.Window, run_id: str) -> Window:
    """Return our record of libtmux's."""
    return Window(
        str(row.window_id),
        session=str(row.session_id),
        run_id=run_id,
        watched=int(row.window_active_clients or 0),
        dead=row.pane_dead == "1",
    )
