"""A coding session of the real pi: it looks, edits, runs a failing test, and answers with a table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from tests.harness import ModelServer, real_pi

if TYPE_CHECKING:
    from tests.harness import Home, Run, TmuxServer

DATA = Path(__file__).parents[1] / "data" / "walker"
TASK = "Make sessions expire after an hour, and test that."


def models(folder: Path) -> ModelServer:
    """Return the model server that plays the session."""
    return ModelServer(folder, f"--scripts={DATA / 'script.json'}")


def start(home: Home, server: ModelServer, tmux: TmuxServer, size: str) -> Run:
    """Start the session in a window of a size, in a project of its own."""
    home.environment |= {"TMUXAGENTS_PI": real_pi(), "PI_CODING_AGENT_DIR": str(server.agent_dir)}
    project = home.folder / f"project-{size}"
    for name, text in json.loads((DATA / "project.json").read_text()).items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(text)
    tmux.run("set", "-t", "work", "default-size", size)
    tmux.run("set", "-g", "remain-on-exit", "on")
    run = home.run(TASK, model="mock/mock-refactor", cwd=str(project), name="sessions")
    return run.start_in(tmux)
