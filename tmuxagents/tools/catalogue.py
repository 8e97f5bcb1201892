"""Declare the tools for parents, once: name, description for a model, JSON Schema. Pure.

`tools`, `call`, the MCP server and the pi extension are views of this declaration. Every request of a parent
to its model carries all of it, so each word here costs context every time.
"""

from __future__ import annotations

from typing import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    Schema = dict[str, Any]

MOST_TASKS = 16  # per call
STEER, FOLLOW_UP = "steer", "followUp"


class Tool(NamedTuple):
    """One tool: its names, its description, its parameters."""

    name: str
    label: str
    description: str
    parameters: Schema

    def document(self) -> dict[str, Any]:
        """Return the JSON object of this tool."""
        return self._asdict()

    @property
    def summary(self) -> str:
        """Return the first sentence of the description."""
        return self.description.partition(". ")[0].removesuffix(".")


def _object(required: Sequence[str] = (), /, **properties: Schema) -> Schema:
    shape: Schema = {"type": "object", "additionalProperties": False, "properties": properties}
    return {**shape, "required": list(required)} if required else shape


def _text(about: str | None = None, **more: Any) -> Schema:
    return {"type": "string", **({"description": about} if about else {}), **more}


def _list(items: Schema, *, least: int = 0, most: int | None = None, about: str | None = None) -> Schema:
    keywords = {"description": about, "minItems": least or None, "maxItems": most}
    return {"type": "array", "items": items, **{key: of for key, of in keywords.items() if of is not None}}


_PRESET = _text("Preset or profile, see list_subagent_profiles")
_TASK = _text("The child knows nothing of this conversation")
_MODEL = _text("Must be a currently available model. Default: the preset's")
_CWD = _text("Absolute path. Default: here")
_NAME = _text("A name for the run: a-z, 0-9, _ and -")
_TIMEOUT: Schema = {"type": "number", "minimum": 1, "description": "Seconds. Default: 600"}
_RUN = _text("One run: id or unique prefix")
_SESSION = _text("From delegate_to_subagents")
_LINE: Schema = {"type": "integer", "minimum": 1}
_FILE: Schema = {
    "anyOf": [
        {"type": "string"},
        _object(("path",), path=_text(), start=_LINE, end=_LINE, head=_LINE, tail=_LINE),
    ]
}
_ONE = {"preset": _PRESET, "task": _TASK, "model": _MODEL, "cwd": _CWD, "name": _NAME, "timeout": _TIMEOUT}
_PLAIN = {key: {"type": schema["type"]} for key, schema in _ONE.items()} | {
    "timeout": {"type": "number", "minimum": 1}
}
# Levels are for agents that have them. Tasks in a list have neither key: their presets decide.
_PERMISSION = {
    "permission": _text(enum=["read-only", "edit", "full", "ask"]),
    "on": _text("Another machine"),
}

TOOLS: tuple[Tool, ...] = (
    Tool(
        "subagent",
        "Subagent",
        "Delegate to a child agent (subagent) in a tmux window of its own and wait for its answer. Give "
        "preset and task, or tasks for several children in parallel.",
        _object(
            **_ONE,
            **_PERMISSION,
            tasks=_list(_object(("preset", "task"), **_PLAIN), least=1),
        ),
    ),
    Tool(
        "background_agent",
        "Background agent",
        "Start a child agent (subagent) in the background, in a tmux window of its own, and go on at once. "
        "Its answer: background_agent_status with the runId.",
        _object(("preset", "task"), **_ONE, **_PERMISSION),
    ),
    Tool(
        "background_agent_status",
        "Background agent status",
        "List background child agents (subagents) with counts, or look at one by runId: what it does, or "
        "its answer once it has ended.",
        _object(
            runId=_RUN,
            includeCompleted={"type": "boolean", "default": False},
            wait={"type": "number", "minimum": 1, "description": "Seconds to wait for an end, up to 240"},
            verbose={"type": "boolean", "description": "Whole documents"},
        ),
    ),
    Tool(
        "delegate_to_subagents",
        "Delegate to subagents",
        f"Delegate 1 to {MOST_TASKS} tasks to child agents (subagents) that work in parallel in tmux "
        "windows, and wait for all of them. Answers: get_subagent_output with the session id of each.",
        _object(
            ("tasks",),
            tasks=_list(
                _object(
                    ("name", "prompt"),
                    name=_text("A short name for the task", minLength=1),
                    prompt=_TASK,
                    cwd=_CWD,
                    profile=_PRESET,
                    timeout=_TIMEOUT,
                    resume=_text("Session id of an ended task to continue"),
                    files=_list(_FILE, about="Put before the prompt: whole, or some of its lines"),
                ),
                least=1,
                most=MOST_TASKS,
            ),
            profile=_text("For tasks without one of their own"),
        ),
    ),
    Tool(
        "get_subagent_output",
        "Subagent output",
        "Read the last answer of a subagent session, also while it works.",
        _object(("sessionId",), sessionId=_SESSION),
    ),
    Tool(
        "get_subagent_session",
        "Subagent session",
        "Read the transcript of a subagent session: answers, tool calls, results, of all its runs.",
        _object(("sessionId",), sessionId=_SESSION),
    ),
    Tool(
        "list_subagent_profiles",
        "Subagent profiles",
        "List the presets and profiles that a child agent (subagent) can be given.",
        _object(),
    ),
    Tool(
        "stop_agent",
        "Stop agent",
        "Stop a child agent (subagent). Its run ends as aborted.",
        _object(("runId",), runId=_RUN),
    ),
    Tool(
        "send_to_agent",
        "Send to agent",
        "Say something to a child agent (subagent) while it works. Most batch children take no messages.",
        _object(
            ("runId", "text"),
            runId=_RUN,
            text=_text(),
            mode={"type": "string", "enum": [STEER, FOLLOW_UP], "default": STEER},
        ),
    ),
    Tool(
        "answer_agent",
        "Answer agent",
        "Answer a child agent (subagent) that asks: allow, deny, an option of the question, or a text.",
        _object(("runId", "answer"), runId=_RUN, answer=_text(), ask=_text("Which question")),
    ),
)
# A valid call of each tool, for people and for refusals.
EXAMPLES: Mapping[str, dict[str, Any]] = {
    "subagent": {"preset": "repo-scout", "task": "Find where sessions are created."},
    "background_agent": {
        "preset": "repo-scout",
        "task": "Find where sessions are created.",
        "name": "auth-scout",
    },
    "background_agent_status": {"runId": "auth-scout", "wait": 120},
    "delegate_to_subagents": {
        "tasks": [
            {"name": "build", "prompt": "Build the assets."},
            {"name": "tests", "prompt": "Run the tests.", "profile": "runner", "timeout": 300},
        ]
    },
    "get_subagent_output": {"sessionId": "01a1ee15069b4c1f"},
    "get_subagent_session": {"sessionId": "01a1ee15069b4c1f"},
    "list_subagent_profiles": {},
    "stop_agent": {"runId": "auth-scout"},
    "send_to_agent": {"runId": "auth-scout", "text": "Look into src/ only."},
    "answer_agent": {"runId": "auth-scout", "answer": "allow"},
}
BY_NAME: Mapping[str, Tool] = {tool.name: tool for tool in TOOLS}


def document(*, available: bool, why: str | None, offered: bool = True) -> dict[str, Any]:
    """Return the catalogue as JSON. `offered`: whether the caller may use tools at all."""
    tools = [tool.document() for tool in TOOLS] if offered else []
    return {"v": 1, "available": available, "why": None if available else why, "tools": tools}
