"""OpenAI's chat completions: pi, opencode, Qwen Code, Copilot."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from scripts import model_tools
from scripts.model_turns import Asked, pieces, spoken, told, usage_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scripts.model_turns import Json, Turn


def asked(_: str, request: Json) -> Asked:
    """Read a request."""
    functions = [tool["function"] for tool in request.get("tools") or [] if "function" in tool]
    return Asked(
        model=request["model"],
        messages=request["messages"],
        tools={function["name"]: function.get("parameters") or {} for function in functions},
        stream=bool(request.get("stream")),
        wants_usage=bool((request.get("stream_options") or {}).get("include_usage")),
    )


def whole(asked: Asked, turn: Turn) -> Json:
    """Make the answer to a request that does not stream."""
    message: Json = {"role": "assistant", "content": spoken(turn)}
    if "think" in turn:
        message["reasoning_content"] = turn["think"]
    if "calls" in turn:
        message["tool_calls"] = calls(asked, turn)
    choice = {"index": 0, "message": message, "finish_reason": finish(turn)}
    return {**head(asked, "chat.completion"), "choices": [choice], "usage": usage(turn)}


def stream(asked: Asked, turn: Turn) -> Iterator[str]:
    """Yield the answer to a request that streams."""
    for chunk in chunks(asked, turn):
        yield f"data: {json.dumps(chunk)}\n\n"
    if "then" not in turn:
        yield "data: [DONE]\n\n"


def error(turn: Turn) -> Json:
    """Say why there is no answer."""
    return {"error": turn.get("error") or {"message": told(turn)}}


def chunks(asked: Asked, turn: Turn) -> Iterator[Json]:
    """Yield the chunks of an answer; a turn with `then` has no end."""
    start = head(asked, "chat.completion.chunk")
    for delta in deltas(asked, turn):
        yield {**start, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    if "then" not in turn:
        yield {**start, "choices": [{"index": 0, "delta": {}, "finish_reason": finish(turn)}]}
        if asked.wants_usage:
            yield {**start, "choices": [], "usage": usage(turn)}


def deltas(asked: Asked, turn: Turn) -> Iterator[Json]:
    """Yield the pieces of a streamed answer."""
    yield {"role": "assistant", "content": ""}
    for piece in pieces(turn.get("think", "")):
        yield {"reasoning_content": piece}
    for piece in pieces(spoken(turn), turn.get("piece", 12)):
        yield {"content": piece}
    for at, call in enumerate(calls(asked, turn)):
        function = call["function"]
        yield {"tool_calls": [{"index": at, **call, "function": {**function, "arguments": ""}}]}
        for piece in pieces(function["arguments"]):
            yield {"tool_calls": [{"index": at, "function": {"arguments": piece}}]}


def head(asked: Asked, kind: str) -> Json:
    """Give what every answer begins with."""
    return {"id": asked.answer_id, "object": kind, "created": 0, "model": asked.model}


def calls(asked: Asked, turn: Turn) -> list[Json]:
    """Give the calls of a turn."""
    return [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.text}}
        for call in model_tools.calls_of(asked, turn)
    ]


def finish(turn: Turn) -> str:
    """Say why the answer ends."""
    return turn.get("finish", "tool_calls" if "calls" in turn else "stop")


def usage(turn: Turn) -> Json:
    """Give the tokens of a turn."""
    tokens = usage_of(turn)
    return {
        "prompt_tokens": tokens["prompt"],
        "completion_tokens": tokens["completion"],
        "total_tokens": tokens["prompt"] + tokens["completion"],
        "prompt_tokens_details": {"cached_tokens": tokens["cached"]},
    }
