"""Launch a run: plan it, write its directory, open its window, hand over, wait for the answer.

Before the directory is written nothing exists, and every refusal happens. After it a failure is a result: no
run stays queued for ever because its launcher had trouble with tmux.
"""

from __future__ import annotations

import os
import secrets
import sys
import time

from tmuxagents import configured
from tmuxagents.commands import fitness, known, learn
from tmuxagents.commands.conclude import NEVER_OPENED, conclude
from tmuxagents.commands.inspect import inspect
from tmuxagents.core import place, plan
from tmuxagents.edges import handover, project, rundir, tmux
from tmuxagents.errors import BadRequest, TmuxAgentsError, Unusable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from tmuxagents.commands.inspect import Run
    from tmuxagents.commands.known import Caller
    from tmuxagents.core.place import Place
    from tmuxagents.core.plan import LaunchRequest
    from tmuxagents.core.settings import Settings
    from tmuxagents.edges.registry import Registry, Row

ANSWER_LIMIT_S = 30.0
SLOW_AFTER_S = 2.0
_BOOT = f"{os.path.dirname(os.path.dirname(os.path.abspath(__file__)))}/_wrap.py"
_CURRENT = "current"  # the setting tmux.session: windows go where the caller is


class Launched:
    """What was launched, where it can be seen, and what its person should know."""

    __slots__ = ("run", "session", "warnings", "window")

    def __init__(self, run: Run, *, session: str, window: str, warnings: list[str]) -> None:
        self.run = run
        self.session = session
        self.window = window
        self.warnings = warnings


