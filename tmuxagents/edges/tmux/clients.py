"""Who looks at what, and showing a run to them: nobody else's view is moved.

Below libtmux but for handing a terminal over: its list of clients breaks with one odd title on any screen,
and says "nobody" where tmux does not answer.
"""

from __future__ import annotations

import os

from tmuxagents.edges.tmux import library, script, windows
from tmuxagents.errors import Unusable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from tmuxagents.edges.tmux.runner import Command, Runner

_ROW = "client #{client_name} #{session_id} #{window_id} #{pane_id} #{client_control_mode} #{client_activity}"
_FIELDS = 6
_LOOKING = "@tmuxagents_view"  # what a view does every few seconds
_EXPECTED = "@tmuxagents_expected"  # set on a view that waits for its client
_LOOK_S = 5
_UNSEEN_S = 60  # so long a prepared view waits for its client
_SHELL_SAFE = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./:=@$;+-")


class Client:
    """A terminal that is attached, and what it shows. A program in control mode has no screen."""

    __slots__ = ("control", "name", "pane", "session", "window")

    def __init__(self, name: str, *, session: str, window: str, pane: str, control: bool) -> None:
        self.name = name
        self.session = session
        self.window = window
        self.pane = pane
        self.control = control


class Clients:
    """The clients of one server. Each raises NoServer or Unanswered where nobody can say."""

    __slots__ = ("_runner",)

    def __init__(self, runner: Runner) -> None:
        self._runner = runner

    def all(self, session: str | None = None) -> list[Client]:
        """Return the clients of the server, or of one session, the last used first."""
        where = [] if session is None else ["-t", script.an_id(session, "$")]
        return _clients(self._runner.ask(["list-clients", *where, "-F", _ROW]))

    def session_of(self, pane: str) -> str | None:
        """Return the session that a pane is at home in, None if there is no such pane."""
        here = script.equal("#{pane_id}", script.an_id(pane, "%"))
        row = f"{windows.IS_VIEW} #{{session_id}}"
        found = self._runner.ask(["list-panes", "-a", "-f", here, "-F", row])
        return min(found).split(" ")[1] if found else None

    def at(self, pane: str) -> Client | None:
        """Return the client at which somebody types in a pane: the latest of its session, None if none."""
        here = script.equal("#{pane_id}", script.an_id(pane, "%"))
        lines = self._runner.ask(
            ["list-panes", "-a", "-f", here, "-F", "session #{session_id}"], ["list-clients", "-F", _ROW]
        )
        sessions = {line.split(" ")[1] for line in lines if line.startswith("session ")}
        there = [one for one in _clients(lines) if one.session in sessions and not one.control]
        return max(there, key=lambda one: one.pane == pane, default=None)

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
        shown = _ways(_attach(read_only=read_only), window, session, alone="0")
        gone = script.say("The window is gone.")
        look = script.when(f"{session}:{window}", windows.tagged(window, run_id), [shown], [gone])
        return ["tmux", "-u", "-S", self._runner.socket, *look]

    def prepare_view(self, window: str, *, session: str, run_id: str) -> str | None:
        """Make a session that shows a run's window; return its name, None if that is not the run's.

        It ends when its client leaves, or when none came in a minute.
        """
        view = _new_view()
        arrived = script.later(_UNSEEN_S, f"={view}:", script.by_shell(_arrived(view)))
        made = [*_making(view, window, session), ["set-option", "-t", f"={view}:", _EXPECTED, "1"], arrived]
        condition = windows.tagged(window, run_id)
        there = windows.answers(self._runner, f"{session}:{window}", condition, made)
        return view if there else None

    def hand_over(self, client: Client, *, socket: str, view: str, read_only: bool = False) -> None:
        """Let a client's terminal show a view of another server, and come back when that is left.

        Not nested: the terminal has one client at any time.
        """
        there = ["tmux", "-u", "-S", socket, *_attach(read_only=read_only), f"={script.a_name(view)}", ";"]
        there += _arrived(view)
        back = ["tmux", "-u", "-S", self._runner.socket, *_attach(), script.an_id(client.session, "$")]
        words = f"{_shell(there)}; exec {_shell(back)}"
        library.detach(self._runner, script.a_client(client.name), words)


def _clients(lines: Sequence[str]) -> list[Client]:
    rows = [line.split(" ")[1:] for line in lines if line.startswith("client ")]
    whole = sorted((row for row in rows if len(row) == _FIELDS), key=lambda row: int(row[-1]), reverse=True)
    return [
        Client(row[0], session=row[1], window=row[2], pane=row[3], control=row[4] == "1") for row in whole
    ]


def _attach(*, read_only: bool = False) -> Command:
    return ["attach-session", *(["-r"] if read_only else []), "-t"]


def _ways(act: Command, window: str, session: str, *, alone: str) -> Command:
    """Return the command that shows a window in its own session, or, if others look at that, in a view."""
    direct = [*act, f"{script.an_id(session, '$')}:{script.an_id(window, '@')}"]
    view = _new_view()
    through = [*_making(view, window, session), [*act, f"={view}:"]]
    others = script.both("#{session_attached}", f"#{{?{alone},0,1}}")
    return script.when(f"{session}:{window}", others, through, [direct])


def _new_view() -> str:
    """Return a name that no other view has, since nobody could wait for an answer and try the next one."""
    return f"{windows.VIEW}{os.urandom(6).hex()}"


def _making(view: str, window: str, session: str) -> list[Command]:
    """Return what makes a session that has one window, and that window is another session's, too.

    It looks by itself, every few seconds, whether anybody still looks at it. Not by destroy-unattached: with
    that, a client that is detached crashes the whole server now and then (seen on 3.3a, group or no group).
    """
    target = f"={view}:"
    again = script.later(_LOOK_S, target, f"#{{{_LOOKING}}}")
    wanted = f"#{{||:#{{session_attached}},#{{{_EXPECTED}}}}}"
    look = script.when(target, wanted, [again], [["kill-session", "-t", f"={view}"]])
    text = script.by_shell(script.when(target, script.equal("#{session_name}", view), [look]))
    return [
        ["new-session", "-d", "-s", view, "sleep", "60"],  # only until its window is exchanged
        ["set-option", "-t", target, "destroy-unattached", "off"],
        ["set-option", "-t", target, _LOOKING, text],
        ["link-window", "-k", "-s", f"{session}:{window}", "-t", f"{target}^"],
        again,
    ]


def _arrived(view: str) -> Command:
    """Return the command that lets a view end as soon as nobody looks at it."""
    return ["set-option", "-u", "-t", f"={view}:", _EXPECTED]


def _shell(words: Sequence[str]) -> str:
    """Return words for a shell that may be any: in single quotes, and none that needs more."""
    for word in words:
        if not _SHELL_SAFE.issuperset(word):
            message = f"The terminal cannot be handed over: {word!r} is no word for every shell."
            raise Unusable(message, kind="tmux-unreachable", hint="detach, then attach from outside tmux")
    return " ".join(f"'{word}'" for word in words)
