"""Whether the kernel has killed a process here for want of memory: the counters of our control groups.

Touches: /proc and the control groups.
"""

from __future__ import annotations

from tmuxagents.cpython import ignoring
from tmuxagents.system import identity

_ROOT = "/sys/fs/cgroup"


def was_short() -> bool:
    """Say whether any process of our own group was killed because the group, or the machine, had no more."""
    with ignoring(OSError):
        for line in identity.read("/proc/self/cgroup").decode("utf-8", "replace").splitlines():
            _, controllers, path = line.split(":", 2)
            if "memory" in controllers.split(","):
                file = f"{_ROOT}/memory{path}/memory.oom_control"
            elif not controllers:
                file = f"{_ROOT}{path}/memory.events"
            else:
                continue
            with ignoring(OSError):
                for fact in identity.read(file).decode().splitlines():
                    name, _, count = fact.partition(" ")
                    if name == "oom_kill" and count.strip() not in ("", "0"):
                        return True
    return False
