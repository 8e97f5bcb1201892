"""Start a watcher: `python -P .../tmuxagents/_watch.py HOME [DESCRIPTOR OF THE LOCK]`. Joins.

By path, so that it is the starter's own package, installed in any way. Ours goes before another
that may be installed, and nothing else that lies beside it goes before what Python brings along.
"""

import os
import sys

_ROOT = __file__.rpartition("/tmuxagents/")[0]
sys.path.insert(0, _ROOT)

import tmuxagents  # noqa: E402, F401  (the one to be found from now on)

sys.path.remove(_ROOT)
if _ROOT not in sys.path:
    sys.path.append(_ROOT)

if "TMUXAGENTS_FAULT" in os.environ:  # a test wants things to fail
    from tmuxagents.system import faults

    faults.install(os.environ)

from tmuxagents.watcher.run import main  # noqa: E402

main(sys.argv[1:])
