"""A run's window: open, find, mark and close it. A window without the run's tag is never touched.

Opening takes one call of tmux if the session is there, and two if it must be made. `find`, `end_of` and
`close_ended` go through libtmux. Launch, watcher and wrapper call the runner directly: importing libtmux
would cost a launch 40 ms. Also, `Session.new_window` raises if the command ends at once, and a wrapper does
so if its run has a result already. docs/architecture.md lists these calls.

Touches: tmux.
"""

from __future__ import annotations

import os
import time
from typing import NamedTuple

from tmuxagents.errors import Unusable
from tmuxagents.system import process
from tmuxagents.tmux import runner, script, servers, style
from tmuxagents.tmux.runner import TmuxRefused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from tmuxagents.tmux.library import BoundedServer
    from tmuxagents.tmux.runner import Command, Runner, TmuxAnswer
    from tmuxagents.tmux.servers import ServerLife

RUN = "@tmuxagents_run"
STATE = "@tmuxagents_state"
OWNER = "@tmuxagents_project"
FOLDER = "@tmuxagents_folder"  # the folder of the run's project, where our keys work (integrate/tmux_texts)
_LONGEST_FOLDER = 4096  # as tmux reads it; all commands together may have 16 KB
_HISTORY_LINES = "500"  # of a window: 100 children with 2000 wide lines each are 200 MB of server
_LIMIT_S = 8.0
_MODIFIED_KEYS = "set-option -s extended-keys on"  # such as Shift-Enter; without it, pi warns
_PAUSE_S = 0.02
_OPENED, _TAKEN = "opened", "taken"
_OPENED_ROW = (
    f"{_OPENED} #{{window_id}} #{{pane_id}} #{{session_id}} #{{pid}} #{{pane_pid}} #{{session_name}}"
)
_TAKEN_ROW = f"{_TAKEN} #{{{OWNER}}}:#{{session_name}}"  # the name last: another session's may hold anything
CLOSING = "@tmuxagents_close"  # the command of the closing timer; set as long as the timer runs
LAYOUT = "@tmuxagents_layout"  # of a session: the name of its layout
_LAST = ("Pane is dead", style.RULE)  # the beginnings of the line that tmux writes there
YES, NO = "yes", "no"  # printed if a condition held, or did not
_LIVES = "#{P:#{?pane_dead,,x}}"  # not empty if any pane of a window lives: a person may have split it
IS_VIEW = f"#{{m:{style.VIEW}*,#{{session_name}}}}"
_SAID = f"#{{?#{{m/r:^[a-z]+$,#{{{STATE}}}}},#{{{STATE}}},-}}"  # a state may hold anything
_ROW = " ".join(
    (
        *("#{window_id}", "#{session_id}", IS_VIEW, "#{window_active_clients}", "#{pane_dead}", _SAID),
        f"#{{{RUN}}}",
    )
)


class Home:
    """The session for new windows: the project's own or, if `session` has an id, that one.

    `names` are the names of the project's session in order of preference; `owner` marks it as the project's.
    A new session begins in `folder`. `own`: the server is for tmuxagents alone, and its options are ours.
    """

    __slots__ = ("folder", "names", "own", "owner", "session")

    def __init__(
        self,
        names: Sequence[str] = (),
        *,
        owner: str = "",
        folder: str = "/",
        own: bool = False,
        session: str | None = None,
    ) -> None:
        self.names = [script.a_name(name) for name in names]
        self.owner = script.a_run(owner) if names else ""
        self.folder = folder
        self.own = own
        self.session = None if session is None else script.an_id(session, "$")


class Order:
    """One window to open: its run, its name, its program, its state, and the folder of its project."""

    __slots__ = ("argv", "folder", "name", "run_id", "state")

    def __init__(self, run_id: str, *, name: str, argv: Sequence[str], state: str, folder: str = "") -> None:
        if not argv or not argv[0].startswith("/"):
            raise ValueError(f"no absolute path to run: {list(argv)!r}")
        self.run_id = script.a_run(run_id)
        self.name = script.a_name(name)
        self.argv = list(argv)
        self.state = script.a_name(state)
        # The folder goes into an option, as data. One that tmux may refuse, or that is too long, is left out.
        fits = folder.isprintable() and len(script.quoted(folder)) <= _LONGEST_FOLDER
        self.folder = folder if folder.startswith("/") and fits else ""


class Opened(NamedTuple):
    """A window that was opened, its place, its program, and the state of its run that it shows."""

    window: str
    pane: str
    session: str
    session_name: str
    server: ServerLife
    program: tuple[int, int | None]  # the pid and the start time of the process in it
    state: str


class RunWindow(NamedTuple):
    """A run's window as it is now. `watched`: how many clients show it; `dead`: its command has ended."""

    window: str
    session: str
    run_id: str
    watched: int
    dead: bool
    state: str | None = None  # the state of the run that it shows


