"""The clients of a server: list them, and show a run to one client without moving others. Touches: tmux.

libtmux's own list of clients is not used: one odd title on any screen breaks that list, and it is empty if
tmux does not answer. A view is a session that shows one window of another session to one client, and ends
when that client is detached or shows another session. All commands that make a view go to tmux in one call,
so that nothing can happen between them.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass

from tmuxagents.errors import Unusable
from tmuxagents.tmux import script, style, windows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from tmuxagents.tmux.library import BoundedServer
    from tmuxagents.tmux.runner import Command
    from tmuxagents.tmux.servers import ServerLife

# A hidden variable of a session: its client, and the place that this client came from.
_TRAIL = "TMUXAGENTS_TRAIL"
_ROW = " ".join(
    (
        *("client", "#{client_activity}", "#{client_name}", "#{session_id}", "#{window_id}", "#{pane_id}"),
        *("#{client_control_mode}", "#{client_flags}", windows.IS_VIEW, "#{session_attached}"),
        *("#{destroy-unattached}", "#{exit-unattached}", "#{client_width}"),
        *(f"#{{{_TRAIL}}}", f"#{{{windows.RUN}}}"),
    )
)
_FIELDS = 15
_OFF = ("0", "off")
_KEPT_FLAGS = frozenset({"active-pane", "ignore-size", "no-detach-on-destroy", "read-only"})
_LOOK_ONLY = "read-only,ignore-size"  # what `attach-session -r` stands for
_SHELL_SAFE = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./:=@$%,+-")
_SCRIPT_SAFE = _SHELL_SAFE | frozenset(' "#&;{}\\')
_ARRIVES_WITHIN_S = 10.0
_PAUSE_S, _PAINTS_WITHIN_S = 0.01, 2.0
_ENDED = "#{?#{&&:#{pane_dead},#{!=:#{pane_dead_status},}},yes,}"
# The program of a terminal on loan. tmux prints the session from which a client was detached. If the terminal
# was lent to that session, or if it is a view of another run, the terminal goes back. If the person has
# switched to any other session, the terminal leaves tmux.
_ON_LOAN = (
    "socket=$1 shown=$2 flags=$3; shift 3; "
    'left=$(tmux -u -S "$socket" attach-session -f "$flags" -t "=$shown:" ";" '
    'set-option -u -t "=$shown:" @tmuxagents_expected); '
    f'case "$left" in *"(from session {style.VIEW}"*|*"(from session $shown)"*) ;; '
    '*"(from session "*) echo "$left"; exit;; esac; exec "$@"'
)
_HAS_GONE = "The tmux session that this terminal came from has ended."


@dataclass(slots=True, kw_only=True)
class Client:
    """An attached terminal, and the place that it shows. A program in control mode has no screen."""

    name: str
    session: str
    window: str
    pane: str
    control: bool
    width: int = 0  # in columns
    flags: frozenset[str] = frozenset()  # the flags for attaching it again
    view: bool = False  # its session is one of our views
    holds_session: bool = False  # a person's option ends the session when this client leaves
    holds_server: bool = False
    trail: str = ""  # the trail that is kept with the session
    run_id: str = ""  # the tag of the window that it shows

    @property
    def read_only(self) -> bool:
        """Say whether its keys reach no window."""
        return "read-only" in self.flags


class Clients:
    """The clients of one server. Each method raises NoServer or Unanswered if tmux gives no answer."""

    __slots__ = ("_server", "_socket")

    def __init__(self, of: BoundedServer) -> None:
        self._server = of
        self._socket = of.runner.socket

    def all(self, session: str | None = None) -> list[Client]:
        """Return the clients of the server, or of one session, the last used first."""
        at = self._server if session is None else self._server.session(session)
        return _clients(at.cmd("list-clients", "-F", _ROW).stdout)

    def at(self, pane: str) -> Client | None:
        """Return the client where a person types in a pane: the last used one of its session, None if none.

        `pane` is an id or a terminal's path. A dead pane's path finds nothing: it may lead to another by now.
        """
        if pane.startswith("/"):
            at_pane = script.both(script.equal("#{pane_tty}", script.a_client(pane)), "#{?pane_dead,,x}")
        else:
            at_pane = script.equal("#{pane_id}", script.an_id(pane, "%"))
        rows = ["list-panes", "-a", "-f", at_pane, "-F", "session #{session_id}"]
        lines = self._server.ask(rows, ["list-clients", "-F", _ROW])
        sessions = {line.split(" ")[1] for line in lines if line.startswith("session ")}
        clients = [one for one in _clients(lines) if one.session in sessions and not one.control]
        return max(clients, key=lambda one: one.pane == pane, default=None)

    # --- showing a run ----------------------------------------------------------------------------------

    def show(self, client: str, window: str, *, session: str, run_id: str, trail: str = "") -> bool:
        """Show a view of a run's window to a client; say whether that session still has the run's window.

        `trail` is kept with the view.
        """
        view = _new_view()
        switch = ["switch-client", "-c", script.a_client(client), "-t", f"={view}:"]
        shown = [*_making(view, window, session), *_kept(trail, f"={view}:"), switch, *_letting_go(view)]
        return self._holds(window, run_id, *shown, session=session)

    def _holds(self, window: str, run_id: str, *commands: Command, session: str) -> bool:
        """Carry commands out if a session still has the run's window; say whether it has."""
        linked, target = self._server.window(window), f"{session}:{window}"
        return self._server.holds(linked, windows.tagged(window, run_id), *commands, target=target)

    def lines(self, window: str) -> list[str]:
        """Return the lines of a window and of what has scrolled away, even if tmux has broken them."""
        return self._server.window(window).cmd("capture-pane", "-p", "-J", "-S", "-").stdout

    def repaint(self, window: str, run_id: str, life: ServerLife, argv: Sequence[str]) -> None:
        """Have a program paint the window of an ended run again: its wrapper, which fits lines, has left."""
        there = self._server.window(window)
        ended = script.both(
            windows.tagged(window, run_id), script.equal("#{pane_dead} #{window_panes}", "1 1")
        )
        colours = f"NO_COLOR={os.environ.get('NO_COLOR', '')}"
        self._server.holds(there, ended, ["respawn-pane", "-t", window, "-e", colours, *argv])
        until = time.monotonic() + _PAINTS_WITHIN_S
        # tmux 3.3a often misses so early an end, and then prints no last line.
        while there.cmd("display-message", "-p", _ENDED).stdout != ["yes"] and time.monotonic() < until:
            life.look_for_ended()
            time.sleep(_PAUSE_S)

    def back(self, client: str) -> None:
        """Show a client the session that it showed before; raise TmuxRefused if there is none."""
        self._server.cmd("switch-client", "-c", script.a_client(client), "-l")

    def detach(self, client: str) -> None:
        """Detach a client from its terminal, where the former program continues."""
        self._server.detach_client(target_client=script.a_client(client))

    def arrives(self, client: str, session: str) -> bool:
        """Wait until a client shows a session, by its id or name; say whether it came in time."""
        # A view still expects its client while the client is on its way.
        row = f"#{{client_name}} #{{?#{{{_EXPECTED}}},-,#{{session_id}} #{{session_name}}}}"
        deadline = time.monotonic() + _ARRIVES_WITHIN_S
        while not any(
            name == client and session in shown
            for name, *shown in map(str.split, self._server.cmd("list-clients", "-F", row).stdout)
        ):
            if time.monotonic() > deadline:
                return False
            time.sleep(_PAUSE_S)
        return True

    def end_view(self, session: str) -> None:
        """End a view at once if no client shows it; without this call it would end in some seconds."""
        is_it = script.both(script.equal("#{session_id}", script.an_id(session, "$")), windows.IS_VIEW)
        alone = script.both(script.equal("#{session_attached}", "0"), script.equal("#{session_windows}", "1"))
        kill = ["kill-session", "-t", session]
        view = self._server.session(session)
        self._server.holds(view, script.both(is_it, alone), kill, target=f"{session}:")

    def attach_argv(
        self, window: str, *, session: str, run_id: str, read_only: bool = False, trail: str = ""
    ) -> list[str]:
        """Return the program that shows a run's window on its own terminal, outside tmux.

        The program checks the window's tag itself, and leaves with a message if the window is not the run's.
        """
        place, view = f"{script.an_id(session, '$')}:{script.an_id(window, '@')}", _new_view()
        attach = ["attach-session", *(["-r"] if read_only else []), "-t"]
        through = [*_making(view, window, session), *_kept(trail, f"={view}:"), [*attach, f"={view}:"]]
        alone = [*_kept(trail, f"{session}:"), [*attach, place]]
        shown = script.when(place, "#{session_attached}", [*through, *_letting_go(view)], alone)
        gone = script.say("The window is gone.")
        look = script.when(f"{session}:{window}", windows.tagged(window, run_id), [shown], [gone])
        return ["tmux", "-u", "-S", self._socket, *look]

    def prepare_view(self, window: str, *, session: str, run_id: str, trail: str = "") -> str | None:
        """Make a view of a run's window; return the view's name, None if the window is not the run's.

        The view ends when its client leaves, or if none comes within a minute.
        """
        view = _new_view()
        arrived = ["set-option", "-u", "-t", f"={view}:", _EXPECTED]
        made: list[Command] = [
            *_making(view, window, session),
            *_kept(trail, f"={view}:"),
            ["set-option", "-t", f"={view}:", _EXPECTED, "1"],
            script.later(_UNSEEN_S, f"={view}:", script.by_shell(arrived)),
            *_letting_go(view),
        ]
        return view if self._holds(window, run_id, *made, session=session) else None

    def hand_over(self, client: Client, *, socket: str, session: str, read_only: bool = False) -> None:
        """Lend a client's terminal to a session of this server or another, until the person leaves it.

        The terminal then returns to the pane that the client shows now. Clients are not nested: the terminal
        has one at any time.
        """
        name = script.a_client(client.name)
        kept = {*client.flags, *(_LOOK_ONLY.split(",") if read_only else ())}
        back = ["true"] if client.view else self._back(client)  # a view is gone by then
        lent = ["tmuxagents", socket, script.a_name(session), ",".join(sorted(kept)), *back]
        for word in lent:  # in single quotes, any shell reads these letters alike
            if not _SCRIPT_SAFE.issuperset(word) or word.endswith("\\"):
                message = f"The terminal cannot be handed over: not every shell takes {word!r} as it is."
                raise Unusable(message, kind="tmux-unreachable", hint="detach, then attach from outside tmux")
        line = " ".join(f"'{word}'" for word in ("/bin/sh", "-c", _ON_LOAN, *lent))
        detach = ["detach-client", "-t", name, "-E", f"exec {line}"]
        if socket == self._socket and session.startswith(style.VIEW):
            # The program is run by the shell of the session that is left. A person's shell may be any, so the
            # client leaves from the view, which gets /bin/sh.
            shell = ["set-option", "-t", f"={session}:", "default-shell", "/bin/sh"]
            switch = ["switch-client", "-c", name, "-t", f"={session}:"]
            self._server.ask(switch, shell, detach, [shell[0], "-u", *shell[1:-1]])
        else:
            self._server.ask(detach)

    def _back(self, client: Client) -> list[str]:
        """Return the program that leads back to a client's present pane, if that moves no other client."""
        session, window, pane = client.session, client.window, client.pane
        place = f"{script.an_id(session, '$')}:{script.an_id(window, '@')}.{script.an_id(pane, '%')}"
        is_there = script.both(script.equal("#{window_id}", window), script.equal("#{pane_id}", pane))
        unseen = script.equal("#{session_attached} #{window_active_clients}", "0 0")
        attach = ["attach-session", "-E", "-f", ",".join(sorted(client.flags)), "-t"]
        session_only = script.when(
            f"{session}:",
            script.equal("#{session_id}", session),
            [[*attach, f"{session}:"]],
            [script.say(_HAS_GONE)],
        )
        look = script.when(
            place,
            script.both(script.equal("#{session_id}", session), script.both(is_there, unseen)),
            [[*attach, place]],
            [session_only],
        )
        return ["tmux", "-u", "-S", self._socket, *look]


