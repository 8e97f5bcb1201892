"""The person's terminal, lent to another program: a pager beside us, or one in our place."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import NoReturn

_NOT_STARTED = (126, 127)  # what a shell says of a program that it cannot start


def become(argv: list[str], environment: Mapping[str, str]) -> NoReturn:
    """Go on as another program, in this terminal. Raises OSError if it cannot be started."""
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # Python ignores it, and what is ignored is inherited
    os.execvpe(argv[0], argv, environment)  # noqa: S606  (by argv, no shell)


def page(argv: Sequence[str], lines: Iterable[bytes]) -> bool:
    """Let a pager show lines, which it reads on stdin; say whether there was one. Ctrl-C is for it alone."""
    with _deaf():
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


@contextlib.contextmanager
def _deaf() -> Iterator[None]:
    # Not SIG_IGN: what is ignored is inherited, and the pager is to hear it.
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
