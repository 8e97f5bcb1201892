"""Questions that Claude Code and Qwen Code ask their client, and its answers in their words. Pure."""

from __future__ import annotations

from tmuxagents.agents import raw as raw_json
from tmuxagents.agents.base import Ask
from tmuxagents.text import jsonline

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

ALLOW, DENY, PERMISSION = "allow", "deny", "permission"
_CHOICES = ((ALLOW, "Allow"), (DENY, "Deny"))
_QUESTIONS = ("AskUserQuestion", "ask_user_question")  # the tools by which the models themselves ask
_SHOWN = ("command", "file_path", "url", "path", "pattern", "plan")  # of a call: what it is about


def request(known: str, **asked: Any) -> bytes:
    """Return a request to the agent."""
    return jsonline.encode({"type": "control_request", "request_id": known, "request": asked})


def respond(known: str, response: dict[str, Any]) -> bytes:
    """Return the answer to a request of the agent."""
    told = {"subtype": "success", "request_id": known, "response": response}
    return jsonline.encode({"type": "control_response", "response": told})


def refuse(known: str) -> bytes:
    """Return the refusal of a request that is no question."""
    told = {"subtype": "error", "request_id": known, "error": "Not supported."}
    return jsonline.encode({"type": "control_response", "response": told})


def question(known: str, asked: dict[str, Any]) -> Ask:
    """Return a question in our words."""
    questions = _questions(_given(asked))
    if asked.get("tool_name") in _QUESTIONS and len(questions) == 1:
        text = raw_json.sentence(questions[0].get("question")) or "It asks."
        return Ask(known, "question", text, [(label, label) for label in _labels(questions[0])])
    return Ask(known, PERMISSION, about(asked.get("tool_name"), asked.get("input")), _CHOICES)


def about(tool: Any, given: Any) -> str:
    """Return what a call is about, in a line."""
    name, args = raw_json.word(tool) or "tool", given if isinstance(given, dict) else {}
    said = [raw_json.sentence(args.get(key)) for key in _SHOWN]
    said += [raw_json.sentence(one.get("question")) for one in _questions(args)]
    words = " ".join(filter(None, said))
    return f"{name}: {words}" if words else name


def decision(asked: dict[str, Any], answer: str, by: str, *, by_index: bool = False) -> dict[str, Any]:
    """Return an answer in their words. A text that is neither says no, and why, or answers a question.

    `by_index`: it knows its questions by their places, and not by their words.
    """
    given, questions = _given(asked), _questions(_given(asked))
    if answer == DENY:
        return {"behavior": "deny", "message": f"This was denied by {by}."}
    if asked.get("tool_name") in _QUESTIONS and questions and answer != ALLOW:
        keys = [str(at) if by_index else _question(one) for at, one in enumerate(questions)]
        answers = dict.fromkeys(keys, answer)
        return {"behavior": "allow", "updatedInput": {**given, "answers": answers}}
    if answer == ALLOW:
        return {"behavior": "allow", "updatedInput": given}
    return {"behavior": "deny", "message": answer}


def _question(one: dict[str, Any]) -> str:
    return raw_json.text(one.get("question")) or ""


def _given(asked: dict[str, Any]) -> dict[str, Any]:
    given = asked.get("input")
    return given if isinstance(given, dict) else {}


def _questions(given: dict[str, Any]) -> list[dict[str, Any]]:
    listed = given.get("questions")
    return [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []


def _labels(question: dict[str, Any]) -> list[str]:
    options = question.get("options")
    found = options if isinstance(options, list) else []
    return [label for one in found if isinstance(one, dict) and (label := raw_json.word(one.get("label")))]
