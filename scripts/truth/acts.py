"""What is done to a run while its child works or asks."""

from __future__ import annotations

import json
import os
import signal
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from scripts.truth.lookout import command_of
from tests.harness import eventually
from tmuxagents.runs import directory
from tmuxagents.system import process_table

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.desk import Desk

    Act = Callable[[Desk, str], object]

Json = dict[str, Any]
GATE, SECOND = "go", "Second."  # a file in the project, and the answer to what a person types
_PATIENCE_S, _SHOWN_WITHIN_S = 60.0, 5.0
_PRESSES_EACH_S, _SILENT_S = 0.4, 2.0


def wait_for_tool(run_id: str, *begins: str) -> None:
    """Wait until the shell command of the script runs in this run."""
    wanted = list(begins or ("tail", "-f"))

    def runs() -> bool:
        rows = [row for row in process_table.table(since=0) if row.marker == run_id]
        return any(command_of(row.pid)[: len(wanted)] == wanted for row in rows)

    eventually(runs, _PATIENCE_S)


def events_of(folder: Path) -> list[Json]:
    """Return the events of a run."""
    lines, _ = directory.read_lines(f"{folder}/{directory.EVENTS}", 0)
    return [json.loads(line) for line in lines if line]


def child_of(folder: Path) -> int:
    """Return the child of a run."""
    started = next(event for event in events_of(folder) if event["type"] == "run_started")
    return int(started["pid"])


def signal_group(number: int) -> Act:
    """Return what sends a signal to the child and its group, as a person's Ctrl-C or a system's end does."""
    return lambda desk, run_id: os.killpg(child_of(desk.folder(run_id)), number)


def kill_wrapper(desk: Desk, run_id: str) -> None:
    """Kill the process in the window at once."""
    identity = directory.identity_of(directory.read_wrapper(str(desk.folder(run_id))))
    assert identity is not None
    os.kill(identity.pid, signal.SIGKILL)


def close(desk: Desk, run_id: str) -> None:
    """Close the window."""
    desk.tmux("kill-window", "-t", desk.windows()[run_id])


def run_of(desk: Desk, run_id: str) -> Json:
    """Return the run as poll tells it."""
    found: Json = json.loads(desk("poll", "--json", run_id).stdout)["runs"][0]
    return found


def wait_for_question(desk: Desk, run_id: str) -> Json:
    """Wait until the run asks something; return the question."""

    def asks() -> list[Json]:
        assert not (desk.folder(run_id) / directory.RESULT).exists(), "it ended without a question"
        found: list[Json] = run_of(desk, run_id).get("asks") or []
        return found

    asked: Json = eventually(asks, _PATIENCE_S)[0]
    assert asked["text"], f"a question without words: {asked}"
    return asked


def answered(answer: str) -> Act:
    """Return what answers the question of a run."""

    def act(desk: Desk, run_id: str) -> None:
        wait_for_question(desk, run_id)
        done = desk("answer", run_id, answer)
        assert done.returncode == 0, f"answer: {done.stderr.strip()}"

    return act


def take_over(desk: Desk, run_id: str) -> None:
    """Type a second task into the screen of a child that works, let it settle, and leave by Ctrl-C."""
    wait_for_tool(run_id, "sleep", "0.25")
    window = desk.windows()[run_id]

    def screen() -> str:
        return desk.tmux("capture-pane", "-p", "-t", window)

    def wait_until(what: str, check: Callable[[], Any]) -> None:
        try:
            eventually(check, _PATIENCE_S)
        except AssertionError:
            shown = " / ".join(filter(None, map(str.strip, screen().splitlines())))
            raise AssertionError(f"{what}: {shown[-300:]}") from None

    def has_left() -> bool:
        if run_id in desk.windows() and not (desk.folder(run_id) / directory.RESULT).exists():
            desk.tmux("send-keys", "-t", window, "C-c")
        with suppress(AssertionError):  # at a person's pace
            eventually((desk.folder(run_id) / directory.RESULT).exists, _PRESSES_EACH_S)
        return (desk.folder(run_id) / directory.RESULT).exists()

    typed = f"And #say:{SECOND}"

    def is_typed() -> bool:
        """Type it, unless it is there: a screen that is still being drawn may lose keys."""
        desk.tmux("send-keys", "-t", window, "C-u")
        desk.tmux("send-keys", "-t", window, "-l", typed)
        with suppress(AssertionError):
            eventually(lambda: typed in screen(), _SHOWN_WITHIN_S)
        return typed in screen()

    wait_until("what is typed is not shown", is_typed)
    for _ in range(2):  # Codex takes an Enter right after other keys for a part of what is pasted
        desk.tmux("send-keys", "-t", window, "Enter")
        with suppress(AssertionError):  # Claude Code tells of it once the tool is done
            eventually(lambda: run_of(desk, run_id).get("attended"), _SHOWN_WITHIN_S)
            break
    (desk.home.project / GATE).touch()
    wait_until("it does not answer", lambda: SECOND in said_by(desk, run_id))
    wait_until("it does not settle", lambda: rests(desk, run_id))
    wait_until("it does not leave", has_left)


def rests(desk: Desk, run_id: str) -> bool:
    """Say whether a run has settled, and is silent: Copilot CLI may go on because a shell has ended."""
    last = events_of(desk.folder(run_id))[-1]["at"]
    return bool(run_of(desk, run_id).get("settled")) and time.time() - last > _SILENT_S


def said_by(desk: Desk, run_id: str) -> list[str]:
    """Return the answers of a run."""
    return [event["text"] for event in events_of(desk.folder(run_id)) if event["type"] == "assistant_text"]


def say_yes(desk: Desk, run_id: str) -> None:
    """Press Enter at the question on the screen of a child: the first choice is yes."""

    def asks() -> bool:
        said = [
            one for one in events_of(desk.folder(run_id)) if one["type"] in ("needs_input", "input_given")
        ]
        return bool(said) and (said[-1]["type"], said[-1]["kind"]) == ("needs_input", "permission")

    def is_answered() -> bool:
        desk.tmux("send-keys", "-t", desk.windows()[run_id], "Enter")
        with suppress(AssertionError):
            eventually(lambda: not asks(), _SHOWN_WITHIN_S)
        return not asks()

    eventually(asks, _PATIENCE_S)
    assert run_of(desk, run_id)["needsInput"], "poll does not say that it waits"
    eventually(is_answered, _PATIENCE_S)


def in_a_tool(act: Act) -> Act:
    """Return an act that waits until the child's tool runs."""

    def both(desk: Desk, run_id: str) -> None:
        wait_for_tool(run_id)
        act(desk, run_id)

    return both


SAY_NOTHING, TAKE_OVER = "say_nothing", "take_over"
ACTS: dict[str, Act] = {
    "term": in_a_tool(signal_group(signal.SIGTERM)),
    "int": in_a_tool(signal_group(signal.SIGINT)),
    "kill": in_a_tool(signal_group(signal.SIGKILL)),
    "stop": in_a_tool(lambda desk, run_id: desk("stop", run_id)),
    "close": in_a_tool(close),
    "kill_wrapper": in_a_tool(kill_wrapper),
    "allow": answered("allow"),
    "deny": answered("deny"),
    SAY_NOTHING: wait_for_question,
    "say_yes": say_yes,
    TAKE_OVER: take_over,
}
LINGER = "linger"  # the program itself stays after its end
