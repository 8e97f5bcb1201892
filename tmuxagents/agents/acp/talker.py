"""Talk to an agent over the Agent Client Protocol: JSON-RPC in lines, version 1. Pure.

We open the session, set its mode and model, send the prompts, and answer the agent's questions for
permission. The permission level of the run gives the answer; with `ask`, a person or a parent does.
"""

from __future__ import annotations

from tmuxagents.agents import raw as raw_json
from tmuxagents.agents.acp import quirks
from tmuxagents.agents.acp.updates import Updates
from tmuxagents.agents.base import NOTHING, Ask, Reading, Talker
from tmuxagents.agents.capabilities import EDIT, READ_ONLY
from tmuxagents.runs import events
from tmuxagents.runs.events import STOP
from tmuxagents.text import jsonline

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from tmuxagents.records import Plan
    from tmuxagents.runs.events import Event, InboxMessage

VERSION = 1
_CLIENT = {
    "protocolVersion": VERSION,
    "clientCapabilities": {"fs": {"readTextFile": False, "writeTextFile": False}, "terminal": False},
    "clientInfo": {"name": "tmuxagents", "version": "1"},
}
_UNKNOWN = {"code": -32601, "message": "Method not found"}
_CUTS = ("max_output_tokens", "output token maximum")  # how codex-acp and claude-acp word a cut answer
_ENDS = {"end_turn": "stop", "max_tokens": "length", "max_turn_requests": "limit", "refusal": "error"}
_REFUSED = "The model refused to answer."
_CANCELLED = {"outcome": {"outcome": "cancelled"}}
_MOST_NAMED = 20


