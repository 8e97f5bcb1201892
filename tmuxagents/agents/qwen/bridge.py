"""The process in the window of a live Qwen Code: `python -I -S bridge.py PROGRAM...`.

The hooks are in a settings file of the lowest rank (system defaults), together with the machine's own
defaults. Qwen Code also writes its lines to a file, the second output (`--json-file`). The bridge holds back
the end of a turn for 0.3 s: the last lines of that file may come after the hook, and a failed turn may first
be reported as idle.

Joins.
"""

from __future__ import annotations

import os
import sys
import time

if __name__ == "__main__":
    sys.path.append(__file__.rpartition("/tmuxagents/")[0])

from tmuxagents.agents import raw as raw_json
from tmuxagents.agents.brand import hook_command
from tmuxagents.agents.envelope import ALLOW
from tmuxagents.agents.hooks.bridge import GrowingFile, HookBridge, main
from tmuxagents.runs import directory
from tmuxagents.text import jsonline

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, ClassVar

_ENDS = ("Stop", "StopFailure")
_BEGINS, _LEFT, _PROMPTED = "SessionStart", "SessionEnd", "UserPromptSubmit"
_IDLE, _TOOL = "Notification", "PostToolUse"
_DEFAULTS = "QWEN_CODE_SYSTEM_DEFAULTS_PATH"
_SETTINGS, _OF_MACHINE = "QWEN_CODE_SYSTEM_SETTINGS_PATH", "/etc/qwen-code/settings.json"
_HELD_S = 0.3
# Node takes these characters for the end of a line.
_LINE_ENDS = {"\u2028".encode(): b"\\u2028", "\u2029".encode(): b"\\u2029"}


class QwenBridge(HookBridge):
    """The bridge of one Qwen Code."""

    stop, after_tool = "", _TOOL
    begins: ClassVar[Sequence[str]] = (_PROMPTED,)
    ends: ClassVar[Sequence[str]] = ()
    patience_ms = 250
    _output: GrowingFile | None = None
    _first: bytes | None = b""  # the first hook, held until the second output begins
    _held: tuple[bytes, float] | None = None  # the end of a turn, and when to pass it on

    def set_up(self, program: Sequence[str]) -> list[str]:
        """Return the command line with the files for output and input; a variable names the settings."""
        self.works = False
        beside = os.path.dirname(os.environ.get(_SETTINGS) or _OF_MACHINE)
        path = os.environ.get(_DEFAULTS) or f"{beside}/system-defaults.json"
        text = directory.read_bytes(path)
        try:
            own = raw_json.table(jsonline.decode(text.decode("utf-8", "replace")) if text else {})
        except ValueError:
            raise SystemExit(f"{path} is no plain JSON, so Qwen Code cannot run live here.") from None
        listed = raw_json.table(own.get("hooks"))
        one = [{"hooks": [{"type": "command", "command": hook_command()}]}]
        ours = {
            name: [*raw_json.listed(listed.get(name)), *one]
            for name in (*_ENDS, _BEGINS, _IDLE, _LEFT, _PROMPTED, _TOOL)
        }
        with open(f"{self.folder}/defaults.json", "wb") as file:
            file.write(jsonline.encode({**own, "hooks": {**listed, **ours}}))
        os.environ[_DEFAULTS] = f"{self.folder}/defaults.json"
        open(f"{self.folder}/input", "wb").close()
        self._output = GrowingFile(f"{self.folder}/output")
        return [*program, f"--json-file={self.folder}/output", f"--input-file={self.folder}/input"]

    def news(self) -> None:
        """Pass on new lines of the second output, and the end of a turn when it is time."""
        for line in self._output.lines() if self._output else ():
            self.write(line + b"\n" + (self._first or b""))
            self._first = None
        if self._held is not None and time.monotonic() >= self._held[1]:
            self._let_go()

    def _let_go(self) -> None:
        """Pass on the end of a turn, and submit the messages that waited for it."""
        held, self._held = self._held, None
        if held is not None:
            self.write(held[0] + b"\n")
            waiting = list(self.queue)
            self.rest()
            for order in waiting:
                self._submit(order["inboxId"], order["text"])

    def pass_on(self, name: str, hook_input: bytes) -> None:
        """Pass on those hooks that report what the second output does not."""
        is_idle = name == _IDLE and b'"idle_prompt"' in hook_input and self.works and self._held is None
        if name == _BEGINS:
            if self._first is None:
                self.write(hook_input + b"\n")
            else:
                self._first = hook_input + b"\n"
        elif name in _ENDS or is_idle:
            self._held = hook_input, time.monotonic() + _HELD_S
        elif name in (_LEFT, _PROMPTED):
            self._let_go()
            self.works = name == _PROMPTED
            if name == _LEFT:
                self.write(hook_input + b"\n")

    def obey(self, order: Mapping[str, Any]) -> None:
        """Submit the task, or a message to a Qwen Code at rest; or answer a question."""
        if order.get("order") == "task":
            task = directory.read_bytes(f"{self.run_dir}/prompt.txt") or b""
            self._submit(0, task.decode("utf-8", "replace"))
        elif order.get("order") == "say":
            self._submit(order["inboxId"], str(order["text"]))
        elif order.get("order") == "answer":
            self.tell("bridge_answer", **{key: order[key] for key in ("ask", "answer", "by")})
            allowed = order["answer"] == ALLOW
            self._input({"type": "confirmation_response", "request_id": order["ask"], "allowed": allowed})

    def _submit(self, number: int, text: str) -> None:
        self._input({"type": "submit", "text": text})
        self.tell("bridge_says", inboxId=number, text=text)

    def _input(self, order: dict[str, Any]) -> None:
        line = jsonline.encode(order)
        for end, escaped in _LINE_ENDS.items():
            line = line.replace(end, escaped)
        with open(f"{self.folder}/input", "ab") as file:
            file.write(line)


if __name__ == "__main__":
    sys.exit(main(QwenBridge, sys.argv[1:]))
