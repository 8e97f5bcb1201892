"""The rows of the ending matrix that the real pi runs, against the project's own model server.

The first words of each task choose the server's script; the server's log must show that pi really asked.
"""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

from tests.harness import eventually
from tests.torture.endings import Ending, after_settling, kill_wrapper
from tests.torture.scripted import L_MESSAGE
from tmuxagents.records import ABORTED, COMPLETED, FAILED, LOST_MESSAGE

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.harness import Run

NO_DEBOUNCE = {"TMUXAGENTS_EXTEND_TIMEOUT_DEBOUNCE": "0"}


class RealEnding(Ending):
    """One row; `asked` is how often pi asks the model for it."""

    asked = range(1, 2)


def row(asked: int | range, ending: RealEnding) -> RealEnding:
    ending.asked = asked if isinstance(asked, range) else range(asked, asked + 1)
    return ending


def in_tool(act: Callable[[Run], None]) -> Callable[[Run], None]:
    """Act while a tool of pi's runs."""

    def fault(run: Run) -> None:
        run.wait_for("tool_call")
        eventually(lambda: [pid for pid in run.left_over() if pid != run.child])
        act(run)

    return fault


def signal_wrapper(number: int) -> Callable[[Run], None]:
    return lambda run: run.signal(number)


def signal_child(number: int) -> Callable[[Run], None]:
    return lambda run: os.kill(run.child, number)


R = RealEnding
LOOPED = range(5, 42)  # pi asks on until our TERM reaches it; the 41st request is never answered
REAL_ENDINGS = [
    row(
        1,
        R(
            "pi: text",
            "#script:text",
            (COMPLETED, "done"),
            output="Hello from the model server. All is well.",
        ),
    ),
    row(6, R("pi: tools", "#script:tools", (COMPLETED, "done"), output="Done: notes.txt says three.")),
    row(3, R("pi: tool errors", "#script:badtool", (COMPLETED, "done"))),
    row(1, R("pi: empty answer", "#script:empty", (COMPLETED, "done"))),
    row(1, R("pi: thinks", "#script:think", (COMPLETED, "done"), output="I have thought about it.")),
    row(3, R("pi: recovered retries", "#script:flaky", (COMPLETED, "done"))),
    row(1, R("pi: 401", "#script:err401", (FAILED, "error"), "401: …")),
    row(1, R("pi: 404", "#script:err404", (FAILED, "error"), "404: …")),
    row(1, R("pi: quota", "#script:quota", (FAILED, "error"), "429: …")),
    row(4, R("pi: 500 after retries", "#script:err500", (FAILED, "error"), "500: …")),
    row(4, R("pi: cut connection", "#script:drop", (FAILED, "error"), "terminated")),
    row(1, R("pi: context overflow", "#script:overflow", (FAILED, "error"), "400: …")),
    row(
        1,
        R(
            "pi: output limit",
            "#script:length",
            (FAILED, "length"),
            "The answer was cut at the model's output limit.",
        ),
    ),
    row(2, R("pi: leaves a background process", "#script:nohup", (COMPLETED, "done"))),
    row(LOOPED, R("pi: loop", "#script:loop", (FAILED, "loop"), L_MESSAGE, ends=143)),
    row(
        1,
        R(
            "pi: timeout",
            "#script:hang",
            (FAILED, "timeout"),
            "Timed out after 15s. Consider resuming with a longer timeout.",
            ends=143,
            changes={"timeout": 15},
            extra=NO_DEBOUNCE,
        ),
    ),
    row(
        1,
        R(
            "pi: timeout in a tool",
            "#script:ignoreterm",
            (FAILED, "timeout"),
            "Timed out after 15s. Consider resuming with a longer timeout.",
            ends=143,
            changes={"timeout": 15},
            extra=NO_DEBOUNCE,
        ),
    ),
    row(
        1,
        R(
            "pi: stop",
            "#script:sleep",
            (ABORTED, "stopped"),
            "Stopped.",
            ends=143,
            fault=in_tool(signal_wrapper(signal.SIGTERM)),
        ),
    ),
    row(
        1,
        R(
            "pi: the parent cancels",
            "#script:sleep",
            (ABORTED, "parent"),
            "The parent cancelled the call.",
            ends=143,
            fault=in_tool(signal_wrapper(signal.SIGINT)),
        ),
    ),
    row(
        1,
        R(
            "pi: hang-up",
            "#script:sleep",
            (ABORTED, "closed"),
            "The window was closed.",
            ends=143,
            fault=in_tool(signal_wrapper(signal.SIGHUP)),
        ),
    ),
    row(
        1,
        R(
            "pi: TERM from outside",
            "#script:sleep",
            (FAILED, "exit"),
            "The child exited with code 143.",
            ends=143,
            fault=in_tool(signal_child(signal.SIGTERM)),
        ),
    ),
    row(
        1,
        R(
            "pi: KILL from outside",
            "#script:sleep",
            (FAILED, "signal"),
            "The child was killed by SIGKILL.",
            ends="SIGKILL",
            fault=in_tool(signal_child(signal.SIGKILL)),
        ),
    ),
    row(
        1,
        R(
            "pi: stop just after settling",
            "#script:text",
            (COMPLETED, "done"),
            fault=after_settling(signal.SIGTERM),
        ),
    ),
    row(
        1,
        R(
            "pi: wrapper killed",
            "#script:sleep",
            (ABORTED, "lost"),
            LOST_MESSAGE,
            ends=None,
            fault=in_tool(kill_wrapper("tool_call")),
            concluded=True,
        ),
    ),
    row(
        0,
        R(
            "pi: no API key",
            "hello",
            (FAILED, "exit"),
            "…",
            ends=1,
            changes={"resolvedModel": "anthropic/claude-sonnet-4-5"},
        ),
    ),
    row(
        0,
        R(
            "pi: unknown provider",
            "hello",
            (FAILED, "exit"),
            'Error: Model "nosuch/x" not found. Use --list-models to see available models.',
            ends=1,
            changes={"resolvedModel": "nosuch/x"},
        ),
    ),
]
