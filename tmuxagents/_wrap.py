"""Start a wrapper: `python -I -S .../tmuxagents/_wrap.py RUN_DIR`. Joins.

It is a file of its own for two reasons. The interpreter can run it without `site`, which would cost each
child 2 ms and much memory. Python compiles the file that it runs at every start, so that file must be short.
"""

import os
import sys

sys.path.append(__file__.rpartition("/tmuxagents/")[0])

if "TMUXAGENTS_FAULT" in os.environ:  # a test wants things to fail
    from tmuxagents.system import fault_injection

    fault_injection.install(os.environ)

from tmuxagents.wrapper.run import main

main(sys.argv[1:])
