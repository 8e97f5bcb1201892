"""Send a message to a child, or answer its question; wait until it is taken, or for a reply. Joins."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import time

from tmuxagents import records
from tmuxagents.errors import BadRequest, NotPossible, Unusable
from tmuxagents.records import LIVE
from tmuxagents.runs import directory, events, logs, words
from tmuxagents.runs.inspect import Follower
from tmuxagents.system import process, process_table
from tmuxagents.text import jsonline, safe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from tmuxagents.runs.events import Event
    from tmuxagents.runs.inspect import RunView

TAKEN_WITHIN_S = 13.0  # a little longer than the wrapper waits for the child to take it
LONGEST = 1024 * 1024
_LOOK_S = 0.05
_FOLLOW_UP, _STOP = "followUp", "stop"


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
            self._reply.number = _ask_there(run, "send", {"text": text, "kind": kind}).get("number")
        else:
            with _writing("message"):
                self._reply.number = logs.append_message(self._run_dir, kind, text)
            wake(run)
        deadline = time.monotonic() + TAKEN_WITHIN_S
        while not self._reply.is_taken:
            is_late = time.monotonic() >= deadline
            if run.is_far and (run.ended or is_late):
                return run  # its machine has sent the message: the events about it come here later
            if run.ended:
                raise _has_ended(f"Run {run.run_id} ended before its child took the message", run)
            if is_late:
                raise _not_taken(run)
            time.sleep(_LOOK_S)
            run = self._follower.look()
        return run

    @property
    def number(self) -> int | None:
        """Return the number of the message in the run's inbox."""
        return self._reply.number

    def wait(self, limit_s: float | None = None) -> RunView | None:
        """Wait until the child has replied or the run has ended; return the run, or None if not in time."""
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


class Answering:
    """One answer to one run. `by`: the person or program that answers, for the events."""

    def __init__(self, run_dir: str, *, by: str) -> None:
        self._run_dir = run_dir
        self._by = by
        self._ask = ""
        self._given: str | None = None  # by whom it was answered
        self._follower = Follower(run_dir, self._take)

    def answer(self, said: Sequence[str]) -> tuple[RunView, dict[str, Any], str]:
        """Give an answer; return the run, the question and by whom it was answered.

        `said`: `allow`, `deny`, an option or a text; before it the id of the question, if there are several.
        """
        run = self._follower.look()
        ask, answer = _chosen(run, said)
        self._ask = ask["ask"]
        check(answer)
        if run.is_far:
            told = _ask_there(run, "answer", {"ask": self._ask, "text": answer, "by": self._by})
            return run, ask, str(told.get("by"))
        with _writing("answer"):
            logs.append_message(self._run_dir, events.INBOX_ANSWER, answer, ask=self._ask, by=self._by)
        wake(run)
        deadline = time.monotonic() + TAKEN_WITHIN_S
        while self._given is None:
            if run.ended:
                raise NotPossible(f"Run {run.run_id} has ended before it got the answer.", kind="run-ended")
            if time.monotonic() >= deadline:
                message = f"The child of run {run.run_id} has not taken the answer in time."
                raise NotPossible(message, kind="run-busy", hint=f"tmuxagents poll {run.run_id[:8]}")
            time.sleep(_LOOK_S)
            run = self._follower.look()
        return run, ask, self._given

    def _take(self, event: Event) -> None:
        if event.type == "input_given" and self._ask and event.fields.get("ask") == self._ask:
            self._given = str(event.fields.get("by"))


def _chosen(run: RunView, said: Sequence[str]) -> tuple[dict[str, Any], str]:
    """Return the question that is meant, and the answer: the id of an option if it names one."""
    short = words.short_id(run.run_id, ())
    if run.ended:
        raise NotPossible(f"Run {run.run_id} has ended: it asks nothing.", kind="run-ended", field="runId")
    asks = run.state.asks
    if not asks:
        where = f"tmuxagents attach {short}"
        message, hint = f"Run {run.run_id} asks nothing.", None
        if run.state.needs_input:
            message = f"Only the own screen of run {run.run_id} can close what it asks."
            hint = f"answer it there: {where}"
        raise NotPossible(message, kind="run-busy", hint=hint, field="runId")
    named = {ask["ask"]: ask for ask in asks}
    if len(said) > 1 and said[0] in named:
        return named[said[0]], _option(named[said[0]], " ".join(said[1:]))
    if len(asks) > 1:
        hint = "name one: " + "; ".join(f"{ask['ask']} ({safe.line(ask['text'][:60])})" for ask in asks)
        raise BadRequest(f"Run {run.run_id} asks {len(asks)} things.", kind="bad-argument", hint=hint)
    return asks[0], _option(asks[0], " ".join(said))


