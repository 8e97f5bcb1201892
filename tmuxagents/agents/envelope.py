"""Read and write the JSON lines that Claude Code and Qwen Code share. Pure.

The `result` line of a turn that succeeded has `subtype: success` and `is_error: false`. Its `terminal_reason`
is `completed` or absent, its `stop_reason` is not in `_CUT`, and it has a structured answer if one was due.
`subtype` alone proves nothing: it is `success` beside an API error. The exit code proves nothing, either: it
is 0 after an interrupt. Lines of a sub-agent show activity, but are not the child's words.
"""

from __future__ import annotations

from tmuxagents.agents import raw as raw_json
from tmuxagents.agents.base import ACTIVE, NOTHING, Ask, Reading, Talker
from tmuxagents.agents.brand import LineReader
from tmuxagents.runs import events
from tmuxagents.text import jsonline

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from tmuxagents.runs.events import Event


_CUT = {
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "error",
    "pause_turn": None,  # the model wanted to go on
}
_STRUCTURED = ("StructuredOutput", "structured_output")  # the tool of a structured answer; its key
_UNSTRUCTURED = "The agent gave no structured answer."
_UNEXPLAINED = "[ede_diagnostic]"  # begins an error that is meant for the agent's developers


class EnvelopeReader(LineReader):
    """Reads one child. A brand adds its way to count usage, and its own kinds of lines."""

    def __init__(self) -> None:
        super().__init__()
        self._session: str | None = None
        self._has_begun = False  # its `system:init` line has come
        self._owes_structured = False
        self.why: str | None = None  # why the turn failed, although its line says otherwise
        self._is_cut = False  # the model's answer was too long
        self._texts: list[str] = []  # the texts of an answer that is not reported yet: more may come
        self._message: str | None = None  # the id of the message that these texts belong to
        self._denied: dict[str, None] = {}  # calls that were not allowed

    def feed(self, line: bytes, now: float) -> Reading:
        """Read one line; a piece of a message shows that the child works."""
        if self.snapshots and line.startswith(self.snapshots):
            self.is_torn = False
            return ACTIVE
        return super().feed(line, now)

    def kind(self, raw: Mapping[str, Any]) -> str:
        """Return the kind of a line; a system line's kind includes its subtype."""
        kind = raw_json.word(raw.get("type")) or ""
        return f"system:{raw_json.word(raw.get('subtype'))}" if kind == "system" else kind

    def left(self, _exit_code: int | None) -> list[Event]:
        """Return the text that was not reported yet."""
        return self._report_texts()

    # --- lines ---

    def take(self, kind: str, raw: dict[str, Any], now: float) -> Reading:
        """Read one line: the child's set-up, a message, or the end of a turn."""
        message = raw.get("message")
        match kind:
            case "system:init":
                self.model = raw_json.word(raw.get("model")) or self.model
                self._owes_structured = _STRUCTURED[0] in raw_json.listed(raw.get("tools"))
                reported = self._opened(raw)
                # The session's id was known before its model.
                if self._session and not reported and not self._has_begun:
                    reported = [events.session_started(self._session, model=self.model)]
                self._has_begun = True
                return Reading([*reported, *self.works_again()], active=True)
            case "assistant" | "user":
                if raw.get("parent_tool_use_id") is not None or not isinstance(message, dict):
                    return ACTIVE
                read = self._assistant if kind == "assistant" else self._user
                return Reading(read(raw, message, now), active=True)
            case "result":
                return Reading(self.turn_over(raw), active=True)
        return NOTHING

    def _opened(self, raw: dict[str, Any]) -> list[Event]:
        """Report the id of the session, once."""
        session = raw_json.key(raw.get("session_id"))
        if session is None or session == self._session:
            return []
        self._session = session
        return [events.session_started(session, model=self.model)]

    def _assistant(self, raw: dict[str, Any], message: dict[str, Any], now: float) -> list[Event]:
        reported = [*self._opened(raw), *self.works_again()]
        # An API error, or the beginning of an answer, instead of an answer.
        if raw.get("is_api_error_message") is True or raw.get("aborted") is True:
            self._is_cut |= raw.get("error") == "max_output_tokens"
            return reported
        self.model = raw_json.word(message.get("model")) or self.model
        message_id = raw_json.key(message.get("id"))
        for block in raw_json.blocks(message.get("content")):
            kind = block.get("type")
            text = raw_json.text(block.get("text")) if kind == "text" else None
            if not text or message_id is None or message_id != self._message:
                reported += self._report_texts()
            if text:  # the next block or line of this message may continue it
                self._message = message_id
                self._texts.append(text)
            elif kind == "thinking" and (thought := raw_json.text(block.get("thinking"))):
                reported.append(events.thinking(thought))
            elif kind == "tool_use":
                reported += self.call(block.get("id"), block.get("name"), block.get("input"), now)
        return reported

    def _report_texts(self) -> list[Event]:
        """Report the answer that is whole now."""
        texts, self._texts, self._message = self._texts, [], None
        whole = "\n".join(filter(None, texts))
        return [events.assistant_text(whole)] if whole else []

    def _user(self, raw: dict[str, Any], message: dict[str, Any], now: float) -> list[Event]:
        reported = [*self._opened(raw), *self._report_texts()]
        for block in raw_json.blocks(message.get("content")):
            if block.get("type") != "tool_result":
                continue
            call = block.get("tool_use_id")
            text = "\n".join(raw_json.texts(raw_json.blocks(block.get("content")), "text"))
            if self.is_refused(raw, call):
                reported += self.deny(call, None, text)
            else:
                reported += self.result(call, text, now, failed=block.get("is_error") is True)
        return reported

    def is_refused(self, _raw: dict[str, Any], _call: Any) -> bool:
        """Say whether a tool result is a refusal to run the tool."""
        return False

    def deny(self, call_id: Any, tool: Any, why: str) -> list[Event]:
        """Report a call that was not allowed, once; it has no result."""
        known_id = raw_json.key(call_id)
        name, _ = self.calls.pop(known_id or "", (None, None))
        if known_id is not None and known_id in self._denied:
            return []
        raw_json.remember(self._denied, known_id or "", None)
        return [events.denied(known_id, name or raw_json.word(tool) or "tool", why)]

    # --- the end of a turn ---

    def turn_over(self, raw: dict[str, Any]) -> list[Event]:
        """Report the end of a turn."""
        error = raw.get("error")
        if isinstance(error, dict) and self._texts:  # the child has also printed the error as an answer
            self._texts[-1] = self._texts[-1].removesuffix(raw_json.text(error.get("message")) or "")
        reported = [*self._opened(raw), *self.works_again(), *self._report_texts()]
        for item in raw_json.listed(raw.get("permission_denials")):
            if isinstance(item, dict):
                reported += self.deny(item.get("tool_use_id"), item.get("tool_name"), "It was not allowed.")
        reported += self.usage(raw)
        self.why = None
        stop_reason = self.ending(raw)
        self.error_message = None if stop_reason == "stop" else self._message_of(raw)
        self._is_cut = False
        return [*reported, *self.finish(stop_reason, aborted=stop_reason == "aborted")]

    def usage(self, _raw: dict[str, Any]) -> list[Event]:
        """Return the usage of the turn; nothing if a brand does not report it."""
        return []

    def ending(self, raw: dict[str, Any]) -> str | None:
        """Return how the turn ended, as a stop reason."""
        subtype = raw_json.word(raw.get("subtype")) or ""
        how = raw_json.word(raw.get("terminal_reason")) or "completed"
        if subtype == "success" and raw.get("is_error") is False and how == "completed":
            if self._owes_structured and raw.get(_STRUCTURED[1]) is None:
                self.why = _UNSTRUCTURED
                return "error"
            return _CUT.get(raw_json.word(raw.get("stop_reason")) or "", "stop")
        if subtype.startswith("error_max_"):
            return "limit"
        if how.startswith("aborted"):
            return "aborted"
        if not self._has_begun:
            return "config"
        return "length" if self._is_cut else "error"

    def _message_of(self, raw: dict[str, Any]) -> str | None:
        """Return the message of a failure: the provider's words, if there are any."""
        error = raw.get("error")
        if isinstance(error, dict):
            message = raw_json.sentence(error.get("message")) or ""
            is_bracketed = message.startswith("[API Error")
            return message.removeprefix("[").removesuffix("]") if is_bracketed else message or None
        for one in raw_json.listed(raw.get("errors")):
            why = raw_json.sentence(one)
            if why and not why.startswith(_UNEXPLAINED):
                return why
        if raw.get("is_error") is True:
            return raw_json.sentence(raw.get("result")) or None
        return self.why


