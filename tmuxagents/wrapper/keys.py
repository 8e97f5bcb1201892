"""What is typed into the window: Ctrl-C twice stops the run, other keys do nothing."""

from __future__ import annotations

from tmuxagents.edges.terminal import CTRL_C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tmuxagents.edges.terminal import Terminal
    from tmuxagents.wrapper.recorder import Recorder

CONFIRM_S = 3.0


class Keys:
    """The keys of one run's window."""

    def __init__(self, terminal: Terminal, recorder: Recorder) -> None:
        self._terminal = terminal
        self._recorder = recorder
        self._asked_at: float | None = None

    @property
    def handle(self) -> int | None:
        """Return the descriptor to wait on."""
        return self._terminal.keys

    def stop_wanted(self, now: float) -> bool:
        """Look at what was typed; say whether it stops the run."""
        if CTRL_C not in self._terminal.pressed():
            return False
        if self._asked_at is not None and now - self._asked_at <= CONFIRM_S:
            return True
        self._asked_at = now
        self._recorder.hint(f"Ctrl-C again within {CONFIRM_S:g} s stops this run")
        self._recorder.flush(now, last=True)
        return False
