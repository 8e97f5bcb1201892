"""The command's way in. What must start small leaves here, before click is imported."""

from __future__ import annotations

import os
import sys

from tmuxagents.wrapper.become import become_wrapper

_WITH_RUN_DIR = 3


def main() -> None:
    """Run the command line."""
    try:
        _main()
    except KeyboardInterrupt:  # before the command line's own boundary stands
        os._exit(128 + 2)


def _main() -> None:
    # A file of ours must not get the number of a stream that the caller has closed.
    while (handle := os.open(os.devnull, os.O_RDWR)) <= 2:  # noqa: PLR2004  (stdin, stdout, stderr)
        pass
    os.close(handle)
    if len(sys.argv) == _WITH_RUN_DIR and sys.argv[1] == "_wrap" and not sys.argv[2].startswith("-"):
        become_wrapper(sys.argv[2])
    from tmuxagents.cli import main as cli_main  # noqa: PLC0415  (only the rest pays for click)

    cli_main()


if __name__ == "__main__":
    main()