# --- the questions of an agent, and our answers in its words ---

ALLOW, DENY, PERMISSION = "allow", "deny", "permission"
_CHOICES = ((ALLOW, "Allow"), (DENY, "Deny"))
_QUESTIONS = ("AskUserQuestion", "ask_user_question")  # the tools by which the models themselves ask
_SHOWN = ("command", "file_path", "url", "path", "pattern", "plan")  # arguments that show what a call does


def request(request_id: str, **asked: Any) -> bytes:
    """Return a request to the agent."""
    return jsonline.encode({"type": "control_request", "request_id": request_id, "request": asked})


def respond(request_id: str, response: dict[str, Any]) -> bytes:
    """Return the answer to a request of the agent."""
    answer = {"subtype": "success", "request_id": request_id, "response": response}
    return jsonline.encode({"type": "control_response", "response": answer})


def refuse(request_id: str) -> bytes:
    """Return the refusal of a request that is no question."""
    answer = {"subtype": "error", "request_id": request_id, "error": "Not supported."}
    return jsonline.encode({"type": "control_response", "response": answer})


def question(request_id: str, asked: dict[str, Any]) -> Ask:
    """Return a question in our words."""
    questions = _questions(raw_json.table(asked.get("input")))
    if asked.get("tool_name") in _QUESTIONS and len(questions) == 1:
        text = raw_json.sentence(questions[0].get("question")) or "It asks."
        return Ask(request_id, "question", text, raw_json.choices(questions[0].get("options")))
    return Ask(request_id, PERMISSION, about(asked.get("tool_name"), asked.get("input")), _CHOICES)


