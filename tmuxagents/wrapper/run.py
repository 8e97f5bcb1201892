"""One run from its directory to its result: claim it, start the child, watch it, write how it ended."""

from __future__ import annotations

import os
import signal
import sys
import time

from tmuxagents import records, tree
from tmuxagents.agents import AGENTS
from tmuxagents.core import documents, environment, events, lifecycle, transcript
from tmuxagents.core import settings as settings_rules
from tmuxagents.core.guards import Guards
from tmuxagents.edges import process, rundir, settings
from tmuxagents.edges.terminal import Terminal
from tmuxagents.errors import TmuxAgentsError
from tmuxagents.records import Exit, Verdict
from tmuxagents.wrapper.ladder import Ladder
from tmuxagents.wrapper.recorder import Recorder
from tmuxagents.wrapper.signals import Signals
from tmuxagents.wrapper.watch import CAUSES, Pipes, Watch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tmuxagents.agents.base import Agent
    from tmuxagents.core.settings import Settings

LOCK_LIMIT_S = 10.0
_RETRY_S = 0.5
_SERVER_LIMIT_S = 0.3
_TERMINAL_LIMIT_S = 0.2


def main(arguments: list[str]) -> None:
    """Run the wrapper of one run directory and leave without Python's slow way out."""
    outer_umask = os.umask(0o077)
    try:
        code = wrap(os.path.realpath(arguments[0]), outer_umask)
    except TmuxAgentsError as error:
        sys.stderr.write(f"{error.message}\n" + (f"hint: {error.hint}\n" if error.hint else ""))
        code = error.exit_code
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def wrap(run_dir: str, outer_umask: int) -> int:
    """Carry out a run, unless somebody has already; return our exit status."""
    # Signals first: a window that is closed right now must end the run, not kill the wrapper.
    signals = Signals()
    try:
        held = rundir.lock(run_dir, LOCK_LIMIT_S)
    except OSError as error:
        return _leave(f"There is no run directory at {run_dir}: {error.strerror}.", 4)
    if held is None:
        return _leave("Another process holds this run; nothing was started.", 4)
    meta = rundir.read_meta(run_dir)
    if meta is None or not os.path.exists(f"{run_dir}/{rundir.PROMPT}"):
        return _leave(f"There is no plan of a run in {run_dir}; nothing was started.", 4)
    if rundir.read_result(run_dir) is not None:
        return _leave("This run has ended already; nothing was started.", 4)
    wrapper = documents.wrapper(process.myself(), _tmux(), time.time())
    if not rundir.claim(run_dir, wrapper):
        return _leave("This run has a wrapper already; nothing was started.", 4)
    settings_in_force = _settings(meta)
    terminal = Terminal()
    width = int(settings_in_force.numbers["commandPreviewWidth"])
    recorder = Recorder(run_dir, meta, wrapper, terminal, width=width)
    run = Run(
        run_dir=run_dir,
        meta=meta,
        wrapper=wrapper,
        recorder=recorder,
        terminal=terminal,
        signals=signals,
        settings_in_force=settings_in_force,
    )
    return run.carry_out(outer_umask)


def _leave(why: str, code: int) -> int:
    sys.stderr.write(f"{why}\n")
    return code


def _tmux() -> dict[str, Any]:
    """Return where in tmux we are, from our own environment: the wrapper makes no tmux call."""
    socket, pid, _session = [*os.environ.get("TMUX", "").rsplit(",", 2), "", ""][:3]
    server = int(pid) if pid.isdigit() else None
    return {
        "socketPath": socket or None,
        "serverPid": server,
        "serverStartTime": None if server is None else process.start_time(server),
        "window": None,  # the launcher knows it
        "pane": os.environ.get("TMUX_PANE"),
    }


def _settings(meta: dict[str, Any]) -> Settings:
    project = meta.get("project")
    return settings_rules.resolve(
        os.environ,
        global_text=settings.read_own(settings.global_path(os.environ)),
        project_text=settings.read_own(settings.project_path(project)) if project else None,
    )


