"""The command's way in. What must start small leaves here, before click is imported."""

from __future__ import annotations

import os
import sys

_WITH_RUN_DIR = 3


def become_wrapper(run_dir: str) -> None:
    """Become the wrapper of a run: in this process and terminal, with as small an interpreter as there is."""
    boot = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_wrap.py")
    os.execv(sys.executable, [sys.executable, "-I", "-S", boot, run_dir])  # noqa: S606  (no shell)


def main() -> None:
    """Run the command line."""
    if len(sys.argv) == _WITH_RUN_DIR and sys.argv[1] == "_wrap" and not sys.argv[2].startswith("-"):
        become_wrapper(sys.argv[2])
    from tmuxagents.cli import main as cli_main  # noqa: PLC0415  (only the rest pays for click)

    cli_main()


if __name__ == "__main__":
    main()
