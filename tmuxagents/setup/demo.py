"""The demo: three children at work on a sample project, with the installed agent and a demo model. Joins."""

from __future__ import annotations

import os
import sys

from tmuxagents.agents import installed
from tmuxagents.errors import Unusable
from tmuxagents.settings import load
from tmuxagents.system import places, process, shipped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_AGENT = "pi"


def command(environment: Mapping[str, str], *, clean: bool) -> list[str]:
    """Return the command that shows the demo, or takes it away. Raises Unusable if something is missing."""
    bash = process.find_program("bash", environment.get("PATH", ""))
    if bash is None:
        raise Unusable("The demo needs bash.", kind="demo", hint="install it: apt-get install bash")
    folder = environment.get("TMUXAGENTS_DEMO_DIR") or f"{places.home(environment)}-demo"
    argv = [bash, str(shipped.demo()), os.path.abspath(folder), sys.executable]
    if clean:
        return [*argv, "", "--clean"]
    program, *more = installed.command(_AGENT, environment, load.load(environment, None))
    if more:
        message = (
            f"The demo starts {_AGENT} by its program alone, and agents.{_AGENT}.command has more words."
        )
        raise Unusable(message, kind="demo", hint="name the program in TMUXAGENTS_PI")
    return [*argv, program]
