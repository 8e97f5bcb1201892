"""The runs of one call while they are prepared: all of them can be, or the whole call is refused."""

from __future__ import annotations

import os

from tmuxagents.core.catalogue_check import Faults
from tmuxagents.errors import BadRequest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from tmuxagents.commands.launch import Launcher
    from tmuxagents.commands.prepare import Prepared
    from tmuxagents.core.plan import LaunchRequest


class Batch:
    """The runs of one call while they are prepared: one call id, and no two of them with one name."""

    def __init__(self, launcher: Launcher) -> None:
        self.launcher = launcher
        self._call_id = os.urandom(8).hex()
        self._names: set[str] = set()
        self._count = 0

    def prepare(self, request: LaunchRequest, **call: Any) -> Prepared:
        """Return the next run of the call as it is going to be, or refuse it."""
        keys = self.keys() | call
        _refuse_twin(request.name, self._names)
        return self.launcher.prepare(request, **keys)

    def keys(self) -> dict[str, Any]:
        """Return what the call decides of its next run's plan: the first one has the id of the call."""
        number, self._count = self._count, self._count + 1
        own = {"runId": self._call_id, "sessionId": self._call_id} if number == 0 else {}
        return {**own, "callId": self._call_id, "taskIndex": number}


def prepare(launcher: Launcher, requests: Sequence[LaunchRequest], *, listed: bool = True) -> list[Prepared]:
    """Return all runs of a call as they are going to be, or refuse the whole call with all that is wrong.

    `listed`: the requests come from a list, however short, and a fault says where in it.
    """
    launcher.check_surroundings()
    batch, faults, prepared = Batch(launcher), Faults(), []
    for number, request in enumerate(requests):
        try:
            prepared.append(batch.prepare(request))
        except BadRequest as refusal:
            faults.add_refusal(refusal, f"tasks[{number}]" if listed else "")
    with launcher.explaining():
        faults.refuse()
    return prepared


def _refuse_twin(name: str | None, names: set[str]) -> None:
    if name is not None and name in names:
        message = f'Two tasks of this call have the name "{name}".'
        raise BadRequest(message, kind="bad-argument", hint="give each its own", field="name")
    names.update([name] if name is not None else [])
