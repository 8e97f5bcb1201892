"""Send a message to a child, wait until it is taken and, on request, for the answer. Joins."""

from __future__ import annotations

import errno
import os
import signal
import time

from tmuxagents import records
from tmuxagents.errors import BadRequest, NotPossible, Unusable
from tmuxagents.records import LIVE
from tmuxagents.runs import directory, inbox, words
from tmuxagents.runs.inspect import Follower
from tmuxagents.status.reply import ReplyFinder
from tmuxagents.system import process, process_table
from tmuxagents.text import jsonline

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tmuxagents.runs.inspect import RunView

TAKEN_WITHIN_S = 13.0  # a little longer than the wrapper waits for it
LONGEST = 1024 * 1024
_LOOK_S = 0.05


class Sending:
    """One message to one run."""

    def __init__(self, run_dir: str) -> None:
        self._run_dir = run_dir
        self._reply = ReplyFinder()
        self._follower = Follower(run_dir, self._reply.take)

    @property
    def reply(self) -> str | None:
        """Return what the child has said to the message so far."""
        return self._reply.text

    def send(self, text: str, kind: str) -> RunView:
        """Send it; return the run once its child has taken it, or raise."""
        check(text)
        run = self._follower.look()
        refuse(run)
        if run.is_far:
            return self._send_there(run, text, kind)
        try:
            self._reply.number = inbox.append(self._run_dir, kind, text)
        except OSError as error:
            full = error.errno in (errno.ENOSPC, errno.EDQUOT)
            message = f"The message cannot be written: {error.strerror}."
            raise Unusable(message, kind="no-space" if full else "no-permission") from error
        deadline = time.monotonic() + TAKEN_WITHIN_S
        wake(run)
        while not self._reply.is_taken:
            if run.ended:
                raise _has_ended(f"Run {run.run_id} ended before its child took the message", run)
            if time.monotonic() >= deadline:
                raise _not_taken(run)
            time.sleep(_LOOK_S)
            run = self._follower.look()
        return run

    def _send_there(self, run: RunView, text: str, kind: str) -> RunView:
        """Let the machine of a run send it; the events that tell of it come here a moment later."""
        from tmuxagents.machines import relay  # noqa: PLC0415  (most runs work here)

        asked = jsonline.encode({"text": text, "kind": kind})
        told = relay.carry_out(run, ["_far", "send", run.run_id], os.environ, text=asked)
        self._reply.number = told.get("number")
        deadline = time.monotonic() + TAKEN_WITHIN_S
        while not self._reply.is_taken and not run.ended and time.monotonic() < deadline:
            time.sleep(_LOOK_S)
            run = self._follower.look()
        return run

    @property
    def number(self) -> int | None:
        """Return the number of the message in the run's inbox."""
        return self._reply.number

    def wait(self, limit_s: float | None = None) -> RunView | None:
        """Wait until the child has replied, or has ended; return the run, None if not in time."""
        deadline = None if limit_s is None else time.monotonic() + limit_s
        while True:
            run = self._follower.look()
            if run.ended or self._reply.is_over:
                return run
            if deadline is not None and time.monotonic() >= deadline:
                return None
            time.sleep(_LOOK_S)

    def went_well(self, run: RunView) -> bool:
        """Say whether the reply is finished, and the run has not failed since."""
        how = run.standing.verdict
        return self._reply.is_finished and (how is None or how.status == records.COMPLETED)


def check(text: str) -> None:
    """Refuse a message that is empty, not Unicode or too long."""
    if not text.strip():
        raise BadRequest("The message is empty.", kind="bad-argument", field="text")
    try:
        size = len(text.encode("utf-8"))
    except UnicodeEncodeError as error:
        message = f"The message is not valid Unicode (character {error.start + 1})."
        raise BadRequest(message, kind="bad-argument", field="text") from error
    if size > LONGEST:
        message = f"The message is longer than {LONGEST // 1024 // 1024} MB."
        raise BadRequest(message, kind="bad-argument", hint="put the bulk into a file", field="text")


def refuse(run: RunView) -> None:
    """Refuse a run whose child takes no messages."""
    short = words.short_id(run.run_id, ())
    if run.ended:
        raise _has_ended(f"Run {run.run_id} has ended", run)
    if run.plan.driver != LIVE and not _talks(run):
        message = f"Run {run.run_id} is a batch child, which cannot be spoken to."
        hint = f"tmuxagents stop {short} ends it; launch --live starts one that can be"
        raise NotPossible(message, kind="not-live", hint=hint, field="runId")
    if run.standing.foreign and run.machine is None:
        message = f"Run {run.run_id} lives on another host."
        raise NotPossible(message, kind="run-busy", hint="send it from there", field="runId")


def _talks(run: RunView) -> bool:
    """Say whether the child of a batch run takes messages while it works."""
    from tmuxagents.agents import find  # noqa: PLC0415  (only for a batch run)

    agent = find(run.plan.agent, run.plan.agent_kind)
    return agent is not None and agent.talker(run.plan, run.run_dir) is not None


def wake(run: RunView) -> None:
    """Tell the run's wrapper about its inbox; one that starts later reads it anyway."""
    said = directory.identity_of(directory.read_wrapper(run.run_dir))
    identity = process_table.wrapper_of(run.run_id, said)
    if identity is not None:
        process.send(identity.pid, identity.start_time, signal.SIGUSR1)


def _has_ended(said: str, run: RunView) -> NotPossible:
    hint = f"tmuxagents resume {words.short_id(run.run_id, ())} continues its session"
    return NotPossible(f"{said}: {run.standing.status}.", kind="run-ended", hint=hint, field="runId")


def _not_taken(run: RunView) -> NotPossible:
    short = words.short_id(run.run_id, ())
    if run.standing.status == records.QUEUED:
        why, hint = "it has not started yet, and gets the message when it does", None
    elif run.state.needs_input:
        why, hint = "it waits for a person", f"tmuxagents attach {short}"
    else:
        why, hint = "it may still take it", f"tmuxagents events {short} tells if it does"
    message = f"The child of run {run.run_id} has not taken the message within {TAKEN_WITHIN_S:g} s: {why}."
    return NotPossible(message, kind="run-busy", hint=hint, field="runId")
