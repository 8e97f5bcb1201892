"""Play a recording to the code that reads such a child: byte for byte, with the recorded client's side."""

from __future__ import annotations

import os
import shutil
import signal
from typing import TYPE_CHECKING, Any

from scripts.conforming.client import Client, is_answer
from scripts.conforming.recordings import ACP, BATCH, DUPLEX, Recording
from tmuxagents import agents
from tmuxagents.agents.base import LineSplitter
from tmuxagents.records import Exit
from tmuxagents.runs import directory, documents, endings, events, lifecycle

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tmuxagents.records import Plan, Verdict
    from tmuxagents.runs.events import Event

_USAGE_FILE = "--usage-output-file"


class NotJudged(Exception):
    """A recording that nothing here can play, and why."""


class Played:
    """What the code made of a recording."""

    def __init__(self) -> None:
        self.state = lifecycle.RunState()
        self.events: list[Event] = []
        self.turns: list[str] = []  # the status of each turn
        self.reader: Any = None
        self.exit = Exit(0)
        self.interrupted = False

    def take(self, told: Iterable[Event]) -> None:
        """Fold events as the wrapper does."""
        for event in told:
            self.events.append(event)
            working = not self.state.settled
            lifecycle.apply(self.state, event)
            self._note_reader()
            if event.type == "settled" and working:
                cause = endings.STOPPED if self.interrupted else None
                self.turns.append(self._verdict(Exit(0), cause).status)
                self.interrupted = False

    def feed(self, line: Any, now: float) -> bytes:
        """Feed one line to the reader; return its reply."""
        reader = self.reader
        reading = reader.feed(line, now) if isinstance(line, bytes) else reader.feed_oversized(line, now)
        self.take(reading.events)
        return bytes(reading.reply)

    def _note_reader(self) -> None:
        if self.reader is not None:
            self.state.model = self.reader.model or self.state.model
            self.state.error_message = self.reader.error_message

    def _verdict(self, exit: Exit, cause: Any, *, lingered: bool = False) -> Verdict:  # noqa: A002  (the word of the contract)
        counts = self.reader.exit_counts
        return endings.verdict(self.state, exit, cause=cause, lingered=lingered, exit_counts=counts)

    def verdict(self, meta: dict[str, Any], *, asked: bool) -> Verdict:
        """Return how the run ended. `asked`: the stop that ended it was ours."""
        if meta.get("timed_out_and_killed_by_runner"):
            if self.state.stop_reason is not None and "settled" in {event.type for event in self.events[-9:]}:
                return self._verdict(self.exit, None, lingered=True)
            return self._verdict(self.exit, endings.timed_out(float(meta.get("wall_s") or 0)))
        return self._verdict(self.exit, endings.STOPPED if asked else None)


def play(recording: Recording, folder: str, cuts: Callable[[bytes], Sequence[bytes]] | None = None) -> Played:
    """Play a recording. `folder`: an empty one that stands for the run's own; `cuts`: how stdout arrives."""
    played = Played()
    plan = _plan(recording)
    if recording.seat == BATCH:
        agent = _agent(recording.brand)
        _lay_usage(recording, folder, agent.arguments(plan, folder))
        played.reader = agent.reader(plan, folder)
        played.take([events.run_started({})])
        _read(recording, played, cuts or (lambda text: [text]))
    elif recording.seat in (DUPLEX, ACP):
        agent = _agent(recording.brand, ACP if recording.seat == ACP else None)
        talker = agent.talker(plan, folder)
        if talker is None:
            raise NotJudged(f"{recording.brand} has no talker here")
        played.reader = talker
        played.take([events.run_started({})])
        Client(recording, played, cuts or (lambda text: [text])).run()
    else:
        raise NotJudged(f"the seat {recording.seat} is played by tests of its own")
    code = recording.meta.get("exit") or 0
    played.exit = Exit(None, signal.Signals(-code).name) if code < 0 else Exit(code)
    for line in filter(str.strip, recording.stderr):
        played.take([events.stderr(line), *played.reader.overheard(line.encode())])
    written = played.reader.file and os.path.join(folder, played.reader.file)
    text = directory.read_bytes(written) if written else None
    played.take(played.reader.ended(played.exit.exit_code, text))
    played.take([events.child_exited(played.exit.exit_code, played.exit.signal)])
    return played


def _agent(brand: str, kind: str | None = None) -> Any:
    agent = agents.find(brand, kind)
    if agent is None:
        raise NotJudged(f"there is no agent {brand} here")
    return agent


def _plan(recording: Recording) -> Plan:
    answered = any(is_answer(message) for _, message in recording.said)
    return documents.plan_of(
        {
            "runId": "run00001",
            "sessionId": "run00001",
            "agent": recording.brand,
            "task": "t",
            "cwd": recording.meta.get("cwd") or "/",
            "sessionPath": "child-session.jsonl",
            "permission": "ask" if answered else "full",
            "childSession": recording.session,
            "baseline": recording.before,
            "agentCommand": recording.meta.get("argv"),
            "agentKind": recording.seat if recording.seat == ACP else None,
        }
    )


def _lay_usage(recording: Recording, folder: str, arguments: Sequence[str]) -> None:
    """Put the file that an agent writes at its end where our command line tells it to."""
    written = recording.file(".usage.json")
    for at, argument in enumerate(arguments):
        name, _, value = argument.partition("=")
        if name == _USAGE_FILE and written.exists():
            shutil.copy(written, os.path.join(folder, value or arguments[at + 1]))


def _read(recording: Recording, played: Played, cuts: Callable[[bytes], Sequence[bytes]]) -> None:
    splitter, number = LineSplitter(), 0
    for piece in [*cuts(recording.stdout), None]:
        for line in splitter.flush() if piece is None else splitter.feed(piece):
            played.feed(line, recording.moment(number))
            number += 1
