"""Sessions of layouts: built, found again, and the windows and panes in them that come and go with runs.

libtmux arranges, selects and types. Below it: what makes sessions, windows and panes (its calls expand names
and folders, and list the whole server after each), and what looks and acts in one step. A pane is known by
our tag alone.

Touches: tmux.
"""

from __future__ import annotations

import time

from tmuxagents.tmux import library, runner, script, servers, windows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tmuxagents.tmux.runner import Command, Runner

LAYOUT = "@tmuxagents_layout"  # of a session: which layout it is
OF = "@tmuxagents_layout_of"  # and whose
EACH = "@tmuxagents_each"  # of a window, or of a session for windows: something comes for each live run
BUILT = "@tmuxagents_built"  # of a session: all that its file tells of is there
ROOM = "tiled"  # so arranged, a window has room for the next pane
_LIMIT_S = 8.0
_PAUSE_S = 0.02


class PaneOrder:
    """A pane: the program in it, or a shell (no program) in which lines are typed. It stands in `folder`."""

    __slots__ = ("argv", "focus", "folder", "lines", "stays")

    def __init__(self, argv: Sequence[str] = (), *, folder: str, lines: Sequence[str] = ()) -> None:
        self.argv = list(argv)
        self.folder = folder
        self.lines = list(lines)
        self.focus = False
        self.stays = False  # when its program has ended, what it wrote can still be read


class WindowOrder:
    """A window and its panes. `layout` must be one that tmux takes: some versions end at any other."""

    __slots__ = ("each", "focus", "layout", "name", "options", "panes")

    def __init__(self, name: str, panes: Sequence[PaneOrder], *, layout: str | None = None) -> None:
        self.name = script.a_name(name)
        self.panes = panes
        self.layout = layout
        self.options: Mapping[str, str] = {}
        self.each = False
        self.focus = False


class SessionOrder:
    """A session, by the first of `names` that is free. All its panes have `variables` besides."""

    __slots__ = ("each", "layout", "names", "options", "own", "owner", "size", "variables", "windows")

    def __init__(
        self, layout: str, *, owner: str, names: Sequence[str], windows: Sequence[WindowOrder]
    ) -> None:
        self.layout = script.a_name(layout)
        self.owner = script.a_run(owner)
        self.names = [script.a_name(name) for name in names]
        self.windows = windows
        self.options: Mapping[str, str] = {}
        self.variables: Mapping[str, str] = {}
        self.each = False
        self.own = False  # the server is for tmuxagents alone
        self.size = (200, 50)  # until somebody looks at it


class Session:
    """A session of a layout."""

    __slots__ = ("name", "session")

    def __init__(self, session: str, name: str) -> None:
        self.session = session
        self.name = name


