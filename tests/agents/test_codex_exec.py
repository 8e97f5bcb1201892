"""`codex exec --json`: each recording has its true verdict, and every trap is recognised."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from tests.agents.codex_lines import RUN_DIR, SAMPLES, Played, exited, meta, plan, played, served
from tmuxagents.agents.codex.command import AGENT

NAMES = sorted(
    path.name.removesuffix(".meta.json")
    for path in SAMPLES.glob("*.meta.json")
    if not path.name.startswith(("appserver_", "live_", "acp_"))
)
SESSION = {"type": "thread.started", "thread_id": "01a1"}
BEGUN = {"type": "turn.started"}
DONE = {"type": "turn.completed", "usage": {"input_tokens": 10, "output_tokens": 1}}
UNAUTHORIZED = (
    "unexpected status 401 Unauthorized: Incorrect API key provided: mock, "
    "url: http://127.0.0.1:8102/v1/responses"
)
ANSWER = {"type": "item.completed", "item": {"id": "item_0", "type": "agent_message", "text": "Yes."}}


def read(*lines: dict[str, Any]) -> Played:
    told = Played(AGENT.reader(plan(), RUN_DIR))
    for line in lines:
        told.feed(json.dumps(line).encode() + b"\n")
    return told


def item(**fields: Any) -> dict[str, Any]:
    return {"type": "item.completed", "item": {"id": "item_1", **fields}}


def opened(**fields: Any) -> dict[str, Any]:
    return {"type": "item.started", "item": {"id": "item_1", **fields}}


@pytest.mark.parametrize("name", NAMES)
def test_a_recording_comes_to_its_true_verdict(name: str) -> None:
    told, true = played(name), meta(name)["verdict"]
    how = told.verdict(*exited(name))
    alone = true.get("ifNotAsked", true)  # nobody asked for a stop here
    assert (how.status, bool(told.state.child_session)) == (alone["status"], true["sessionTold"])
    if true["sessionTold"]:
        assert told.state.child_session == true["session"]
    if true["text"] is not None:
        assert hashlib.sha256((told.state.text or "").encode()).hexdigest() == true["text"]["sha256"]
    shown = {tool["id"]: not tool["ok"] for tool in true["tools"] if tool["id"]}
    assert [call for call, _ in told.tools] == list(shown)
    assert all(shown[call] == failed for call, failed in told.results.items())
    if true["usage"]["told"]:
        assert served(name) == {key: told.state.usage[key] for key in served(name)}


@pytest.mark.parametrize(
    ("name", "reason", "words"),
    [
        ("err400", "error", "mock invalid_request_error"),
        (
            "err401",
            "error",
            UNAUTHORIZED,
        ),
        ("err429", "error", "exceeded retry limit, last status: 429 Too Many Requests"),
        (
            "unknown_model",
            "error",
            "The model `nosuch-model` does not exist or you do not have access to it.",
        ),
        ("resume_unknown_id", "config", None),
        ("hang", "signal", "The child was killed by SIGTERM."),
        ("sigint_in_text", "exit", "The child exited with code 1."),
    ],
)
def test_a_failure_has_its_reason(name: str, reason: str, words: str | None) -> None:
    how = played(name).verdict(*exited(name))
    assert (how.status, how.reason) == ("failed", reason)
    assert words is None or how.error_message == words


def test_an_error_that_is_asked_again_is_a_retry_and_no_failure() -> None:
    told = played("drop_recovers")
    (retry,) = told.all("retry")
    assert (retry["attempt"], retry["maxAttempts"]) == (1, 2)
    assert retry["errorMessage"] == (
        "stream disconnected before completion: stream closed before response.completed"
    )
    assert (told.verdict().status, told.state.error_message) == ("completed", None)


def test_a_warning_in_the_form_of_an_item_is_no_failure() -> None:
    told = read(SESSION, item(type="error", message="Model metadata not found."), BEGUN, ANSWER, DONE)
    assert (told.verdict().status, told.state.error_message) == ("completed", None)


def test_a_refused_patch_is_no_item_and_stderr_tells_of_it() -> None:
    told = played("denied")
    why = "patch rejected: writing is blocked by read-only sandbox; rejected by user approval settings"
    assert told.all("denied") == [{"callId": None, "toolName": "edit", "why": why}]
    assert told.verdict().status == "completed"


@pytest.mark.parametrize(
    ("line", "tools"),
    [
        (b'codex_core::tools::router: error=exec_command failed: Rejected(\\"not now\\")', ["bash"]),
        (b'codex_core::tools::router: error=exec_command failed: Rejected(\\"rejected by user\\")', []),
        (b"codex_core::tools::router: error=patch rejected by user", []),  # its item was declined
        (b"codex_core::tools::router: error=no such file", []),
        (b"codex_core::session: rejected", []),
    ],
)
def test_a_complaint_on_stderr(line: bytes, tools: list[str]) -> None:
    assert [event.fields["toolName"] for event in read().reader.overheard(line)] == tools


def test_a_command_whose_write_the_sandbox_refused_exits_with_0() -> None:
    """It ran, and says so itself: nothing else in the stream does."""
    (told,) = [one for one in played("denied").all("tool_result") if one["callId"] == "item_3"]
    assert not told["isError"]
    assert "Read-only file system" in told["text"]


def test_a_command_that_fails_is_a_failed_call() -> None:
    (told,) = played("tool_fails").all("tool_result")
    assert told["isError"]
    assert told["text"].endswith("No such file or directory\n\nCommand exited with code 1")


def test_tokens_of_a_session_that_goes_on_are_those_of_this_run() -> None:
    told = played("resume")
    usage = told.all("usage")[0]
    assert (usage["input"], usage["totalTokens"], usage["basis"]) == (1010, 1352 + 5480, "session")
    assert usage["cacheRead"] == 301


def test_the_exit_after_a_finished_turn_is_noise() -> None:
    assert read(SESSION, BEGUN, ANSWER, DONE).verdict(1).status == "completed"


@pytest.mark.parametrize("lines", [(SESSION, BEGUN, ANSWER), (SESSION, BEGUN, ANSWER, DONE, BEGUN)])
def test_a_turn_without_its_end_is_not_finished(lines: Any) -> None:
    assert read(*lines).verdict(0).reason == "unfinished"


def test_a_line_that_breaks_off_is_no_end() -> None:
    told = read(SESSION, BEGUN, ANSWER)
    told.feed(json.dumps(DONE).encode()[:-9])
    assert told.verdict(0).reason == "unfinished"


def test_an_answer_that_was_cut_is_no_success() -> None:
    message = "stream disconnected before completion: Incomplete response returned, reason: max_output_tokens"
    how = read(SESSION, BEGUN, {"type": "turn.failed", "error": {"message": message}}).verdict(1)
    assert (how.status, how.reason) == ("failed", "length")


def test_an_error_without_the_end_of_its_turn_is_the_reason() -> None:
    how = read(SESSION, BEGUN, {"type": "error", "message": "no more credit"}).verdict(1)
    assert (how.reason, how.error_message) == ("error", "no more credit")
    assert read(SESSION, BEGUN, {"type": "turn.failed"}).verdict(1).reason == "error"


def test_what_comes_behind_the_end_changes_nothing() -> None:
    told = read(SESSION, BEGUN, ANSWER, DONE)
    for line in (opened(type="command_execution", command="ls"), item(type="web_search"), ANSWER):
        told.feed(json.dumps(line).encode() + b"\n")
    assert (told.verdict().status, told.tools) == ("completed", [])


def test_a_declined_call_is_a_denial() -> None:
    told = read(
        SESSION, BEGUN, item(type="command_execution", command="rm x", status="declined"), ANSWER, DONE
    )
    assert told.all("denied") == [{"callId": "item_1", "toolName": "bash", "why": "declined"}]
    assert (told.verdict().status, told.results) == ("completed", {})


def test_other_tools_have_their_names_and_results() -> None:
    mcp = {"type": "mcp_tool_call", "server": "files", "tool": "list", "arguments": {"of": "."}}
    texts = {"content": [{"type": "text", "text": "a\nb"}]}
    told = read(
        *(SESSION, BEGUN),
        opened(id="1", **mcp),
        {"type": "item.updated", "item": {"id": "1"}},
        item(id="1", **mcp, result=texts, status="completed"),
        item(id="2", **mcp, error={"message": "gone"}, status="failed"),
        item(id="3", **mcp, result={**texts, "isError": True}, status="completed"),
        item(id="4", type="web_search", query="tmux"),
        item(id="5", type="collab_tool_call", tool="spawn_agent", prompt="look", status="completed"),
        item(id="6", type="dynamic_tool_call", tool="own", arguments=[]),
        item(id="7", type="image_view", path="a.png"),
        item(id="8", type="todo_list", items=[]),
        item(id="9", type="reasoning", text=""),
    )
    assert told.tools == [
        *(("1", "files.list"), ("2", "files.list"), ("3", "files.list"), ("4", "web_search")),
        *(("5", "spawn_agent"), ("6", "own"), ("7", "view_image")),
    ]
    assert told.results == {str(number): number in (2, 3) for number in range(1, 8)}
    assert [one["text"] for one in told.all("tool_result")][:3] == ["a\nb", "gone", "a\nb"]


def test_a_patch_of_several_files_is_one_edit() -> None:
    changes = [{"path": "a", "kind": "add"}, {"path": "b", "kind": "delete"}, "odd"]
    told = read(SESSION, BEGUN, item(type="file_change", changes=changes), item(id="2", type="file_change"))
    assert [one["args"] for one in told.all("tool_call")] == [
        {"path": "a", "files": ["a", "b"]},
        {"path": ""},
    ]


@pytest.mark.parametrize(
    "line",
    [
        *({"type": "turn.completed"}, {"type": "turn.failed", "error": "x"}, {"type": "error"}),
        *({"type": "item.completed"}, {"type": "item.completed", "item": {"type": 5}}, {"type": "new"}),
        {"type": "item.started", "item": {"id": 5, "type": "command_execution", "command": None}},
        {"type": "item.completed", "item": {"type": "reasoning", "summary": ["a", 5], "content": 7}},
        {"type": "item.completed", "item": {"type": "agent_message"}},
        {"type": "thread.started"},
    ],
)
def test_odd_lines_break_nothing(line: dict[str, Any]) -> None:
    told = read(SESSION, BEGUN, line, SESSION)
    assert told.state.child_session == "01a1"
    assert told.verdict(0).status in ("completed", "failed")
