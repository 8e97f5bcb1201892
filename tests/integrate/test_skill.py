"""The commands in the skill work: a round with real children, from launch to stop."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tests.harness import real_pi
from tmuxagents.system import shipped

if TYPE_CHECKING:
    from tests.desk import Desk
    from tests.harness import ModelServer

PRESET = "---\nname: helper\ndescription: Helps\nmodel: mock/mock-text\n---\nHelp.\n"
ANSWER = "Hello from the model server. All is well."


def blocks(kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```$", shipped.skill(), re.MULTILINE | re.DOTALL)


def test_what_the_skill_tells_a_parent_to_type_works(desk: Desk, models: ModelServer) -> None:
    presets = desk.home.project / ".pi" / "subagents"
    presets.mkdir(parents=True)
    (presets / "helper.md").write_text(PRESET)
    (tasks,) = blocks("yaml")
    (desk.home.project / "tasks.yaml").write_text(tasks.replace("PRESET", "helper"))
    one, many, several, after = blocks("sh")
    script = [one, many, several.replace("CURSOR", '"$CURSOR"'), after.replace("RUN", "finder")]
    environment = desk.home.environment | {
        "PATH": f"{Path(sys.executable).parent}:{desk.home.environment['PATH']}",
        "TMUXAGENTS_PI": real_pi(),
        "PI_CODING_AGENT_DIR": str(models.agent_dir),
        "CURSOR": "0",
    }
    text = "\n".join(script).replace("-p PRESET", "-p helper")
    done = subprocess.run(
        ["bash", "-x", "-e", "-c", text],
        env=environment,
        cwd=desk.home.project,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(ANSWER) >= 3  # from the single child, and from the two in one call
    typed = [line for line in done.stderr.splitlines() if line.lstrip("+").startswith(" tmuxagents ")]
    assert len(typed) >= 7
