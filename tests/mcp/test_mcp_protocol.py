"""The messages of MCP: the meaning of each line, and its answer in both generations."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tmuxagents import __version__
from tmuxagents.mcp import protocol
from tmuxagents.mcp.protocol import Request
from tmuxagents.mcp.requests import still_working
from tmuxagents.tools import catalogue

STATELESS = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


def line(method: str | None = "ping", **changes: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, **changes}).encode()


def request(method: str, own: Any = 1, **params: Any) -> Request:
    made = protocol.read(line(method, id=own, params=params))
    assert isinstance(made, Request)
    return made


def answered(method: str, *, offered: bool = True, **params: Any) -> dict[str, Any]:
    message = protocol.answer(request(method, **params), offered=offered)
    assert message is not None
    assert (message["jsonrpc"], message["id"]) == ("2.0", 1)
    return message


def result(method: str, **params: Any) -> dict[str, Any]:
    body: dict[str, Any] = answered(method, **params)["result"]
    return body


# --- read -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "code", "own"),
    [
        (b"{bad", -32700, None),
        (b"\xff\xfe", -32700, None),
        (b"[" * 100_000, -32700, None),
        (b"[]", -32600, None),
        (b"1", -32600, None),
        (b'{"id": 1, "method": "ping"}', -32600, None),
        (line(None), -32600, 1),
        (line(None, id=None), -32600, None),
        (line("ping", id=True), -32600, None),
        (line("ping", id={}), -32600, None),
        (line("ping", params=[]), -32602, 1),
    ],
)
def test_what_is_no_message_is_answered_by_an_error(said: bytes, code: int, own: Any) -> None:
    message = protocol.read(said)
    assert isinstance(message, dict)
    assert (message["id"], message["error"]["code"]) == (own, code)


@pytest.mark.parametrize(
    "said",
    [
        b'{"jsonrpc": "2.0", "id": 5, "result": {}}',
        b'{"jsonrpc": "2.0", "id": 5, "error": {}}',
        b'{"jsonrpc": "2.0", "method": "notifications/x", "params": 5}',
    ],
)
def test_what_nobody_waits_for_is_not_answered(said: bytes) -> None:
    assert protocol.read(said) is None


def test_a_notification_has_no_id() -> None:
    made = protocol.read(
        b'{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "a"}}'
    )
    assert isinstance(made, Request)
    assert (made.id, protocol.cancelled_id(made)) == (None, "a")


@pytest.mark.parametrize("wanted", [None, True, 1.5, {}])
def test_only_an_id_can_be_cancelled(wanted: Any) -> None:
    assert protocol.cancelled_id(request("notifications/cancelled", requestId=wanted)) is None
    assert protocol.cancelled_id(request("notifications/other", requestId="a")) is None


@given(st.binary(max_size=60))
def test_no_line_breaks_it(said: bytes) -> None:
    made = protocol.read(said)
    assert made is None or isinstance(made, (dict, Request))


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=4),
        lambda inner: (
            st.dictionaries(st.sampled_from(["jsonrpc", "id", "method", "params", "_meta", "name"]), inner)
            | st.lists(inner)
        ),
        max_leaves=6,
    )
)
def test_no_document_breaks_it(said: Any) -> None:
    whole = {**said, "jsonrpc": "2.0"} if isinstance(said, dict) else said
    made = protocol.read(json.dumps(whole).encode())
    if isinstance(made, Request):
        protocol.answer(made, offered=True)


# --- the handshake ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "got"),
    [
        ("2024-11-05", "2024-11-05"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2031-01-01", "2025-11-25"),
        (None, "2025-11-25"),
        ([], "2025-11-25"),
    ],
)
def test_a_handshake_agrees_on_a_version(asked: Any, got: str) -> None:
    body = result("initialize", protocolVersion=asked, capabilities={}, clientInfo={"name": "x"})
    assert body["protocolVersion"] == got
    assert body["capabilities"] == {
        "tools": {},
        "resources": {"subscribe": True, "listChanged": True},
        "prompts": {},
        "logging": {},
    }
    assert body["serverInfo"] == {"name": "tmuxagents", "title": "tmuxagents", "version": __version__}
    assert "resultType" not in body


def test_discovery_names_the_stateless_version() -> None:
    body = result("server/discover", _meta=STATELESS)
    assert body["supportedVersions"] == ["2026-07-28"]
    assert (body["resultType"], body["cacheScope"], body["ttlMs"] > 0) == ("complete", "private", True)
    assert body["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "tmuxagents"


def test_a_version_that_nobody_knows_is_refused_with_those_that_are() -> None:
    meta = {**STATELESS, "io.modelcontextprotocol/protocolVersion": "2031-01-01"}
    error = answered("tools/list", _meta=meta)["error"]
    assert (error["code"], error["data"]["requested"]) == (-32022, "2031-01-01")
    assert error["data"]["supported"][0] == "2026-07-28"


def test_ping_is_answered() -> None:
    assert result("ping") == {}
    assert result("ping", _meta=STATELESS)["resultType"] == "complete"


def test_an_unknown_method_is_an_error() -> None:
    assert answered("completion/complete")["error"]["code"] == -32601


def test_a_call_is_not_answered_at_once() -> None:
    assert protocol.answer(request("tools/call", name="x"), offered=True) is None


# --- tools ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("meta", [{}, STATELESS])
def test_the_tools_are_those_of_the_catalogue(meta: dict[str, Any]) -> None:
    body = result("tools/list", _meta=meta)
    assert [tool["name"] for tool in body["tools"]] == [tool.name for tool in catalogue.TOOLS]
    for tool, declared in zip(body["tools"], catalogue.TOOLS, strict=True):
        assert (tool["inputSchema"], tool["description"]) == (declared.parameters, declared.description)
    looking = [tool["name"] for tool in body["tools"] if tool["annotations"]["readOnlyHint"]]
    assert looking == [
        "background_agent_status",
        "get_subagent_output",
        "get_subagent_session",
        "list_subagent_profiles",
    ]
    assert ("ttlMs" in body) is bool(meta)


def test_all_tools_together_are_small() -> None:
    tools = json.dumps(result("tools/list"), separators=(",", ":"), ensure_ascii=False)
    assert len(tools.encode()) <= 6600


def test_a_child_is_offered_none() -> None:
    assert result("tools/list", offered=False)["tools"] == []


def test_a_result_has_its_text_in_the_object_too() -> None:
    document = {
        "content": [{"type": "text", "text": "done"}],
        "details": {"run": {"runId": "a", "output": "long"}, "counts": {"total": 1}},
        "isError": False,
    }
    message = protocol.called(request("tools/call", own="x"), document)
    assert message["id"] == "x"
    assert message["result"] == {
        "content": document["content"],
        "structuredContent": {"text": "done", "run": {"runId": "a"}, "counts": {"total": 1}},
        "isError": False,
    }


def test_a_call_that_broke_off_is_an_error_that_a_model_can_read() -> None:
    body = protocol.failed(request("tools/call", _meta=STATELESS), "It broke.")["result"]
    assert (body["isError"], body["content"][0]["text"], body["resultType"]) == (
        True,
        "It broke.",
        "complete",
    )


@pytest.mark.parametrize(("token", "kept"), [("t", "t"), (7, 7), (True, None), ({}, None)])
def test_progress_is_told_by_the_token_of_the_request(token: Any, kept: Any) -> None:
    asked = request("tools/call", _meta={"progressToken": token})
    assert asked.token == kept
    assert protocol.progressed(asked, 3, "Reading") == {
        "jsonrpc": "2.0",
        "method": "notifications/progress",
        "params": {"progressToken": kept, "progress": 3, "message": "Reading"},
    }


# --- resources, prompts, log messages ---------------------------------------------------------------------


@pytest.mark.parametrize("method", ["resources/list", "resources/read"])
def test_what_must_be_looked_up_is_not_answered_at_once(method: str) -> None:
    assert protocol.answer(request(method), offered=True) is None


def test_the_addresses_of_resources() -> None:
    found = result("resources/templates/list")["resourceTemplates"]
    assert [shape["uriTemplate"] for shape in found] == [
        f"tmuxagents://runs/{{runId}}/{kind}" for kind in ("output", "transcript", "result")
    ]
    assert result("resources/templates/list", offered=False)["resourceTemplates"] == []
    assert result("resources/list", offered=False) == {"resources": []}


def test_what_was_looked_up_is_answered_in_the_shape_of_the_era() -> None:
    found = {"isError": False, "contents": [{"uri": "u", "text": "x"}]}
    assert protocol.read_out(request("resources/read"), found)["result"] == {"contents": found["contents"]}
    body = protocol.read_out(request("resources/read", _meta=STATELESS), found)["result"]
    assert (body["resultType"], body["ttlMs"], body["contents"]) == ("complete", 0, found["contents"])


@pytest.mark.parametrize(
    ("meta", "kind", "code"),
    [({}, "unknown-run", -32002), (STATELESS, "unknown-run", -32602), ({}, "internal", -32603)],
)
def test_what_is_not_there_is_an_error_with_its_address(meta: dict[str, Any], kind: str, code: int) -> None:
    refused = {"isError": True, "details": {"error": {"kind": kind, "message": "No."}}}
    error = protocol.read_out(request("resources/read", uri="u", _meta=meta), refused)["error"]
    assert error == {"code": code, "message": "No.", "data": {"uri": "u"}}
    broken = protocol.failed(request("resources/read", uri="u"), "It broke.")
    assert broken["error"] == {"code": -32603, "message": "It broke."}


@pytest.mark.parametrize(
    "method", ["tools/list", "resources/list", "resources/templates/list", "prompts/list"]
)
def test_there_is_one_page(method: str) -> None:
    assert answered(method, cursor="x")["error"]["code"] == -32602
    message = protocol.answer(request(method, cursor=None), offered=True)
    assert message is None or ("result" in message and "nextCursor" not in message["result"])


def test_prompts_are_the_shipped_ones_with_a_task_in_them() -> None:
    found = result("prompts/list")["prompts"]
    assert [prompt["name"] for prompt in found] == ["implement", "inspect", "plan", "review", "revise"]
    assert all(prompt["arguments"][0]["required"] for prompt in found)
    assert result("prompts/list", offered=False)["prompts"] == []
    got = result("prompts/get", name="plan", arguments={"task": "Split the parser."})
    (message,) = got["messages"]
    assert (message["role"], message["content"]["type"]) == ("user", "text")
    assert message["content"]["text"].startswith("Make a plan, and change nothing yet: Split the parser.\n")


@pytest.mark.parametrize(
    "params",
    [{}, {"name": 3}, {"name": "x"}, {"name": "plan"}, {"name": "plan", "arguments": {"task": " "}}],
)
def test_a_prompt_that_cannot_be_meant(params: dict[str, Any]) -> None:
    assert answered("prompts/get", **params)["error"]["code"] == -32602


def test_the_level_of_log_messages_is_one_of_the_protocols() -> None:
    assert result("logging/setLevel", level="warning") == {}
    wrong: list[Any] = [None, "loud", 3, []]
    for level in wrong:
        assert answered("logging/setLevel", level=level)["error"]["code"] == -32602
    # Without a session there is nothing to set: each request names its own level.
    assert answered("logging/setLevel", level="info", _meta=STATELESS)["error"]["code"] == -32601
    meta = {**STATELESS, "io.modelcontextprotocol/logLevel": "error"}
    assert (request("ping", _meta=meta).level, request("ping", level="info").level) == ("error", None)


@pytest.mark.parametrize(
    ("status", "reason", "level", "words"),
    [
        ("completed", "done", "info", "auth r1 completed"),
        ("failed", "timeout", "warning", "auth r1 failed (timeout)"),
        ("aborted", "stopped", "notice", "auth r1 aborted (stopped)"),
        ("running", None, "info", "auth r1 has answered"),
    ],
)
def test_the_log_message_about_a_run_that_is_over(
    status: str, reason: str | None, level: str, words: str
) -> None:
    run = {"runId": "r1", "name": "auth", "preset": "p", "status": status, "reason": reason}
    told, data = protocol.over({**run, "errorMessage": None, "elapsedSeconds": 3, "model": "m"})
    assert (told, data.pop("text")) == (level, words)
    assert data == {**run, "errorMessage": None, "elapsedSeconds": 3}


# --- too long ---------------------------------------------------------------------------------------------


def test_a_call_that_goes_on_says_how_to_ask_later() -> None:
    runs = [{"runId": "a1", "preset": "scout", "name": None, "status": "running"}]
    document = still_working({"details": {"mode": "single", "runs": runs}}, 280)
    assert document["content"][0]["text"].splitlines() == [
        "Not done after 280 s. It goes on; ask again later:",
        'scout running: background_agent_status {"runId": "a1"}',
    ]
    windows = [{"sessionId": "b2", "name": "build\x1b[2J", "state": "queued"}]
    document = still_working({"details": {"windows": windows}}, 0.5)
    assert document["content"][0]["text"].splitlines()[1:] == [
        'build queued: get_subagent_output {"sessionId": "b2"}'
    ]
    assert still_working(None, 1)["details"] == {}
