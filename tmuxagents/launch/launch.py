"""Launch a run: plan it, write its directory, open its window, hand over (then launch/arrival waits). Joins.

A refusal comes before the directory is written, and leaves nothing. Any later failure ends the run with a
result: no run stays queued for ever because its launcher had trouble with tmux.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
import unicodedata

from tmuxagents import records, tmux
from tmuxagents.errors import BadRequest, TmuxAgentsError
from tmuxagents.launch import checks, handover, nesting
from tmuxagents.launch import plan as plans
from tmuxagents.launch.arrival import Arrival, give_up
from tmuxagents.launch.plan import HERE, Target, parse_on
from tmuxagents.launch.prepare import PlanSurroundings, Prepared, Preparing, new_call
from tmuxagents.registry import learn, lookup
from tmuxagents.runs import directory, writing
from tmuxagents.runs.conclude import NEVER_OPENED, conclude
from tmuxagents.settings import load
from tmuxagents.system import project, watcher_lock
from tmuxagents.tmux import place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from tmuxagents.launch.arrival import Launched
    from tmuxagents.launch.elsewhere import FarArrival
    from tmuxagents.launch.nesting import NestingPermission
    from tmuxagents.launch.plan import InCall, LaunchRequest
    from tmuxagents.registry.database import Registry
    from tmuxagents.registry.lookup import Caller
    from tmuxagents.runs.endings import Cause
    from tmuxagents.settings.keys import Settings

_BOOT = f"{os.path.dirname(os.path.dirname(os.path.abspath(__file__)))}/_wrap.py"
_CURRENT = "current"  # the setting tmux.session: windows go where the caller is


class Launcher:
    """Launches the runs of one caller: holds its settings, its tmux server and its presets."""

    def __init__(  # noqa: PLR0913  (a caller's surroundings)
        self,
        caller: Caller,
        environment: Mapping[str, str],
        *,
        umask: int,
        socket: str | None = None,
        project_presets: bool = True,
        slow: Callable[[], None] = lambda: None,
    ) -> None:
        self.umask = umask  # the caller's; the child and a new tmux server get it
        self.caller = caller
        self.environment = environment
        self.settings: Settings = load.load(environment, caller.project)
        self._own: set[str] = set()  # the runs launched here: none of them is warned of another one
        self._has_warned_of_others = False  # one warning a call is enough
        self.slow = slow  # called if a wrapper takes long
        self._nesting: NestingPermission | None = None  # of a child that may launch children
        self.place, inside = tmux.choose_place(environment, flag=socket, setting=self.settings.tmux_socket)
        self._inside = inside if inside is not None and inside.lives else None
        self.preparing = Preparing(caller, environment, self.settings, project_presets=project_presets)
        self.warnings = [*self.settings.warnings, *([self.place.warning] if self.place.warning else [])]

    def launch(self, request: LaunchRequest, call: InCall | None = None) -> Launched:
        """Launch a run and return when its wrapper has it; raise if nothing could be started."""
        self.check_surroundings()
        return self.start(self.prepare(request, call))

    def check_surroundings(self) -> None:
        """Refuse to launch if the machine does not allow it, or the run in which the caller is a child."""
        with self.explaining():
            self._nesting = nesting.check(self.environment, self.caller.runs)
            checks.check_machine(self.caller, self.place, self.environment, self.settings)

    def prepare(self, request: LaunchRequest, call: InCall | None = None) -> Prepared:
        """Plan a run, or refuse it. `call`: the place of the run in a call of several."""
        with self.explaining():
            if request.name is not None:  # a letter and its accent are one sign, however they were typed
                request = request._replace(name=unicodedata.normalize("NFC", request.name))
            if request.on is None and request.preset is not None and not request.continues:
                preset = self.preparing.chooser().choose(request.preset, cwd=request.cwd)
                request = request._replace(on=preset.on)
            if request.on == HERE:
                request = request._replace(on=None)
            if request.on is not None:
                from tmuxagents.launch import far  # noqa: PLC0415  (most runs work here)

                if parse_on(request.on).host is not None:
                    return far.prepare(self, request, call)
            if request.sbatch and request.on is None:
                message = "--sbatch is for --on slurm."
                raise BadRequest(message, kind="usage", hint="add --on slurm", field="sbatch")
            plans.check(request)
            checks.check_cwd(request.cwd)
            prepared = self.preparing.prepare(request, self._surroundings(request, call))
            if request.name is not None:
                lookup.with_registry(
                    self.caller, lambda book: checks.refuse_namesake(book, self.caller, request)
                )
        return prepared

    @contextlib.contextmanager
    def explaining(self) -> Iterator[None]:
        """Add warnings to a refusal: a setting or preset that was left out may be the reason for it."""
        try:
            yield
        except TmuxAgentsError as refusal:
            left_out = [warning for warning in self.preparing.left_out() if warning != refusal.message]
            refusal.warnings = [*self.warnings, *left_out]
            raise

    def sketch(self, request: LaunchRequest, call: InCall) -> Prepared:
        """Plan a run without preset and model: it ends before it begins, or another machine plans it."""
        if request.timeout is None:
            request = request._replace(timeout=self.settings.numbers["timeout"])
        texts = {directory.PROMPT: plans.prompt_bytes(request.task)}
        plan = self._surroundings(request, call).plan(request)
        return Prepared(request, plan, texts, {}, ())

    def start(self, prepared: Prepared) -> Launched:
        """Make the run, open its window and wait until its wrapper has it; raise if that fails."""
        return self.begin(prepared).wait()

    def begin(self, prepared: Prepared) -> Arrival | FarArrival:
        """Make the run and open its window. If that fails, end the run and raise the reason."""
        request = prepared.request
        if request.on is not None:
            from tmuxagents.launch import far, job  # noqa: PLC0415  (as above)

            is_job = parse_on(request.on).host is None
            return job.begin(self, prepared) if is_job else far.begin(self, prepared)
        checks.check_cwd(request.cwd)  # again: the tasks before this one may have taken long
        folder = os.stat(request.cwd)  # with this, the wrapper notices if the folder is replaced
        run_dir = f"{self.caller.runs}/{prepared.plan.run_id}"
        ours: handover.LauncherEnds | None = None
        try:
            with checks.claimed_name(self.caller, request):
                self.make(prepared)
            if self._nesting is not None:
                nesting.refuse_crowd(run_dir)
            warnings = [*self.warnings, *prepared.warnings, *self._remember(request, run_dir)]
            project.link(request.project, run_dir)
            ours = handover.LauncherEnds(run_dir)
            opened = self._open(run_dir, prepared, [folder.st_dev, folder.st_ino], ours)
        except BaseException as error:  # an interrupt, too, must leave no run that waits for ever
            words = error.message if isinstance(error, TmuxAgentsError) else f"{type(error).__name__}."
            give_up(run_dir, ours, f"{NEVER_OPENED} {words}")
            raise
        return Arrival(run_dir, ours=ours, opened=opened, warnings=warnings, slow=self.slow)

    def end_unopened(self, prepared: Prepared, cause: Cause) -> str:
        """Make a run that ends before it has a window; return its directory."""
        run_dir = self.make(prepared)
        conclude(run_dir, cause=cause, never_came=cause.message, gone=True)
        self.register(run_dir)
        return run_dir

    def register(self, run_dir: str) -> None:
        """Put a run into the registry, so that lists show it."""
        lookup.with_registry(self.caller, lambda book: book.save(filter(None, [learn.row_of(run_dir)])))

    def make(self, prepared: Prepared, more: Mapping[str, bytes] | None = None) -> str:
        """Make the run's directory, with the prepared files and `more`; return its path."""
        before = prepared.request.continues
        now = round(before.moment(time.time()) if before else time.time(), 3)
        plan = prepared.plan.changed(created_at=now)  # a call may have prepared it long ago
        run_dir = writing.create(self.caller.runs, plan, {**prepared.texts, **(more or {})})
        watcher_lock.ensure(self.caller.home, self.environment)  # concludes the run if we die now
        return run_dir

    def _surroundings(self, request: LaunchRequest, call: InCall | None) -> PlanSurroundings:
        """Return what a plan depends on besides its request."""
        target = Target(
            socket=self.place.socket,
            session=None if self._current_pane() else place.session_names(request.project)[0],
            launcher=learn.key_of(self._inside.server) if self._inside else None,
        )
        return PlanSurroundings(call or new_call(), target, self._nesting)

    def _current_pane(self) -> str | None:
        """Return the caller's pane if windows open in its session, and it is on the chosen server."""
        inside = self._inside
        is_there = inside is not None and inside.server.socket == self.place.socket
        return inside.pane if inside and is_there and self.settings.tmux_session == _CURRENT else None

    # --- known before there is a window -------------------------------------------------------------------

    def _remember(self, request: LaunchRequest, run_dir: str) -> list[str]:
        """Put the run into the registry; return warnings, also of other runs that work in its directory."""
        row = learn.row_of(run_dir)
        self._own.add(os.path.basename(run_dir))
        awaited = checks.awaited(self.caller, request.after)  # they end before this run works

        def ask(book: Registry) -> Sequence[str]:
            book.save([row] if row else [])
            if self._has_warned_of_others:
                return ()
            return checks.others_at_work(book, self.caller, request.cwd, besides=self._own | awaited)

        others, warnings = lookup.with_registry(self.caller, ask)
        if others:
            self._has_warned_of_others = True
            warnings.append(checks.warn_of_others(others))
        return warnings

    # --- in its window ------------------------------------------------------------------------------------

    def _open(
        self, run_dir: str, prepared: Prepared, there: list[int], ours: handover.LauncherEnds
    ) -> tmux.Opened:
        """Open the window, and hand over what its wrapper needs."""
        server = tmux.Tmux(self.place.socket, umask=self.umask)
        waits = prepared.request.after or not checks.has_room(self.caller, self.settings)
        state = records.QUEUED if waits else records.RUNNING
        plan = prepared.plan
        name = place.safe_name(plan.name or plan.preset or "", plan.run_id[:8])
        argv = [sys.executable, "-I", "-S", _BOOT, run_dir]
        order = tmux.Order(plan.run_id, name=name, argv=argv, state=state, folder=plan.project or "/")
        opened = server.windows.open(order, self.home_of(prepared.request))
        ours.hand_over(
            handover.Handed(
                environment={**self.environment, **prepared.variables},
                umask=self.umask,
                limits=handover.limits_now(),
                working_directory=there,
                window=opened.window,
                session=opened.session_name,
            )
        )
        return opened

    def home_of(self, request: LaunchRequest) -> tmux.Home:
        """Return where the window goes."""
        pane = self._current_pane()
        session = tmux.Tmux(self.place.socket).windows.session_of(pane) if pane else None
        if session is not None:
            return tmux.Home(session=session)
        names = place.session_names(request.project)
        owner = place.owner(request.project)
        return tmux.Home(names, owner=owner, folder=request.project, own=self.place.own)
