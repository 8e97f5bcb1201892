"""OpenAI's responses: Codex."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from scripts import model_tools
from scripts.model_turns import Asked, joined, pieces, spoken, told, usage_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scripts.model_turns import Json, Turn

CUT = {"length": "max_output_tokens", "content_filter": "content_filter"}


def asked(_: str, request: Json) -> Asked:
    """Read a request."""
    messages: list[Json] = [{"role": "system", "content": request.get("instructions") or ""}]
    given = request["input"]
    for item in given if isinstance(given, list) else [{"type": "message", "role": "user", "content": given}]:
        messages += conversation(item, messages)
    tools = {
        tool["name"]: tool.get("parameters") or {} for tool in request.get("tools") or [] if "name" in tool
    }
    return Asked(request["model"], messages, tools, bool(request.get("stream")))


def conversation(item: Json, before: list[Json]) -> Iterator[Json]:
    """Say an item as chat completions would: calls of one answer are one message."""
    kind = item.get("type", "message")
    if kind == "message":
        yield {"role": item["role"], "content": joined(item.get("content"))}
    elif kind.endswith("_call_output"):
        yield {"role": "tool", "content": joined(item.get("output")), "tool_call_id": item["call_id"]}
    elif kind.endswith("_call") and "call_id" in item:
        call = {
            "id": item["call_id"],
            "function": {"name": item.get("name"), "arguments": item.get("arguments")},
        }
        if "tool_calls" in before[-1]:
            before[-1]["tool_calls"].append(call)
        else:
            yield {"role": "assistant", "content": "", "tool_calls": [call]}


def whole(asked: Asked, turn: Turn) -> Json:
    """Make the answer to a request that does not stream."""
    return {**head(asked), **ending(turn), "output": list(items(asked, turn)), "usage": usage(turn)}


def stream(asked: Asked, turn: Turn) -> Iterator[str]:
    """Yield the answer to a request that streams."""
    for number, event in enumerate(events(asked, turn)):
        yield f"event: {event['type']}\ndata: {json.dumps({**event, 'sequence_number': number})}\n\n"


def error(turn: Turn) -> Json:
    """Say why there is no answer."""
    return {"error": {"code": None, "param": None, **turn.get("error", {}), "message": told(turn)}}


def events(asked: Asked, turn: Turn) -> Iterator[Json]:
    """Yield the events of an answer; a turn with `then` has no end."""
    yield {"type": "response.created", "response": {**head(asked), "status": "in_progress"}}
    made = list(items(asked, turn))
    for at, item in enumerate(made):
        begun = {"output_index": at, "item": {**item, **EMPTY[item["type"]], "status": "in_progress"}}
        yield {"type": "response.output_item.added", **begun}
        yield from parts(at, item, turn)
        if "then" in turn and at == len(made) - 1:
            return
        yield {"type": "response.output_item.done", "output_index": at, "item": item}
    if "then" not in turn:
        done = ending(turn)
        response = {**head(asked), **done, "output": made, "usage": usage(turn)}
        yield {"type": f"response.{done['status']}", "response": response}


EMPTY: dict[str, Json] = {
    "reasoning": {"summary": []},
    "message": {"content": []},
    "function_call": {"arguments": ""},
}


def parts(at: int, item: Json, turn: Turn) -> Iterator[Json]:
    """Yield the pieces of an item."""
    place = {"item_id": item["id"], "output_index": at}
    if item["type"] == "reasoning":
        for piece in pieces(item["summary"][0]["text"]):
            yield {
                "type": "response.reasoning_summary_text.delta",
                **place,
                "summary_index": 0,
                "delta": piece,
            }
    elif item["type"] == "message":
        for piece in pieces(item["content"][0]["text"], turn.get("piece", 12)):
            yield {"type": "response.output_text.delta", **place, "content_index": 0, "delta": piece}
    else:
        for piece in pieces(item["arguments"]):
            yield {"type": "response.function_call_arguments.delta", **place, "delta": piece}


def items(asked: Asked, turn: Turn) -> Iterator[Json]:
    """Yield the whole items of an answer."""
    name = asked.answer_id
    if "think" in turn:
        summary = [{"type": "summary_text", "text": turn["think"]}]
        yield {"type": "reasoning", "id": f"{name}_thought", "summary": summary, "encrypted_content": "none"}
    if spoken(turn):
        text = {"type": "output_text", "text": spoken(turn), "annotations": []}
        yield {
            "type": "message",
            "id": f"{name}_text",
            "role": "assistant",
            "status": "completed",
            "content": [text],
        }
    for call in model_tools.calls_of(asked, turn):
        names = {"id": f"{call.id}_item", "call_id": call.id, "name": call.name}
        yield {"type": "function_call", **names, "arguments": call.text, "status": "completed"}


def head(asked: Asked) -> Json:
    """Give what every answer begins with."""
    return {"id": asked.answer_id, "object": "response", "created_at": 0, "model": asked.model, "output": []}


def ending(turn: Turn) -> Json:
    """Say how the answer ends."""
    why = CUT.get(turn.get("finish", ""))
    if why is None:
        return {"status": "completed"}
    return {"status": "incomplete", "incomplete_details": {"reason": why}}


def usage(turn: Turn) -> Json:
    """Give the tokens of a turn."""
    tokens = usage_of(turn)
    return {
        "input_tokens": tokens["prompt"],
        "input_tokens_details": {"cached_tokens": tokens["cached"]},
        "output_tokens": tokens["completion"],
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": tokens["prompt"] + tokens["completion"],
    }