class Launcher:
    """Who launches: its surroundings, and what they mean for each of its runs."""

    def __init__(
        self,
        caller: Caller,
        environment: Mapping[str, str],
        *,
        socket: str | None = None,
        slow: Callable[[], None] = lambda: None,
    ) -> None:
        self.umask = os.umask(0o077)
        self.caller = caller
        self.environment = environment
        self.settings: Settings = configured.load(environment, caller.project)
        self.slow = slow  # called when a window takes its time
        self._socket = socket
        self.place, self._inside = self._choose_place()
        self.warnings = [*self.settings.warnings, *([self.place.warning] if self.place.warning else [])]

    def _choose_place(self) -> tuple[Place, tmux.Caller | None]:
        inside = tmux.caller(self.environment)
        wanted = {
            place.FLAG: self._socket,
            place.ENVIRONMENT: self.environment.get("TMUXAGENTS_SOCKET"),
            place.SETTING: self.settings.tmux_socket,
        }
        chosen = place.choose(
            wanted,
            folder=tmux.socket_folder(self.environment),
            caller=inside.server.socket if inside else None,
            caller_lives=inside is not None and inside.lives,
        )
        return chosen, inside if inside is not None and inside.lives else None

    def launch(self, request: LaunchRequest) -> Launched:
        """Launch a run and return when its wrapper has it; raise where nothing could be started."""
        self._refuse(request)
        meta = plan.plan_launch(request, run_id=secrets.token_hex(8), now=time.time())
        meta["tmux"] = self._where(request)
        there = _standing(request.cwd)
        run_dir = rundir.create(self.caller.runs, meta, {rundir.PROMPT: plan.prompt_bytes(request.task)})
        try:
            warnings = [*self.warnings, *self._remember(request, run_dir)]
            project.link(request.project, run_dir)
            opened = self._open(run_dir, request, there)
        except BaseException as error:  # an interrupt, too, must leave no run that waits for ever
            words = error.message if isinstance(error, TmuxAgentsError) else f"{type(error).__name__}."
            conclude(run_dir, never_came=f"{NEVER_OPENED} {words}")
            raise
        run = inspect(run_dir)
        return Launched(run, session=opened.session_name, window=opened.window, warnings=warnings)

    def _refuse(self, request: LaunchRequest) -> None:
        """Refuse what the machine, the caller's standing or other runs do not allow."""
        fitness.refuse_nested(self.environment)
        fitness.check_cwd(request.cwd)
        fitness.check_agent(request.agent, self.environment, self.settings)
        fitness.check_machine(self.caller, self.place, self.environment, self.settings)
        if request.name is not None:
            known.consult(self.caller, lambda book: self._refuse_namesake(request, book))

    def _where(self, request: LaunchRequest) -> dict[str, Any]:
        """Return what the plan says of tmux: server, wanted session, the server it was launched from."""
        from_server = self._inside.server if self._inside else None
        return {
            "socket": self.place.socket,
            "session": None if self._current_pane() else place.session_names(request.project)[0],
            "launcher": learn.key_of(from_server) if from_server else None,
        }

    def _current_pane(self) -> str | None:
        """Return the caller's pane if windows are to go to its session, and it is on the chosen server."""
        inside = self._inside
        if (
            self.settings.tmux_session != _CURRENT
            or inside is None
            or inside.server.socket != self.place.socket
        ):
            return None
        return inside.pane

    # --- known before there is a window -------------------------------------------------------------------

    def _remember(self, request: LaunchRequest, run_dir: str) -> list[str]:
        """Put the run into the registry, if its name is still free: what may live is known."""
        row = learn.row_of(run_dir)

        def ask(book: Registry) -> int:
            with book.writing():
                if request.name is not None:
                    self._refuse_namesake(request, book, besides=os.path.basename(run_dir))
                book.save([row] if row else [])
            return self._neighbours(book, request, os.path.basename(run_dir))

        try:
            neighbours, warnings = known.consult(self.caller, ask)
        except BadRequest:  # somebody took the name a moment ago; nothing has begun
            rundir.remove_unbegun(run_dir)
            raise
        if neighbours:
            runs = "run already works" if neighbours == 1 else "runs already work"
            warnings.append(f"{neighbours} live {runs} in this directory")
        return warnings

    def _refuse_namesake(self, request: LaunchRequest, book: Registry, *, besides: str = "") -> None:
        here = [row for row in book.named(request.name or "") if row.project == request.project]
        if any(self._lives(row) for row in here if row.run_id != besides):
            message = f'A live run of this project has the name "{request.name}" already.'
            raise BadRequest(
                message, kind="bad-argument", hint="choose another, or stop that one", field="name"
            )

    def _neighbours(self, book: Registry, request: LaunchRequest, run_id: str) -> int:
        """Return how many other live runs work where this one will."""
        there = [row for row in book.open_rows() if row.cwd == request.cwd and row.run_id != run_id]
        return sum(self._lives(row) for row in there)

    def _lives(self, row: Row) -> bool:
        run_dir = f"{self.caller.runs}/{row.run_id}"
        return not row.concluded and os.path.isdir(run_dir) and not inspect(run_dir).ended

    # --- in its window ------------------------------------------------------------------------------------

    def _open(self, run_dir: str, request: LaunchRequest, there: list[int]) -> tmux.Opened:
        """Open the window, hand over and wait for the answer, or raise."""
        with handover.Launcher(run_dir) as ours:
            server = tmux.Tmux(self.place.socket, umask=self.umask)
            opened = server.windows.open(_order(run_dir, request), self._home(request))
            ours.hand_over(
                handover.Handed(
                    environment=dict(self.environment),
                    umask=self.umask,
                    limits=handover.limits_now(),
                    working_directory=there,
                    window=opened.window,
                    session=opened.session_name,
                )
            )
            # One that came and is slow to say so has the run all the same.
            if self._is_taken(ours) or rundir.read_wrapper(run_dir) is not None:
                return opened
        message = f"The window opened, but nobody answered in it within {ANSWER_LIMIT_S:g} s."
        raise Unusable(message, kind="window", hint=f"its run is {os.path.basename(run_dir)}")

    def _is_taken(self, ours: handover.Launcher) -> bool:
        if ours.is_taken(SLOW_AFTER_S):
            return True
        self.slow()
        return ours.is_taken(ANSWER_LIMIT_S - SLOW_AFTER_S)

    def _home(self, request: LaunchRequest) -> tmux.Home:
        """Return where the window goes."""
        pane = self._current_pane()
        session = tmux.Tmux(self.place.socket).clients.session_of(pane) if pane else None
        if session is not None:
            return tmux.Home(session=session)
        names = place.session_names(request.project)
        owner = place.owner(request.project)
        return tmux.Home(names, owner=owner, folder=request.project, own=self.place.own)


def _standing(folder: str) -> list[int]:
    """Return what a folder is known by: it may be replaced before the child stands in it."""
    there = os.stat(folder)
    return [there.st_dev, there.st_ino]


def _order(run_dir: str, request: LaunchRequest) -> tmux.Order:
    run_id = os.path.basename(run_dir)
    name = place.safe_name(request.name or "", run_id[:8])
    argv = [sys.executable, "-I", "-S", _BOOT, run_dir]
    return tmux.Order(run_id, name=name, argv=argv, state="running")
