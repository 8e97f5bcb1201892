"""The process in the window, which starts the child, records what it does, ends it, and writes the result.

`main` is in wrapper/run. `_wrap.py` starts it in the smallest possible interpreter.

Joins.
"""

from __future__ import annotations

import os
import sys


def become_wrapper(run_dir: str) -> None:
    """Become the wrapper of a run."""
    boot = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "_wrap.py")
    os.execv(sys.executable, [sys.executable, "-I", "-S", boot, run_dir])  # noqa: S606  (no shell)
