"""Read what a Codex app server reports of one session, and its questions. Pure.

An interrupted turn never ends its open calls. A continued session repeats the tokens of its last call, so
figures count only if the total differs. Sub-agents and side requests have sessions of their own: their lines
only show work, but their questions are answered.

For a permission, any answer outside the offered options is a refusal. Options that permanently change the
user's own rules are not offered.
"""

from __future__ import annotations

from tmuxagents.agents import raw as raw_json
from tmuxagents.agents.base import ACTIVE, NOTHING, Ask, Reading
from tmuxagents.agents.codex.items import ItemReader, figures, unwrapped
from tmuxagents.runs import events
from tmuxagents.text import jsonline

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from tmuxagents.agents.base import Oversized
    from tmuxagents.runs.events import Event

_KEYS = ("inputTokens", "cachedInputTokens", "cacheWriteInputTokens", "outputTokens", "reasoningOutputTokens")
ANSWER = "answer"  # the kind of a line that answers a request


class ThreadReader(ItemReader):
    """Reads what an app server reports of one session.

    Without `asks_people`, each question of the child is refused at once. If we are not `alone`, another
    client of the server answers.
    """

    # Snapshots of a streaming answer and of a command's output only show work.
    snapshots: tuple[bytes, ...] = (
        b'{"method":"item/agentMessage/delta"',
        b'{"method":"item/commandExecution/outputDelta"',
    )

    def __init__(self, *, asks_people: bool = True) -> None:
        super().__init__()
        self.turn: str | None = None  # the current turn
        self.questions: dict[str, Asked] = {}  # open ones, the oldest first
        self.alone = True
        self._asks_people = asks_people
        self._last_turn: str | None = None  # the last one that ended
        self._total: Any = None

    def unsaid(self) -> bytes:
        """Return the requests that had to wait until now; a class that only reads has none."""
        return b""

    def feed(self, line: bytes, now: float) -> Reading:
        """Read one line; a piece of a streaming answer only shows that the child works."""
        if line.startswith(self.snapshots):
            self.is_torn = not line.endswith(b"}")
            return NOTHING if self.is_torn else ACTIVE
        return super().feed(line, now)

    def feed_oversized(self, line: Oversized, now: float) -> Reading:
        """Read the two ends of a line. A turn's last line repeats the whole answer before its status."""
        super().feed_oversized(line, now)
        if not line.head.startswith(b'{"method":"turn/completed"'):
            return ACTIVE
        return self.turn_over({"status": raw_json.word_after(line.tail, "status", last=True)}, now)

    def kind(self, raw: Mapping[str, Any]) -> str:
        """Return the method of a line, or our own word for another kind of line."""
        method = raw_json.word(raw.get("method"))
        if method is None:
            return ANSWER
        if "id" in raw:
            return "request"
        thread = raw_json.table(raw.get("params")).get("threadId")
        is_own = thread is None or self.session is None or thread == self.session
        return method if is_own else "another session"

    def turn_came(self, turn: Any) -> list[Event]:
        """Note a turn that has begun, and report that a settled child works again."""
        turn_id = raw_json.key(turn)
        if turn_id is None or turn_id == self._last_turn:
            return []
        self.turn = turn_id
        return self.works_again()

    def take(self, kind: str, raw: dict[str, Any], now: float) -> Reading:  # noqa: C901, PLR0911  (a case for each kind)
        """Read one line."""
        about = raw_json.table(raw.get("params"))
        turn, item = raw_json.table(about.get("turn")), raw_json.table(about.get("item"))
        match kind:
            case "turn/started":
                return Reading(self.turn_came(turn.get("id")), reply=self.unsaid())
            case "turn/completed":
                return self.turn_over(turn, now)
            case "item/started":
                return self.item_began(item, now)
            case "item/completed":
                return self.item_ended(item, now)
            case "thread/tokenUsage/updated":
                usage = raw_json.table(about.get("tokenUsage"))
                is_repeated = usage.get("total") == self._total
                self._total = usage.get("total")
                if not is_repeated and about.get("turnId") == self.turn:
                    last = figures(raw_json.table(usage.get("last")), _KEYS, "call")
                    return Reading([events.usage(last)])
            case "error":
                error = raw_json.table(about.get("error"))
                message = raw_json.sentence(error.get("message")) or ""
                if about.get("willRetry") is True:
                    return Reading([self.retry(message, raw_json.sentence(error.get("additionalDetails")))])
                self.error_message = message or self.error_message
            case "model/rerouted":
                self.model = raw_json.word(about.get("toModel")) or self.model
            case "request":
                return self._question(raw)
            case "serverRequest/resolved":
                self.questions.pop(str(about.get("requestId")), None)
            case "another session":
                return ACTIVE
        return NOTHING

    def turn_over(self, turn: dict[str, Any], now: float) -> Reading:
        """Report the end of the current turn."""
        self._last_turn, self.turn = raw_json.key(turn.get("id")) or self.turn, None
        self.questions.clear()
        status, error = turn.get("status"), raw_json.table(turn.get("error"))
        reported: list[Event] = []
        if status == "completed":
            reported = self.finish("stop")
        elif status == "failed":
            reported = self.failed(raw_json.sentence(error.get("message")), error.get("codexErrorInfo"))
        elif status == "interrupted":
            reported = [*self.broken_off(now), *self.finish("aborted", aborted=True)]
        else:
            reported = self.finish(None)
        return Reading(reported, reply=self.unsaid())

    def _question(self, raw: dict[str, Any]) -> Reading:
        """Take a question. Refuse one that cannot be answered here, so that the child works on."""
        asked = asked_by(raw, self.subjects)
        if asked is None:
            return Reading(reply=refusal(raw), active=True) if self.alone else ACTIVE
        if self.alone and not self._asks_people:
            self.refused[asked.item] = "the permission of the run"
            return Reading(reply=asked.reply(DENY), active=True)
        self.questions[asked.ask.id] = asked
        return ACTIVE