class AcpTalker(Talker, Updates):
    """Talks to one agent."""

    def __init__(self, plan: Plan, name: str) -> None:
        super().__init__()
        self._plan = plan
        self._name = name
        self._level = plan.permission or EDIT
        self._prompt = ""
        self._number = 0
        self._awaited: dict[int, Callable[[dict[str, Any]], Reading]] = {}  # request -> what reads its answer
        self._in_turn = True  # from the start: until the session is open, nothing more can be sent
        self._settings: list[tuple[str, dict[str, Any]]] = []  # requests before the prompt
        # Open questions: id -> question, request, call, and kinds of its options.
        self._asks: dict[str, tuple[Ask, Any, str, dict[str, str]]] = {}
        baseline = plan.baseline or {}
        self._cost = float(raw_json.amount(baseline.get("cost")))

    # --- our requests ---

    @property
    def asks(self) -> Sequence[Ask]:
        """Return the open questions, the oldest first."""
        return [ask for ask, _, _, _ in self._asks.values()]

    @property
    def is_idle(self) -> bool:
        """Say whether no turn runs."""
        return not self._in_turn

    def begin(self, prompt: str) -> bytes:
        """Return the greeting; the prompt follows once the session is open."""
        self._prompt = prompt
        return self._ask("initialize", _CLIENT, self._greeted)

    def say(self, message: InboxMessage) -> bytes | None:
        """Return a message as a prompt, or the lines that cancel the turn; None if the message must wait."""
        if message.kind != STOP:
            return None if self._in_turn else self._ask_prompt(message.text or "")
        if not self._in_turn or not self.session:
            return b""
        self.is_cancelling = True
        lines = [_line({"id": request, "result": _CANCELLED}) for _, request, _, _ in self._asks.values()]
        self._asks.clear()
        return _line({"method": "session/cancel", "params": {"sessionId": self.session}}) + b"".join(lines)

    def answer(self, ask_id: str, answer: str, by: str) -> Reading:
        """Answer a question for permission: `allow`, `deny`, or an option; anything else denies."""
        found = self._asks.pop(ask_id, None)
        if found is None:
            return NOTHING
        _, request, call, kinds = found
        wanted = {"allow": ("allow_once", "allow_always")}.get(answer, ("reject_once", "reject_always"))
        option = answer if answer in kinds else _option(kinds, wanted)
        allowed = kinds.get(option or "", "").startswith("allow")
        reported = [] if allowed else self.deny(call, f"denied by {by}")
        return Reading(reported, reply=_chosen(request, option))

    def _ask(self, method: str, params: dict[str, Any], take: Callable[..., Reading]) -> bytes:
        self._number += 1
        self._awaited[self._number] = take
        return _line({"id": self._number, "method": method, "params": params})

    def _ask_prompt(self, text: str) -> bytes:
        self._in_turn, self.is_prompted, self.settled = True, True, False
        self.is_cancelling = self.is_broken = self.was_refused = False
        self.last_error = None
        prompt = [{"type": "text", "text": text}]
        return self._ask("session/prompt", {"sessionId": self.session, "prompt": prompt}, self._prompted)

    # --- opening the session ---

    def _greeted(self, answer: dict[str, Any]) -> Reading:
        result = raw_json.table(answer.get("result"))
        if "error" in answer or result.get("protocolVersion") != VERSION:
            spoken = raw_json.whole(result.get("protocolVersion"))
            other = f"speaks version {spoken} of ACP, and not {VERSION}"
            return self._give_up(other if spoken is not None else quirks.words_of(answer.get("error")))
        self.quirks = quirks.of(raw_json.table(result.get("agentInfo")).get("name"))
        self.shows_cuts = self.quirks.shows_cuts
        where: dict[str, Any] = {"cwd": self._plan.cwd, "mcpServers": []}
        before = self._plan.child_session
        if before is None:
            return Reading(reply=self._ask("session/new", where, self._opened))
        can = raw_json.table(result.get("agentCapabilities"))
        self.session = before
        where["sessionId"] = before
        if "resume" in raw_json.table(can.get("sessionCapabilities")):
            return Reading(reply=self._ask("session/resume", where, self._opened))
        if can.get("loadSession") is not True:
            return self._give_up("cannot continue a session")
        self.is_replaying = True
        return Reading(reply=self._ask("session/load", where, self._opened))

    def _opened(self, answer: dict[str, Any]) -> Reading:
        if "error" in answer:
            return self._give_up(quirks.words_of(answer["error"]))
        result = raw_json.table(answer.get("result"))
        self.is_replaying = self.is_replaying and self.quirks.replays_late
        self.session = raw_json.key(result.get("sessionId")) or self.session
        if self.session is None:
            return self._give_up("gives its session no id")
        options = _Options(result)
        self.model = raw_json.word(options.model)
        started = events.session_started(self.session, model=self.model)
        problem = self._choose(options)
        if problem is not None:
            refusal = self._give_up(problem)
            return Reading([started, *refusal.events])
        return Reading([started], active=True, reply=self._next())

    def _choose(self, options: _Options) -> str | None:
        """Queue the requests for mode and model; return the problem if the agent does not have them."""
        mode = quirks.mode_of(self._level, options.modes)
        if mode is None and self._level == READ_ONLY:
            return f"has no mode for the permission {READ_ONLY}"
        if mode is not None and mode != options.mode:
            self._settings.append(options.set_mode(self.session, mode))
        wanted = self._plan.resolved_model
        if wanted and wanted != options.model:
            if wanted not in options.models:
                models = ", ".join(options.models[:_MOST_NAMED])
                return f"has no model {wanted[:100]}" + (f"; it has {models}" if models else "")
            self._settings.append(options.set_model(self.session, wanted))
            self.model = wanted
        return None

    def _next(self) -> bytes:
        """Return the next request before the prompt, or the prompt."""
        if self._settings:
            method, params = self._settings.pop(0)
            return self._ask(method, params, self._set)
        return self._ask_prompt(self._prompt)

    def _set(self, answer: dict[str, Any]) -> Reading:
        if "error" in answer:
            return self._give_up(quirks.words_of(answer["error"]))
        return Reading(active=True, reply=self._next())

    def _give_up(self, why: str) -> Reading:
        """End a run that cannot begin: nothing was sent to a model."""
        self._in_turn = False
        self.error_message = f"{self._name} {why}" if why[:1].islower() else f"{self._name}: {why}"
        return Reading(self.finish("config"))

    # --- the lines of the agent ---

    def take(self, kind: str, raw: dict[str, Any], now: float) -> Reading:
        """Read one line. An unknown request is refused; a notification needs no answer."""
        match kind:
            case "answer":
                number = raw.get("id")
                take = self._awaited.pop(number, None) if type(number) is int else None
                return take(raw) if take is not None else NOTHING
            case "session/update":
                return self.update(raw, now)
            case "session/request_permission":
                return self._permission(raw, now)
        if "method" in raw and "id" in raw:
            return Reading(reply=_line({"id": raw["id"], "error": _UNKNOWN}))
        return NOTHING

    def _prompted(self, answer: dict[str, Any]) -> Reading:
        """Read the answer to a prompt. Earlier signs of failure also decide how the turn ended."""
        result = raw_json.table(answer.get("result"))
        self._in_turn, self.is_replaying = False, False
        self._asks.clear()
        self.calls.clear()
        # Gemini CLI reports its figures in a place of its own.
        quota = raw_json.table(
            raw_json.table(raw_json.table(result.get("_meta")).get("quota")).get("token_count")
        )
        own = {"inputTokens": quota.get("input_tokens"), "outputTokens": quota.get("output_tokens")}
        used = raw_json.table(result.get("usage") or (own if quota else {}))
        failure = self._failure(answer, used)
        if failure is not None:
            self.text.clear()
        reported = self.flush() + self.spent(used)
        self.error_message = failure
        reason = raw_json.word(result.get("stopReason")) or ""
        if failure is not None:
            is_cut = any(words in failure for words in _CUTS)
            return Reading(reported + self.finish("length" if is_cut else "error"))
        if self.is_cancelling or (reason == "cancelled" and not self.was_refused):
            return Reading(reported + self.finish("aborted", aborted=True))
        if self.was_refused:
            return Reading(reported + self.finish("refused"))
        return Reading(reported + self.finish(_ENDS.get(reason)))

    def _failure(self, answer: dict[str, Any], used: dict[str, Any]) -> str | None:
        """Return why a turn failed; None if there is no sign of a failure."""
        text = "".join(self.text)
        if "error" in answer:
            return quirks.words_of(answer["error"])
        if self.is_broken:
            return (
                quirks.inner_message(text) or raw_json.sentence(text) or "The agent reported a system error."
            )
        if self.last_error is not None and not used:
            return raw_json.sentence(self.last_error)
        return _REFUSED if raw_json.table(answer.get("result")).get("stopReason") == "refusal" else None

    def _permission(self, raw: dict[str, Any], now: float) -> Reading:
        params = raw_json.table(raw.get("params"))
        asked, request = raw_json.table(params.get("toolCall")), raw.get("id")
        call = raw_json.key(asked.get("toolCallId")) or f"asked {request}"
        reported = [*self.tool({**asked, "toolCallId": call, "status": None}, now), *self.tell(call, now)]
        listed = [one for one in raw_json.blocks(params.get("options")) if raw_json.key(one.get("optionId"))]
        kinds = {one["optionId"]: raw_json.word(one.get("kind")) or "" for one in listed}
        kind = raw_json.word(asked.get("kind"))
        allowed = quirks.decides(self._level, kind)
        if self.is_cancelling:
            return Reading(reported, reply=_line({"id": request, "result": _CANCELLED}))
        if allowed is None:
            words = [
                (one["optionId"], raw_json.sentence(one.get("name")) or one["optionId"]) for one in listed
            ]
            text = raw_json.sentence(asked.get("title")) or kind or "a tool"
            command = raw_json.sentence(raw_json.table(asked.get("rawInput")).get("command"))
            if command and command not in text:
                text = f"{text}: {command}"
            ask = Ask(str(request), "permission", text, words)
            raw_json.remember(self._asks, ask.id, (ask, request, call, kinds))
            return Reading(reported, active=True)
        option = _option(
            kinds, ("allow_once", "allow_always") if allowed else ("reject_once", "reject_always")
        )
        if not allowed:
            reported += self.deny(call, f"the permission {self._level} does not allow it")
        return Reading(reported, active=True, reply=_chosen(request, option))

    def left(self, _exit_code: int | None) -> list[Event]:
        """Report the beginning of an unfinished answer."""
        return self.flush()


