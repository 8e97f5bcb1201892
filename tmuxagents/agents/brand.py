"""Base classes of readers: for the batch runs of all brands but pi, and for all live runs. Pure."""

from __future__ import annotations

from tmuxagents.agents import raw as raw_json
from tmuxagents.agents.base import NOTHING, Ask, Reader, Reading
from tmuxagents.runs import events

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from tmuxagents.agents.base import Sent
    from tmuxagents.records import Plan
    from tmuxagents.runs.events import Event


class LineReader(Reader):
    """Reads the JSON lines of one child. A brand gives each kind of line its meaning in `take`.

    A stream that breaks off in the middle of a line is never a finished answer.
    """

    shows_cuts = True  # an answer that was cut or refused never ends like a whole one

    def __init__(self) -> None:
        super().__init__()
        self._heard = "", False  # words on stderr, and whether they name an error
        self.is_torn = False  # the last line is the beginning of a JSON object
        self.calls: dict[str, tuple[str, float]] = {}  # open tool calls: id -> tool, and when it was reported

    def feed(self, line: bytes, now: float) -> Reading:
        """Read one line. A line that is not JSON is plain text; JSON of unknown kind is ignored."""
        self.is_torn = False
        if not line or line.isspace() or (self.snapshots and line.startswith(self.snapshots)):
            return NOTHING
        try:
            raw = raw_json.parse_cheap(line)
        except RecursionError:
            self.left_out = True
            return Reading(active=True)
        if raw is None:
            self.is_torn = line.lstrip().startswith(b"{")
            return NOTHING if raw_json.is_value(line) else Reading(plain=line.decode("utf-8", "replace"))
        return self.take(self.kind(raw), raw, now)

    def take(self, _kind: str, _raw: dict[str, Any], _now: float) -> Reading:
        """Read a line of some kind; here no kind has a meaning."""
        return NOTHING

    def kind(self, raw: Mapping[str, Any]) -> str:
        """Return the kind of a line; `take` decides by it."""
        return raw_json.word(raw.get("type")) or ""

    def overheard(self, line: bytes) -> Sequence[Event]:
        """Keep the last line on stderr, or better the last error: it may explain an unexplained end."""
        text = line.decode("utf-8", "replace").strip()
        is_error = text[:5].lower() == "error"
        if text and (is_error or not self._heard[1]):
            self._heard = text, is_error
        return ()

    def ended(self, exit_code: int | None, text: bytes | None = None) -> list[Event]:
        """Return the events of the child's exit, once all output is read."""
        reported = [*self.used(text or b""), *self.left(exit_code)]
        if self.is_torn and self.settled:
            reported += [events.resumed(), events.turn_end(None), events.settled(aborted=False)]
        return reported

    def left(self, _exit_code: int | None) -> list[Event]:
        """Return the events that an exit means for this brand. Code None: a signal ended the child."""
        return []

    # --- what most brands need ---

    def call(self, call_id: Any, tool: Any, args: Any, now: float) -> list[Event]:
        """Report a tool call, once."""
        known_id, name = raw_json.key(call_id), raw_json.word(tool) or "tool"
        if known_id is not None:
            if known_id in self.calls:
                return []
            raw_json.remember(self.calls, known_id, (name, now))
        return [events.tool_call(known_id, name, raw_json.table(args))]

    def result(self, call_id: Any, text: str, now: float, *, failed: bool, tool: Any = None) -> list[Event]:
        """Report the end of a tool call. Ignore a call that was never reported, or is over."""
        known_id = raw_json.key(call_id)
        name, began = self.calls.pop(known_id or "", (None, None))
        if name is None:
            return []
        lasted = None if began is None else round((now - began) * 1000)
        name = raw_json.word(tool) or name
        return [events.tool_result(known_id, name, is_error=failed, text=text, duration_ms=lasted)]

    def works_again(self) -> list[Event]:
        """Report that a settled child works again."""
        again, self.settled = self.settled, False
        return [events.resumed()] if again else []

    def finish(self, stop_reason: str | None, *, aborted: bool = False) -> list[Event]:
        """Report the end of the turn and that the child is done for now.

        `stop_reason` is `stop` for a finished answer, else `length`, `error`, `aborted`, `limit`, `config` or
        None.
        """
        self.settled = True
        if stop_reason == "config" and self.error_message is None:
            self.error_message = raw_json.sentence(self._heard[0]) or None
        unsure = stop_reason == "stop" and not self.shows_cuts
        ended = events.turn_end(stop_reason, evidence="lines" if unsure else None)
        return [ended, events.settled(aborted=aborted)]


def usage_of(
    figures: Mapping[str, int], basis: str, *, cost: float = 0, cost_kind: str = "none"
) -> list[Event]:
    """Report usage, if there is any; `reasoning` is a part of the output."""
    total = sum(figures.values()) - figures.get("reasoning", 0)
    if not total and not cost:
        return []
    more = {"totalTokens": total, "cost": cost, "costKind": cost_kind, "basis": basis}
    return [events.usage({**figures, **more})]


