"""The process in the window of a live Claude Code: `python -I -S bridge.py PROGRAM...`.

Claude Code gets its hooks from its command line. The hook for a permission waits for our answer, but a person
may also answer on the screen. If the person denies, Claude Code closes the hook's connection; if they allow,
it runs the call. The bridge closes the question in both cases. Joins.
"""

from __future__ import annotations

import select
import sys

if __name__ == "__main__":
    sys.path.append(__file__.rpartition("/tmuxagents/")[0])

from tmuxagents.agents.brand import PATIENT
from tmuxagents.agents.envelope import decision
from tmuxagents.agents.hooks.bridge import GrowingFile, HookBridge, main
from tmuxagents.cpython import ignoring
from tmuxagents.text import jsonline

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from collections.abc import Iterable, Mapping
    from typing import Any

_ANSWER, _USAGE = b'"type":"assistant"', b'"usage":'
_DONE = ("PostToolUse", "PostToolUseFailure")
_CLOSES = ("UserPromptSubmit", "Stop", "StopFailure")  # these close every question


class HeldHook:
    """A hook that waits for our answer to its question. `before`: the other calls that were open then."""

    def __init__(self, line: socket.socket, asked: dict[str, Any], before: set[str]) -> None:
        self.line = line
        self.asked = asked
        self.before = before


class ClaudeBridge(HookBridge):
    """The bridge of one Claude Code, whose questions can be answered from elsewhere."""

    patience_ms = 1000
    _path = ""  # of the transcript
    _transcript: GrowingFile | None = None

    def __init__(self, run_dir: str) -> None:
        super().__init__(run_dir)
        self._held: dict[str, HeldHook] = {}
        self._count = 0
        self._calls: dict[str, str] = {}  # open calls: id -> tool

    def pass_on(self, name: str, hook_input: bytes) -> None:
        """Pass on the input of a hook. That of a question gets an id first, in `take_hook`."""
        if name != PATIENT:
            super().pass_on(name, hook_input)

    def take_hook(self, name: str, raw: dict[str, Any]) -> None:
        """Hold the hook of a question, and pass the question on with an id.

        When a call or a turn is over, close the questions that this answers.
        """
        path = raw.get("transcript_path")
        # A person may begin another session, as by `/clear`.
        begins = self._transcript is None or name == "SessionStart"
        if begins and isinstance(path, str) and path != self._path:
            self.ended()
            self._path, self._transcript = path, GrowingFile(path)
        call = str(raw.get("tool_use_id"))
        if name == PATIENT:
            self._count += 1
            ask_id, tool = str(self._count), raw.get("tool_name")
            own = next((one for one in reversed(self._calls) if self._calls[one] == tool), None)
            line = self.line.dup()
            asked = {**raw, "input": raw.get("tool_input")}
            self._held[ask_id] = HeldHook(line, asked, self._calls.keys() - {own})
            self.poll.register(line, 0)  # only to notice that it is closed
            self.write(jsonline.encode({**raw, "ask": ask_id}))
        elif name == "PreToolUse":
            self._calls[call] = str(raw.get("tool_name"))
        elif name in _DONE:
            self._calls.pop(call, None)
            self._close(one for one, held in self._held.items() if call not in held.before)
        elif name in _CLOSES:
            self._calls.clear()
            self._close(self._held)

    def ended(self) -> None:
        """Pass on the usage of calls, which the transcript may get only after the hook."""
        for line in self._transcript.lines() if self._transcript else ():
            if _ANSWER in line and _USAGE in line:
                self.write(line + b"\n")

    def news(self) -> None:
        """Pass on the usage of calls. Close the questions whose hooks are gone: a person has denied them."""
        self.ended()
        if not self._held:
            return
        poll = select.poll()
        for held in self._held.values():
            poll.register(held.line, 0)
        gone = {handle for handle, _ in poll.poll(0)}
        self._close(one for one, held in self._held.items() if held.line.fileno() in gone)

    def _close(self, ids: Iterable[str]) -> None:
        for one in list(ids):
            self._drop(one)
            self.tell("bridge_closed", ask=one)

    def _drop(self, one: str) -> None:
        line = self._held.pop(one).line
        self.poll.unregister(line)
        line.close()

    def obey(self, order: Mapping[str, Any]) -> None:
        """Answer a question. If a person has just answered it on the screen, that answer counts instead."""
        one = order.get("ask") if order.get("order") == "answer" else None
        held = self._held.get(str(one))
        if held is None:
            return
        output = {"hookEventName": PATIENT, "decision": decision(held.asked, order["answer"], order["by"])}
        with ignoring(OSError):
            held.line.sendall(jsonline.encode({"hookSpecificOutput": output}))
        self.tell("bridge_answer", **{key: order[key] for key in ("ask", "answer", "by")})
        self._drop(str(one))


if __name__ == "__main__":
    sys.exit(main(ClaudeBridge, sys.argv[1:]))
