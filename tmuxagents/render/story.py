"""The story of a run as blocks: one for each call, answer, thought and message, and one for its end. Pure.

The one model behind the child's window, `transcript`, `top`, `export` and `replay`:

    story = Story(tool_calls.WINDOW)       # or tool_calls.WHOLE, which keeps more of each call
    story.head(plan, home="/home/ann")
    for event in events:
        story.take(event)
    story.close(verdict, seconds, state)   # once the run has ended

    for block in [*story.blocks, *story.open]:
        for row in rows.of(block, 80):     # a row is a list of (style, text), see render/styles
            ...

A block in `blocks` never changes, so its rows can be kept as long as the width is the same. A call is in
`open` while it runs; when it ends, it moves to the end of `blocks`. `rows.all_rows` returns the rows of
several blocks, with an empty row where one belongs. `reading.StoryReader` does all that for a run directory.
"""

from __future__ import annotations

from tmuxagents import records
from tmuxagents.render import tool_calls
from tmuxagents.runs import narration
from tmuxagents.runs.events import is_figure, text_of
from tmuxagents.runs.narration import OpenCalls
from tmuxagents.text import figures, provider_error, safe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from tmuxagents.records import Plan, Verdict
    from tmuxagents.render.tool_calls import Limits, Part
    from tmuxagents.runs.events import Event
    from tmuxagents.runs.lifecycle import RunState

HEAD, CALL, SAID, THOUGHT, NOTE, ASKS, SENT, END = (
    *("head", "call", "said", "thought", "note", "asks", "sent", "end"),
)
WORKS, GOOD, BAD = "works", "good", "bad"
_PHRASE = 2000  # characters of a phrase; more than fits on any screen
_THOUGHT = 600
_NOTE_LENGTH = 2000
_SENT_LENGTH = 4000
WORTH_SHOWING_S = 0.3  # a call that takes longer is shown before it has ended
_SENT = {"human_input": "Typed", "message_sent": "Sent"}
SHOWN = frozenset(  # the types of the events that are shown
    (
        *("assistant_text", "thinking", "tool_call", "tool_result", "retry", "stderr", "left_behind"),
        *("needs_input", "denied", *_SENT),
    )
)
_STARTED = "run_started"
NEEDED = SHOWN | {_STARTED}  # the types of the events that a story needs: clocks count from the start


class Block:
    """One thing that is shown. Its kind decides which fields are used, and what they hold.

    - CALL: the phrase in `words`, the tool in `label`, a remark in `aside`, the lines below it in `parts`.
    - SENT: the message in `words`, how it came in `label`.
    - ASKS: the question in `words`, the command that answers it in `aside`.
    - HEAD: the task in `words`, the facts of the plan in `parts`, as (name, value).
    - END: the status in `words`, the reason in `label`, the message in `aside`, what was used in `parts`.
    - SAID, THOUGHT, NOTE: only `words`.
    """

    __slots__ = (
        *("aside", "at", "code", "kind", "label", "lasted"),
        *("parts", "since", "stamp", "state", "words"),
    )

    def __init__(self, kind: str, words: str, *, at: float = 0.0, state: str = GOOD) -> None:
        self.kind = kind
        self.words = words
        self.at = at  # when it happened
        self.since = 0.0  # `at`, counted from the start of the run
        self.stamp = ""  # `at`, as a person's clock shows it, if wanted
        self.state = state
        self.label = ""
        self.aside = ""
        self.lasted: float | None = None  # of a call or a run, in seconds
        self.code: int | None = None  # the exit code of a call that failed
        self.parts: Sequence[Part] = ()

    @property
    def size(self) -> int:
        """Return roughly how many characters it holds."""
        return len(self.words) + sum(len(words) for _, words in self.parts)