# --- its questions, and the answers in its words ---

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
    """One open question: its text and options, the item that it is about, and the result for each option."""

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
        self.item = raw_json.key(raw_json.table(raw.get("params")).get("itemId")) or ""

    def reply(self, answer: str) -> bytes:
        """Return the reply with an answer."""
        if answer in self._results or self._text_result is None:
            result = self._results.get(answer, self._results[DENY])
        else:
            result = self._text_result(answer)
        return jsonline.encode({"id": self._id, "result": result})

    def refuses(self, answer: str) -> bool:
        """Say whether an answer refuses a permission."""
        return self.ask.kind == _PERMISSION and answer not in (ALLOW, _SESSION)

    def is_text(self, answer: str) -> bool:
        """Say whether an answer is in a person's own words."""
        return answer not in self._results


def asked_by(raw: Mapping[str, Any], subjects: Mapping[str, str]) -> Asked | None:
    """Return the question in a request of the child; None if it cannot be answered here.

    `subjects`: the files of each open call.
    """
    about = raw_json.table(raw.get("params"))
    match raw.get("method"):
        case "item/commandExecution/requestApproval":
            command = unwrapped(raw_json.sentence(about.get("command")) or "")
            host = raw_json.word(raw_json.table(about.get("networkApprovalContext")).get("host"))
            text = f"Reach {host}" if host and not command else f"Run: {command}"
            for_session = "acceptForSession" in raw_json.listed(about.get("availableDecisions"))
            return _permission(raw, text, _decisions(for_session=for_session))
        case "item/fileChange/requestApproval":
            files = subjects.get(raw_json.key(about.get("itemId")) or "") or "files"
            return _permission(raw, f"Change {files}", _decisions(for_session=True))
        case "item/permissions/requestApproval":
            wanted = raw_json.table(about.get("permissions"))
            granted = {name: value for name, value in wanted.items() if value}
            results = {
                ALLOW: {"permissions": granted, "scope": "turn"},
                _SESSION: {"permissions": granted, "scope": "session"},
                DENY: {"permissions": {}},
            }
            return _permission(raw, f"More permissions: {', '.join(granted)}", results)
        case "mcpServer/elicitation/request":
            message = raw_json.sentence(about.get("message")) or "A question of an MCP server"
            accepts = {"action": "accept", "content": {}}
            return _permission(raw, message, {ALLOW: accepts, DENY: {"action": "decline"}})
        case "item/tool/requestUserInput":
            return _question(raw, raw_json.blocks(about.get("questions")))
    return None


def refusal(raw: Mapping[str, Any]) -> bytes:
    """Return the refusal of a request that we cannot carry out, so that the child works on."""
    error = {"code": _NO_SUCH_METHOD, "message": "This client cannot do that."}
    return jsonline.encode({"id": raw.get("id"), "error": error})


def _permission(raw: Mapping[str, Any], text: str, results: Mapping[str, Any]) -> Asked:
    reason = raw_json.sentence(raw_json.table(raw.get("params")).get("reason"))
    options = [(one, _WORDS[one]) for one in results]
    whole = f"{text} ({reason})" if reason else text
    return Asked(raw, Ask(str(raw.get("id")), _PERMISSION, whole, options), results)


def _decisions(*, for_session: bool) -> dict[str, Any]:
    words = {ALLOW: "accept", _SESSION: "acceptForSession", DENY: "decline", _CANCEL: "cancel"}
    return {one: {"decision": word} for one, word in words.items() if for_session or one != _SESSION}


def _question(raw: Mapping[str, Any], questions: list[dict[str, Any]]) -> Asked | None:
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
