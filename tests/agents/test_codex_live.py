"""A live Codex: the lines of its app server and of the bridge, and when a run is attended."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from tests.agents.codex_lines import Played, meta, plan, recorded, served
from tmuxagents.agents.codex.app_server import LIVE, CodexLiveReader
from tmuxagents.agents.codex.command import AGENT
from tmuxagents.records import Exit
from tmuxagents.runs import endings, events

NAMES = ("live_text", "live_ask", "live_typed")
SESSION = {"type": "bridge_session", "session": "T", "model": "gpt-5.5"}


def note(method: str, **params: Any) -> dict[str, Any]:
    return {"method": method, "params": {"threadId": "T", **params}}


BEGUN = note("turn/started", turn={"id": "U1"})
DONE = note("turn/completed", turn={"id": "U1", "status": "completed"})
BROKEN = note("turn/completed", turn={"id": "U1", "status": "interrupted"})
ASKED = {**note("item/fileChange/requestApproval", itemId="c1"), "id": 0}


def live(*lines: dict[str, Any]) -> Played:
    """Return what a live reader makes of lines; a message with a number was sent with that number."""
    sent = {1: events.message_sent(1, "steer", "more"), 2: events.message_sent(2, "stop", None)}
    told = Played(CodexLiveReader(sent.get))
    return heard(told, *lines)


def heard(told: Played, *lines: dict[str, Any]) -> Played:
    for line in lines:
        told.feed(json.dumps(line, separators=(",", ":")).encode() + b"\n")
    return told


@pytest.mark.parametrize("name", NAMES)
def test_a_recording_comes_to_its_true_verdict(name: str) -> None:
    true = meta(name)["verdict"]
    told = live({"type": "bridge_session", "session": true["session"], "model": true["model"]})
    for line in recorded(name):
        told.feed(line)
    reader = told.reader
    assert (reader.is_connected, reader.has_begun, reader.settlings) == (True, True, len(true["turns"]))
    assert (reader.typed, told.state.attended) == (name == "live_typed", name == "live_typed")
    how = endings.live_verdict(told.state, Exit(0), cause=None, lingered=False, person=reader.typed)
    assert (how.status, how.reason) == (true["status"], true["reasonWord"])
    assert hashlib.sha256((told.state.text or "").encode()).hexdigest() == true["text"]["sha256"]
    assert [call for call, _ in told.tools] == [tool["id"] for tool in true["tools"]]
    assert told.results == {tool["id"]: not tool["ok"] for tool in true["tools"]}
    assert (told.state.child_session, told.state.model) == (true["session"], true["model"])
    ours = {key: told.state.usage[key] for key in served(name)}
    assert all(ours[key] <= served(name)[key] for key in ours)  # the screen has side requests of its own
    assert told.said == []  # the screen answers, and nobody else


def test_what_a_person_types_is_told_and_makes_the_run_theirs() -> None:
    told = live()
    for line in recorded("live_typed"):
        told.feed(line)
    assert told.all("human_input") == [{"text": "SCENARIO:work please do the task"}]
    assert [one["attended"] for one in told.all("settled")] == [False, True]


def test_an_open_question_waits_for_a_person() -> None:
    change = {"type": "fileChange", "id": "c1", "changes": [{"path": "/a"}]}
    told = live(SESSION, BEGUN, note("item/started", item=change), ASKED)
    (ask,) = told.reader.asks.open.values()
    assert (ask.id, ask.kind, ask.text) == ("0", "permission", "Change /a")
    heard(told, note("serverRequest/resolved", requestId=0))
    assert (told.reader.asks.open, told.reader.typed, told.said) == ({}, False, [])


def test_what_is_denied_from_elsewhere_is_a_denial() -> None:
    change = {"type": "fileChange", "id": "c1", "changes": [{"path": "/a"}]}
    answer = {"type": "bridge_answer", "ask": "0", "answer": "deny", "by": "a person"}
    told = live(SESSION, BEGUN, note("item/started", item=change), ASKED, answer, answer)
    assert (told.reader.asks.open, told.reader.asks.given) == ({}, {"0": ("deny", "a person")})
    heard(told, note("serverRequest/resolved", requestId=0))
    heard(told, note("item/completed", item={**change, "status": "declined"}))
    assert [one["why"] for one in told.all("denied")] == ["denied by a person"]


def test_what_is_allowed_from_elsewhere_is_no_denial() -> None:
    change = {"type": "fileChange", "id": "c1", "changes": [{"path": "/a"}]}
    answer = {"type": "bridge_answer", "ask": "0", "answer": "allow", "by": "a person"}
    told = live(SESSION, BEGUN, note("item/started", item=change), ASKED, answer)
    heard(told, note("serverRequest/resolved", requestId=0))
    heard(told, note("item/completed", item={**change, "status": "completed"}))
    assert (told.reader.asks.given, told.all("denied")) == ({"0": ("allow", "a person")}, [])


def test_a_question_that_only_the_screen_knows_is_left_to_it() -> None:
    told = live(SESSION, BEGUN, {**note("account/chatgptAuthTokens/refresh"), "id": 3})
    assert (told.reader.asks.open, told.said) == ({}, [])


def test_an_interrupt_is_a_persons_unless_a_message_ordered_it() -> None:
    assert live(SESSION, BEGUN, BROKEN).reader.typed
    told = live(SESSION, BEGUN, {"type": "bridge_taken", "inboxId": 2}, BROKEN)
    assert (told.reader.typed, told.all("message_sent")[0]["kind"]) == (False, "stop")
    heard(
        told, note("turn/started", turn={"id": "U2"}), note("turn/completed", turn={"status": "interrupted"})
    )
    assert told.reader.typed


def test_a_message_is_told_once_it_is_taken() -> None:
    told = live(
        SESSION, BEGUN, *({"type": "bridge_taken", "inboxId": number} for number in (1, 9, None)), DONE
    )
    assert told.all("message_sent") == [{"inboxId": 1, "kind": "steer", "text": "more"}]
    assert not told.reader.typed


def test_to_leave_is_to_close_the_screen() -> None:
    told = live(SESSION, BEGUN, DONE, {"type": "bridge_person"})
    assert (told.reader.has_left, told.reader.typed) == (True, False)


@pytest.mark.parametrize(("before", "reason"), [((), "config"), ((SESSION,), "error")])
def test_a_refused_request_is_a_failure(before: Any, reason: str) -> None:
    told = live(*before, {"type": "bridge_refused", "message": "no rollout found"})
    assert told.reader.settled
    how = told.verdict()
    assert (how.status, how.reason, how.error_message) == ("failed", reason, "no rollout found")


def test_the_bridge_starts_the_program_of_the_user() -> None:
    assert AGENT.live() is LIVE
    assert LIVE.arguments(plan(), "/runs/x") == []
    assert isinstance(LIVE.reader(lambda _number: None), CodexLiveReader)
    assert str(LIVE.bridge).endswith("/agents/codex/bridge.py")
