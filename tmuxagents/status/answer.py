"""Answer a question of a child, and wait until its wrapper has passed the answer on. Joins."""

from __future__ import annotations

import errno
import os
import time

from tmuxagents.errors import BadRequest, NotPossible, Unusable
from tmuxagents.runs import inbox, messages, words
from tmuxagents.runs.inspect import Follower
from tmuxagents.status import send
from tmuxagents.text import jsonline, safe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from tmuxagents.runs.events import Event
    from tmuxagents.runs.inspect import RunView

_LOOK_S = 0.05


class Answering:
    """One answer to one run. `by`: who answers, for the run's events."""

    def __init__(self, run_dir: str, *, by: str) -> None:
        self._run_dir = run_dir
        self._by = by
        self._ask = ""
        self._given: str | None = None  # by whom it was answered
        self._follower = Follower(run_dir, self._take)

    def answer(self, said: Sequence[str]) -> tuple[RunView, dict[str, Any], str]:
        """Give an answer; return the run, the question and by whom it was answered.

        `said`: `allow`, `deny`, an option or a text, behind the id of the question if there are several.
        """
        run = self._follower.look()
        ask, answer = _chosen(run, said)
        self._ask = ask["ask"]
        send.check(answer)
        if run.is_far:
            return run, ask, self._answer_there(run, answer)
        try:
            inbox.append(self._run_dir, messages.ANSWER, answer, ask=self._ask, by=self._by)
        except OSError as error:
            full = error.errno in (errno.ENOSPC, errno.EDQUOT)
            message = f"The answer cannot be written: {error.strerror}."
            raise Unusable(message, kind="no-space" if full else "no-permission") from error
        send.wake(run)
        deadline = time.monotonic() + send.TAKEN_WITHIN_S
        while self._given is None:
            if run.ended:
                raise NotPossible(f"Run {run.run_id} has ended before it got the answer.", kind="run-ended")
            if time.monotonic() >= deadline:
                message = f"The child of run {run.run_id} has not taken the answer in time."
                raise NotPossible(message, kind="run-busy", hint=f"tmuxagents poll {run.run_id[:8]}")
            time.sleep(_LOOK_S)
            run = self._follower.look()
        return run, ask, self._given

    def _answer_there(self, run: RunView, answer: str) -> str:
        """Let the machine of a run give the answer; return by whom it was answered."""
        from tmuxagents.machines import relay  # noqa: PLC0415  (most runs work here)

        asked = jsonline.encode({"ask": self._ask, "text": answer, "by": self._by})
        told = relay.carry_out(run, ["_far", "answer", run.run_id], os.environ, text=asked)
        return str(told.get("by"))

    def _take(self, event: Event) -> None:
        if event.type == "input_given" and self._ask and event.fields.get("ask") == self._ask:
            self._given = str(event.fields.get("by"))


def _chosen(run: RunView, said: Sequence[str]) -> tuple[dict[str, Any], str]:
    """Return the question that is meant, and the answer by the id of an option where it names one."""
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
    """Return an option's id for its id or words; any other answer as it is."""
    for option in ask["options"]:
        if answer.lower() in (option["id"].lower(), option["text"].lower()):
            return str(option["id"])
    return answer.lower() if answer.lower() in ("allow", "deny") else answer
