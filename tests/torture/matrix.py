"""All cases of the torture as one list, and how one is carried out, in a folder of its own."""

from __future__ import annotations

import tempfile
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tests.harness import Home, ModelServer, TmuxServer, real_pi
from tests.torture import endings, readers, real, scripted, windows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Case:
    """One thing to provoke."""

    def __init__(self, kind: str, name: str, act: Callable[[Path], list[str]]) -> None:
        self.kind = kind
        self.name = name
        self._act = act

    def carry_out(self) -> Outcome:
        """Provoke it; return what was wrong."""
        begun = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="torture-", ignore_cleanup_errors=True) as folder:
            try:
                wrong = self._act(Path(folder))
            except Exception as error:  # noqa: BLE001  (one row must not end the table)
                wrong = [f"{type(error).__name__}: {error}"]
        return Outcome(self, wrong, time.monotonic() - begun)


class Outcome:
    """What came of one case."""

    def __init__(self, case: Case, wrong: list[str], seconds: float) -> None:
        self.case = case
        self.wrong = wrong
        self.seconds = seconds


def scripted_cases() -> Iterator[Case]:
    """Yield the endings of scripted children, and those of windows."""
    for row in scripted.ENDINGS:
        yield Case("scripted child", row.name, partial(_scripted, row))
    for window in windows.WINDOW_ENDINGS:
        yield Case("tmux", window.name, partial(_in_window, window))


def real_cases(server: ModelServer) -> Iterator[Case]:
    """Yield the endings of the real pi."""
    for row in real.REAL_ENDINGS:
        yield Case("real pi", row.name, partial(_with_pi, row, server))


def race(seed: int, starts: int = 200) -> Case:
    """Return a race against hostile readers."""
    act = partial(readers.race, starts=starts, readers=4, seed=seed)
    return Case("race", f"hostile readers, seed {seed}", act)


def _scripted(ending: endings.Ending, folder: Path) -> list[str]:
    return endings.carry_out(ending, Home(folder).run(ending.script, **ending.changes))


def _with_pi(ending: real.RealEnding, server: ModelServer, folder: Path) -> list[str]:
    home = Home(folder)
    home.environment |= {"TMUXAGENTS_PI": real_pi(), "PI_CODING_AGENT_DIR": str(server.agent_dir)}
    task = f"{ending.script} in {folder.name}"
    wrong = endings.carry_out(ending, home.run(task, **ending.changes))
    asked = len(server.requests(task))
    return wrong if asked in ending.asked else [*wrong, f"pi asked {asked} times, not {ending.asked}"]


def _in_window(ending: windows.WindowEnding, folder: Path) -> list[str]:
    with TmuxServer(folder) as server:
        return windows.carry_out(ending, Home(folder).run(ending.script), server)
