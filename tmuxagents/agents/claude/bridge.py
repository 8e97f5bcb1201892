"""The process in the window of a live Claude Code: `python -I -S bridge.py PROGRAM...`.

Claude Code has its hooks in its command line. Joins.
"""

from __future__ import annotations

import sys

if __name__ == "__main__":
    sys.path.append(__file__.rpartition("/tmuxagents/")[0])

from tmuxagents.agents.hooks.bridge import HookBridge, main

if __name__ == "__main__":
    sys.exit(main(HookBridge, sys.argv[1:]))