class Story:
    """The blocks of one run, made from its events one after another."""

    __slots__ = ("_began", "_called", "_limits", "_open", "_size", "_stamp", "blocks", "forgotten")

    def __init__(
        self, limits: Limits = tool_calls.WINDOW, stamp: Callable[[float], str] | None = None
    ) -> None:
        self.blocks: list[Block] = []
        self.forgotten = 0  # the number of older blocks that were dropped from a very long story
        self._limits = limits
        self._stamp = stamp  # formats a time as a person's clock shows it
        self._size = 0
        self._open = OpenCalls()
        self._began: float | None = None
        self._called = ""  # the run's name for a command line

    @property
    def open(self) -> list[Block]:
        """Return the calls that have no result yet, the oldest first."""
        return [block for _, _, block in self._open.all]

    def head(self, plan: Plan, home: str = "") -> None:
        """Begin with the head: the run's name, agent and model, directory and task."""
        block = Block(HEAD, safe.text(plan.task[:_SENT_LENGTH]).strip())
        cwd = safe.line(plan.cwd)
        if home and (cwd + "/").startswith(home.rstrip("/") + "/"):
            cwd = "~" + cwd[len(home.rstrip("/")) :]
        names = (plan.name or plan.run_id[:8], plan.agent, plan.resolved_model or "", plan.preset or "")
        name, agent, model, preset = (safe.line(word) for word in names)
        self._called = name if name.isascii() else plan.run_id[:8]
        block.parts = [("name", name), ("agent", agent), ("model", model), ("preset", preset), ("cwd", cwd)]
        self._add(block)

    def take(self, event: Event) -> None:  # noqa: C901, PLR0912  (a case for each kind)
        """Add an event to the story."""
        if event.type == _STARTED or (self._began is None and event.type in SHOWN):
            self._began = event.at or self._began
        if event.type not in SHOWN:
            return
        fields, at = event.fields, event.at
        text = text_of(fields.get("text"))
        match event.type:
            case "tool_call":
                self._begin_call(fields, at)
            case "tool_result":
                self._end_call(fields, at)
            case "assistant_text":
                if len(text) > self._limits.answer:
                    half = self._limits.answer // 2
                    text = f"{text[:half]}\n\n[… {len(text) - 2 * half:,} characters …]\n\n{text[-half:]}"
                clean = safe.text(text).strip("\n")
                if clean.strip():
                    self._add(Block(SAID, clean, at=at))
            case "thinking":
                words = safe.line(text[:_THOUGHT])
                if words:
                    self._add(Block(THOUGHT, words, at=at))
            case "retry":
                self._retry(fields, at)
            case "stderr":
                self.note(f"stderr: {safe.line(text)}", at)
            case "left_behind":
                self.note(narration.entry(event, None) or "", at)
            case "denied":
                self._denied(fields, at)
            case _:  # a question of the child, or a message to it
                words = safe.text((text or text_of(fields.get("kind")))[:_SENT_LENGTH]).strip()
                block = Block(SENT if event.type in _SENT else ASKS, words, at=at)
                block.label = _SENT.get(event.type, "")
                if fields.get("ask") is not None and block.kind == ASKS and self._called:
                    block.aside = f"tmuxagents answer {self._called} allow, or deny"
                self._add(block)

    def note(self, words: str, at: float = 0.0) -> None:
        """Add a remark."""
        clean = safe.text(words[:_NOTE_LENGTH]).rstrip()
        if clean:
            self._add(Block(NOTE, clean, at=at))

    def close(self, verdict: Verdict, seconds: float, state: RunState | None = None) -> None:
        """Add the end: how the run ended, after how long, and what it used."""
        for block in self.open:
            self._open.answered(None, block.label)
            block.state = BAD
            self._add(block)
        self._add(closing(verdict, seconds, state))

    def _add(self, block: Block) -> None:
        self._stamp_block(block)
        self.blocks.append(block)
        self._size += block.size
        if self._size > self._limits.size or len(self.blocks) > self._limits.blocks:
            # The older half is dropped: a child that never stops must not fill the memory.
            count = len(self.blocks) // 2
            self.forgotten += count
            del self.blocks[:count]
            self.blocks[0] = Block(NOTE, f"… {self.forgotten + 1:,} earlier parts are not shown")
            self._size = sum(block.size for block in self.blocks)

    def _stamp_block(self, block: Block) -> None:
        if block.at and self._began is not None:
            block.since = max(0.0, block.at - self._began)
        if block.at and self._stamp is not None:
            block.stamp = self._stamp(block.at)

    def _begin_call(self, fields: Mapping[str, Any], at: float) -> None:
        tool, args = narration.named_tool(fields), fields.get("args")
        phrase, _ = narration.phrase_of_call(tool, args, _PHRASE)
        block = Block(CALL, safe.line(phrase[:_PHRASE]), at=at, state=WORKS)
        block.label = tool
        self._stamp_block(block)
        block.aside = tool_calls.about(tool, args)
        block.parts = tool_calls.change_of(tool, args, self._limits)
        self._open.open(narration.named_call(fields), tool, block)

    def _end_call(self, fields: Mapping[str, Any], at: float) -> None:
        named = narration.named_tool(fields)
        found = self._open.answered(narration.named_call(fields), named)
        if found is None:
            block = Block(CALL, safe.line(narration.phrase_of_call(named, None)[0]))
            block.label = named
        else:
            block = found[1]
        block.at = at
        block.state = BAD if fields.get("isError") is True else GOOD
        milliseconds: Any = fields.get("durationMs")
        block.lasted = milliseconds / 1000 if is_figure(milliseconds) else None
        lines, block.code = tool_calls.output_end(fields, self._limits)
        if block.state == BAD:
            block.parts = lines
        elif not block.parts:
            summary = tool_calls.summary(block.label, fields)
            block.aside = summary or block.aside
            block.parts = lines if self._limits.all or not summary else ()
        self._add(block)

    def _retry(self, fields: Mapping[str, Any], at: float) -> None:
        delay: Any
        attempt, most, delay = (fields.get(key) for key in ("attempt", "maxAttempts", "delayMs"))
        tries = f"Retry {attempt}/{most}" if is_figure(attempt) and is_figure(most) else "Retry"
        pause = f" in {figures.lasted(delay / 1000)}" if is_figure(delay) and delay > 0 else ""
        why = provider_error.sentence(text_of(fields.get("errorMessage")))
        self.note(f"{tries}{pause}{': ' if why else ''}{why}", at)

    def _denied(self, fields: Mapping[str, Any], at: float) -> None:
        tool, call = safe.line(text_of(fields.get("toolName"))), narration.named_call(fields)
        found = None if call is None else self._open.answered(call, tool)
        if found is not None:  # the call is over, and gets no result
            block: Block = found[1]
            block.at, block.state = at, BAD
            self._add(block)
        self.note(f"Denied: {tool}: {text_of(fields.get('why'))}", at)


def closing(verdict: Verdict, seconds: float, state: RunState | None = None) -> Block:
    """Return the end of a run: `completed in 1m 12s · 8 tools · ↑8.9k ↓1.9k · $0.06`, or why it failed."""
    good = verdict.status == records.COMPLETED
    block = Block(END, verdict.status, state=GOOD if good else BAD)
    block.lasted = seconds
    if state is not None:
        tools, used = state.tool_count, state.usage
        refused = f"{state.denied} denied" if state.denied else ""
        calls_made = figures.counted(tools, "tool") if tools else ""
        parts = (refused, calls_made, figures.tokens(used), figures.money(used["cost"]))
        block.parts = [("used", part) for part in parts if part]
    if not good:
        block.label = safe.line(verdict.reason)
        why = provider_error.sentence(verdict.error_message or "")
        block.aside = why if why != "Stopped." else ""
    return block
