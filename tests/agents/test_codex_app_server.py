"""The app server of Codex: recordings with their client, questions, messages, and failures."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from tests.agents.codex_lines import (
    SAMPLES,
    Played,
    client_of,
    exited,
    meta,
    recorded,
    served,
    talked,
    talker,
)
from tmuxagents.agents.base import LINE_LIMIT
from tmuxagents.runs.events import FOLLOW_UP, STEER, STOP, InboxMessage

NAMES = sorted(path.name.removesuffix(".meta.json") for path in SAMPLES.glob("appserver_*.meta.json"))
STATUS = {"stop": "completed", "error": "failed", "aborted": "aborted"}
READY = (
    {"id": 1, "result": {}},
    {"id": 2, "result": {"thread": {"id": "T"}, "model": "gpt-5.5"}},
    {"id": 3, "result": {"turn": {"id": "U1"}}},
)


def about(name: str) -> dict[str, Any]:
    """Return what a recording needs of its plan."""
    asks = any("result" in said for said in client_of(name))
    session = meta(name)["verdict"]["session"] if "resume" in name else None
    return {"permission": "ask" if asks else "full", "childSession": session}


def note(method: str, **params: Any) -> dict[str, Any]:
    return {"method": method, "params": {"threadId": "T", **params}}


def turn(status: str, number: str = "U1", **more: Any) -> dict[str, Any]:
    return note("turn/completed", turn={"id": number, "status": status, **more})


def item(**fields: Any) -> dict[str, Any]:
    return note("item/completed", item=fields)


def opened(**fields: Any) -> dict[str, Any]:
    return note("item/started", item=fields)


def asking(method: str, number: Any = 0, **params: Any) -> dict[str, Any]:
    return {**note(method, **params), "id": number}


COMMAND = asking("item/commandExecution/requestApproval", itemId="c1", command="/bin/bash -lc 'rm x'")


def begun(*lines: dict[str, Any], **changes: Any) -> Played:
    """Return a talk whose first turn is at work, after these lines."""
    told = Played(talker(**changes))
    told.speak(told.reader.begin("Do it."))
    return heard(told, *READY, *lines)


def heard(told: Played, *lines: dict[str, Any]) -> Played:
    for line in lines:
        told.feed(json.dumps(line, separators=(",", ":")).encode() + b"\n")
    return told


def say(told: Played, kind: str, text: str | None = "more", number: int = 7) -> list[dict[str, Any]]:
    """Say a message; return what was written because of it."""
    before = len(told.said)
    told.speak(told.reader.say(InboxMessage(number, kind, text)))
    return told.said[before:]


@pytest.mark.parametrize("name", NAMES)
def test_a_recording_comes_to_its_true_verdict(name: str) -> None:
    told, true = talked(name, **about(name)), meta(name)["verdict"]
    assert told.reader.is_idle
    how = told.verdict(*exited(name))
    assert (how.status, how.reason) == (true["status"], true["reasonWord"])
    assert (told.state.child_session, told.state.model) == (true["session"], true["model"])
    assert hashlib.sha256((told.state.text or "").encode()).hexdigest() == true["text"]["sha256"]
    assert [STATUS[one["stopReason"]] for one in told.all("turn_end")] == [
        one["status"] for one in true["turns"]
    ]
    assert [call for call, _ in told.tools] == [tool["id"] for tool in true["tools"]]
    assert told.results == {tool["id"]: not tool["ok"] for tool in true["tools"] if tool["ran"]}
    assert [one["callId"] for one in told.all("denied")] == [one["id"] for one in true["denials"]]
    assert served(name) == {key: told.state.usage[key] for key in served(name)}


def test_usage_is_told_after_each_call_of_the_model() -> None:
    told = talked("appserver_turns", permission="full").all("usage")
    assert len(told) == 7
    assert told[0] == {
        "input": 1010,
        "output": 41,
        "cacheRead": 301,
        "cacheWrite": 0,
        "totalTokens": 1352,
        "cost": 0,
        "reasoning": 0,
        "costKind": "none",
        "basis": "call",
    }


def test_figures_that_a_continued_session_repeats_are_not_counted_again() -> None:
    told = talked("appserver_resume", **about("appserver_resume"))
    assert [one["totalTokens"] for one in told.all("usage")] == [1400]
    figures = {"total": {"totalTokens": 5}, "last": {"inputTokens": 5}}
    updated = note("thread/tokenUsage/updated", turnId="U1", tokenUsage=figures)
    assert len(begun(updated, updated).all("usage")) == 1
    assert begun(note("thread/tokenUsage/updated", turnId="U0", tokenUsage=figures)).all("usage") == []


def test_a_command_that_was_allowed_may_still_be_refused_its_write() -> None:
    """It ran in the sandbox and exited with 0; its output alone tells."""
    told = talked("appserver_allow", permission="ask")
    (result,) = [one for one in told.all("tool_result") if one["callId"] == "call_mock29de002"]
    assert not result["isError"]
    assert "Read-only file system" in result["text"]
    assert told.all("denied") == []


def test_a_denial_says_who_denied() -> None:
    told = talked("appserver_deny", permission="ask")
    assert {one["why"] for one in told.all("denied")} == {"denied by alice"}
    assert (told.verdict().status, told.state.denied) == ("completed", 3)


def test_a_failed_turn_is_a_failure_and_the_next_one_is_judged_by_itself() -> None:
    told = begun(turn("failed", error={"message": '{"error": {"message": "no such model"}}'}))
    how = told.verdict()
    assert (how.status, how.reason, how.error_message) == ("failed", "error", "no such model")
    assert talked("appserver_failed", permission="full").verdict().status == "completed"


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        ((turn("interrupted"),), "error"),
        ((turn("failed", error={"message": "x", "codexErrorInfo": "sessionBudgetExceeded"}),), "limit"),
        ((turn("failed", error={"message": "x", "codexErrorInfo": {"other": {}}}),), "error"),
        ((turn("failed", error={"message": "Incomplete response: max_output_tokens"}),), "length"),
        ((note("error", error={"message": "gone"}), turn("failed")), "error"),
        ((turn("somehow"),), "unfinished"),
        ((), "unfinished"),
        (({"id": 9, "result": {}}, note("new/thing"), {"id": None}, {}), "unfinished"),
    ],
)
def test_only_a_completed_turn_is_a_success(lines: Any, reason: str) -> None:
    assert begun(*lines).verdict().reason == reason


@pytest.mark.parametrize("answered", [0, 1])
def test_a_session_that_cannot_be_had_is_a_wrong_configuration(answered: int) -> None:
    told = Played(talker(childSession="gone"))
    told.speak(told.reader.begin("Do it."))
    error = {"id": answered + 1, "error": {"code": -32600, "message": "no rollout found"}}
    heard(told, *READY[:answered], error)
    assert told.reader.is_idle
    how = told.verdict()
    assert (how.reason, how.error_message) == ("config", "no rollout found")


def test_a_codex_that_leaves_before_it_has_a_session_was_refused_its_configuration() -> None:
    assert Played(talker()).verdict(1).reason == "config"
    assert Played(talker()).verdict(0).reason == "unfinished"
    assert begun().verdict(1).reason == "exit"


def test_a_refused_prompt_is_a_failure() -> None:
    told = Played(talker())
    told.speak(told.reader.begin("Do it."))
    heard(told, *READY[:2], {"id": 3, "error": {"message": "not now"}})
    assert (told.reader.is_idle, told.verdict().error_message) == (True, "not now")


# --- messages ---------------------------------------------------------------------------------------------


def test_a_message_steers_the_turn_at_work() -> None:
    told = begun()
    (said,) = say(told, STEER)
    assert (said["method"], said["params"]) == (
        "turn/steer",
        {"threadId": "T", "expectedTurnId": "U1", "input": [{"type": "text", "text": "more"}]},
    )
    assert (told.all("message_sent"), told.reader.is_idle) == ([], False)
    heard(told, {"id": said["id"], "result": {"turnId": "U1"}}, turn("completed"))
    assert told.all("message_sent") == [{"inboxId": 7, "kind": STEER, "text": "more"}]
    assert (told.reader.is_idle, told.verdict().status) == (True, "completed")


def test_a_message_that_came_too_late_for_its_turn_begins_another() -> None:
    told = begun()
    (said,) = say(told, STEER)
    heard(told, turn("completed"), {"id": said["id"], "error": {"message": "no active turn"}})
    assert told.said[-1]["method"] == "turn/start"
    heard(told, {"id": told.said[-1]["id"], "result": {"turn": {"id": "U2"}}})
    assert not told.reader.settled
    heard(told, turn("completed", "U2"))
    assert [one["inboxId"] for one in told.all("message_sent")] == [7]
    assert [event.type for event in told.events][-4:] == ["resumed", "message_sent", "turn_end", "settled"]


def test_a_message_that_the_turn_does_not_take_waits_for_its_end() -> None:
    told = begun()
    (said,) = say(told, STEER)
    heard(told, {"id": said["id"], "error": {"message": "this turn cannot be steered"}})
    assert (told.said[-1], told.reader.is_idle) == (said, False)
    heard(told, turn("completed"))
    assert (told.said[-1]["method"], told.said[-1]["params"]["input"][0]["text"]) == ("turn/start", "more")


def test_a_follow_up_waits_until_the_turn_has_ended() -> None:
    told = begun()
    assert say(told, FOLLOW_UP) == say(told, FOLLOW_UP, "later", 8) == []
    assert not told.reader.is_idle
    heard(told, turn("completed"))
    assert [said["params"]["input"][0]["text"] for said in told.said[-1:]] == ["more"]
    heard(told, {"id": 4, "result": {"turn": {"id": "U2"}}}, turn("completed", "U2"))
    assert told.said[-1]["params"]["input"][0]["text"] == "later"


def test_a_message_before_the_first_turn_waits_for_it() -> None:
    told = Played(talker())
    told.speak(told.reader.begin("Do it."))
    assert say(told, STEER) == []
    heard(told, *READY)
    assert told.said[-1]["method"] == "turn/steer"


def test_an_interrupt_ends_the_turn_and_its_open_calls() -> None:
    told = begun(opened(type="commandExecution", id="c1", command="sleep 9"))
    (said,) = say(told, STOP, None)
    assert (said["method"], said["params"]) == ("turn/interrupt", {"threadId": "T", "turnId": "U1"})
    heard(told, {"id": said["id"], "result": {}}, turn("interrupted"))
    assert told.results == {"c1": True}
    assert say(told, STOP, None, 8) == []  # nothing left to stop
    assert (told.reader.is_idle, told.state.settled_aborted) == (True, True)


def test_an_interrupt_that_is_refused_changes_nothing() -> None:
    told = begun()
    (said,) = say(told, STOP, None)
    heard(told, {"id": said["id"], "error": "odd"}, turn("completed"))
    assert (told.reader.is_idle, told.verdict().status) == (True, "completed")


# --- questions --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "result"),
    [
        ("allow", {"decision": "accept"}),
        ("deny", {"decision": "decline"}),
        ("cancel", {"decision": "cancel"}),
        ("session", {"decision": "decline"}),  # was not offered
    ],
)
def test_an_answer_to_a_command(answer: str, result: dict[str, Any]) -> None:
    told = begun(COMMAND, permission="ask")
    (ask,) = told.reader.asks
    assert (ask.id, ask.kind, ask.text) == ("0", "permission", "Run: rm x")
    assert [one for one, _ in ask.options] == ["allow", "deny", "cancel"]
    assert not told.reader.is_idle
    told.heard(told.reader.answer("0", answer, "alice"))
    assert told.said[-1] == {"id": 0, "result": result}
    assert told.reader.asks == []


def test_an_answer_that_ends_the_turn_denies_the_call() -> None:
    told = begun(opened(type="commandExecution", id="c1", command="rm x"), COMMAND, permission="ask")
    told.heard(told.reader.answer("0", "cancel", "alice"))
    heard(told, turn("interrupted"))
    assert told.all("denied") == [{"callId": "c1", "toolName": "bash", "why": "denied by alice"}]
    assert (told.results, told.state.settled_aborted) == ({}, True)


def test_an_answer_in_words_refuses_and_steers() -> None:
    told = begun(COMMAND, permission="ask")
    told.heard(told.reader.answer("0", "use git rm", "alice"))
    refused, steered = told.said[-2:]
    assert refused["result"] == {"decision": "decline"}
    assert steered["params"]["input"][0]["text"] == "use git rm"
    heard(told, item(type="commandExecution", id="c1", command="rm x", status="declined"))
    assert told.all("denied") == [{"callId": "c1", "toolName": "bash", "why": "denied by alice"}]


@pytest.mark.parametrize(
    ("request_", "text", "allowed"),
    [
        (
            asking("item/fileChange/requestApproval", itemId="c1", reason="outside"),
            "Change /a, /b (outside)",
            {"decision": "accept"},
        ),
        (
            asking("item/commandExecution/requestApproval", networkApprovalContext={"host": "example.org"}),
            "Reach example.org",
            {"decision": "accept"},
        ),
        (
            asking("item/permissions/requestApproval", permissions={"network": {"enabled": True}, "x": None}),
            "More permissions: network",
            {"permissions": {"network": {"enabled": True}}, "scope": "turn"},
        ),
        (
            asking("mcpServer/elicitation/request", message="Delete?"),
            "Delete?",
            {"action": "accept", "content": {}},
        ),
    ],
)
def test_other_permissions(request_: dict[str, Any], text: str, allowed: dict[str, Any]) -> None:
    change = [{"path": "/a"}, {"path": "/b"}]
    told = begun(opened(type="fileChange", id="c1", changes=change), request_, permission="ask")
    (ask,) = told.reader.asks
    assert ask.text == text
    told.heard(told.reader.answer(ask.id, "allow", "alice"))
    assert told.said[-1]["result"] == allowed


def test_permission_for_the_session_where_it_is_offered() -> None:
    offered = {**COMMAND, "params": {**COMMAND["params"], "availableDecisions": ["acceptForSession"]}}
    told = begun(offered, permission="ask")
    told.heard(told.reader.answer("0", "session", "alice"))
    assert told.said[-1]["result"] == {"decision": "acceptForSession"}


def test_a_question_of_its_own_takes_an_option_or_a_text() -> None:
    options = [{"label": "red", "description": "like blood"}, {"label": 5}]
    question = {"id": "q", "question": "Which colour?", "options": options}
    asked = asking("item/tool/requestUserInput", "x", questions=[question])
    told = begun(asked, permission="ask")
    (ask,) = told.reader.asks
    assert (ask.kind, ask.text, ask.options) == ("question", "Which colour?", [("red", "like blood")])
    told.heard(told.reader.answer("x", "green", "alice"))
    assert told.said[-1] == {"id": "x", "result": {"answers": {"q": {"answers": ["green"]}}}}
    heard(told, asked)
    told.heard(told.reader.answer("x", "deny", "alice"))
    assert told.said[-1]["result"] == {"answers": {}}


def test_without_the_permission_to_ask_every_question_is_refused_at_once() -> None:
    told = begun(COMMAND, permission="edit")
    assert (told.said[-1], told.reader.asks) == ({"id": 0, "result": {"decision": "decline"}}, [])


@pytest.mark.parametrize(
    "request_", [asking("item/tool/call", tool="x"), asking("item/tool/requestUserInput", questions=[{}])]
)
def test_what_nobody_can_give_is_refused_so_that_the_child_goes_on(request_: dict[str, Any]) -> None:
    told = begun(request_, permission="ask")
    assert (told.said[-1]["id"], told.said[-1]["error"]["code"]) == (0, -32601)


def test_a_question_is_over_once_it_was_answered_elsewhere_or_its_turn_has_ended() -> None:
    told = begun(COMMAND, permission="ask")
    heard(told, note("serverRequest/resolved", requestId=0))
    assert told.reader.asks == []
    heard(told, COMMAND, turn("completed"))
    assert (told.reader.asks, told.reader.is_idle) == ([], True)
    assert told.reader.answer("0", "allow", "alice").reply == b""


# --- lines ------------------------------------------------------------------------------------------------


def test_lines_of_other_sessions_are_not_the_childs_but_their_questions_are() -> None:
    message = {"type": "agentMessage", "id": "m", "text": "I am another."}
    other = {"method": "item/completed", "params": {"threadId": "X", "item": message}}
    question = {**COMMAND, "params": {**COMMAND["params"], "threadId": "X"}}
    told = begun(other, {**turn("completed"), "params": {"threadId": "X"}}, question, permission="ask")
    assert (told.state.text, told.state.settled, len(told.reader.asks)) == (None, False, 1)


def test_pieces_of_an_answer_show_work_and_are_not_logged() -> None:
    (piece, *_) = [line for line in recorded("appserver_allow") if b"agentMessage/delta" in line]
    told = begun()
    reading = told.reader.feed(piece.rstrip(), 1.0)
    assert (reading.active, list(reading.events)) == (True, [])
    assert piece.startswith(told.reader.snapshots)
    assert not told.reader.feed(piece[:60], 1.0).active  # torn
    assert told.reader.is_torn


def test_the_end_of_a_turn_may_be_too_long_to_keep() -> None:
    long = [{"type": "agentMessage", "text": "x" * LINE_LIMIT, "status": "failed"}]
    told = begun(
        note("turn/completed", turn={"id": "U1", "items": long, "status": "completed", "error": None})
    )
    assert (told.reader.left_out, told.verdict().status) == (True, "completed")
    assert begun(item(type="agentMessage", text="x" * LINE_LIMIT)).verdict().reason == "unfinished"


def test_what_comes_behind_the_end_changes_nothing() -> None:
    told = begun(opened(type="commandExecution", id="c1", command="sleep 9"), turn("completed"))
    heard(
        told,
        item(type="commandExecution", id="c1", command="sleep 9", exitCode=0),
        opened(type="commandExecution", id="c2", command="ls"),
        note("turn/started", turn={"id": "U1"}),
        note("turn/started"),
    )
    assert (told.results, told.verdict().status) == ({"c1": False}, "completed")


def test_a_retry_and_another_model_are_told() -> None:
    told = begun(
        note("error", willRetry=True, error={"message": "Reconnecting... 2/5", "additionalDetails": "reset"}),
        note("error", willRetry=True, error={"message": "busy"}),
        note("model/rerouted", toModel="gpt-5.5-mini"),
        note("model/rerouted"),
    )
    assert [(one["attempt"], one["maxAttempts"], one["errorMessage"]) for one in told.all("retry")] == [
        (2, 5, "reset"),
        (None, None, "busy"),
    ]
    assert told.reader.model == "gpt-5.5-mini"


def test_a_diff_is_read_by_its_hunks() -> None:
    diff = (
        "--- a\n+++ b\n@@ -1 +1 @@\n same\n-old\n+new\n\\ No newline at end of file\n@@ -9 +9,0 @@\n-gone\n"
    )
    change = [{"path": "/a", "kind": {"type": "update"}, "diff": diff}]
    (call,) = begun(item(type="fileChange", id="c1", changes=change)).all("tool_call")
    assert call["args"]["edits"] == [
        {"oldText": "same\nold\n", "newText": "same\nnew\n"},
        {"oldText": "gone\n", "newText": ""},
    ]


def test_a_new_file_is_written_whole() -> None:
    change = [{"path": "/a", "kind": {"type": "add"}, "diff": "one\ntwo\n"}]
    told = begun(item(type="fileChange", id="c1", changes=change, status="completed"))
    (call,) = told.all("tool_call")
    assert (call["toolName"], call["args"]) == ("write", {"path": "/a", "content": "one\ntwo\n"})
