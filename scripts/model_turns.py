"""What the model server says next: scripts and a conversation in, an answer's turn and its JSON out. No I/O.

A script is {"about": words, "turns": [Turn...], "model": more for pi's models.json, where needed}.
The model mock-NAME, or NAME itself, answers by the script NAME. In texts and in arguments of calls {result}
stands for what the last call returned. Marks in what the user says change the script, the last of its kind:

    #script:NAME     that script, whatever the model
    #say:TEXT        to the end of the line: the text of the turn that ends the script
    #bash:COMMAND    to the end of the line: this call; each mark is a turn, then comes the script's last one
    #delay:SECONDS   before every answer
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypedDict

if TYPE_CHECKING:
    from collections.abc import Iterator

    Json = dict[str, Any]


class Turn(TypedDict, total=False):
    """One answer of the model."""

    think: str  # reasoning, before the text
    text: str
    repeat: int  # the text so many times
    piece: int  # so many characters in each delta
    pause: float  # seconds after each piece
    calls: list[Json]  # [{tool: arguments}...]; the turn after this one sees their results
    times: int  # play the turn so often before the next
    finish: str  # the reason to finish, where it is not the usual one
    usage: dict[str, int]  # "prompt" tokens, of which "cached", and "completion" tokens
    status: int  # an HTTP status instead of an answer,
    error: Json  # with this document,
    failures: int  # but so many times only, where given
    then: str  # "cut" the connection instead of finishing, or "hang" until the client leaves


@dataclass(frozen=True)
class Choice:
    """What comes next: the turn, and where it stands."""

    script: str
    number: int
    turn: Turn
    delay_s: float


LAST_WORD: Turn = {"text": "Done."}  # for scripts that end with calls: no conversation goes on for ever


def choose(scripts: dict[str, Any], model: str, messages: list[Json]) -> Choice:
    """Choose script and turn; only turns with calls move a script forward.

    They are counted from the FIRST message with the script's mark. Counted from the user's last words, a
    script would start again whenever somebody steers or an extension speaks (pi sends both as the user), and
    might never come to its end.
    """
    named = marks(messages, r"#script:([\w-]+)")
    name = named[-1][1] if named else script_of(model, scripts)
    start = next((at for at, found in named if found == name), 0)
    turns = expand(scripts[name]["turns"]) if name in scripts else [unknown(name)]
    commands = [(at, found) for at, found in marks(messages, "#bash:(.*)") if not named or at >= named[-1][0]]
    if commands:
        start = commands[0][0]
        turns = [*(Turn(calls=[{"bash": {"command": command}}]) for _, command in commands), turns[-1]]
    played = sum(1 for message in messages[start:] if message.get("tool_calls"))
    number = min(played, len(turns) - 1)
    said = marks(messages, "#say:(.*)")
    if said and number == len(turns) - 1:
        turns[number] = {**turns[number], "text": said[-1][1], "repeat": 1}
    delays = marks(messages, r"#delay:(\d+(?:\.\d+)?)")
    results = [text_of(message) for message in messages if message["role"] == "tool"]
    turn: Turn = filled(turns[number], results[-1].strip() if results else "")
    return Choice(name, number, turn, float(delays[-1][1]) if delays else 0)


def script_of(model: str, scripts: dict[str, Any]) -> str:
    """Return the script that a model answers by."""
    if model in scripts:
        return model
    return model.removeprefix("mock-") if model.startswith("mock-") else "text"


def filled(value: Any, result: str) -> Any:
    """Put the last result into the texts of a turn."""
    if isinstance(value, str):
        return value.replace("{result}", result)
    if isinstance(value, dict):
        return {key: filled(inner, result) for key, inner in value.items()}
    return [filled(inner, result) for inner in value] if isinstance(value, list) else value


def marks(messages: list[Json], pattern: str) -> list[tuple[int, str]]:
    """Find what the user marked: in which message, and what the mark says."""
    return [
        (at, found.strip())
        for at, message in enumerate(messages)
        if message["role"] == "user"
        for found in re.findall(pattern, text_of(message))
    ]


def text_of(message: Json) -> str:
    """Join the text of a message, which is one string or a list of parts."""
    content = message.get("content") or ""
    return content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)


def expand(turns: list[Turn]) -> list[Turn]:
    """Write repeated turns out, and end with a turn that has no calls."""
    written_out = [turn for turn in turns for _ in range(turn.get("times", 1))]
    return [*written_out, LAST_WORD] if "calls" in turns[-1] else written_out


def unknown(name: str) -> Turn:
    """Refuse a script that does not exist, as a provider refuses a model."""
    message = f"The model {name!r} does not exist."
    return {"status": 404, "error": {"message": message, "type": "invalid_request_error"}}


def whole_answer(request: Json, turn: Turn) -> Json:
    """Make the answer to a request that does not stream."""
    message: Json = {"role": "assistant", "content": spoken(turn)}
    if "think" in turn:
        message["reasoning_content"] = turn["think"]
    if "calls" in turn:
        message["tool_calls"] = calls_of(request, turn)
    choice = {"index": 0, "message": message, "finish_reason": finish_of(turn)}
    return {**head(request, "chat.completion"), "choices": [choice], "usage": usage_of(turn)}


def chunks(request: Json, turn: Turn) -> Iterator[Json]:
    """Yield the answer to a request that streams; a turn with `then` has no end."""
    start = head(request, "chat.completion.chunk")
    for delta in deltas(request, turn):
        yield {**start, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    if "then" not in turn:
        yield {**start, "choices": [{"index": 0, "delta": {}, "finish_reason": finish_of(turn)}]}
        if (request.get("stream_options") or {}).get("include_usage"):
            yield {**start, "choices": [], "usage": usage_of(turn)}


def deltas(request: Json, turn: Turn) -> Iterator[Json]:
    """Yield the pieces of a streamed answer."""
    yield {"role": "assistant", "content": ""}
    for piece in pieces(turn.get("think", "")):
        yield {"reasoning_content": piece}
    for piece in pieces(spoken(turn), turn.get("piece", 12)):
        yield {"content": piece}
    for at, call in enumerate(calls_of(request, turn)):
        function = call["function"]
        yield {"tool_calls": [{"index": at, **call, "function": {**function, "arguments": ""}}]}
        for piece in pieces(function["arguments"]):
            yield {"tool_calls": [{"index": at, "function": {"arguments": piece}}]}


def pieces(text: str, size: int = 12) -> list[str]:
    """Cut a text into pieces."""
    return [text[at : at + size] for at in range(0, len(text), size)]


def spoken(turn: Turn) -> str:
    """Give the whole text of a turn."""
    return turn.get("text", "") * turn.get("repeat", 1)


def head(request: Json, kind: str) -> Json:
    """Give what every answer begins with."""
    return {"id": answer_id(request), "object": kind, "created": 0, "model": request["model"]}


def answer_id(request: Json) -> str:
    """Name an answer by the length of the conversation before it: no other answer has the same."""
    return f"answer{len(request['messages'])}"


def calls_of(request: Json, turn: Turn) -> list[Json]:
    """Give the calls of a turn in the provider's form."""
    calls = [call for wanted in turn.get("calls", []) for call in wanted.items()]
    return [
        {
            "id": f"{answer_id(request)}_call{at}",
            "type": "function",
            "function": {"name": tool, "arguments": json.dumps(arguments)},
        }
        for at, (tool, arguments) in enumerate(calls)
    ]


def finish_of(turn: Turn) -> str:
    """Say why the answer ends."""
    return turn.get("finish", "tool_calls" if "calls" in turn else "stop")


def usage_of(turn: Turn) -> Json:
    """Give the tokens of a turn in the provider's form."""
    tokens = {"prompt": 120, "cached": 0, "completion": 20} | turn.get("usage", {})
    return {
        "prompt_tokens": tokens["prompt"],
        "completion_tokens": tokens["completion"],
        "total_tokens": tokens["prompt"] + tokens["completion"],
        "prompt_tokens_details": {"cached_tokens": tokens["cached"]},
    }
