"""Start a child (program, arguments, environment), and end it in steps. Joins.

At once, the child's group gets TERM. After 3 s, its leftovers get TERM, too. After 5 s, the group gets KILL.
The leftovers that are still there are ended last.
"""

from __future__ import annotations

import os

from tmuxagents.agents import environment
from tmuxagents.cpython import ignoring, signal
from tmuxagents.records import NEVER
from tmuxagents.runs import directory, events, leftovers, writing
from tmuxagents.system import places, process

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from tmuxagents.agents.base import Agent
    from tmuxagents.runs.endings import Cause
    from tmuxagents.runs.leftovers import LeftoverScope
    from tmuxagents.settings.keys import Settings
    from tmuxagents.wrapper.claim import Claim
    from tmuxagents.wrapper.duplex import Talk
    from tmuxagents.wrapper.live import Live
    from tmuxagents.wrapper.recorder import Recorder


class Start:
    """Starts the child of one run. `limits`: the resource limits that the wrapper was started with."""

    def __init__(
        self,
        claim: Claim,
        own: Mapping[str, str],
        in_force: Settings,
        *,
        umask: int,
        limits: Mapping[str, list[int]],
    ) -> None:
        handed = claim.handed
        self.tried = False  # whether a child may exist; while False, there is none
        self.logged: list[bytes] = []  # lines on usage in the agent's log of the session that goes on
        self._claim = claim
        self._environment = own
        self._settings = in_force
        self._umask = handed.umask if handed else umask
        self._limits = handed.limits if handed and not handed.queued else limits

    def start(self, agent: Agent, live: Live | None, talk: Talk | None) -> tuple[int, tuple[int, int]] | None:
        """Start the child; return its pid and our ends of its stdout and stderr, None if it cannot start."""
        plan, prompt = self._claim.plan, self._claim.prompt
        tried = plan.agent_command  # the program that was found and tried at the launch
        program = tried or agent.program_words(self._environment, self._settings.agent_commands)
        surroundings = self._surroundings(agent, live)
        path = process.find_program(program[0], surroundings.get("PATH", ""))
        if path is None:
            return None
        argv = [*program, *(live or agent).arguments(plan, self._claim.run_dir)]
        if live is not None and (bridged := live.bridged(argv)) is not argv:
            path, argv = bridged[0], bridged
        err, err_child = process.pipe()
        try:
            out, out_child = live.pipe() if live else process.pipe()
        except OSError:
            os.close(err)  # writing the result needs a free descriptor
            os.close(err_child)
            raise
        if talk is not None:
            os.close(prompt)
            prompt = talk.pipe()
        streams = (0, 1, err_child) if live else (prompt, out_child, err_child)
        if live is None:
            self._read_log(agent, surroundings)
        self.tried = True
        writing.begin_session(self._claim.run_dir)
        try:
            with process.Surroundings(self._umask, self._limits):
                child = process.spawn(path, argv, surroundings, streams=streams, own_session=live is None)
        except (OSError, ValueError):
            return None
        finally:
            for handle in (prompt, out_child, err_child):
                os.close(handle)
        if live is not None:
            live.started(child)
        return child, (out, err)

    def _read_log(self, agent: Agent, surroundings: Mapping[str, str]) -> None:
        """Read the earlier usage of the session: a run that was killed has not reported all of its usage."""
        path = agent.session_log(self._claim.plan.child_session, surroundings)
        offset, after = -1, 0
        with ignoring(OSError):
            while path is not None and offset != after:
                offset = after
                lines, after = directory.read_lines(path, offset)
                self.logged += [line for line in lines if line.startswith(agent.about_usage)]

    def _surroundings(self, agent: Agent, live: Live | None) -> dict[str, str]:
        plan = self._claim.plan
        own = agent.environment(places.agent_dir(self._environment), plan)
        if plan.system_prompt_path:
            text = os.path.join(self._claim.run_dir, plan.system_prompt_path)
            if agent.prompt_link:
                with ignoring(FileExistsError):
                    os.symlink(plan.system_prompt_path, f"{self._claim.run_dir}/{agent.prompt_link}")
            own = {**own, **agent.prompted(text, self._environment)}
        nesting: Mapping[str, str] = {}
        if plan.root is not None:  # the child may launch children, or descends from one that may
            from tmuxagents.launch import nesting as levels  # noqa: PLC0415  (few runs are)

            home = os.path.dirname(os.path.dirname(self._claim.run_dir))
            nesting = levels.variables(plan, home=home, socket=self._claim.wrapper["tmux"]["socketPath"])
        return environment.of_child(
            self._environment,
            run_id=plan.run_id,
            agent=own if live is None else {**own, **live.variables},
            nesting=nesting,
            pane=None if live is None else os.environ,
        )

    def started_fields(self, child: int) -> dict[str, Any]:
        """Return the fields of `run_started`, and record the child in the seal."""
        tmux = self._claim.wrapper["tmux"]
        started = process.start_time(child, zombie=True)
        writing.seal_child(self._claim.run_dir, self._claim.wrapper, child, started)
        return {
            "pid": child,
            "pidStartTime": started,
            "wrapperPid": os.getpid(),
            "pane": tmux["pane"],
            "window": tmux["window"],
            "agentVersion": self._claim.plan.agent_version,
        }


KILL_AFTER_S = 5.0
GIVE_UP_AFTER_S = 9.0  # a child that we may not signal, or that the kernel will not let go
# Tools in sessions of their own get their TERM early, so that they have had TERM_S when the KILL comes.
ASK_REST_AFTER_S = KILL_AFTER_S - leftovers.TERM_S
_ASK_REST, _KILL, _GIVE_UP = "ask the rest", "kill", "give up"


class Ladder:
    """The steps that end one child. `cause` is None if the child is ended only because it lingers."""

    __slots__ = ("_child", "_scope", "_steps", "begun", "cause", "hopeless", "killed")

    def __init__(self, child: int, scope: LeftoverScope) -> None:
        self._child = child
        self._scope = scope
        self._steps: list[tuple[float, str]] = []  # when each is due
        self.begun = False  # the child is being ended
        self.cause: Cause | None = None
        self.killed = False
        self.hopeless = False  # the child cannot be ended

    def begin(self, cause: Cause | None, now: float) -> None:
        """Begin to end the child; the first cause stays."""
        if self.begun:
            return
        self.begun = True
        self.cause = cause
        self._steps = [
            (now + ASK_REST_AFTER_S, _ASK_REST),
            (now + KILL_AFTER_S, _KILL),
            (now + GIVE_UP_AFTER_S, _GIVE_UP),
        ]
        process.send_group(self._child, signal.SIGTERM, signal.SIGCONT)

    def next_at(self) -> float:
        """Return when the next step is due."""
        return self._steps[0][0] if self._steps else NEVER

    def step(self, now: float) -> None:
        """Take the steps that are due."""
        while self._steps and now >= self._steps[0][0]:
            _, step = self._steps.pop(0)
            if step == _ASK_REST:
                leftovers.ask(self._scope)
            elif step == _KILL:
                self.killed = True
                process.send_group(self._child, signal.SIGKILL)
            else:
                self.hopeless = True


def end_left(scope: LeftoverScope, recorder: Recorder, *, hard: bool) -> None:
    """End the child's leftovers; record those that are spared. If /proc cannot be read, only say so."""
    try:
        left = leftovers.end(scope, hard=hard)
    except OSError as error:
        recorder.hint(f"What the child left running could not be looked for ({error.strerror}).")
        return
    for spared in left:
        recorder.event(events.left_behind(pid=spared.pid, comm=spared.comm, why=spared.why))
