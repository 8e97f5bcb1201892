"""A stand-in for Copilot CLI that keeps a log of its session, and counts the session as a whole.

It is killed if the task says so: `die` after its first call of the model, `vanish` before it has a log.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

CALL = {"inputTokens": 100, "outputTokens": 10}


def say(kind: str, **data: object) -> None:
    """Print one line."""
    print(json.dumps({"type": kind, "data": data}), flush=True)


def main(words: list[str]) -> None:
    """Carry out one task."""
    if words == ["--version"]:
        print("1.0.102")
        return
    known = [word.removeprefix("--resume=") for word in words if word.startswith("--resume=")]
    session = known[0] if known else words[words.index("--session-id") + 1]
    log = Path(os.environ["COPILOT_HOME"]) / "session-state" / session / "events.jsonl"
    (log.parents[1]).mkdir(parents=True, exist_ok=True)
    task = sys.stdin.read()
    say("session.tools_updated", model="m")
    say("assistant.turn_start")
    if task == "vanish":
        os.kill(os.getpid(), signal.SIGKILL)
    log.parent.mkdir(exist_ok=True)
    with log.open("a") as file:
        for line in ({"type": "user.message"}, {"type": "session.usage_record", "data": {"usage": CALL}}):
            file.write(json.dumps(line, separators=(",", ":")) + "\n")
    if task == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    say("assistant.message", content=task)
    say("assistant.idle")
    print(json.dumps({"type": "result", "sessionId": session, "exitCode": 0}), flush=True)
    calls = log.read_text().count("usage_record")
    used = {"m": {"usage": {name: calls * number for name, number in CALL.items()}}}
    Path(words[words.index("--usage-output-file") + 1]).write_text(json.dumps({"modelMetrics": used}))


main(sys.argv[1:])
