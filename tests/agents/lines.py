"""Lines of an agent, and the events, the state and the verdict that follow from them."""

from __future__ import annotations

import ast
import inspect
import json
import textwrap
from typing import TYPE_CHECKING, Any

from tmuxagents.records import Exit
from tmuxagents.runs import documents, endings, events, lifecycle

if TYPE_CHECKING:
    from tmuxagents.agents.base import Reader
    from tmuxagents.records import Plan, Verdict
    from tmuxagents.runs.events import Event


def plan(agent: str, **fields: Any) -> Plan:
    """Return the plan of a run."""
    told = {"runId": "0123456789ab", "sessionId": "0123456789ab", "agent": agent, "task": "t", "cwd": "/w"}
    return documents.plan_of({**told, "sessionPath": "child-session.jsonl", **fields})


def kinds_of(reader: type) -> list[str]:
    """Return the kinds of lines that a reader knows: the cases of each `take` that it has."""
    takes = [vars(one)["take"] for one in reader.__mro__ if "take" in vars(one)]
    trees = [ast.parse(textwrap.dedent(inspect.getsource(take))) for take in takes]
    patterns = [node.value for tree in trees for node in ast.walk(tree) if isinstance(node, ast.MatchValue)]
    return [str(kind.value) for kind in patterns if isinstance(kind, ast.Constant)]


class Heard:
    """The lines of a child, read as the wrapper reads them."""

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        self.state = lifecycle.RunState()
        self.events: list[Event] = []
        self.active = False  # as of its last line
        self._take([events.run_started({})])

    def line(self, **fields: Any) -> Heard:
        """Hear one line of JSON."""
        return self.raw(json.dumps(fields).encode())

    def raw(self, line: bytes) -> Heard:
        """Hear one line."""
        reading = self.reader.feed(line, 7.0)
        self.active = reading.active
        return self._take(reading.events)

    def exit(self, code: int | None, text: bytes | None = None) -> Verdict:
        """Make the child exit; None: by a signal."""
        self._take(self.reader.ended(code, text))
        how = Exit(code, "SIGKILL" if code is None else None)
        self._take([events.child_exited(how.exit_code, how.signal)])
        counts = self.reader.exit_counts
        return endings.verdict(self.state, how, cause=None, lingered=False, exit_counts=counts)

    def told(self, kind: str) -> list[dict[str, Any]]:
        """Return the fields of the events of a type."""
        return [event.fields for event in self.events if event.type == kind]

    def _take(self, told: Any) -> Heard:
        for event in told:
            self.events.append(event)
            lifecycle.apply(self.state, event)
        self.state.model, self.state.error_message = self.reader.model, self.reader.error_message
        assert self.state.settled is self.reader.settled
        return self