def _option(ask: dict[str, Any], answer: str) -> str:
    """Return the id of the option that an answer names; return any other answer as it is."""
    for option in ask["options"]:
        if answer.lower() in (option["id"].lower(), option["text"].lower()):
            return str(option["id"])
    return answer.lower() if answer.lower() in ("allow", "deny") else answer


# --- both -----------------------------------------------------------------------------------------------


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
    if run.plan.driver != LIVE:
        from tmuxagents.agents import find  # noqa: PLC0415  (only for a batch run)

        agent = find(run.plan.agent, run.plan.agent_kind)
        if agent is None or agent.talker(run.plan, run.run_dir) is None:
            message = f"Run {run.run_id} is a batch child, which cannot be spoken to."
            hint = f"tmuxagents stop {short} ends it; launch --live starts one that can be"
            raise NotPossible(message, kind="not-live", hint=hint, field="runId")
    if run.standing.foreign and run.machine is None:
        message = f"Run {run.run_id} lives on another host."
        raise NotPossible(message, kind="run-busy", hint="send it from there", field="runId")


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


@contextlib.contextmanager
def _writing(what: str) -> Iterator[None]:
    """Turn an error while writing to a run's inbox into a refusal in our words."""
    try:
        yield
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        message = f"The {what} cannot be written: {error.strerror}."
        raise Unusable(message, kind="no-space" if full else "no-permission") from error


def _ask_there(run: RunView, verb: str, asked: dict[str, Any]) -> dict[str, Any]:
    """Let the machine of a run carry out a verb; return its answer."""
    from tmuxagents.machines import requests  # noqa: PLC0415  (most runs work here)

    return requests.carry_out(run, ["_far", verb, run.run_id], os.environ, text=jsonline.encode(asked))


# --- the reply ------------------------------------------------------------------------------------------


class ReplyFinder:
    """Finds the reply of a child to one message in the run's events.

    The events show when the child took a message, but it may read the message much later: steering messages
    one by one after a turn, follow-ups when it is done. So the order of turns decides to which message a
    text replies. `number` is the message's number, set as soon as it is known.
    """

    def __init__(self) -> None:
        self.number: int | None = None
        self.text: str | None = None
        self.is_taken = False
        self.is_over = False  # no later text belongs to the reply
        self.is_finished = False
        self._is_idle = False
        self._steering: list[int | None] = []  # taken but not read yet; None is a message typed by a person
        self._following: list[int | None] = []
        self._read: list[int | None] = []  # the messages that the child is answering now

    def take(self, event: Event) -> None:
        """Fold one event."""
        if self.is_over:
            return
        if event.type in ("message_sent", "human_input"):
            self._queue(event.fields.get("inboxId"), event.fields.get("kind"))
        elif event.type == "assistant_text":
            if self.is_taken and (self.number in self._read or self.text is None):
                self.text = event.fields.get("text") or self.text
        elif event.type == "turn_end":
            self._end_turn(finished=event.fields.get("stopReason") == "stop")
        elif event.type == "settled":
            self.is_over, self._is_idle = self.is_taken, True
            self._steering, self._following, self._read = [], [], []

    def _queue(self, number: int | None, kind: object) -> None:
        if kind == _STOP:
            return
        self.is_taken = self.is_taken or (number is not None and number == self.number)
        if self._is_idle:
            self._read.append(number)
        elif kind == _FOLLOW_UP:
            self._following.append(number)
        else:
            self._steering.append(number)
        self._is_idle = False

    def _end_turn(self, *, finished: bool) -> None:
        if self.is_taken:
            self.is_finished = finished
            self.is_over = finished and self.number in self._read
        if finished:
            self._read = []
        queue = self._steering or (self._following if finished else [])
        if queue:
            self._read.append(queue.pop(0))
