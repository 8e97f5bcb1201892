"""What the flows of live children share: the real pi behind a desk, and hands on its windows."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Any

from tests.harness import eventually, real_pi
from tests.status.watchers import checked
from tmuxagents.runs import directory
from tmuxagents.runs.inspect import inspect
from tmuxagents.system import process

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.desk import Desk
    from tests.harness import ModelServer

SLEEPS = "Work.\n#bash:sleep 300\n#say:Done."
TOOL = '"tool_call"'
_LONG = 90.0  # a machine may be slow; nothing here waits for time to pass


def soon(check: Callable[[], Any]) -> Any:
    """Return the first truthy answer."""
    return eventually(check, _LONG)


class Live:
    """A desk where the children are real, and hands on their windows."""

    def __init__(self, desk: Desk, models: ModelServer) -> None:
        self.desk = desk
        self._gates = 0
        desk.home.be_watched()
        for name in ("models.json", "settings.json"):
            (desk.home.agent_dir / name).write_bytes((models.agent_dir / name).read_bytes())
        desk.home.environment["TMUXAGENTS_PI"] = real_pi()

    def launch(self, *arguments: str, **more: Any) -> str:
        return self.desk.launch("--live", *arguments, **more)

    def working(self, count: int, task: str = SLEEPS) -> list[str]:
        """Launch so many runs at once; return them once each is at its tool."""
        runs = [self.launch(task) for _ in range(count)]
        for run_id in runs:
            self.wait_for(run_id, TOOL)
        return runs

    def gate(self, answer: str) -> tuple[Path, str]:
        """Return a file, and a task whose tool waits until it is there."""
        self._gates += 1
        path = self.desk.home.folder / f"gate{self._gates}"
        return path, f"Work.\n#bash:until [ -e {path} ]; do sleep 0.1; done\n#say:{answer}"

    def theirs(self, count: int) -> list[str]:
        """Return runs that a person has taken over, and that have settled."""
        path, task = self.gate("First.")
        runs = self.working(count, task)
        for run_id in runs:
            self.say(run_id, "And #say:Second.")
        path.touch()
        for run_id in runs:
            self.settled(run_id)
        return runs

    # --- the window ---

    def press(self, run_id: str, *keys: str) -> None:
        """Press keys in the window, by tmux's names."""
        self.desk.tmux("send-keys", "-t", self.desk.windows()[run_id], *keys)

    def type(self, run_id: str, text: str) -> None:
        """Type a text, and see it there."""
        self.press(run_id, "-l", text)
        soon(lambda: text in self.screen(run_id))

    def say(self, run_id: str, text: str) -> None:
        """Type a line."""
        self.type(run_id, text)
        self.press(run_id, "Enter")

    def leave_by_keys(self, run_id: str) -> None:
        """Press what leaves pi until it has left: two presses count only if they come soon."""

        def has_left() -> bool:
            if run_id in self.desk.windows() and not self.has_ended(run_id):
                self.press(run_id, "C-c")
            return self.has_ended(run_id)

        soon(has_left)

    def screen(self, run_id: str) -> str:
        return self.desk.tmux("capture-pane", "-p", "-S", "-", "-t", self.desk.windows()[run_id])

    # --- what is told ---

    def wait_for(self, run_id: str, word: str) -> None:
        """Wait until the events of a run hold a word; it must not end before."""
        log = self.desk.folder(run_id) / directory.EVENTS

        def has_come() -> bool:
            return log.exists() and word in log.read_text()

        soon(lambda: has_come() or self.has_ended(run_id))
        assert has_come(), directory.read_result(str(self.desk.folder(run_id)))

    def runs_besides(self, *known: str) -> list[str]:
        """Return the other runs that have a wrapper."""
        others = [run_id for run_id in self.desk.runs() if run_id not in known]
        return [run_id for run_id in others if directory.read_wrapper(str(self.desk.folder(run_id)))]

    def has_ended(self, run_id: str) -> bool:
        return (self.desk.folder(run_id) / directory.RESULT).exists()

    def run(self, run_id: str) -> dict[str, Any]:
        """Return the run as poll tells it."""
        found: dict[str, Any] = checked(self.desk("poll", "--json", run_id).stdout)["runs"][0]
        return found

    def settled(self, run_id: str) -> dict[str, Any]:
        """Wait until a person's run has settled."""
        found: dict[str, Any] = soon(lambda: [run for run in [self.run(run_id)] if run["settled"]])[0]
        return found

    def result(self, run_id: str) -> dict[str, Any]:
        soon(lambda: self.has_ended(run_id))
        return checked((self.desk.folder(run_id) / directory.RESULT).read_text(), "result")

    def how(self, run_id: str) -> tuple[str, str]:
        result = self.result(run_id)
        return result["status"], result["reason"]

    def events(self, run_id: str, kind: str = "") -> list[dict[str, Any]]:
        lines, _ = directory.read_lines(str(self.desk.folder(run_id) / directory.EVENTS), 0)
        events = [checked(line.decode(), "event") for line in lines]
        return [event for event in events if kind in ("", event["type"])]

    def child(self, run_id: str) -> int:
        return int(self.events(run_id, "run_started")[0]["pid"])

    def wrapper(self, run_id: str) -> int:
        identity = directory.identity_of(directory.read_wrapper(str(self.desk.folder(run_id))))
        assert identity is not None
        return identity.pid

    def leave(self) -> None:
        """End what still runs."""
        for run_id in self.desk.runs():
            folder = str(self.desk.folder(run_id))
            identity = directory.identity_of(directory.read_wrapper(folder))
            if identity is not None and not inspect(folder).ended:
                process.send(identity.pid, identity.start_time, signal.SIGTERM)
