"""The person's terminal: lent to another program, which may replace us; given back if a signal ends us.

Touches: the person's terminal.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any, NoReturn


_NOT_STARTED = (126, 127)  # the exit codes of a shell for a program that it cannot start
_ENDS_WITHIN_S = 3.0
# What a killed program leaves: its screen, a hidden cursor, reports of the mouse, marks around a paste.
_GIVEN_BACK = b"\x1b[0m\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?2004l\x1b[?1049l\x1b[?25h"


def become(argv: list[str], environment: Mapping[str, str]) -> NoReturn:
    """Replace this process by another program, in this terminal. Raises OSError if it cannot be started."""
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # Python ignores it, and the program would inherit that
    os.execvpe(argv[0], argv, environment)  # noqa: S606  (by argv, no shell)


def page(argv: Sequence[str], lines: Iterable[bytes]) -> bool:
    """Let a pager show lines, which it reads on stdin; say whether it was started. Only it gets Ctrl-C."""
    with _without_ctrl_c():
        try:
            pager = subprocess.Popen(argv, stdin=subprocess.PIPE)
        except OSError:
            return False
        with pager:
            assert pager.stdin is not None
            with contextlib.suppress(BrokenPipeError):
                pager.stdin.writelines(lines)
            with contextlib.suppress(BrokenPipeError):
                pager.stdin.close()
    return pager.returncode not in _NOT_STARTED


def leave(number: int, _frame: object) -> NoReturn:
    """Handle a signal by leaving: on the way out, whatever has taken the terminal restores it."""
    raise SystemExit(128 + number)


@contextlib.contextmanager
def _without_ctrl_c() -> Iterator[None]:
    # Not SIG_IGN: the other program would inherit that, and ignore Ctrl-C, too.
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


class Beside:
    """A program on our terminal while we do something else. Raises OSError if it cannot be started.

    `reads`: it also reads what the person types.
    """

    def __init__(
        self, argv: Sequence[str], environment: Mapping[str, str] | None = None, *, reads: bool = False
    ) -> None:
        stdin = None if reads else subprocess.DEVNULL
        self._modes = _modes() if reads else None
        self._process = subprocess.Popen(argv, stdin=stdin, env=environment)

    @property
    def is_over(self) -> bool:
        """Say whether the program has ended."""
        return self._process.poll() is not None

    def end(self) -> None:
        """End the program; kill it if it stays, as a client of tmux does whose server is stopped."""
        self._process.terminate()
        try:
            self._process.wait(_ENDS_WITHIN_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            if self._modes is not None:
                _give_back(self._modes)


def _modes() -> list[Any] | None:
    """Return the modes of our terminal, if stdin is one."""
    import termios  # noqa: PLC0415  (only for `run --attach`)

    try:
        return termios.tcgetattr(0)
    except termios.error:
        return None


def _give_back(modes: list[Any]) -> None:
    """Restore a terminal that a killed program has left in its own state."""
    import termios  # noqa: PLC0415  (as above)

    with contextlib.suppress(OSError, termios.error):  # the terminal may have gone
        termios.tcsetattr(0, termios.TCSANOW, modes)
        os.write(1, _GIVEN_BACK)


def lend(argv: Sequence[str]) -> str | None:
    """Let a program use the terminal; return its error message, None if it succeeded."""
    with _without_ctrl_c():
        return _problem(subprocess.run(argv, stderr=subprocess.PIPE, check=False))


def aside(argv: Sequence[str], text: bytes) -> str | None:
    """Let a program without a terminal read a text; return its error message, None if it succeeded."""
    return _problem(
        subprocess.run(argv, input=text, capture_output=True, check=False, start_new_session=True)
    )


def _problem(done: subprocess.CompletedProcess[bytes]) -> str | None:
    errors = done.stderr.decode("utf-8", "replace").strip()
    return (errors or f"It left with {done.returncode}.") if done.returncode else None