def about(tool: Any, given: Any) -> str:
    """Return one line about a call: its tool, and its most important arguments."""
    name, args = raw_json.word(tool) or "tool", raw_json.table(given)
    sentences = [raw_json.sentence(args.get(key)) for key in _SHOWN]
    sentences += [raw_json.sentence(one.get("question")) for one in _questions(args)]
    words = " ".join(filter(None, sentences))
    return f"{name}: {words}" if words else name


def decision(asked: dict[str, Any], answer: str, by: str, *, by_index: bool = False) -> dict[str, Any]:
    """Return `allow`, `deny` or a text in the agent's words; a text denies a call or answers a question.

    `by_index`: the agent knows its questions by their positions, not by their words.
    """
    given = raw_json.table(asked.get("input"))
    questions = _questions(given)
    if answer == DENY:
        return {"behavior": "deny", "message": f"This was denied by {by}."}
    if asked.get("tool_name") in _QUESTIONS and questions and answer != ALLOW:
        keys = [
            str(at) if by_index else raw_json.text(one.get("question")) or ""
            for at, one in enumerate(questions)
        ]
        answers = dict.fromkeys(keys, answer)
        return {"behavior": "allow", "updatedInput": {**given, "answers": answers}}
    if answer == ALLOW:
        return {"behavior": "allow", "updatedInput": given}
    return {"behavior": "deny", "message": answer}


def _questions(asked: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [one for one in raw_json.listed(asked.get("questions")) if isinstance(one, dict)]


class EnvelopeTalker(Talker, EnvelopeReader):
    """Reads a child whose stdin stays open, and answers its questions."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)  # the arguments of the brand's reader
        self._asked: dict[str, tuple[Ask, dict[str, Any]]] = {}  # request id -> its question, and the request

    @property
    def asks(self) -> Sequence[Ask]:
        """Return the open questions, the oldest first."""
        return [ask for ask, _ in self._asked.values()]

    def answer(self, ask_id: str, answer: str, by: str) -> Reading:
        """Answer a question."""
        _, request = self._asked.pop(ask_id, (None, None))
        return NOTHING if request is None else self.answered(ask_id, request, answer, by)

    def answered(self, request_id: str, request: dict[str, Any], answer: str, by: str) -> Reading:
        """Return the answer to a question."""
        return Reading(reply=respond(request_id, decision(request, answer, by)))

    def take(self, kind: str, raw: dict[str, Any], now: float) -> Reading:
        """Read one line. A request that is no question is refused, or the child would wait for ever."""
        if kind != "control_request":
            return super().take(kind, raw, now)
        request_id, request = raw_json.key(raw.get("request_id")), raw.get("request")
        if request_id is None or not isinstance(request, dict):
            return ACTIVE
        if request.get("subtype") != "can_use_tool":
            return Reading(reply=refuse(request_id))
        return self.asked(request_id, request)

    def asked(self, request_id: str, request: dict[str, Any]) -> Reading:
        """Take a question."""
        self._asked[request_id] = question(request_id, request), request
        return ACTIVE

    def turn_over(self, raw: dict[str, Any]) -> list[Event]:
        """Report the end of a turn, which closes all questions."""
        reported = super().turn_over(raw)
        self._asked.clear()
        return reported