def session_uuid(plan: Plan) -> str:
    """Return the UUID for a new session of a run: always the same for this run, and no other run's."""
    text = plan.run_id + plan.run_id[::-1]
    return f"{text[:8]}-{text[8:12]}-5{text[13:16]}-8{text[17:20]}-{text[20:32]}"


# --- live agents ---

HOOK = f"{__file__.rpartition('/')[0]}/hooks/hook.py"
PYTHON = "TMUXAGENTS_PYTHON"  # the variable in which the hooks find our Python
PATIENT = "PermissionRequest"  # the hook that waits as long as a question is open (see hook.py)


def hook_command(name: str = "") -> str:
    """Return the command line of a hook, for a shell. `name`: the event, if the hook's input lacks it."""
    return f'"${PYTHON}" -I -S "{HOOK}" {name}'.rstrip()


class LiveAsks:
    """The open questions of a live child, and the answers that its bridge has passed on."""

    def __init__(self) -> None:
        self.open: dict[str, Ask] = {}
        self.given: dict[str, tuple[str, str]] = {}  # question: its answer, and who gave it

    def ask(self, ask: Ask) -> None:
        """Take a question."""
        self.open[ask.key] = ask

    def answered(self, raw: Mapping[str, Any]) -> Ask | None:
        """Note an answer that the bridge has passed on; return the question that it closes."""
        ask = self.open.pop(raw_json.text(raw.get("ask")) or "", None)
        if ask is not None:
            self.given[ask.id] = raw_json.text(raw.get("answer")) or "", raw_json.text(raw.get("by")) or ""
        return ask


class LiveReader(Reader):
    """Reads the lines of a live child's bridge. `sent` returns the event of the message with a number."""

    paces = False  # no line waits: a person may need what it reports

    def __init__(self, sent: Sent) -> None:
        super().__init__()
        self._sent = sent
        self.is_connected = False  # a line of the bridge has come
        self.has_begun = False  # the child has begun to work
        self.typed = False  # a person has typed: the run is attended
        self.has_left = False  # a person has pressed a key that leaves the child
        self.settlings = 0  # how often it has settled
        self.asks = LiveAsks()  # its open questions to a person

    def feed(self, line: bytes, now: float) -> Reading:
        """Read one line."""
        self.is_connected = True
        return super().feed(line, now)

    def taken(self, raw: Mapping[str, Any]) -> list[Event]:
        """Return the event of a message that the child has taken, as the bridge reports."""
        number = raw_json.whole(raw.get("inboxId"))
        sent = None if number is None else self._sent(number)
        return [] if sent is None else [sent]

    def human_input(self, text: str) -> Event:
        """Return the event of what a person has typed: the run is attended, and the child works."""
        self.typed, self.settled = True, False
        return events.human_input(text)

    def count_settling(self, settled: Event) -> None:
        """Count a settling, and note in its event whether a person has typed."""
        self.settlings += 1
        settled.fields["attended"] = self.typed


class HookedReader(LiveReader, LineReader):
    """Reads the lines of the bridge of a live agent that has hooks."""

    left_by: Sequence[str] = ("prompt_input_exit",)  # why a session ends that a person leaves

    def kind(self, raw: Mapping[str, Any]) -> str:
        """Return the name of a hook, or the kind of another line."""
        return raw_json.word(raw.get("hook_event_name")) or super().kind(raw)

    def take(self, kind: str, raw: dict[str, Any], now: float) -> Reading:
        """Read a message that the child has taken, an answer to a question, or the end of a turn."""
        match kind:
            case "bridge_taken":
                taken = self.taken(raw)
                return Reading([*self.works_again(), *taken] if taken else [], active=True)
            case "bridge_answer":
                return Reading(self.answered(raw), active=True)
            case "Notification" if self.settled or not self.has_begun:
                return NOTHING  # it is idle because no turn runs
            case "Stop" | "StopFailure" | "Notification":
                return self.stopped(kind, raw)
            case "SessionEnd":
                self.has_left = raw.get("reason") in self.left_by
        return super().take(kind, raw, now)

    def answered(self, raw: dict[str, Any]) -> list[Event]:
        """Take our answer to a question, and report the call that it denies."""
        self.asks.answered(raw)
        return []

    def stopped(self, _hook: str, _raw: dict[str, Any]) -> Reading:
        """Read a hook at the end of a turn. For an interrupt there is only the idle notification."""
        return NOTHING

    def settle(self, reported: list[Event], stop_reason: str) -> Reading:
        """Report the end of a turn."""
        self.asks.open.clear()
        reported = [*self.works_again(), *reported]
        reported += self.finish(stop_reason, aborted=stop_reason == "aborted")
        self.count_settling(reported[-1])
        return Reading(reported, active=True)
