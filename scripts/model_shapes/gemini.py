"""Google's generateContent: Gemini CLI."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from scripts import model_tools
from scripts.model_turns import Asked, pieces, spoken, told, usage_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scripts.model_turns import Json, Turn

FINISHES = {"length": "MAX_TOKENS", "content_filter": "SAFETY"}
KINDS = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
}


def asked(path: str, request: Json) -> Asked:
    """Read a request; the path names the model."""
    found = re.search(r"/models/([^/:]+):(\w+)$", path)
    model, verb = found.groups() if found else ("unknown", "generateContent")
    messages: list[Json] = [{"role": "system", "content": texts(request.get("systemInstruction") or {})}]
    for content in request["contents"]:
        messages += conversation(content)
    declared = [one for tool in request.get("tools") or [] for one in tool.get("functionDeclarations", [])]
    tools = {one["name"]: one.get("parametersJsonSchema") or one.get("parameters") or {} for one in declared}
    return Asked(model, messages, tools, verb == "streamGenerateContent")


def conversation(content: Json) -> Iterator[Json]:
    """Say a content as chat completions would: results of tools are messages of their own."""
    parts = content.get("parts") or []
    results = [part["functionResponse"] for part in parts if "functionResponse" in part]
    for result in results:
        said = result.get("response") or {}
        text = said.get("output", said.get("error", json.dumps(said)))
        yield {"role": "tool", "content": str(text), "tool_call_id": result.get("id")}
    calls = [
        {"id": part["functionCall"].get("id"), "function": {"name": part["functionCall"]["name"]}}
        for part in parts
        if "functionCall" in part
    ]
    if calls or texts(content):
        role = "assistant" if content.get("role") == "model" else "user"
        yield {"role": role, "content": texts(content), **({"tool_calls": calls} if calls else {})}


def texts(content: Json) -> str:
    """Join the texts of a content."""
    return "\n".join(part["text"] for part in content.get("parts") or [] if "text" in part)


def whole(asked: Asked, turn: Turn) -> Json:
    """Make the answer to a request that does not stream."""
    return document(asked, turn, list(parts(asked, turn, 1 << 20)), finish(turn))


def stream(asked: Asked, turn: Turn) -> Iterator[str]:
    """Yield the answer to a request that streams; a turn with `then` has no end."""
    for part in parts(asked, turn, turn.get("piece", 12)):
        yield event(document(asked, turn, [part], None))
    if "then" not in turn:
        yield event(document(asked, turn, [], finish(turn)))


def event(document: Json) -> str:
    """Give one event of a stream."""
    return f"data: {json.dumps(document)}\r\n\r\n"


def error(turn: Turn) -> Json:
    """Say why there is no answer."""
    words = told(turn)
    if turn.get("error", {}).get("code") == "context_length_exceeded":
        words = "The input token count (1240000) exceeds the maximum number of tokens allowed (1048576)."
    code = turn["status"]
    return {"error": {"code": code, "message": words, "status": KINDS.get(code, "UNKNOWN")}}


def parts(asked: Asked, turn: Turn, size: int) -> Iterator[Json]:
    """Yield the parts of an answer, its text in pieces."""
    for piece in pieces(turn.get("think", ""), size):
        yield {"text": piece, "thought": True}
    for piece in pieces(spoken(turn), size):
        yield {"text": piece}
    for call in model_tools.calls_of(asked, turn):
        yield {"functionCall": {"id": call.id, "name": call.name, "args": call.arguments}}


def document(asked: Asked, turn: Turn, parts: list[Json], finish: str | None) -> Json:
    """Give an answer, or a part of one: only the last has an end, and what all of it used."""
    candidate: Json = {"index": 0, "content": {"role": "model", "parts": parts}}
    made: Json = {"candidates": [candidate], "modelVersion": asked.model, "responseId": asked.answer_id}
    if finish is not None:
        candidate["finishReason"] = finish
        made["usageMetadata"] = usage(turn)
    return made


def finish(turn: Turn) -> str:
    """Say why the answer ends."""
    return FINISHES.get(turn.get("finish", ""), "STOP")


def usage(turn: Turn) -> Json:
    """Give the tokens of a turn."""
    tokens = usage_of(turn)
    return {
        "promptTokenCount": tokens["prompt"],
        "cachedContentTokenCount": tokens["cached"],
        "candidatesTokenCount": tokens["completion"],
        "totalTokenCount": tokens["prompt"] + tokens["completion"],
    }
