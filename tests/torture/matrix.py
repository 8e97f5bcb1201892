"""All cases of the torture as one list, and how one is carried out, in a folder of its own."""

from __future__ import annotations

import tempfile
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from scripts import limits
from tests.harness import Home, ModelServer, TmuxServer, real_pi
from tests.torture import alone, attaches, endings, hooks, readers, real, scripted, storm, windows
from tests.torture.fleet import LEFT, NotProvoked
from tests.torture.siege import NotTried

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Case:
    """One thing to provoke. `provoker`: real, or the hook in the code's edges (tests/torture/hooks)."""

    def __init__(
        self, kind: str, name: str, act: Callable[[Path], list[str]], *, provoker: str = "real"
    ) -> None:
        self.kind = kind
        self.name = name
        self.provoker = provoker
        self._act = act

    def carry_out(self) -> Outcome:
        """Provoke it; return what was wrong."""
        begun = time.monotonic()
        unprovoked = untried = None
        with tempfile.TemporaryDirectory(prefix="torture-", ignore_cleanup_errors=True) as folder:
            limits.homes.add(Path(folder))
            try:
                wrong = self._act(Path(folder))
            except NotProvoked as why:
                wrong, unprovoked = [], str(why) or "no reason is known"
            except NotTried as why:
                wrong, untried = [], str(why)
            except Exception as error:  # noqa: BLE001  (one row must not end the table)
                wrong = [f"{type(error).__name__}: {error}"]
        return Outcome(self, wrong, time.monotonic() - begun, unprovoked, untried)


class Outcome:
    """What came of one case.

    `unprovoked`: why it could not be provoked, which is a failure, too. `untried`: why it was not even tried,
    which is none.
    """

    def __init__(
        self,
        case: Case,
        wrong: list[str],
        seconds: float,
        unprovoked: str | None = None,
        untried: str | None = None,
    ) -> None:
        self.case = case
        self.left = [line for line in wrong if line.startswith(LEFT)]
        self.unprovoked = unprovoked
        self.untried = untried
        self.wrong = wrong if unprovoked is None else [f"it could not be provoked: {unprovoked}"]
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


def faults(number: int, *, seed: int, soon_s: float) -> Iterator[Case]:
    """Yield each fault once, over so many live runs."""
    for title, fault in alone.all_faults().items():
        act = partial(_befall, title, number=number, seed=seed, soon_s=soon_s)
        yield Case("fault", fault.name, act, provoker=fault.provoker)


def sweeps(*, quick: bool = False) -> Iterator[Case]:
    """Yield each operation of a wrapper that fails, or kills, at its n-th call."""
    for operation, effect in [*hooks.ERRORS.items(), *((name, "KILL") for name in hooks.ERRORS)]:
        numbers = hooks.QUICK_BUSY.get(operation, hooks.QUICK) if quick else hooks.NUMBERS
        act = partial(hooks.sweep, operation=operation, effect=effect, numbers=numbers)
        yield Case("wrapper's calls", f"{operation} {effect}", act, provoker="hook")


def _befall(title: str, folder: Path, *, number: int, seed: int, soon_s: float) -> list[str]:
    came = alone.start(title, folder, number=number, seed=seed, soon_s=soon_s)
    if "unprovoked" in came:
        raise NotProvoked(came["unprovoked"])
    return [*came["wrong"], *(LEFT + line for line in came.get("left", ()))]


def race(seed: int, starts: int = 200) -> Case:
    """Return a race against hostile readers."""
    act = partial(readers.race, starts=starts, readers=4, seed=seed)
    return Case("race", f"hostile readers, seed {seed}", act)


def queue_storm(seed: int, runs: int = 200, models: ModelServer | None = None) -> Case:
    """Return a storm on the queue; with a model server of real pi's."""
    act = partial(storm.rage, runs=runs, seed=seed, models=models)
    return Case("queue", f"storm of {'real pi' if models else 'scripted children'}, seed {seed}", act)


def random_attaches(seed: int, *, runs: int = 30, times: int = 1000) -> Case:
    """Return attaches by three terminals at once."""
    act = partial(attaches.attach_at_random, runs=runs, times=times, seed=seed)
    return Case("attach", f"{times} attaches over {runs} runs, seed {seed}", act)


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