class Sessions:
    """The sessions of layouts on one server. Each raises NoServer, Unanswered or Refused."""

    __slots__ = ("_runner",)

    def __init__(self, of: Runner) -> None:
        self._runner = of

    def find(self, layout: str, owner: str) -> Session | None:
        """Return the session of a layout that is somebody's, None if there is none."""
        is_it = script.both(
            script.equal(f"#{{{LAYOUT}}}", script.a_name(layout)),
            script.equal(f"#{{{OF}}}", script.a_run(owner)),
        )
        rows = self._runner.ask(["list-sessions", "-f", is_it, "-F", "#{session_id} #{session_name}"])
        return Session(*rows[0].split(" ", 1)) if rows else None

    def build(self, order: SessionOrder) -> Session:
        """Build a session behind everybody's back: whole, or not at all."""
        made, first = self._begin(order)
        try:
            self._furnish(order, made, first)
            self._runner.ask(["set-option", "-t", made.session, BUILT, "1"])
        except BaseException:
            self.end(made)
            raise
        return made

    def end(self, made: Session) -> None:
        """End a session of a layout; windows that are linked into it live on where they are at home."""
        is_it = script.both(script.equal("#{session_id}", made.session), f"#{{{LAYOUT}}}")
        self._runner.ask(script.when(f"{made.session}:", is_it, [["kill-session", "-t", made.session]]))

    def attach_argv(self, made: Session) -> list[str]:
        """Return the program that shows a session on the terminal it is executed on, outside tmux."""
        return [
            "tmux",
            "-u",
            "-S",
            self._runner.socket,
            "attach-session",
            "-t",
            script.an_id(made.session, "$"),
        ]

    # --- built --------------------------------------------------------------------------------------------

    def _begin(self, order: SessionOrder) -> tuple[Session, tuple[str, str]]:
        """Make the session under the first name that is free; return it, and its first window and pane."""
        runner.client_version()  # before a tmux that is too old starts a server
        servers.make_folder(self._runner.socket)
        names = list(order.names)
        deadline = time.monotonic() + _LIMIT_S
        while True:
            try:
                answer = self._try(order, names[0])
            except runner.NoServer:  # one that is just ending
                if time.monotonic() > deadline:
                    raise
                time.sleep(_PAUSE_S)
                continue
            if "duplicate session" not in answer.error or len(names) == 1:
                break
            names.pop(0)
        if answer.code != 0 or not answer.lines:
            raise runner.refusal(answer, "window")
        session, window, pane = answer.lines[0].split(" ")
        return Session(session, names[0]), (window, pane)

    def _try(self, order: SessionOrder, name: str) -> runner.Answer:
        """Make the session. By stdin: a server that this starts shows its first command line to all users."""
        window = order.windows[0]
        pane = window.panes[0]
        size = ["-x", str(order.size[0]), "-y", str(order.size[1])]
        row = "#{session_id} #{window_id} #{pane_id}"
        opening = ["new-session", "-d", "-s", name, *size, "-n", window.name, "-P", "-F", row]
        setting = ["set-option", "-t", f"={name}:"]
        commands: list[Command] = [
            [*opening, *(f"-e{key}={value}" for key, value in order.variables.items()), *pane.argv],
            [*setting, LAYOUT, order.layout],
            [*setting, OF, order.owner],
            [*setting, "destroy-unattached", "off"],  # nobody looks at it yet
        ]
        if order.each:
            commands.append([*setting, EACH, "window"])
        if order.own:
            commands.append(["set-option", "-s", "exit-unattached", "off"])
        text = f"{script.script(*commands)}\n".encode()
        return self._runner.run(["start-server"], ["source-file", "-"], text=text, folder=pane.folder)

    def _furnish(self, order: SessionOrder, made: Session, first: tuple[str, str]) -> None:
        self._set(["-t", made.session], order.options)
        chosen = first[0]
        for number, window in enumerate(order.windows):
            window_id, pane_id = first if number == 0 else self._window(made, window)
            self._fill(window, window_id, pane_id)
            chosen = window_id if window.focus else chosen
        library.select_window(self._runner, chosen)

    def _window(self, made: Session, window: WindowOrder) -> tuple[str, str]:
        pane = window.panes[0]
        opening = ["new-window", "-d", "-t", f"{made.session}:", "-n", window.name]
        row = ["-P", "-F", "#{window_id} #{pane_id}"]
        return self._made([*opening, *row, *pane.argv], pane.folder)

    def _fill(self, window: WindowOrder, window_id: str, pane_id: str) -> None:
        setting = ["set-option", "-w", "-t", window_id]
        self._runner.ask(
            [*setting, "remain-on-exit", "off"],
            *([[*setting, EACH, "pane"]] if window.each else []),
        )
        self._set(["-w", "-t", window_id], window.options)
        panes = [pane_id]
        for pane in window.panes[1:]:
            library.arrange(self._runner, window_id, ROOM)
            split = ["split-window", "-d", "-t", panes[-1], "-P", "-F", "#{window_id} #{pane_id}"]
            panes.append(self._made([*split, *pane.argv], pane.folder)[1])
        if window.layout is not None:
            library.arrange(self._runner, window_id, window.layout)
        for pane, pane_id_ in zip(window.panes, panes, strict=True):
            self._settle(pane, pane_id_)

    def _settle(self, pane: PaneOrder, pane_id: str) -> None:
        if pane.stays:
            self._runner.ask(["set-option", "-p", "-t", pane_id, "remain-on-exit", "on"])
        for line in pane.lines:
            library.type_line(self._runner, pane_id, line)
        if pane.focus:
            library.select_pane(self._runner, pane_id)

    def _made(self, command: Command, folder: str) -> tuple[str, str]:
        answer = self._runner.run(command, folder=folder)
        if answer.code != 0 or not answer.lines:
            raise runner.refusal(answer, "window")
        window, pane = answer.lines[0].split(" ")
        return window, pane

    def _set(self, where: Sequence[str], options: Mapping[str, str]) -> None:
        """Set options of a person's own file. By stdin: to tmux's command line a value could be too long."""
        if options:
            lines = [script.script(["set-option", *where, name, value]) for name, value in options.items()]
            self._runner.ask(["source-file", "-"], text="".join(f"{line}\n" for line in lines).encode())

    def tiles(self, session: str) -> Tiles:
        """Return what there is to do with what comes and goes in one of them."""
        return Tiles(self._runner, session)

    def of_pane(self, pane: str) -> str | None:
        """Return the session of a layout that a pane is in, None if it is in none."""
        here = script.both(script.equal("#{pane_id}", script.an_id(pane, "%")), f"#{{{LAYOUT}}}")
        rows = self._runner.ask(["list-panes", "-a", "-f", here, "-F", "#{session_id}"])
        return rows[0] if rows else None


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
