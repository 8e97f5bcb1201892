"""Interactive Claude Code with hooks: its command line, and what its hooks say.

The hooks are in `--settings`, and each sends what it is given to our bridge. Claude Code takes a first
prompt only on its command line, so that has one sentence which includes the prompt's file. Messages go in by
hooks, too: after the next tool, or when it would stop; one that comes while it rests is not taken. What it
used is in its transcript; what a person did not allow, no hook says.

Pure.
"""

from __future__ import annotations

from tmuxagents.agents import raw as raw_json
from tmuxagents.agents.base import ACTIVE, NOTHING, Reading
from tmuxagents.agents.capabilities import NO_COST, OF_RUN
from tmuxagents.agents.claude.command import AGENT
from tmuxagents.agents.claude.reader import figures_of
from tmuxagents.agents.envelope_asks import ALLOW, PERMISSION, question
from tmuxagents.agents.hooks.heard import FOLDER_VARIABLE, PATIENT, HookedReader, hook_command
from tmuxagents.runs import events
from tmuxagents.text import jsonline

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, ClassVar

    from tmuxagents.records import Plan
    from tmuxagents.runs.events import Event

BRIDGE = f"{__file__.rpartition('/')[0]}/bridge.py"
_HOOKS = (
    *("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure"),
    *("Notification", "Stop", "StopFailure", "SessionEnd"),
)
_ASKS_S = 7 * 24 * 3600  # so long a question may wait for our answer
_TASK = "Do the task in this file: @"
_BY_A_PERSON = ("prompt_input_exit", "logout", "clear")  # why a session ended
_NOT_DONE = "The child did not end its turn."


class ClaudeLive:
    """How Claude Code runs live."""

    folder_variable = FOLDER_VARIABLE
    bridge: str | None = BRIDGE

    def arguments(self, plan: Plan, run_dir: str) -> list[str]:
        """Return its flags."""
        one = {"type": "command", "command": hook_command()}
        hooks: dict[str, Any] = {name: [{"hooks": [one]}] for name in _HOOKS}
        asks = {"type": "command", "command": hook_command(PATIENT), "timeout": _ASKS_S}
        hooks[PATIENT] = [{"hooks": [asks]}]
        settings = jsonline.encode({"hooks": hooks}).decode().strip()
        line = [*AGENT.set_up(plan, run_dir), f"--settings={settings}"]
        prompt = f"{run_dir}/prompt.txt"
        if plan.reopens:
            return line
        return [*line, f"--allowed-tools=Read(/{prompt})", "--", f'{_TASK}"{prompt}"']

    def reader(self, sent: Callable[[int], Event | None]) -> ClaudeLiveReader:
        """Return a reader for one child. `sent` returns the message that has a number."""
        return ClaudeLiveReader(sent)


LIVE = ClaudeLive()