def _clients(lines: Sequence[str]) -> list[Client]:
    # The tag comes last: in a window that is not ours it may be anything.
    rows = [line.split(" ", _FIELDS - 1) for line in lines if line.startswith("client ")]
    whole = sorted((row for row in rows if len(row) == _FIELDS), key=lambda row: int(row[1]), reverse=True)
    found = []
    for row in whole:
        name, session, window, pane, control, flags, view, attached, *more = row[2:]
        ends_session, ends_server, width, trail, run_id = more
        client = Client(
            name=name,
            session=session,
            window=window,
            pane=pane,
            control=control == "1",
            width=int(width or 0),
            flags=_KEPT_FLAGS.intersection(flags.split(",")),
            view=view == "1",
            holds_session=attached == "1" and ends_session not in _OFF and view != "1",
            holds_server=len(whole) == 1 and ends_server not in _OFF,
            trail=trail,
            run_id=run_id,
        )
        found.append(client)
    return found


def _kept(trail: str, target: str) -> list[Command]:
    """Return the commands that keep a trail with a session, unseen by its options and its programs."""
    if not trail:
        return []
    if not _SHELL_SAFE.issuperset(trail):
        raise ValueError(f"no trail: {trail!r}")
    return [["set-environment", "-h", "-t", target, _TRAIL, trail]]