class Run:
    """One run in the hands of its wrapper."""

    def __init__(  # noqa: PLR0913  (what `wrap` has gathered)
        self,
        *,
        run_dir: str,
        meta: dict[str, Any],
        wrapper: dict[str, Any],
        recorder: Recorder,
        terminal: Terminal,
        signals: Signals,
        settings_in_force: Settings,
    ) -> None:
        self._run_dir = run_dir
        self._meta = meta
        self._since: int = wrapper["startTime"]
        self._tmux: dict[str, Any] = wrapper["tmux"]
        self._recorder = recorder
        self._terminal = terminal
        self._signals = signals
        self._settings = settings_in_force
        self._reserve = rundir.reserve(run_dir)
        self._begun = time.monotonic()
        self._lingered = False

    def carry_out(self, outer_umask: int) -> int:
        """Start the child, watch it to its end, end what it left, write the result."""
        process.become_subreaper()
        agent = AGENTS.get(self._meta["agent"])
        verdict = self._stopped_before() or self._enter_cwd()
        if verdict is None and agent is not None:
            verdict = self._run_child(agent, outer_umask)
        if verdict is None:
            verdict = Verdict(records.FAILED, "spawn", "Failed to spawn sub-agent process", exit=Exit(1))
        self._conclude(verdict)
        return 0 if verdict.status == records.COMPLETED else 1

    def _stopped_before(self) -> Verdict | None:
        """Say how it ended if a stop came before there was a child."""
        caught = self._signals.caught()
        for number, cause in CAUSES.items():
            if number in caught:
                how = self._server_ended() if cause is lifecycle.WINDOW_CLOSED else cause
                return Verdict(how.status, how.reason, how.message)
        return None

    def _enter_cwd(self) -> Verdict | None:
        try:
            os.chdir(self._meta["cwd"])
        except OSError:
            return Verdict(records.FAILED, "spawn", "The working directory changed.")
        return None

    def _run_child(self, agent: Agent, outer_umask: int) -> Verdict | None:
        """Return how it ended, None if it cannot be started."""
        for line in transcript.header(self._meta, _iso(time.time())):
            self._recorder.line(line)
        scope = tree.Scope(
            run_id=self._meta["runId"],
            since=self._since,
            wrapper=os.getpid(),
            keep=self._settings.keep_background,
        )
        started = self._start(agent, outer_umask)
        if started is None:
            return None
        child, pipes = started
        ladder = Ladder(child, scope)
        watch = Watch(
            child=child,
            pipes=pipes,
            reader=agent.reader(),
            recorder=self._recorder,
            guards=self._guards(),
            ladder=ladder,
            terminal=self._terminal,
            signals=self._signals,
            snapshots=agent.snapshots,
        )
        ending = _exit(watch.run())
        self._recorder.event(events.child_exited(ending.exit_code, ending.signal))
        self._recorder.flush(time.monotonic())  # should we be killed while leftovers take their time
        for spared in tree.end(scope, hard=ladder.killed):
            self._recorder.event(events.left_behind(pid=spared.pid, comm=spared.comm, why=spared.why))
        self._lingered = ladder.begun and ladder.cause is None
        cause = self._server_ended() if ladder.cause is lifecycle.WINDOW_CLOSED else ladder.cause
        return lifecycle.verdict(self._recorder.state, ending, cause=cause, lingered=self._lingered)

    def _guards(self) -> Guards:
        numbers = self._settings.numbers
        return Guards(
            started_at=self._begun,
            timeout_s=self._meta["timeout"],
            debounce_s=numbers["extend_timeout_debounce"],
            loop_count=int(numbers["looping_tool_count"]),
        )

    def _start(self, agent: Agent, outer_umask: int) -> tuple[int, Pipes] | None:
        program = self._program(agent)
        own = agent.environment(settings.agent_dir(os.environ))
        surroundings = environment.of_child(os.environ, run_id=self._meta["runId"], agent=own)
        path = process.find_program(program[0], surroundings.get("PATH", ""))
        if path is None:
            return None
        argv = [*program, *agent.arguments(self._meta, self._run_dir)]
        out, out_child = process.pipe()
        err, err_child = process.pipe()
        os.umask(outer_umask)
        try:
            child = process.spawn(
                path,
                argv,
                surroundings,
                stdin=f"{self._run_dir}/{rundir.PROMPT}",
                streams=(out_child, err_child),
            )
        except OSError:
            return None
        finally:
            os.umask(0o077)
            os.close(out_child)
            os.close(err_child)
        self._begun = time.monotonic()
        self._recorder.event(events.run_started(self._started_fields(child)))
        self._recorder.flush(self._begun)
        return child, Pipes(out, err)

    def _program(self, agent: Agent) -> list[str]:
        named = os.environ.get(agent.program_variable)
        return [named] if named else self._settings.agent_commands.get(agent.name, [agent.program])

    def _started_fields(self, child: int) -> dict[str, Any]:
        return {
            "pid": child,
            "pidStartTime": process.start_time(child),
            "wrapperPid": os.getpid(),
            "pane": self._tmux["pane"],
            "window": self._tmux["window"],
            "agentVersion": None,
        }

    def _server_ended(self) -> lifecycle.Cause:
        """Say what a hang-up was: a window that was closed, or the end of its server, a moment later."""
        tmux = self._tmux
        if tmux["serverStartTime"] is None:
            return lifecycle.WINDOW_CLOSED
        gone = process.wait_gone(tmux["serverPid"], tmux["serverStartTime"], _SERVER_LIMIT_S)
        return lifecycle.SERVER_ENDED if gone else lifecycle.WINDOW_CLOSED

    # --- the end ---

    def _conclude(self, verdict: Verdict) -> None:
        now = time.monotonic()
        duration = now - self._begun
        self._recorder.line(transcript.closing(verdict, duration))
        self._recorder.flush(now, last=True)
        self._recorder.title(f"{verdict.status} ({verdict.reason})")
        if self._terminal.is_terminal:
            self._terminal.show(b"\a")
        self._write_result(verdict, duration)
        self._terminal.leave(_TERMINAL_LIMIT_S)

    def _write_result(self, verdict: Verdict, duration: float) -> None:
        """Write the result, and do not leave without it: a full disk has room again one day."""
        ended_at = time.time()
        while True:
            self._recorder.keep_directory()
            if self._reserve is not None:
                os.close(self._reserve)
                self._reserve = None
            incomplete = not self._write_output() or self._recorder.incomplete
            result = documents.result(
                self._meta,
                self._recorder.state,
                verdict,
                ended_at=ended_at,
                duration_s=duration,
                lingered=self._lingered,
                logs_incomplete=incomplete,
            )
            try:
                rundir.write_result(self._run_dir, result)
            except OSError as error:
                self._recorder.hint(f"The result cannot be written ({error.strerror}); trying again.")
                self._recorder.flush(time.monotonic(), last=True)
                if self._asked_to_leave():
                    return
            else:
                return

    def _write_output(self) -> bool:
        """Write the whole answer beside the result; say whether that worked."""
        text = self._recorder.state.text
        if text is None:
            return True
        try:
            rundir.replace(self._run_dir, rundir.OUTPUT, text.encode("utf-8", "replace"))
        except OSError:
            return False
        return True

    def _asked_to_leave(self) -> bool:
        """Wait a moment; say whether somebody wants us gone even without a result (its events tell most)."""
        time.sleep(_RETRY_S)
        return bool({signal.SIGTERM, signal.SIGINT, signal.SIGHUP} & self._signals.caught())


def _exit(status: int) -> Exit:
    code = os.waitstatus_to_exitcode(status)
    return Exit(code) if code >= 0 else Exit(None, process.signal_name(-code))


def _iso(at: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at))
