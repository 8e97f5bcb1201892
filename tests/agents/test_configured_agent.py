"""Any command as an agent: its stdout is the answer, its exit code the evidence."""

from __future__ import annotations

import pytest

from tmuxagents import agents
from tmuxagents.agents.base import Oversized
from tmuxagents.agents.configured import MOST_LETTERS, TextReader
from tmuxagents.records import Exit, Verdict
from tmuxagents.runs import documents, endings, events, lifecycle

PLAN = {"runId": "run00001", "sessionId": "s", "agent": "mine", "task": "t", "cwd": "/p", "sessionPath": "x"}


def reader() -> TextReader:
    agent = agents.find("mine", "command")
    assert agent is not None
    assert (agent.program, agent.arguments(documents.plan_of(PLAN), "/r")) == ("mine", [])
    found = agent.reader(documents.plan_of(PLAN), "/r")
    assert isinstance(found, TextReader)
    return found


def ending(found: TextReader, how: Exit) -> tuple[Verdict, lifecycle.RunState]:
    state = lifecycle.RunState()
    for event in [events.run_started({}), *found.ended(how.exit_code)]:
        lifecycle.apply(state, event)
    return endings.verdict(state, how, cause=None, lingered=False), state


def test_exit_0_is_the_evidence_and_the_result_says_so() -> None:
    found = reader()
    found.note_late(0.0)
    assert found.feed(b"one", 0.0).plain == "one"
    found.feed("zwei \u2028".encode(), 0.0)
    verdict, state = ending(found, Exit(0))
    assert (verdict.status, verdict.reason, verdict.note) == (
        "completed",
        "done",
        "only its exit code says so",
    )
    assert (state.text, found.left_out) == ("one\nzwei \u2028", False)


def test_a_command_is_asked_nothing_and_can_little() -> None:
    agent = agents.find("mine", "command")
    assert agent is not None
    assert agent.questions().VERSION == ()
    assert (agent.capabilities().evidence, agent.capabilities().permissions) == ("exit", ())
    assert reader().overheard(b"a warning") == ()


def test_nothing_said_and_exit_0_is_done() -> None:
    verdict, state = ending(reader(), Exit(0))
    assert (verdict.status, state.text) == ("completed", None)


@pytest.mark.parametrize(
    ("how", "reason"), [(Exit(3), "exit"), (Exit(None, "SIGKILL"), "signal"), (Exit(143), "exit")]
)
def test_anything_else_is_a_failure_that_keeps_what_was_said(how: Exit, reason: str) -> None:
    found = reader()
    found.feed(b"half", 0.0)
    verdict, state = ending(found, how)
    assert (verdict.status, verdict.reason, verdict.note, state.text) == ("failed", reason, None, "half")


def test_an_answer_without_end_is_cut_and_says_so() -> None:
    found = reader()
    for _ in range(MOST_LETTERS // 1000 + 2):
        found.feed(b"x" * 1000, 0.0)
    found.feed_oversized(Oversized(b"y" * 70000, b"z", 5_000_000), 0.0)
    _, state = ending(found, Exit(0))
    assert state.text is not None
    assert found.left_out
    assert len(state.text) < MOST_LETTERS + 200
    assert state.text.endswith("stdout.log has all of it ...]")
    assert "y" * 9 not in state.text
