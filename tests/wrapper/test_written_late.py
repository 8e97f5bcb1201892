"""A launcher program that ends before its agent: the usage that the agent writes at its end counts."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from tests.desk import Desk

# It ends at once. Its child writes its usage when it gets TERM, as a real agent does.
LAUNCHER = """
import json, os, signal, sys, time

path = sys.argv[sys.argv.index("--usage-output-file") + 1] if "--usage-output-file" in sys.argv else None
used = {"modelMetrics": {"m": {"usage": {"inputTokens": 70, "outputTokens": 5}}}}

def write(*_):
    time.sleep(0.3)
    with open(path, "w") as file:
        json.dump(used, file)
    sys.exit()

if path is not None:
    if os.fork() == 0:
        signal.signal(signal.SIGTERM, write)
        os.write(1, b'{"type":"session.tools_updated","data":{"model":"m"}}\\n')
    while True:
        signal.pause()
"""


def test_what_the_agent_behind_a_launcher_used_is_in_the_result(desk: Desk, tmp_path: Path) -> None:
    script = tmp_path / "launcher.py"
    script.write_text(LAUNCHER)
    own = {"copilot": {"command": [sys.executable, str(script)]}}
    (desk.home.agent_dir / "settings.json").write_text(json.dumps({"subagents": {"agents": own}}))
    run_id = desk.launch("--agent", "copilot", "hello")
    desk.wait_for(run_id, "session_started")
    assert desk("stop", run_id).returncode == 0
    result = desk.result(run_id)
    assert (result["status"], result["usage"]["input"], result["usage"]["output"]) == ("aborted", 70, 5)
