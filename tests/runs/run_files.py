"""The documents of one run directory, with letters of every kind."""

from __future__ import annotations

from tmuxagents.runs import directory, documents

RUN = "0123456789abcdef"
META = {"v": 1, "runId": RUN, "task": "Zähle 'a' und \"b\" \N{GRINNING FACE}\n\x01\udc80", "cwd": "/x/\udcff"}
WRAPPER = {"v": 1, "host": "h", "bootId": "b", "pidNamespace": 3, "pid": 4, "startTime": 5, "tmux": {}}
RESULT = {"v": 1, "status": "completed", "reason": "done", "output": "fine"}


def read_meta(run_dir: str) -> object:
    plan = directory.read_plan(run_dir)
    return None if plan is None else documents.meta(plan)
