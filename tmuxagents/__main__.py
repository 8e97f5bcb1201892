"""The command's way in. What must start small leaves here, before click is imported."""

from __future__ import annotations

import sys

from tmuxagents.wrapper.become import become_wrapper

_WITH_RUN_DIR = 3


def main() -> None:
    """Run the command line."""
    if len(sys.argv) == _WITH_RUN_DIR and sys.argv[1] == "_wrap" and not sys.argv[2].startswith("-"):
        become_wrapper(sys.argv[2])
    from tmuxagents.cli import main as cli_main  # noqa: PLC0415  (only the rest pays for click)

    cli_main()


if __name__ == "__main__":
    main()
