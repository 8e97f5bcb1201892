"""Start a watcher: `python -P .../tmuxagents/_watch.py HOME [DESCRIPTOR OF THE LOCK]`. Joins.

It is started by its path, so that the watcher runs the same copy of the package as its starter. The package
is imported from there first. Afterwards Python's own modules go before anything else in that folder.
"""

import os
import sys

_ROOT = __file__.rpartition("/tmuxagents/")[0]
sys.path.insert(0, _ROOT)

import tmuxagents  # noqa: E402, F401  (later imports find this one)

sys.path.remove(_ROOT)
if _ROOT not in sys.path:
    sys.path.append(_ROOT)

if "TMUXAGENTS_FAULT" in os.environ:  # a test wants things to fail
    from tmuxagents.system import fault_injection

    fault_injection.install(os.environ)

from tmuxagents.watcher.run import main  # noqa: E402  (the path above comes first)

main(sys.argv[1:])
