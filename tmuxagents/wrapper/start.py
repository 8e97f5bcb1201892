"""How a child is started: which program, with what words, in what surroundings."""

from __future__ import annotations

import os

from tmuxagents.core import environment
from tmuxagents.edges import process, rundir_writing, settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from tmuxagents.agents.base import Agent
    from tmuxagents.core.settings import Settings
    from tmuxagents.wrapper.claim import Claim
    from tmuxagents.wrapper.live import Live


class Start:
    """What the child of one run is started with; `limits` are those that we were started with ourselves."""

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
        self.tried = False  # until then there is no child, whatever happens to us
        self._claim = claim
        self._environment = own
        self._settings = in_force
        self._umask = handed.umask if handed else umask
        self._limits = handed.limits if handed else limits

    def start(self, agent: Agent, live: Live | None) -> tuple[int, tuple[int, int]] | None:
        """Start the child; return its pid and our ends of its stdout and stderr, None if it cannot be."""
        meta, prompt = self._claim.meta, self._claim.prompt
        program = self._program(agent)
        surroundings = self._surroundings(agent, live)
        path = process.find_program(program[0], surroundings.get("PATH", ""))
        if path is None:
            return None
        argv = [*program, *(live or agent).arguments(meta, self._claim.run_dir)]
        err, err_child = process.pipe()
        try:
            out, out_child = live.pipe() if live else process.pipe()
        except OSError:
            os.close(err)  # the result needs a descriptor
            os.close(err_child)
            raise
        streams = (0, 1, err_child) if live else (prompt, out_child, err_child)
        self.tried = True
        rundir_writing.begin_session(self._claim.run_dir)
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

    def _surroundings(self, agent: Agent, live: Live | None) -> dict[str, str]:
        meta = self._claim.meta
        own = agent.environment(settings.agent_dir(self._environment), meta)
        return environment.of_child(
            self._environment,
            run_id=meta["runId"],
            agent=own if live is None else {**own, **live.variables},
            nesting=self._nesting(),
            pane=None if live is None else os.environ,
        )

    def _program(self, agent: Agent) -> list[str]:
        planned = self._claim.meta.get("agentCommand")
        if planned:  # what was found, and asked, when it was launched
            return [str(word) for word in planned]
        named = self._environment.get(agent.program_variable)
        return [named] if named else self._settings.agent_commands.get(agent.name, [agent.program])

    def _nesting(self) -> Mapping[str, str]:
        """Return what a child must know that may launch children, or is such a child's."""
        claim = self._claim
        if claim.meta.get("root") is None:
            return {}
        from tmuxagents.core import nesting  # noqa: PLC0415  (few runs are)

        home = os.path.dirname(os.path.dirname(claim.run_dir))
        return nesting.variables(claim.meta, home=home, socket=claim.wrapper["tmux"]["socketPath"])

    def told(self, child: int) -> dict[str, Any]:
        """Return what is told of a child that has been started, and have its seal say which one it is."""
        tmux = self._claim.wrapper["tmux"]
        started = process.start_time(child, zombie=True)
        rundir_writing.seal_child(self._claim.run_dir, self._claim.wrapper, child, started)
        return {
            "pid": child,
            "pidStartTime": started,
            "wrapperPid": os.getpid(),
            "pane": tmux["pane"],
            "window": tmux["window"],
            "agentVersion": self._claim.meta.get("agentVersion"),
        }