_LOOKING = "@tmuxagents_view"  # the command that a view runs every few seconds
_LEFT = "@tmuxagents_left"  # the command that a view runs when a client leaves it
_DETACHED = "client-detached"
_EXPECTED = "@tmuxagents_expected"  # set on a view that waits for its client
_LOOK_S = 5
_UNSEEN_S = 60  # a prepared view waits this long for its client
# Windows that a person opened in a view are not ours to end.
_WANTED = f"#{{||:#{{||:#{{session_attached}},#{{{_EXPECTED}}}}},#{{!=:#{{session_windows}},1}}}}"


def _new_view() -> str:
    """Return a name that no other view has, since a list of commands cannot try another name."""
    return f"{style.VIEW}{os.urandom(6).hex()}"


def _making(view: str, window: str, session: str) -> list[Command]:
    """Return the commands that make a view: a session with one window, which another session has, too.

    Nothing comes between these commands, so the window is still where it was found. The view checks every few
    seconds whether a client still shows it. It does not use destroy-unattached: with that option, detaching a
    client crashes the whole server now and then (seen on 3.3a, group or no group). The check is a client of
    its own, and so comes after the detaching is over.
    """
    target = f"={view}:"
    again = script.later(_LOOK_S, target, f"#{{{_LOOKING}}}")
    look = script.when(target, _WANTED, [again], [_ending(view)])
    text = script.by_shell(script.when(target, _is_it(view), [look]))
    return [
        ["new-session", "-d", "-s", view, "sleep", "60"],  # only until its window is exchanged
        ["set-option", "-t", target, "destroy-unattached", "off"],
        # When its window closes, the client goes back.
        ["set-option", "-t", target, "detach-on-destroy", "on"],
        ["set-option", "-t", target, _LOOKING, text],
        *style.of_session(view),
        ["link-window", "-k", "-s", f"{session}:{window}", "-t", f"{target}^"],
        again,
    ]


def _letting_go(view: str) -> list[Command]:
    """Return the commands that end a view at once when its last client is detached.

    They belong at the end of a list: they ask a shell first, and meanwhile the server does other work.
    """
    target = f"={view}:"
    unwanted = script.both(_is_it(view), f"#{{?{_WANTED},0,1}}")
    left = script.by_shell(script.when(target, unwanted, [_ending(view)]))
    look = script.script(["run-shell", "-b", "-t", target, f"#{{{_LEFT}}}"])
    hook = script.script(["set-hook", "-t", target, _DETACHED, look])
    return [
        ["set-option", "-t", target, _LEFT, left],
        # A hook of the session's own would keep a person's global hook from running.
        ["if-shell", f"! tmux show-hooks -g {_DETACHED} | grep -q ' '", hook],
    ]


def _is_it(view: str) -> str:
    return script.equal("#{session_name}", view)


def _ending(view: str) -> Command:
    return ["kill-session", "-t", f"={view}"]
