"""The process in the window, which starts the child, records its events, ends it, writes the result. Joins.

`main` is in wrapper/run. `_wrap.py` calls it, in an interpreter that imports as little as possible.
"""

from __future__ import annotations

import os
import sys


def become_wrapper(run_dir: str) -> None:
    """Become the wrapper of a run."""
    boot = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "_wrap.py")
    os.execv(sys.executable, [sys.executable, "-I", "-S", boot, run_dir])  # noqa: S606  (no shell)
