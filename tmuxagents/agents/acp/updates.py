"""Read the reports of an agent that works over ACP: texts, tool calls, usage. Pure.

A text comes in pieces, and a call may come before its arguments. Both become events when they are complete.
"""

from __future__ import annotations

from tmuxagents.agents import raw as raw_json
from tmuxagents.agents.acp import quirks
from tmuxagents.agents.base import ACTIVE, NOTHING, Reading
from tmuxagents.agents.brand import LineReader
from tmuxagents.agents.capabilities import ESTIMATED, NO_COST
from tmuxagents.runs import events

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tmuxagents.runs.events import Event

_BEGUN = ("in_progress", "completed", "failed")
_NOT_ARGUMENTS = {"cwd"}  # opencode reports this of a shell command before its arguments
_FIGURES = {"inputTokens": "input", "outputTokens": "output", "thoughtTokens": "reasoning"}
_CACHED = {"cachedReadTokens": "cacheRead", "cachedWriteTokens": "cacheWrite"}


class Updates(LineReader):
    """Reads the updates of one session."""

    exit_counts = False  # once its answer is finished and its stdin closed, it may exit with any code

    def __init__(self) -> None:
        super().__init__()
        self.quirks = quirks.KEEPS_TO_IT
        self.session: str | None = None
        self.is_prompted = False  # no text before the first prompt is an answer to it
        self.is_replaying = False  # the agent repeats messages from before this run
        self.is_cancelling = False
        self.is_broken = False  # the agent has reported that its turn failed
        self.last_error: str | None = None  # the last text of this turn, if it reads like an error
        self.was_refused = False  # the last report of this turn is that a call was denied
        self.text: list[str] = []  # the pieces of the answer so far
        self._message: str | None = None  # the id of the message that these pieces belong to
        self._thoughts: list[str] = []
        self._calls: dict[str, dict[str, Any]] = {}  # call -> all that was reported of it so far
        self._over: dict[str, None] = {}  # calls that have ended, or were denied
        self._cost = 0.0  # reported and counted so far
        self._counted: dict[str, int] = {}  # the figures counted so far, for an agent that sums them up
        self.cost: float | None = None

    def kind(self, raw: Any) -> str:
        """Return the method of a request or a notification; an answer has none."""
        return raw_json.word(raw.get("method")) or ("answer" if "id" in raw else "")

    def update(self, raw: dict[str, Any], now: float) -> Reading:  # noqa: PLR0911  (a case for each kind)
        """Read one `session/update`."""
        params = raw_json.table(raw.get("params"))
        update = params.get("update")
        if not isinstance(update, dict) or params.get("sessionId") not in (None, self.session):
            return NOTHING
        kind = raw_json.word(update.get("sessionUpdate")) or ""
        if kind == "available_commands_update" and self.quirks.replays_late:
            self.is_replaying = False
        if self.is_replaying or not self.is_prompted:  # from before this run, or before its prompt
            return ACTIVE
        content = raw_json.table(update.get("content"))
        match kind:
            case "agent_message_chunk":
                return Reading(self._chunk(update, raw_json.text(content.get("text"))), active=True)
            case "agent_thought_chunk":
                reported = self.flush() if self.text else []
                self._thoughts.append(raw_json.text(content.get("text")) or "")
                return Reading(reported, active=True)
            case "tool_call" | "tool_call_update":
                return Reading(self.tool(update, now), active=True)
            case "usage_update":
                cost = raw_json.table(update.get("cost"))
                amount = cost.get("amount") if cost.get("currency") == "USD" else None
                if events.is_figure(amount):
                    self.cost = float(raw_json.amount(amount))
                return ACTIVE
            case "session_info_update":
                self.is_broken = self.is_broken or quirks.is_broken(update)
        return NOTHING

    def _chunk(self, update: dict[str, Any], text: str | None) -> list[Event]:
        extra = raw_json.table(update.get("_meta"))
        reported = self.spent(extra["usage"]) if isinstance(extra.get("usage"), dict) else []
        if not text:
            return reported
        if self.quirks.notes and self.quirks.notes.match(text):
            if self.quirks.again and text.startswith(self.quirks.again):
                self.text.clear()
            return reported
        message = raw_json.key(update.get("messageId"))
        if message != self._message:
            reported += self.flush()
        self._message = message
        self.text.append(text)
        fails = bool(self.quirks.errors) and text.startswith(self.quirks.errors)
        self.last_error = text.removeprefix(self.quirks.errors) if fails else None
        self.was_refused = False
        return reported

    def flush(self) -> list[Event]:
        """Report the thoughts and the text that have come so far."""
        thought, text = "".join(self._thoughts), "".join(self.text)
        self._thoughts, self.text = [], []
        reported = [events.thinking(thought)] if thought.strip() else []
        return [*reported, events.assistant_text(text)] if text.strip() else reported

    def tool(self, update: dict[str, Any], now: float) -> list[Event]:
        """Read a report on a call: its beginning, its arguments, its end."""
        call = raw_json.key(update.get("toolCallId"))
        if call is None or call in self._over:
            return []
        reported = self.flush()
        so_far = self._calls.get(call) or {"tool": quirks.tool_name(call, update, self.quirks)}
        so_far = {**so_far, **{key: update[key] for key in update if update[key]}}
        raw_json.remember(self._calls, call, so_far)
        status = update.get("status")
        # claude-agent-acp sends arguments piece by piece; the title comes with the last one.
        has_all = update.get("title") and set(raw_json.table(so_far.get("rawInput"))) - _NOT_ARGUMENTS
        if status in _BEGUN or has_all:
            reported += self.tell(call, now)
        if status not in _BEGUN[1:]:
            return reported
        text = _output(update)
        if quirks.is_denied(update) and not self.is_cancelling:
            return reported + self.deny(call, text)
        raw_json.remember(self._over, call, None)
        code = quirks.exit_code(update, text)
        failed = status == "failed" or bool(code) or self.is_cancelling
        return reported + self.result(call, text, now, failed=failed)

    def tell(self, call: str, now: float) -> list[Event]:
        """Report a call, once."""
        details = self._calls.get(call, {})
        self.was_refused = False
        tool, args = quirks.as_ours(details.get("tool"), details)
        return self.call(call, tool, args, now)

    def deny(self, call: str, why: str) -> list[Event]:
        """Report that a call was denied. Later reports on that call make no events."""
        name, _ = self.calls.pop(call, ("tool", 0.0))
        raw_json.remember(self._over, call, None)
        self.was_refused = True
        return [events.denied(call, name, why)]

    def spent(self, raw: dict[str, Any]) -> list[Event]:
        """Report the usage of a prompt or a call, and the cost if the agent has reported it."""
        names = {**_FIGURES, **_CACHED}
        figures = {ours: raw_json.count(raw.get(key)) for key, ours in names.items()}
        if self.quirks.sums:
            before, self._counted = self._counted, figures
            figures = {key: max(0, figures[key] - before.get(key, 0)) for key in figures}
        cached = figures["cacheRead"] + figures["cacheWrite"]
        whole = raw_json.whole(raw.get("totalTokens")) or 0
        both = raw_json.whole(raw.get("inputTokens")) or 0
        if both and whole == both + (raw_json.whole(raw.get("outputTokens")) or 0):
            figures["input"] -= min(cached, figures["input"])  # the agent's figure includes the cached part
        cost, self._cost = (0.0, self._cost) if self.cost is None else (self.cost - self._cost, self.cost)
        if not any(figures.values()) and not cost:
            return []
        figures["totalTokens"] = figures["input"] + cached + figures["output"]
        kind = NO_COST if self.cost is None else ESTIMATED
        words = {"cost": max(0.0, round(cost, 10)), "costKind": kind, "basis": self.quirks.usage}
        return [events.usage({**figures, **words})]


def _output(update: dict[str, Any]) -> str:
    """Return the raw output of a call; else the output as the agent shows it."""
    raw, extra = update.get("rawOutput"), raw_json.table(update.get("_meta"))
    if isinstance(raw, dict):
        outputs = (raw_json.text(raw.get(key)) for key in ("output", "content", "text", "message", "error"))
        raw = next((text for text in outputs if text), None)
    if isinstance(raw, str) and raw:
        return raw
    shown = [block.get("content") for block in raw_json.blocks(update.get("content"))]
    texts = [raw_json.text(block.get("text")) or "" for block in shown if isinstance(block, dict)]
    delta = raw_json.table(extra.get("terminal_output_delta"))
    return "\n".join(texts) or raw_json.text(delta.get("data")) or ""
