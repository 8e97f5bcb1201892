"""What is typed into the window: Ctrl-C twice stops the run, other keys do nothing."""

from __future__ import annotations

from tmuxagents.edges.terminal import CTRL_C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tmuxagents.edges.terminal import Terminal
    from tmuxagents.wrapper.recorder import Recorder

CONFIRM_S = 3.0
_READ_S = 0.3  # what it takes to read the question: two in one paste are no answer


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
        since_asked = None if self._asked_at is None else now - self._asked_at
        if since_asked is not None and since_asked < _READ_S:
            return False
        if since_asked is not None and since_asked <= CONFIRM_S:
            return True
        self._asked_at = now
        self._recorder.hint(f"Ctrl-C again within {CONFIRM_S:g} s stops this run")
        self._recorder.flush(now, last=True)
        return False