class _Options:
    """The modes and models of a session, in the older or in the newer form of the protocol."""

    def __init__(self, result: dict[str, Any]) -> None:
        listed = raw_json.blocks(result.get("configOptions"))
        self._options = {raw_json.word(one.get("category")): one for one in reversed(listed)}
        modes, models = raw_json.table(result.get("modes")), raw_json.table(result.get("models"))
        self._has_modes, self._has_models = bool(modes), bool(models)
        mode, model = raw_json.table(self._options.get("mode")), raw_json.table(self._options.get("model"))
        self.mode = modes.get("currentModeId") or mode.get("currentValue")
        self.modes = _ids(modes.get("availableModes"), "id") or _ids(mode.get("options"), "value")
        self.model = models.get("currentModelId") or model.get("currentValue")
        self.models = _ids(models.get("availableModels"), "modelId") or _ids(model.get("options"), "value")

    def set_mode(self, session: str | None, mode: str) -> tuple[str, dict[str, Any]]:
        """Return the request for a mode."""
        if self._has_modes:
            return "session/set_mode", {"sessionId": session, "modeId": mode}
        return self._set(session, "mode", mode)

    def set_model(self, session: str | None, model: str) -> tuple[str, dict[str, Any]]:
        """Return the request for a model."""
        if self._has_models:
            return "session/set_model", {"sessionId": session, "modelId": model}
        return self._set(session, "model", model)

    def _set(self, session: str | None, category: str, value: str) -> tuple[str, dict[str, Any]]:
        option = raw_json.table(self._options.get(category)).get("id")
        return "session/set_config_option", {"sessionId": session, "configId": option, "value": value}


def _ids(listed: Any, key: str) -> list[str]:
    return [one[key] for one in raw_json.blocks(listed) if isinstance(one.get(key), str)]


def _option(kinds: dict[str, str], wanted: Sequence[str]) -> str | None:
    """Return the offered option whose kind comes first in `wanted`; None if no such kind is offered."""
    return next((option for kind in wanted for option in kinds if kinds[option] == kind), None)


def _chosen(request: Any, option: str | None) -> bytes:
    outcome = {"outcome": "selected", "optionId": option} if option else {"outcome": "cancelled"}
    return _line({"id": request, "result": {"outcome": outcome}})


def _line(message: dict[str, Any]) -> bytes:
    return jsonline.encode({"jsonrpc": "2.0", **message})
