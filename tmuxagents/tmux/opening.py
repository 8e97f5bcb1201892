"""Opening a run's window: one call of tmux where its session is there, two where it must be made.

Below libtmux (see docs/architecture.md): a launch would wait 40 ms for its import, and `Session.new_window`
raises if the command ends at once, though it ran (a wrapper that finds a result leaves at once).

Touches: tmux.
"""

from __future__ import annotations

import os
import time
from typing import NamedTuple

from tmuxagents.errors import Unusable
from tmuxagents.system import process
from tmuxagents.tmux import runner, script, servers, style

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from tmuxagents.tmux.runner import Command, Runner, TmuxAnswer
    from tmuxagents.tmux.servers import ServerLife

RUN = "@tmuxagents_run"
STATE = "@tmuxagents_state"
OWNER = "@tmuxagents_project"
FOLDER = "@tmuxagents_folder"  # of the run's project: where our keys work from (integrate/tmux_texts)
_LONGEST_FOLDER = 4096  # as tmux reads it; all commands together may have 16 KB
HISTORY_LINES = "500"  # of a window: 100 children with 2000 wide lines each are 200 MB of server
_LIMIT_S = 8.0
_MODIFIED_KEYS = (
    "set-option -s extended-keys on"  # as Shift-Enter, for programs that want them; pi warns else
)
_PAUSE_S = 0.02
_OPENED, _TAKEN = "opened", "taken"
_OPENED_ROW = (
    f"{_OPENED} #{{window_id}} #{{pane_id}} #{{session_id}} #{{pid}} #{{pane_pid}} #{{session_name}}"
)
_TAKEN_ROW = f"{_TAKEN} #{{{OWNER}}}:#{{session_name}}"  # last, since a name of others may hold anything


class Home:
    """Where windows go: a session of the project's own, or, by `session`, one that is there.

    `names` are the session's names in order of preference; `owner` tells ours from another project's. One
    that is made begins in `folder`. `own`: the server is for tmuxagents alone, its options are ours.
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
    """One window to open: whose it is, what it is called, what runs in it, and the folder of its project."""

    __slots__ = ("argv", "folder", "name", "run_id", "state")

    def __init__(self, run_id: str, *, name: str, argv: Sequence[str], state: str, folder: str = "") -> None:
        if not argv or not argv[0].startswith("/"):
            raise ValueError(f"no absolute path to run: {list(argv)!r}")
        self.run_id = script.a_run(run_id)
        self.name = script.a_name(name)
        self.argv = list(argv)
        self.state = script.a_name(state)
        # It goes into an option, as data. What tmux may not take there, or is too long, is left out.
        fits = folder.isprintable() and len(script.quoted(folder)) <= _LONGEST_FOLDER
        self.folder = folder if folder.startswith("/") and fits else ""


class Opened(NamedTuple):
    """A window that was opened, where, and which state of its run it shows."""

    window: str
    pane: str
    session: str
    session_name: str
    server: ServerLife
    program: tuple[int, int | None]  # the pid and the start time of what runs in it
    state: str


def open_window(run: Runner, order: Order, home: Home) -> Opened:
    """Open a window without moving any view; make its session, and its server, if there is none.

    Unanswered means that the window may still appear. A server that is just ending is waited for a while.
    """
    if home.session is not None:
        return _opened(run, _in_session(run, order, home.session, home), order, home)
    name, is_there = home.names[0], servers.listening(run.socket) is not None
    deadline = time.monotonic() + _LIMIT_S
    while True:
        late = time.monotonic() > deadline
        try:
            answer = (_in_session if is_there else _in_new)(run, order, f"={name}", home)
        except runner.NoServer:
            if late:
                raise
            is_there = False
            time.sleep(_PAUSE_S)
            continue
        following = None if late else _following(answer, name, home)
        if following is None:
            return _opened(run, answer, order, home)
        name, is_there = following


def _following(answer: TmuxAnswer, name: str, home: Home) -> tuple[str, bool] | None:
    """Return the session to try next, and whether it is there; None: the answer is final."""
    if "duplicate session" in answer.error:
        return name, True  # another launch made it first
    if answer.code != 0 or _row(answer):
        return None
    rows = (line.removeprefix(f"{_TAKEN} ").partition(":") for line in answer.lines)
    owners = {name: owner for owner, _, name in rows}
    ours = [name for name in home.names if owners.get(name) == home.owner]
    free = [name for name in home.names if name not in owners]
    return ((ours or free)[0], bool(ours)) if ours or free else None


def _in_session(run: Runner, order: Order, session: str, home: Home) -> TmuxAnswer:
    """Open it in a session that exists and is ours; else ask which sessions have our names."""
    by = "session_name" if session.startswith("=") else "session_id"
    is_it = script.equal(f"#{{{by}}}", session.removeprefix("="))
    if home.owner:
        is_it = script.both(is_it, script.equal(f"#{{{OWNER}}}", home.owner))
    opening = ["new-window", "-d", "-t", f"{session}:"]
    like_ours = f"#{{m:{home.names[0]}*,#{{session_name}}}}" if home.names else "0"
    others = ["list-sessions", "-f", like_ours, "-F", _TAKEN_ROW]
    return run.run(script.when(f"{session}:", is_it, _commands(order, session, opening), [others]))


def _in_new(run: Runner, order: Order, session: str, home: Home) -> TmuxAnswer:
    """Open it as the first window of a new session."""
    runner.client_version()  # before a tmux that is too old starts a server
    servers.make_folder(run.socket)
    opening = ["new-session", "-d", "-s", session.removeprefix("=")]
    setting = ["set-option", "-t", f"{session}:"]
    settings: list[Command] = [
        [*setting, OWNER, home.owner],
        [*setting, "history-limit", HISTORY_LINES],
        # A person's tmux.conf may end sessions without a client, and background runs live in those. (Besides,
        # a client that is detached from such a session crashes 3.3a now and then.)
        [*setting, "destroy-unattached", "off"],
        *style.of_session(session),
    ]
    if home.own:
        settings.append(["set-option", "-s", "exit-unattached", "off"])
        settings.append(["if-shell", "-F", "#{==:#{extended-keys},off}", _MODIFIED_KEYS])
    first, *rest = _commands(order, session, opening)
    # There the session begins, and with it each window that a person adds.
    usable = home.folder.isprintable() and os.path.isdir(home.folder) and os.access(home.folder, os.X_OK)
    return run.run(first, *settings, *rest, folder=home.folder if usable else "/")


def _commands(order: Order, session: str, opening: list[str]) -> list[Command]:
    """Return what opens, tags and names a window.

    A new window that is not looked at is no target for the commands behind it, and they cannot know its id.
    So its first name is its run's id, which nothing else is called.
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


def _opened(run: Runner, answer: TmuxAnswer, order: Order, home: Home) -> Opened:
    """Return what was opened, if every command behind it was carried out; else raise what tmux said."""
    row = _row(answer)
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
        server=servers.server_of(run.socket, int(pid)),
        program=(int(program), process.start_time(int(program))),
        state=order.state,
    )


def _row(answer: TmuxAnswer) -> list[str]:
    """Return the fields of the window that an answer tells of."""
    rows = [line.split(" ", 6)[1:] for line in answer.lines if line.startswith(f"{_OPENED} ")]
    return rows[0] if rows else []
