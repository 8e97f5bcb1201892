"""Stop a run: ask its wrapper, which ends the child and writes the result; a deaf one is ended for it."""

from __future__ import annotations

import signal

from tmuxagents import records
from tmuxagents.commands.conclude import conclude
from tmuxagents.commands.inspect import inspect
from tmuxagents.edges import process, rundir
from tmuxagents.errors import NotPossible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tmuxagents.commands.inspect import Run

DEAF_AFTER_S = 12.0
NEVER_BEGAN = "Stopped before it began."


def stop(run_dir: str) -> Run:
    """Stop a run and return it as it stands then. Stopping a run that has ended is no error."""
    run = inspect(run_dir)
    if run.ended:
        conclude(run_dir)  # a lost run that nobody has concluded yet still has its processes
        return inspect(run_dir)
    identity = rundir.identity_of(run.wrapper)
    where = process.presence(identity)
    if identity is None or where == records.NEVER_CAME:
        conclude(run_dir, stopped=True, never_came=NEVER_BEGAN)
        return inspect(run_dir)
    if where == records.ELSEWHERE:
        message = f"Run {run.run_id} lives on another host ({identity.host}): it can only be stopped there."
        raise NotPossible(message, kind="run-busy", hint=f"run tmuxagents stop on {identity.host}")
    process.send(identity.pid, identity.start_time, signal.SIGTERM, signal.SIGCONT)
    if not process.wait_gone(identity.pid, identity.start_time, DEAF_AFTER_S):
        process.send(identity.pid, identity.start_time, signal.SIGKILL)
        process.wait_gone(identity.pid, identity.start_time, DEAF_AFTER_S)
    if rundir.read_result(run_dir) is None:
        conclude(run_dir, stopped=True)
    return inspect(run_dir)
