"""Anthropic's messages: Claude Code."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from scripts import model_tools
from scripts.model_turns import Asked, joined, pieces, spoken, told, usage_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scripts.model_turns import Json, Turn

FINISHES = {"length": "max_tokens", "content_filter": "refusal"}
KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    404: "not_found_error",
    429: "rate_limit_error",
    500: "api_error",
}


def asked(_: str, request: Json) -> Asked:
    """Read a request."""
    messages = [{"role": "system", "content": joined(request.get("system"))}]
    for message in request["messages"]:
        messages += conversation(message)
    tools = {tool["name"]: tool.get("input_schema") or {} for tool in request.get("tools") or []}
    return Asked(request["model"], messages, tools, bool(request.get("stream")))


def conversation(message: Json) -> Iterator[Json]:
    """Say a message as chat completions would: results of tools are messages of their own."""
    content = message["content"]
    blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
    for block in blocks:
        if block["type"] == "tool_result":
            yield {
                "role": "tool",
                "content": joined(block.get("content")),
                "tool_call_id": block["tool_use_id"],
            }
    calls = [
        {"id": block["id"], "function": {"name": block["name"], "arguments": json.dumps(block["input"])}}
        for block in blocks
        if block["type"] == "tool_use"
    ]
    texts = [{"type": "text", "text": block["text"]} for block in blocks if block["type"] == "text"]
    if texts or calls:
        yield {"role": message["role"], "content": texts, **({"tool_calls": calls} if calls else {})}


def whole(asked: Asked, turn: Turn) -> Json:
    """Make the answer to a request that does not stream."""
    done = {"content": list(blocks(asked, turn)), "stop_reason": finish(turn)}
    return {**head(asked, turn), **done, "usage": usage(turn)}


def stream(asked: Asked, turn: Turn) -> Iterator[str]:
    """Yield the answer to a request that streams."""
    for event in events(asked, turn):
        yield f"event: {event['type']}\ndata: {json.dumps(event)}\n\n"


def error(turn: Turn) -> Json:
    """Say why there is no answer."""
    words = told(turn)
    if turn.get("error", {}).get("code") == "context_length_exceeded":
        words = "prompt is too long: 240000 tokens > 200000 maximum"
    return {"type": "error", "error": {"type": KINDS.get(turn["status"], "api_error"), "message": words}}


def events(asked: Asked, turn: Turn) -> Iterator[Json]:
    """Yield the events of an answer; a turn with `then` has no end."""
    yield {"type": "message_start", "message": head(asked, turn)}
    made = list(blocks(asked, turn))
    for at, block in enumerate(made):
        yield {"type": "content_block_start", "index": at, "content_block": {**block, **EMPTY[block["type"]]}}
        for delta in deltas(block, turn):
            yield {"type": "content_block_delta", "index": at, "delta": delta}
        if "then" in turn and at == len(made) - 1:
            return
        yield {"type": "content_block_stop", "index": at}
    if "then" not in turn:
        done = {"stop_reason": finish(turn), "stop_sequence": None}
        yield {"type": "message_delta", "delta": done, "usage": usage(turn)}
        yield {"type": "message_stop"}


EMPTY: dict[str, Json] = {
    "thinking": {"thinking": "", "signature": ""},
    "text": {"text": ""},
    "tool_use": {"input": {}},
}


def deltas(block: Json, turn: Turn) -> Iterator[Json]:
    """Yield the pieces of a block."""
    if block["type"] == "thinking":
        for piece in pieces(block["thinking"]):
            yield {"type": "thinking_delta", "thinking": piece}
        yield {"type": "signature_delta", "signature": block["signature"]}
    elif block["type"] == "text":
        for piece in pieces(block["text"], turn.get("piece", 12)):
            yield {"type": "text_delta", "text": piece}
    else:
        for piece in pieces(json.dumps(block["input"])):
            yield {"type": "input_json_delta", "partial_json": piece}


def blocks(asked: Asked, turn: Turn) -> Iterator[Json]:
    """Yield the whole blocks of an answer."""
    if "think" in turn:
        yield {"type": "thinking", "thinking": turn["think"], "signature": "signed"}
    if spoken(turn):
        yield {"type": "text", "text": spoken(turn)}
    for call in model_tools.calls_of(asked, turn):
        yield {"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments}


def head(asked: Asked, turn: Turn) -> Json:
    """Give what every answer begins with: its usage has the prompt, and one token of the answer."""
    begun: Json = {"content": [], "stop_reason": None, "stop_sequence": None}
    first = {**usage(turn), "output_tokens": 1}
    names = {"id": asked.answer_id, "type": "message", "role": "assistant", "model": asked.model}
    return {**names, **begun, "usage": first}


def finish(turn: Turn) -> str:
    """Say why the answer ends."""
    why = turn.get("finish", "tool_use" if "calls" in turn else "end_turn")
    return FINISHES.get(why, why)


def usage(turn: Turn) -> Json:
    """Give the tokens of a turn: here the cached ones are beside the others."""
    tokens = usage_of(turn)
    cached = {"cache_creation_input_tokens": 0, "cache_read_input_tokens": tokens["cached"]}
    return {
        "input_tokens": tokens["prompt"] - tokens["cached"],
        **cached,
        "output_tokens": tokens["completion"],
    }
