"""A stand-in for an agent with hooks on a terminal: it calls its hooks and prints their answers.

It finds its hooks as its brand does: in `--settings=JSON`, in the folder of `--plugin-dir=`, or in the file
that QWEN_CODE_SYSTEM_DEFAULTS_PATH names. Each word after `--` is what one hook is given, as JSON.
`wait:FILE` waits until a file is there, `log:FILE=LINE` appends a line to a file, also of a flag,
`read` prints the lines of `--input-file=` so far, `settings` its settings, and `stay` waits for a signal.
`asks:JSON` calls a hook and goes on, `refuse` ends the newest of those.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any


def flag(name: str) -> str:
    """Return the value of a flag."""
    return next((word.partition("=")[2] for word in sys.argv if word.startswith(f"{name}=")), "")


def hooks() -> dict[str, Any]:
    """Return its hooks."""
    if flag("--plugin-dir"):
        plugin = Path(flag("--plugin-dir"))
        listed = json.loads((plugin / "plugin.json").read_text())["hooks"]
        found = json.loads((plugin / listed).read_text())["hooks"]
        return {name: one["bash"] for name, (one,) in found.items()}
    path = os.environ.get("QWEN_CODE_SYSTEM_DEFAULTS_PATH")
    settings = json.loads(Path(path).read_text() if path else flag("--settings"))
    return {
        name: listed[-1]["hooks"][0]["command"] for name, listed in settings["hooks"].items() if listed != [1]
    }


def called_with(command: str, given: str) -> subprocess.Popen[bytes]:
    """Start a hook as a shell would."""
    process = subprocess.Popen(
        command, shell=True, start_new_session=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdin is not None
    process.stdin.write(given.encode())
    process.stdin.close()
    return process


def hold(called: dict[str, Any], waiting: list[subprocess.Popen[bytes]], given: str) -> None:
    """Call a hook and let it wait; without words, end the newest of those."""
    if given:
        waiting.append(called_with(called[json.loads(given)["hook_event_name"]], given))
    else:
        os.killpg(waiting[-1].pid, signal.SIGTERM)
        waiting.pop().wait()


def main() -> None:
    """Do what the words ask for."""
    called = hooks()
    waiting: list[subprocess.Popen[bytes]] = []
    at = sys.argv.index("--") + 1
    words = [word for word in sys.argv[at:] if not word.startswith("--")]
    for word in words:
        kind, _, rest = word.partition(":")
        if word == "stay":
            signal.pause()
        elif word == "settings":
            print(Path(os.environ["QWEN_CODE_SYSTEM_DEFAULTS_PATH"]).read_text(), end="", flush=True)
        elif word == "read":
            print(json.dumps(Path(flag("--input-file")).read_text().splitlines()), flush=True)
        elif kind in ("asks", "refuse"):
            hold(called, waiting, rest)
        elif kind == "wait":
            while not os.path.exists(rest):
                time.sleep(0.01)
        elif kind == "log":
            path, _, line = rest.partition("=")
            path = flag(path) or path
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            with open(path, "a", encoding="utf-8") as file:
                file.write(line + "\n")
        else:
            name = word.partition('"hook_event_name": "')[2].partition('"')[
                0
            ]  # also if `json` cannot read it
            done = subprocess.run(
                called[name], shell=True, input=word.encode(), capture_output=True, check=True
            )
            print(json.dumps([name, done.stdout.decode()]), flush=True)
    for process in waiting:
        assert process.stdout is not None
        print(json.dumps(["late", process.stdout.read().decode()]), flush=True)


if __name__ == "__main__":
    main()
