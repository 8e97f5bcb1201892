"""What a client is told of its own background runs: each end (of a live child, its first settling) once.

By log messages: in a session at once, at the level that the client has set; without sessions when a request
asks for them.
"""

from __future__ import annotations

import contextlib
import time

from tmuxagents import records
from tmuxagents.serve import protocol

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from tmuxagents.commands.wait import Waiting
    from tmuxagents.serve.protocol import Message, Request

LOOK_S = 1.0
_DEFAULT = "info"  # until the client says otherwise
_MOST_KEPT = 200
_LEVELS = {records.COMPLETED: "info", records.ABORTED: "notice", records.FAILED: "warning"}
_TOLD = ("runId", "name", "preset", "status", "reason", "errorMessage", "elapsedSeconds")


class Notices:
    """The background runs of one client, and what it has not been told of them yet."""

    def __init__(self) -> None:
        self._waiting: Waiting | None = None  # only who launches something pays for what it needs
        self._seen: set[str] = set()
        self._kept: list[tuple[str, dict[str, Any]]] = []
        self._level: str | None = None

    def hear(self, request: Request) -> list[Message]:
        """Take in what a request says about log messages; return what is to be told before its answer."""
        if not request.is_stateless:
            self._level = request.level or self._level or _DEFAULT
            return self._due(self._level)
        return self._due(request.level) if request.level else []

    def watch(self, document: dict[str, Any]) -> None:
        """Follow the run that a call has started in the background, if it has started one."""
        run = document["details"].get("run")
        if document["isError"] or not isinstance(run, dict) or run["runId"] in self._seen:
            return
        from tmuxagents.commands.wait import Waiting  # noqa: PLC0415  (as above)

        self._seen.add(run["runId"])
        self._waiting = self._waiting or Waiting()
        self._waiting.add(run["runDir"])

    def pause(self) -> float | None:
        """Return how long nobody has to look; None where nothing is followed."""
        return LOOK_S if self._waiting is not None and self._waiting.left else None

    def news(self) -> list[Message]:
        """Look at the runs; return what is to be told."""
        if self._waiting is None or not self._waiting.left:
            return []
        self._waiting.pause(time.monotonic())
        for run_dir in [*self._waiting.done(), *self._settled()]:
            self._keep(run_dir)
        return self._due(self._level) if self._level else []

    def _settled(self) -> Iterator[str]:
        """Yield the live runs that have settled: their announcement is out, though they go on."""
        from tmuxagents.edges import rundir  # noqa: PLC0415  (as above)

        assert self._waiting is not None
        for one in [one for one in self._waiting.left if rundir.is_announced(one.run_dir)]:
            one.let_go()
            self._waiting.left.remove(one)
            yield one.run_dir

    def _keep(self, run_dir: str) -> None:
        from tmuxagents.commands.inspect import inspect  # noqa: PLC0415  (as above)
        from tmuxagents.errors import NoSuchRun  # noqa: PLC0415

        with contextlib.suppress(NoSuchRun):  # somebody has removed it meanwhile
            run = inspect(run_dir).document(time.time())
            level = _LEVELS.get(run["status"], "info")
            told = {key: run[key] for key in _TOLD}
            self._kept = [*self._kept, (level, {"text": _text(run), **told})][-_MOST_KEPT:]

    def _due(self, wanted: str) -> list[Message]:
        kept, self._kept = self._kept, []
        least = protocol.LEVELS.index(wanted)
        return [protocol.logged(level, data) for level, data in kept if protocol.LEVELS.index(level) >= least]


def _text(run: dict[str, Any]) -> str:
    how = run["status"] if run["status"] in records.ENDED else "has answered"
    reason = f" ({run['reason']})" if run["status"] in (records.FAILED, records.ABORTED) else ""
    return f"{run['name'] or run['preset'] or 'agent'} {run['runId']} {how}{reason}"
