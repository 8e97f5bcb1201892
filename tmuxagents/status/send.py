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


def answer_question(run_dir: str, reply: Sequence[str], *, by: str) -> tuple[RunView, dict[str, Any], str]:
    """Answer a child's question; return the run, the question and the source of the answer that counts.

    `reply`: `allow`, `deny`, an option or a text; if there are several questions, first the id of one. `by`:
    the person or program that answers, for the events.
    """
    given: dict[Any, str] = {}  # question -> by whom it was answered

    def take(event: Event) -> None:
        if event.type == "input_given" and isinstance(event.fields.get("ask"), str):
            given[event.fields["ask"]] = str(event.fields.get("by"))

    follower = Follower(run_dir, take)
    run = follower.look()
    given.clear()  # earlier questions may have had the same id
    ask, text = _chosen(run, reply)
    check(text)
    if run.is_far:
        answer = _ask_there(run, "answer", {"ask": ask["ask"], "text": text, "by": by})
        return run, ask, str(answer.get("by"))
    with _writing("answer"):
        logs.append_message(run_dir, events.INBOX_ANSWER, text, ask=ask["ask"], by=by)
    wake(run)
    deadline = time.monotonic() + TAKEN_WITHIN_S
    while ask["ask"] not in given:
        if run.ended:
            raise NotPossible(f"Run {run.run_id} has ended before it got the answer.", kind="run-ended")
        if time.monotonic() >= deadline:
            message = f"The child of run {run.run_id} has not taken the answer in time."
            raise NotPossible(message, kind="run-busy", hint=f"tmuxagents poll {run.run_id[:8]}")
        time.sleep(_LOOK_S)
        run = follower.look()
    return run, ask, given[ask["ask"]]


def _chosen(run: RunView, given: Sequence[str]) -> tuple[dict[str, Any], str]:
    """Return the question that is meant, and the answer: the id of an option if it names one."""
    short = words.short_id(run.run_id)
    if run.ended:
        raise NotPossible(f"Run {run.run_id} has ended: it asks nothing.", kind="run-ended", field="runId")
    asks = run.state.asks
    if not asks:
        where = f"tmuxagents attach {short}"
        message, hint = f"Run {run.run_id} asks nothing.", None
        if run.state.needs_input:
            message = f"Only the screen of run {run.run_id} itself can answer its question."
            hint = f"answer it there: {where}"
        raise NotPossible(message, kind="run-busy", hint=hint, field="runId")
    named = {ask["ask"]: ask for ask in asks}
    if len(given) > 1 and given[0] in named:
        return named[given[0]], _option(named[given[0]], " ".join(given[1:]))
    if len(asks) > 1:
        hint = "name one: " + "; ".join(f"{ask['ask']} ({safe.line(ask['text'][:60])})" for ask in asks)
        raise BadRequest(f"Run {run.run_id} asks {len(asks)} things.", kind="bad-argument", hint=hint)
    return asks[0], _option(asks[0], " ".join(given))


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
    short = words.short_id(run.run_id)
    if run.ended:
        raise _has_ended(f"Run {run.run_id} has ended", run)
    if run.plan.driver != LIVE:
        from tmuxagents.agents import find  # noqa: PLC0415  (only for a batch run)

        agent = find(run.plan.agent, run.plan.agent_kind)
        if agent is None or agent.talker(run.plan, run.run_dir) is None:
            message = f"Run {run.run_id} is a batch run, which takes no messages."
            hint = f"tmuxagents stop {short} ends it; launch --live starts one that takes them"
            raise NotPossible(message, kind="not-live", hint=hint, field="runId")
    if run.standing.foreign and run.machine is None:
        message = f"Run {run.run_id} lives on another host."
        raise NotPossible(message, kind="run-busy", hint="send it from there", field="runId")


def wake(run: RunView) -> None:
    """Tell the run's wrapper about its inbox; one that starts later reads it anyway."""
    wrapper = directory.identity_of(directory.read_wrapper(run.run_dir))
    identity = process_table.wrapper_of(run.run_id, wrapper)
    if identity is not None:
        process.send(identity.pid, identity.start_time, signal.SIGUSR1)


def _has_ended(message: str, run: RunView) -> NotPossible:
    hint = f"tmuxagents resume {words.short_id(run.run_id)} continues its session"
    return NotPossible(f"{message}: {run.standing.status}.", kind="run-ended", hint=hint, field="runId")


def _not_taken(run: RunView) -> NotPossible:
    short = words.short_id(run.run_id)
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
    """Turn an error while writing to a run's inbox into one of our own errors."""
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

    The events show when the child took a message. The child may read it much later: a steering message after
    a turn, one at a time, and a follow-up when it is done. So the order of turns decides which message a text
    answers. `number` is the message's number, set as soon as it is known.
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
        kind, fields = event.type, event.fields
        if kind in ("message_sent", "human_input") and fields.get("kind") != events.STOP:
            number = fields.get("inboxId")
            self.is_taken = self.is_taken or (number is not None and number == self.number)
            follows = self._following if fields.get("kind") == events.FOLLOW_UP else self._steering
            (self._read if self._is_idle else follows).append(number)
            self._is_idle = False
        elif kind == "assistant_text":
            text = fields.get("text")
            if self.is_taken and isinstance(text, str) and (self.number in self._read or self.text is None):
                self.text = text or self.text
        elif kind == "turn_end":
            is_finished = fields.get("stopReason") == "stop"
            if self.is_taken:
                self.is_finished = is_finished
                self.is_over = is_finished and self.number in self._read
            if is_finished:
                self._read = []
            queue = self._steering or (self._following if is_finished else [])
            if queue:
                self._read.append(queue.pop(0))
        elif kind == "settled":
            self.is_over, self._is_idle = self.is_taken, True
            self._steering, self._following, self._read = [], [], []
