"""What the model server says next: scripts and a conversation in, an answer's turn out. No I/O.

A script is {"about": words, "turns": [Turn...], "model": more for pi's models.json, where needed}.
The model mock-NAME, or NAME itself, answers by the script NAME; no model's name begins with nosuch. In texts
and in arguments of calls {result} stands for what the last call returned. Calls name the tools of pi:
model_tools.py makes them those that the agent has offered. What some agents ask besides, such as a title,
gets an answer of its own. Marks in what the user says change the script, the last of its kind:

    #script:NAME     that script, whatever the model
    #say:TEXT        to the end of the line: the text of the turn that ends the script
    #bash:COMMAND    to the end of the line: this call; each mark is a turn, then comes the script's last one
    #delay:SECONDS   before every answer
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypedDict

if TYPE_CHECKING:
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
    after: int  # seconds that the client is asked to wait before the next try
    then: str  # "cut" the connection instead of finishing, or "hang" until the client leaves


@dataclass(frozen=True)
class Asked:
    """A request, in whatever form it came: the conversation as chat completions have it."""

    model: str
    messages: list[Json]
    tools: dict[str, Json]  # what may be called: its name, and the schema of its arguments
    stream: bool
    wants_usage: bool = True

    @property
    def answer_id(self) -> str:
        """Name the answer by the length of the conversation before it: no other answer has the same."""
        return f"answer{len(self.messages)}"


@dataclass(frozen=True)
class Choice:
    """What comes next: the turn, and where it stands."""

    script: str
    number: int
    turn: Turn
    delay_s: float


ASIDE = re.compile(  # opencode, Qwen Code, Claude Code over ACP
    "You are (?:a title generator|now acting as the managed memory)|.*\\nYou are naming ", re.DOTALL
)
SUGGESTION = "Reply with ONLY the suggestion"  # what a person may say next: Qwen Code, Claude Code over ACP
MEANWHILE = "The user sent a new message while you were working:\n"
LAST_WORD: Turn = {"text": "Done."}  # for scripts that end with calls: no conversation goes on for ever


def choose(scripts: dict[str, Any], model: str, messages: list[Json]) -> Choice:
    """Choose script and turn; only turns with calls move a script forward.

    They are counted from the FIRST message with the script's mark. Counted from the user's last words, a
    script would start again whenever somebody steers or an extension speaks (pi sends both as the user), and
    might never come to its end.
    """
    if is_aside(messages):
        return Choice("aside", 0, {"text": "A title"}, 0)
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


def is_aside(messages: list[Json]) -> bool:
    """Say whether an agent asks something besides: a title, a suggestion, whether anybody is there."""
    if not messages:
        return False
    first, last = text_of(messages[0]), text_of(messages[-1])
    is_there = last == "Hi" and "official CLI for Claude" in first
    return is_there or bool(ASIDE.match(first)) or SUGGESTION in last[-400:]


def script_of(model: str, scripts: dict[str, Any]) -> str:
    """Return the script that a model answers by."""
    if model in scripts or model.startswith("nosuch"):
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
        for found in re.findall(pattern, said_by_user(message))
    ]


def said_by_user(message: Json) -> str:
    """Return what the user says in a message; Claude Code puts words of theirs into a tool's result, too."""
    text = text_of(message)
    return text if message["role"] == "user" else text.partition(MEANWHILE)[2]


def text_of(message: Json) -> str:
    """Return the text of a message."""
    return joined(message.get("content"))


def joined(content: Any) -> str:
    """Join what may be one text or a list of parts."""
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) for part in content)
    return str(content or "")


def prompts(messages: list[Json]) -> list[Json]:
    """Give length and hash of each text of the user: a test finds the bytes of its prompt again."""
    contents = [message.get("content") or "" for message in messages if message["role"] == "user"]
    parts = [part for content in contents for part in (content if isinstance(content, list) else [content])]
    texts = [part if isinstance(part, str) else str(part.get("text", "")) for part in parts]
    encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
    return [{"bytes": len(text), "sha256": hashlib.sha256(text).hexdigest()} for text in encoded]


def expand(turns: list[Turn]) -> list[Turn]:
    """Write repeated turns out, and end with a turn that has no calls."""
    written_out = [turn for turn in turns for _ in range(turn.get("times", 1))]
    return [*written_out, LAST_WORD] if "calls" in turns[-1] else written_out


def unknown(name: str) -> Turn:
    """Refuse a script that does not exist, as a provider refuses a model."""
    message = f"The model {name!r} does not exist."
    return {"status": 404, "error": {"message": message, "type": "invalid_request_error"}}


def pieces(text: str, size: int = 12) -> list[str]:
    """Cut a text into pieces."""
    return [text[at : at + size] for at in range(0, len(text), size)]


def spoken(turn: Turn) -> str:
    """Give the whole text of a turn."""
    return turn.get("text", "") * turn.get("repeat", 1)


def told(turn: Turn) -> str:
    """Give the words of a turn that fails."""
    return str(turn.get("error", {}).get("message", "No more is known."))


def usage_of(turn: Turn) -> dict[str, int]:
    """Count the tokens of a turn: always the same, and the prompt's include the cached ones."""
    return {"prompt": 120, "cached": 0, "completion": 20} | turn.get("usage", {})
