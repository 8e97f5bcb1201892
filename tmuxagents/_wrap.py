"""Start a wrapper: `python -I -S .../tmuxagents/_wrap.py RUN_DIR`. Joins.

It is a file of its own for two reasons. The interpreter can run it without `site`, which saves 2 ms and much
memory for each child. And Python does not cache the compiled form of the file it is started with, so that
file must be short.
"""

import os
import sys

sys.path.append(__file__.rpartition("/tmuxagents/")[0])

if "TMUXAGENTS_FAULT" in os.environ:  # a test wants things to fail
    from tmuxagents.system import fault_injection

    fault_injection.install(os.environ)

from tmuxagents.wrapper.run import main

main(sys.argv[1:])
