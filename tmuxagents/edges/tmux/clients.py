"""Who looks at what, and showing a run to them: nobody else's view is moved.

Below libtmux but for handing a terminal over: its list of clients breaks with one odd title on any screen, and says
"nobody" where tmux does not answer.
"""

from __future__ import annotations

import os

from tmuxagents.edges.tmux import library, script, windows
from tmuxagents.errors import Unusable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from tmuxagents.edges.tmux.runner import Command, Runner

_ROW = (
    "client #{client_name} #{session_id} #{window_id} #{pane_id} #{client_control_mode} #{client_activity}"
)
_FIELDS = 7
_UNSEEN_S = 60  # so long a prepared view waits for its client
_SHELL_SAFE = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./:=@$;+-")


class Client:
    """A terminal that is attached, and what it shows. A program in control mode has no screen."""

    __slots__ = ("activity", "control", "name", "pane", "session", "window")

    def __init__(
        self, name: str, *, session: str, window: str, pane: str, control: bool, activity: int
    ) -> None:
        self.name = name
        self.session = session
        self.window = window
        self.pane = pane
        self.control = control
        self.activity = activity  # epoch seconds of the last key


class Clients:
    """The clients of one server. Each raises NoServer or Unanswered where nobody can say."""

    __slots__ = ("_runner",)

    def __init__(self, runner: Runner) -> None:
        self._runner = runner

    def all(self, session: str | None = None) -> list[Client]:
        """Return the clients of the server, or of one session."""
        where = [] if session is None else ["-t", script.an_id(session, "$")]
        return _clients(self._runner.ask(["list-clients", *where, "-F", _ROW]))

    def session_of(self, pane: str) -> str | None:
        """Return the session that a pane is in, None if there is no such pane."""
        here = script.equal("#{pane_id}", script.an_id(pane, "%"))
        found = self._runner.ask(["list-panes", "-a", "-f", here, "-F", "#{session_id}"])
        return found[0] if found else None

    def at(self, pane: str) -> Client | None:
        """Return the client at which somebody typed in a pane: the latest that shows its session, None if none."""
        here = script.equal("#{pane_id}", script.an_id(pane, "%"))
        lines = self._runner.ask(
            ["list-panes", "-a", "-f", here, "-F", "session #{session_id}"], ["list-clients", "-F", _ROW]
        )
        sessions = {line.split(" ")[1] for line in lines if line.startswith("session ")}
        there = [one for one in _clients(lines) if one.session in sessions and not one.control]
        return max(there, key=lambda one: (one.pane == pane, one.activity), default=None)

    # --- showing a run ----------------------------------------------------------------------------------

    def show(self, client: str, window: str, *, session: str, run_id: str) -> bool:
        """Show a run's window at a client; say whether it is there, in that session, and the run's."""
        switch = ["switch-client", "-c", script.a_client(client), "-t"]
        alone = script.equal("#{session_attached_list}", client)
        shown = _ways(switch, window, session, alone=alone)
        return windows.answers(self._runner, f"{session}:{window}", windows.tagged(window, run_id), [shown])

    def back(self, client: str) -> None:
        """Show at a client the session that it showed before."""
        self._runner.ask(["switch-client", "-c", script.a_client(client), "-l"])

    def attach_argv(self, window: str, *, session: str, run_id: str, read_only: bool = False) -> list[str]:
        """Return the program that shows a run's window on the terminal it is executed on, outside tmux.

        It looks at the tag itself, and leaves with a word where the window is not the run's.
        """
        attach = ["attach-session", *(["-r"] if read_only else []), "-t"]
        shown = _ways(attach, window, session, alone="0")
        gone = script.say("The window is gone.")
        look = script.when(f"{session}:{window}", windows.tagged(window, run_id), [shown], [gone])
        return ["tmux", "-u", "-S", self._runner.socket, *look]

    def prepare_view(self, window: str, *, session: str, run_id: str) -> str | None:
        """Make a session that shows a run's window; return its name, None if that is not the run's.

        It ends when its client leaves, or when none came in a minute.
        """
        view = _new_view()
        is_it = script.equal("#{session_name}", view)
        unseen = script.both(is_it, script.equal("#{session_attached}", "0"))
        end = script.script(script.when(f"={view}:", unseen, [["kill-session", "-t", f"={view}"]]))
        # -C expands its text when armed: doubled, a format waits for the moment.
        later = ["run-shell", "-b", "-d", str(_UNSEEN_S), "-C", end.replace("#", "##")]
        made = [*_making(view, window, session), later]
        condition = windows.tagged(window, run_id)
        there = windows.answers(self._runner, f"{session}:{window}", condition, made)
        return view if there else None

    def hand_over(self, client: Client, *, socket: str, view: str) -> None:
        """Let a client's terminal show a view of another server, and come back to where it was when that is left.

        Not nested: the terminal has one client at any time.
        """
        there = ["tmux", "-u", "-S", socket, "attach-session", "-t", f"={script.a_name(view)}", ";"]
        there += _ended_with_its_client(view)
        back = ["tmux", "-u", "-S", self._runner.socket, "attach-session", "-t"]
        back.append(script.an_id(client.session, "$"))
        words = f"{_shell(there)}; exec {_shell(back)}"
        library.server(self._runner).detach_client(
            target_client=script.a_client(client.name), shell_command=words
        )


def _clients(lines: Sequence[str]) -> list[Client]:
    rows = [line.split(" ") for line in lines if line.startswith("client ")]
    return [
        Client(row[1], session=row[2], window=row[3], pane=row[4], control=row[5] == "1", activity=int(row[6]))
        for row in rows
        if len(row) == _FIELDS
    ]


def _ways(act: Command, window: str, session: str, *, alone: str) -> Command:
    """Return the command that shows a window in its own session, or, if others look at that, in a view."""
    direct = [*act, f"{script.an_id(session, '$')}:{script.an_id(window, '@')}"]
    view = _new_view()
    through = [*_making(view, window, session), [*act, f"={view}:"], _ended_with_its_client(view)]
    nobody = script.both("#{session_attached}", f"#{{?{alone},0,1}}")
    return script.when(f"{session}:{window}", nobody, through, [direct])


def _new_view() -> str:
    """Return a name that no other view has, since nobody could wait for an answer and try the next one."""
    return f"{windows.VIEW}{os.urandom(6).hex()}"


def _making(view: str, window: str, session: str) -> list[Command]:
    """Return what makes a session that has one window, and that window is another session's, too.

    Not a group of sessions: with destroy-unattached those crash several versions of tmux.
    """
    return [
        ["new-session", "-d", "-s", view, "sleep", "60"],  # only until its window is exchanged
        ["link-window", "-k", "-s", f"{session}:{window}", "-t", f"={view}:^"],
    ]


def _ended_with_its_client(view: str) -> Command:
    return ["set-option", "-t", f"={view}:", "destroy-unattached", "on"]


def _shell(words: Sequence[str]) -> str:
    """Return words for a shell that may be any: in single quotes, and none that needs more."""
    for word in words:
        if not _SHELL_SAFE.issuperset(word):
            message = f"The terminal cannot be handed over: {word!r} is no word for every shell."
            raise Unusable(message, kind="tmux-unreachable", hint="detach, then attach from outside tmux")
    return " ".join(f"'{word}'" for word in words)
