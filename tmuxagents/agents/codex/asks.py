"""Questions of a Codex app server, and the answers to them in its words.

An answer that is no option refuses a permission. What would change the rules of the user's own settings for
good is not offered.

Pure.
"""

from __future__ import annotations

from tmuxagents.agents import raw as raw_json
from tmuxagents.agents.base import Ask
from tmuxagents.agents.codex.items import unwrapped
from tmuxagents.text import jsonline

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    Parameters = dict[str, Any]

ALLOW, DENY = "allow", "deny"
_SESSION, _CANCEL = "session", "cancel"
_WORDS = {
    ALLOW: "Allow it once",
    _SESSION: "Allow it for the rest of the session",
    DENY: "Deny it",
    _CANCEL: "Deny it and end the turn",
}
_PERMISSION, _QUESTION = "permission", "question"
_NO_SUCH_METHOD = -32601


class Asked:
    """One open question: what is shown of it, the item it is about, and the result for each option."""

    __slots__ = ("_id", "_results", "_text_result", "ask", "item")

    def __init__(
        self,
        raw: Mapping[str, Any],
        ask: Ask,
        results: Mapping[str, Any],
        text_result: Callable[[str], Any] | None = None,
    ) -> None:
        self._id = raw.get("id")
        self._results = results
        self._text_result = text_result
        self.ask = ask
        self.item = raw_json.key(_parameters(raw).get("itemId")) or ""

    def reply(self, answer: str) -> bytes:
        """Return the words of an answer."""
        if answer in self._results or self._text_result is None:
            result = self._results.get(answer, self._results[DENY])
        else:
            result = self._text_result(answer)
        return jsonline.encode({"id": self._id, "result": result})

    def refuses(self, answer: str) -> bool:
        """Say whether an answer refuses what was asked for."""
        return self.ask.kind == _PERMISSION and answer not in (ALLOW, _SESSION)

    def is_text(self, answer: str) -> bool:
        """Say whether an answer is in a person's own words."""
        return answer not in self._results


def asked_by(raw: Mapping[str, Any], subjects: Mapping[str, str]) -> Asked | None:
    """Return the question in a request of the child; None if it asks for what nobody here can give.

    `subjects`: what each open call is about.
    """
    ask = _ASKS.get(str(raw.get("method")))
    return None if ask is None else ask(raw, subjects)


def refusal(raw: Mapping[str, Any]) -> bytes:
    """Return the refusal of a request that we cannot carry out, so that the child works on."""
    error = {"code": _NO_SUCH_METHOD, "message": "This client cannot do that."}
    return jsonline.encode({"id": raw.get("id"), "error": error})


def _parameters(raw: Mapping[str, Any]) -> Parameters:
    parameters = raw.get("params")
    return parameters if isinstance(parameters, dict) else {}


def _permission(raw: Mapping[str, Any], text: str, results: Mapping[str, Any]) -> Asked:
    reason = raw_json.sentence(_parameters(raw).get("reason"))
    options = [(one, _WORDS[one]) for one in results]
    whole = f"{text} ({reason})" if reason else text
    return Asked(raw, Ask(str(raw.get("id")), _PERMISSION, whole, options), results)


def _decisions(*, for_session: bool) -> dict[str, Any]:
    words = {ALLOW: "accept", _SESSION: "acceptForSession", DENY: "decline", _CANCEL: "cancel"}
    return {one: {"decision": word} for one, word in words.items() if for_session or one != _SESSION}


def _command(raw: Mapping[str, Any], _subjects: Mapping[str, str]) -> Asked:
    parameters = _parameters(raw)
    command = unwrapped(raw_json.sentence(parameters.get("command")) or "")
    network = parameters.get("networkApprovalContext")
    host = raw_json.word(network.get("host")) if isinstance(network, dict) else None
    offered = parameters.get("availableDecisions")
    for_session = isinstance(offered, list) and "acceptForSession" in offered
    text = f"Reach {host}" if host and not command else f"Run: {command}"
    return _permission(raw, text, _decisions(for_session=for_session))


def _change(raw: Mapping[str, Any], subjects: Mapping[str, str]) -> Asked:
    item = raw_json.key(_parameters(raw).get("itemId")) or ""
    return _permission(raw, f"Change {subjects.get(item) or 'files'}", _decisions(for_session=True))


def _more(raw: Mapping[str, Any], _subjects: Mapping[str, str]) -> Asked:
    wanted = _parameters(raw).get("permissions")
    granted = {name: value for name, value in wanted.items() if value} if isinstance(wanted, dict) else {}
    results = {
        ALLOW: {"permissions": granted, "scope": "turn"},
        _SESSION: {"permissions": granted, "scope": "session"},
        DENY: {"permissions": {}},
    }
    return _permission(raw, f"More permissions: {', '.join(granted)}", results)


def _elicitation(raw: Mapping[str, Any], _subjects: Mapping[str, str]) -> Asked:
    message = raw_json.sentence(_parameters(raw).get("message")) or "A question of an MCP server"
    accepts = {"action": "accept", "content": {}}
    return _permission(raw, message, {ALLOW: accepts, DENY: {"action": "decline"}})


def _question(raw: Mapping[str, Any], _subjects: Mapping[str, str]) -> Asked | None:
    questions = raw_json.blocks(_parameters(raw).get("questions"))
    ids = [one for question in questions if (one := raw_json.text(question.get("id"))) is not None]
    if not ids:
        return None

    def told(answer: str) -> dict[str, Any]:
        return {"answers": {one: {"answers": [answer]} for one in ids}}

    text = "\n".join(raw_json.sentence(one.get("question")) or "" for one in questions)
    labels = raw_json.blocks(questions[0].get("options")) if len(questions) == 1 else []
    options = [
        (label, raw_json.sentence(one.get("description")) or label)
        for one in labels
        if (label := raw_json.word(one.get("label")))
    ]
    ask = Ask(str(raw.get("id")), _QUESTION, text, options)
    return Asked(raw, ask, {DENY: {"answers": {}}}, told)


_ASKS: dict[str, Callable[[Mapping[str, Any], Mapping[str, str]], Asked | None]] = {
    "item/commandExecution/requestApproval": _command,
    "item/fileChange/requestApproval": _change,
    "item/permissions/requestApproval": _more,
    "mcpServer/elicitation/request": _elicitation,
    "item/tool/requestUserInput": _question,
}
