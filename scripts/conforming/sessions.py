"""Adapters for what a session said: before a resumed task, in the transcript, as the tools answer."""

from __future__ import annotations

from typing import Any

from scripts.conforming.words import our_status, refuse
from tmuxagents.agents import raw as raw_json
from tmuxagents.registry import sessions
from tmuxagents.runs import conversation
from tmuxagents.runs.conversation import Message, RunMessages
from tmuxagents.settings import keys
from tmuxagents.tools import retrieval

Given = dict[str, Any]

_SESSION = "s1"
_OURS = ("state", "reason")  # what stands beside their words in `details`
_UNSET = ("model", "exitCode")  # what they leave out where we say null


def told(raw: Given) -> RunMessages:
    """Return one run; its messages are as a child prints them."""
    messages = [_message(one) for one in raw["messages"]]
    return RunMessages(our_status(raw["status"]), messages, raw.get("errorMessage"))


def _message(raw: Given) -> Message:
    blocks = raw_json.blocks(raw.get("content"))
    made = [block for block in blocks if block.get("type") == "toolCall"]
    calls = [(block["name"], conversation.arguments(block.get("arguments"))) for block in made]
    return Message(raw["role"], "\n".join(raw_json.texts(blocks, "text")), calls)


def before_a_resumed_task(given: Given) -> str:
    """Return what stands before the task of a resumed run."""
    return conversation.resume_text([told(raw) for raw in given["runs"]])


def transcript(given: Given) -> str:
    """Return the transcript of a session."""
    return conversation.session_text([told(raw) for raw in given["runs"]])


def retrieved(given: Given) -> Given:
    """Return what a tool answers of a session of these runs."""
    raws = given["runs"]
    if not raws:
        refuse(sessions.unknown_session(_SESSION))
    runs, latest = [told(raw) for raw in raws], raws[-1]
    most = int(keys.NUMBERS["maxLinesPerWindow"].default)
    shape = {"sessionId": _SESSION, "status": our_status(latest["status"]), "reason": None}
    shape |= {key: latest.get(key) for key in _UNSET}
    if given["tool"] == "get_subagent_output":
        text = conversation.output(runs[-1])
        details = retrieval.output_details(shape, latest["taskName"], len(runs), most)
    else:
        text = conversation.session_output(runs)
        details = retrieval.session_details(shape, latest["taskName"], runs, most)
    left_out = {*_OURS, *(key for key in _UNSET if key not in latest)}
    return {"text": text, "details": {key: details[key] for key in details if key not in left_out}}
