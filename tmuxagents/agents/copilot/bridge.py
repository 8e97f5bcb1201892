"""The process in the window of a live Copilot CLI: `python -I -S bridge.py PROGRAM...`.

The bridge gives Copilot CLI a plugin of hooks, and the task in the answer to one of these hooks. It passes on
the lines that Copilot CLI adds to the log of its session.

Joins.
"""

from __future__ import annotations

import itertools
import os
import sys

if __name__ == "__main__":
    sys.path.append(__file__.rpartition("/tmuxagents/")[0])

from tmuxagents.agents import raw as raw_json
from tmuxagents.agents.brand import hook_command
from tmuxagents.agents.copilot import command
from tmuxagents.agents.hooks.bridge import GrowingFile, HookBridge, main
from tmuxagents.runs import directory
from tmuxagents.text import jsonline

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, ClassVar

_PLUGIN = {
    "name": "tmuxagents",
    "version": "1.0.0",
    "description": "Tells tmuxagents.",
    "hooks": "hooks.json",
}
_HOOKS = (command.PROMPTED, command.AFTER_TOOL, command.STOP, command.LEFT)
_HOOK_S = 20
_SESSIONS = ("--session-id", "--resume")
_DULL = (b'{"type":"system.message"',)  # its own system prompt


class CopilotBridge(HookBridge):
    """The bridge of one Copilot CLI."""

    stop, after_tool = command.STOP, command.AFTER_TOOL
    begins: ClassVar[Sequence[str]] = (command.PROMPTED,)
    ends: ClassVar[Sequence[str]] = ()  # the log shows when it has settled
    patience_ms = 250
    _log: GrowingFile | None = None
    _is_given = False

    def set_up(self, program: Sequence[str]) -> list[str]:
        """Return the command line with the plugin, whose files are in our folder."""
        hooks = {
            name: [{"type": "command", "bash": hook_command(name), "timeoutSec": _HOOK_S}] for name in _HOOKS
        }
        for name, content in (("plugin.json", _PLUGIN), ("hooks.json", {"version": 1, "hooks": hooks})):
            with open(f"{self.folder}/{name}", "wb") as file:
                file.write(jsonline.encode(content))
        home = os.environ.get("COPILOT_HOME") or os.path.expanduser("~/.copilot")
        words = [part for word in program for part in word.split("=", 1)]
        session = next((value for name, value in itertools.pairwise(words) if name in _SESSIONS), "")
        self.tell("bridge_session", session=session)
        self._log = GrowingFile(f"{home}/session-state/{session}/events.jsonl")
        return [*program, f"--plugin-dir={self.folder}"]

    def news(self) -> None:
        """Pass on the new lines of the log."""
        for line in self._log.lines() if self._log else ():
            if command.settles(raw_json.parse(line) or {}):
                self.rest()
            if not line.startswith(_DULL):
                self.write(line + b"\n")

    def pass_on(self, _name: str, _hook_input: bytes) -> None:
        """Pass on nothing: the log has the input of the hooks, too."""

    def take_hook(self, name: str, raw: dict[str, Any]) -> Mapping[str, Any] | None:
        """Replace the sentence on the command line with the task. From now on there is something to resume.

        The log reports that later: Copilot CLI writes it with a delay of up to a second.
        """
        if name != command.PROMPTED or raw.get("prompt") != command.TASK or self._is_given:
            return None
        self._is_given = True
        self.tell("bridge_prompted")
        task = directory.read_bytes(f"{self.run_dir}/prompt.txt")
        return None if task is None else {"modifiedPrompt": task.decode("utf-8", "replace")}

    def answer(self, name: str, text: str) -> Mapping[str, Any]:
        """Return the answer to a hook that takes a message."""
        return {"decision": "block", "reason": text} if name == self.stop else {"additionalContext": text}


if __name__ == "__main__":
    sys.exit(main(CopilotBridge, sys.argv[1:]))