class RunWindows:
    """The windows of runs on one server. Each call raises NoServer or Unanswered if tmux gives no answer."""

    __slots__ = ("_runner",)

    def __init__(self, runner: Runner) -> None:
        self._runner = runner

    def open(self, order: Order, home: Home) -> Opened:
        """Open a run's window without moving any view; make its session, and its server, if there is none.

        Tag, state and name are set in the same call. Unanswered means that the window may still appear. If a
        server is just ending, this waits a while for its end.
        """
        if home.session is not None:
            return self._opened(self._in_session(order, home.session, home), order, home)
        name, is_there = home.names[0], servers.listening(self._runner.socket) is not None
        deadline = time.monotonic() + _LIMIT_S
        while True:
            late = time.monotonic() > deadline
            try:
                answer = (self._in_session if is_there else self._in_new)(order, f"={name}", home)
            except runner.NoServer:
                if late:
                    raise
                is_there = False
                time.sleep(_PAUSE_S)
                continue
            following = None if late else _following(answer, name, home)
            if following is None:
                return self._opened(answer, order, home)
            name, is_there = following

    def _in_session(self, order: Order, session: str, home: Home) -> TmuxAnswer:
        """Open the window in a session that exists and is ours; else list the sessions with our names."""
        by = "session_name" if session.startswith("=") else "session_id"
        is_it = script.equal(f"#{{{by}}}", session.removeprefix("="))
        if home.owner:
            is_it = script.both(is_it, script.equal(f"#{{{OWNER}}}", home.owner))
        opening = ["new-window", "-d", "-t", f"{session}:"]
        like_ours = f"#{{m:{home.names[0]}*,#{{session_name}}}}" if home.names else "0"
        others = ["list-sessions", "-f", like_ours, "-F", _TAKEN_ROW]
        return self._runner.run(
            script.when(f"{session}:", is_it, _commands(order, session, opening), [others])
        )

    def _in_new(self, order: Order, session: str, home: Home) -> TmuxAnswer:
        """Open the window as the first one of a new session."""
        runner.client_version()  # before a tmux that is too old starts a server
        servers.make_folder(self._runner.socket)
        opening = ["new-session", "-d", "-s", session.removeprefix("=")]
        setting = ["set-option", "-t", f"{session}:"]
        settings: list[Command] = [
            [*setting, OWNER, home.owner],
            [*setting, "history-limit", _HISTORY_LINES],
            # A person's tmux.conf may end sessions without a client, and background runs live in those.
            # Besides, a client that is detached from such a session crashes 3.3a now and then.
            [*setting, "destroy-unattached", "off"],
            *style.of_session(session),
        ]
        if home.own:
            settings.append(["set-option", "-s", "exit-unattached", "off"])
            settings.append(["if-shell", "-F", "#{==:#{extended-keys},off}", _MODIFIED_KEYS])
        first, *rest = _commands(order, session, opening)
        # The session begins in this folder, and so does each window that a person adds.
        usable = home.folder.isprintable() and os.path.isdir(home.folder) and os.access(home.folder, os.X_OK)
        return self._runner.run(first, *settings, *rest, folder=home.folder if usable else "/")

    def _opened(self, answer: TmuxAnswer, order: Order, home: Home) -> Opened:
        """Return the opened window if every command was carried out; else raise tmux's refusal."""
        row = _opened_row(answer)
        if answer.code != 0:
            raise runner.refusal(answer, "window")
        if not row:
            where = home.session or ", ".join(home.names)
            raise Unusable(f"tmux has no session for the window: {where}.", kind="window")
        window, pane, session, pid, program, session_name = row
        return Opened(
            window=window,
            pane=pane,
            session=session,
            session_name=session_name,
            server=servers.server_of(self._runner.socket, int(pid)),
            program=(int(program), process.start_time(int(program))),
            state=order.state,
        )

    # --- found, marked and closed -------------------------------------------------------------------------

    @property
    def _server(self) -> BoundedServer:
        from tmuxagents.tmux.library import BoundedServer  # noqa: PLC0415  (40 ms)

        return BoundedServer(self._runner)

    def find(self, run_id: str) -> RunWindow | None:
        """Return a run's window, None if this server has none."""
        tagged = script.equal(f"#{{{RUN}}}", script.a_run(run_id))
        listing = self._server.cmd("list-windows", "-a", "-f", tagged, "-F", _ROW)
        return _windows(listing.stdout).get(run_id)

    def all(self) -> dict[str, RunWindow]:
        """Return the windows of runs, by run. Each is listed in its own session, not in a view."""
        return _windows(self._runner.ask(["list-windows", "-a", "-f", f"#{{{RUN}}}", "-F", _ROW]))

    def session_of(self, pane: str, *, with_layout: bool = False) -> str | None:
        """Return the session of a pane, not a view, or None. `with_layout`: it must belong to a layout."""
        at_pane = script.equal("#{pane_id}", script.an_id(pane, "%"))
        at_pane = script.both(at_pane, f"#{{{LAYOUT}}}") if with_layout else at_pane
        found = self._runner.ask(["list-panes", "-a", "-f", at_pane, "-F", f"{IS_VIEW} #{{session_id}}"])
        return min(found).split(" ")[1] if found else None

    def set_state(self, window: str, run_id: str, state: str) -> int | None:
        """Show a run's state on its window; return how many clients show the window, None if it has gone."""
        setting = ["set-option", "-w", "-t", window, STATE, script.a_name(state)]
        watched = ["display-message", "-p", "-t", window, "#{window_active_clients}"]
        is_it = script.when(window, tagged(window, run_id), [setting, watched], [script.say(NO)])
        (answer,) = self._runner.ask(is_it)
        return None if answer == NO else int(answer)

    def close_pane(self, pane: str, run_id: str) -> bool:
        """Close a pane if its window is the run's; say whether it was. The last pane closes the window."""
        is_it = script.equal("#{pane_id}", script.an_id(pane, "%"))
        ours = script.both(is_it, script.equal(f"#{{{RUN}}}", script.a_run(run_id)))
        return self._answers(pane, ours, [["kill-pane", "-t", pane]])

    def end_of(self, pane: str) -> tuple[str, str] | None:
        """Return the exit status of a pane's program, and the first line that the program printed.

        None: the program runs. The status is empty if a signal ended it, or if tmux does not know. Raises
        TmuxRefused if the pane has gone.
        """
        at_pane = script.equal("#{pane_id}", script.an_id(pane, "%"))
        server = self._server
        row = "#{pane_dead} #{pane_dead_status}"
        rows = server.cmd("list-panes", "-a", "-f", at_pane, "-F", row).stdout
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

        If a client then shows the window, or anything lives in it (a person may have split it), tmux tries
        again after the same time. No process waits. Arming twice starts one timer.
        """
        # When armed, this is expanded to the option's value, which is not expanded further. So the timer can
        # arm itself again.
        again = script.later(after_s, window, f"#{{{CLOSING}}}")
        used = f"#{{||:#{{window_active_clients}},#{{!=:{_LIVES},}}}}"
        close = script.when(window, used, [again], [["kill-window", "-t", window]])
        text = script.by_shell(script.when(window, tagged(window, run_id), [close]))
        keep = ["set-option", "-w", "-t", window, CLOSING, text]
        unarmed = script.equal(f"#{{{CLOSING}}}", "")
        arming = script.when(window, unarmed, [keep, again])
        return self._answers(window, tagged(window, run_id), [arming])

    def _answers(self, target: str, condition: str, commands: Sequence[Command]) -> bool:
        """Carry commands out if a condition holds; say whether it held."""
        # The answer is printed first: with its last window a server ends, and prints no more.
        then = [script.say(YES), *commands]
        return self._runner.ask(script.when(target, condition, then, [script.say(NO)])) == [YES]


def _following(answer: TmuxAnswer, name: str, home: Home) -> tuple[str, bool] | None:
    """Return the session to try next, and whether it is there; None: the answer is final."""
    if "duplicate session" in answer.error:
        return name, True  # another launch made it first
    if answer.code != 0 or _opened_row(answer):
        return None
    rows = (line.removeprefix(f"{_TAKEN} ").partition(":") for line in answer.lines)
    owners = {name: owner for owner, _, name in rows}
    ours = [name for name in home.names if owners.get(name) == home.owner]
    free = [name for name in home.names if name not in owners]
    return ((ours or free)[0], bool(ours)) if ours or free else None


def _commands(order: Order, session: str, opening: list[str]) -> list[Command]:
    """Return the commands that open, tag and name a window.

    The commands after the opening cannot know the new window's id, and a window that no client shows is not
    their target by default. So its first name has the run's id, which no other name has.
    """
    name = f"new-{order.run_id}"
    made = f"{session}:={name}"
    return [
        [*opening, "-n", name, "-P", "-F", _OPENED_ROW, *order.argv],
        ["set-option", "-w", "-t", made, RUN, order.run_id],
        ["set-option", "-w", "-t", made, STATE, order.state],
        *([["set-option", "-w", "-t", made, FOLDER, order.folder]] if order.folder else []),
        *style.of_window(made, is_at_home=session.startswith("=")),
        ["rename-window", "-t", made, order.name],
    ]


def _opened_row(answer: TmuxAnswer) -> list[str]:
    """Return the fields of the window that an answer reports."""
    rows = [line.split(" ", 6)[1:] for line in answer.lines if line.startswith(f"{_OPENED} ")]
    return rows[0] if rows else []


def tagged(window: str, run_id: str) -> str:
    """Return the condition that this window is there, and the run's."""
    is_it = script.equal("#{window_id}", script.an_id(window, "@"))
    return script.both(is_it, script.equal(f"#{{{RUN}}}", script.a_run(run_id)))


def _windows(rows: Sequence[str]) -> dict[str, RunWindow]:
    """Return windows by their runs, each in its own session or, if not listed there, in a view."""
    found: dict[str, RunWindow] = {}
    for row in rows:
        window, session, is_view, watched, dead, shown, run_id = row.split(" ", 6)
        if is_view == "0" or run_id not in found:
            state = None if shown == "-" else shown
            found[run_id] = RunWindow(window, session, run_id, int(watched), dead == "1", state)
    return found
