"""The steps of a scripted child that start programs.

What they found is written to $CHILD_RECORD, so that a test can ask for each process afterwards.
"""

from __future__ import annotations

import os
import subprocess
from typing import Any

from tests.children.steps import done, record


def found(what: str) -> None:
    """`found KIND`: start a process that would outlive us."""
    quiet: dict[str, Any] = {
        "stdin": subprocess.DEVNULL,
        "stdout": subprocess.DEVNULL,
        "stderr": subprocess.DEVNULL,
    }
    sleep = ["sleep", "300"]
    if what == "tool":
        process = subprocess.Popen(sleep, start_new_session=True, **quiet)
    elif what == "stubborn":
        line = "trap '' TERM HUP INT; while :; do sleep 0.2; done"
        process = subprocess.Popen(["sh", "-c", line], start_new_session=True, **quiet)
    elif what == "nohup":
        process = subprocess.Popen(["nohup", *sleep], **quiet)
    elif what == "stranger":
        process = subprocess.Popen(["env", "-i", "setsid", *sleep], **quiet)
    elif what == "holder":
        process = subprocess.Popen(sleep, start_new_session=True, stdin=subprocess.DEVNULL)
    elif what == "other-run":
        other = {**os.environ, "TMUXAGENTS_RUN": "0123456789abcdef"}
        process = subprocess.Popen(sleep, start_new_session=True, env=other, **quiet)
    elif what == "watcher":
        role = {**os.environ, "TMUXAGENTS_ROLE": "watcher"}
        process = subprocess.Popen(sleep, start_new_session=True, env=role, **quiet)
    elif what == "double-fork":
        line = "(setsid sleep 300 >/dev/null 2>&1 & echo $!) "
        shown = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=True).stdout
        record(int(shown), what)
        return
    else:
        raise SystemExit(f"what is {what}?")
    record(process.pid, what)


def service(what: str) -> None:
    """`service tmux|ssh-agent`: found one that others may use."""
    socket = f"{os.environ['CHILD_RECORD']}.{what}"
    if what == "tmux-apart":
        apart = ["unshare", "-rn", "tmux", "-f", "/dev/null", "-S", socket]
        subprocess.run([*apart, "new-session", "-d", "sleep 300"], check=True)
        asked = [*apart[2:], "display-message", "-p", "#{pid}"]
        record(int(subprocess.run(asked, check=True, capture_output=True, text=True).stdout), what)
    elif what == "tmux":
        tmux = ["tmux", "-f", "/dev/null", "-S", socket]
        subprocess.run([*tmux, "new-session", "-d", "sleep 300"], check=True)
        pids = subprocess.run(
            [*tmux, "list-panes", "-a", "-F", "#{pid} #{pane_pid}"],
            check=True,
            capture_output=True,
            text=True,
        ).stdout.split()
        record(int(pids[0]), "tmux")
        record(int(pids[1]), "tmux-window")
    else:
        shown = subprocess.run(
            ["ssh-agent", "-s", "-a", socket], check=True, capture_output=True, text=True
        ).stdout
        record(int(shown.split("SSH_AGENT_PID=")[1].split(";")[0]), "ssh-agent")


def shell(line: str) -> None:
    """`shell LINE`: a whole run that carries out a command and answers with its exit code and its words."""
    told = subprocess.run(
        line, shell=True, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    done(f"{told.returncode} {told.stdout}{told.stderr}")