class ClaudeLiveReader(HookedReader):
    """Reads what the hooks of one Claude Code say."""

    def __init__(self, sent: Callable[[int], Event | None]) -> None:
        super().__init__()
        self.listen(sent)
        self._asking: dict[str, str] = {}  # question: the tool that may not be used yet
        self._counted: dict[str, None] = {}  # answers whose usage is known

    def kind(self, raw: Any) -> str:
        """Return the name of the hook, or the kind of a line of the bridge."""
        return raw_json.word(raw.get("hook_event_name")) or super().kind(raw)

    def _start(self, raw: dict[str, Any], _now: float) -> Reading:
        session = raw_json.key(raw.get("session_id"))
        self.model = raw_json.word(raw.get("model")) or self.model
        return Reading([] if session is None else [events.session_started(session, model=self.model)])

    def _used(self, raw: dict[str, Any], _now: float) -> Reading:
        """Report what one call of the model used: the transcript has a line for each block of its answer."""
        said = raw.get("message")
        message = said if isinstance(said, dict) else {}
        known = raw_json.key(message.get("id"))
        if known is None or known in self._counted or message.get("stop_reason") is None:
            return NOTHING
        raw_json.remember(self._counted, known, None)
        figures = figures_of(message.get("usage"))
        total = sum(figures.values())
        # That of a run: it may come behind the end of the turn, and is no work.
        told = events.usage(
            {**figures, "totalTokens": total, "cost": 0, "costKind": NO_COST, "basis": OF_RUN}
        )
        return Reading([told] if total else [])

    def _prompt(self, raw: dict[str, Any], _now: float) -> Reading:
        text = raw_json.text(raw.get("prompt")) or ""
        is_ours = text.startswith(_TASK) and not self.has_begun
        self.has_begun = True
        self.asks.open.clear()
        told = self.works_again()
        if not is_ours:
            self.typed = True
            told.append(events.human_input(text))
        return Reading(told, active=True)

    def _call(self, raw: dict[str, Any], now: float) -> Reading:
        told = self.works_again()
        told += self.call(raw.get("tool_use_id"), raw.get("tool_name"), raw.get("tool_input"), now)
        return Reading(told, active=True)

    def _done(self, raw: dict[str, Any], now: float) -> Reading:
        return self._ended(raw, _words(raw.get("tool_response")), now, failed=False)

    def _failed(self, raw: dict[str, Any], now: float) -> Reading:
        return self._ended(raw, raw_json.text(raw.get("error")) or "", now, failed=True)

    def _ended(self, raw: dict[str, Any], text: str, now: float, *, failed: bool) -> Reading:
        self.asks.open = {key: ask for key, ask in self.asks.open.items() if ask.id}
        return Reading(self.result(raw.get("tool_use_id"), text, now, failed=failed), active=True)

    def _ask(self, raw: dict[str, Any], _now: float) -> Reading:
        """Take a question. The bridge gives it an id, and says when it is closed."""
        ask = question(raw_json.text(raw.get("ask")) or "", {**raw, "input": raw.get("tool_input")})
        self.asks.ask(ask)
        self._asking[ask.id] = raw_json.word(raw.get("tool_name")) or "tool"
        return ACTIVE

    def _asks_no_longer(self, raw: dict[str, Any], _now: float) -> Reading:
        self.asks.open.pop(raw_json.text(raw.get("ask")) or "", None)
        return ACTIVE

    def _answered(self, raw: dict[str, Any], _now: float) -> Reading:
        """Report what our answer denies: no hook does."""
        ask = self.asks.answered(raw)
        if ask is None or ask.kind != PERMISSION or raw.get("answer") == ALLOW:
            return ACTIVE
        tool = self._asking[ask.id]
        call = next((known for known, (name, _) in reversed(self.calls.items()) if name == tool), None)
        return Reading([events.denied(call, tool, f"denied by {self.asks.given[ask.id][1]}")], active=True)

    def _stop(self, raw: dict[str, Any], _now: float) -> Reading:
        answer = raw_json.text(raw.get("last_assistant_message"))
        self.error_message = None
        return self.settle([events.assistant_text(answer)] if answer else [], "stop")

    def _stop_failure(self, raw: dict[str, Any], _now: float) -> Reading:
        self.error_message = raw_json.sentence(raw.get("last_assistant_message"))
        return self.settle([], "length" if raw.get("error") == "max_output_tokens" else "error")

    def _notice(self, raw: dict[str, Any], _now: float) -> Reading:
        """Conclude from its idleness that a turn was broken off: no hook says so at once."""
        if self.settled or not self.has_begun or raw.get("notification_type") != "idle_prompt":
            return NOTHING
        self.error_message = _NOT_DONE
        return self.settle([], "aborted")

    def _end(self, raw: dict[str, Any], _now: float) -> Reading:
        self.has_left = raw.get("reason") in _BY_A_PERSON
        return NOTHING

    takes: ClassVar = {
        "assistant": _used,
        "SessionStart": _start,
        "UserPromptSubmit": _prompt,
        "PreToolUse": _call,
        "PostToolUse": _done,
        "PostToolUseFailure": _failed,
        "PermissionRequest": _ask,
        "Notification": _notice,
        "Stop": _stop,
        "StopFailure": _stop_failure,
        "SessionEnd": _end,
        "bridge_taken": HookedReader.taken,
        "bridge_answer": _answered,
        "bridge_closed": _asks_no_longer,
    }


def _words(response: Any) -> str:
    """Return what a tool gave, as text."""
    if not isinstance(response, dict):
        return raw_json.text(response) or ""
    file = response.get("file")
    inner = file if isinstance(file, dict) else response
    said = [raw_json.text(inner.get(key)) for key in ("stdout", "stderr", "content", "filePath")]
    return next(filter(None, said), "")
