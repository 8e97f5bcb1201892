"""A hook of a live agent: it sends its input to our bridge, and prints the bridge's answer.

The hook's only argument is the name of the event, for agents whose input lacks that name. If the bridge is
gone, the hook prints nothing.

Touches: a socket.
"""

from __future__ import annotations

import os
import socket
import sys

VARIABLE = "TMUXAGENTS_HOOKS"  # the bridge's socket
_PATIENT = "PermissionRequest"  # its answer may take long: the agent ends the hook if need be
_LIMIT_S = 20.0


def address_of(path: str) -> str:
    """Return a short path of a socket, for this process: the limit is 107 bytes, and a run may lie deeper."""
    folder, _, name = path.rpartition("/")
    return f"/proc/self/fd/{os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)}/{name}"


def main(words: list[str]) -> None:
    """Serve one hook."""
    given = sys.stdin.buffer.read()
    try:
        with socket.socket(socket.AF_UNIX) as line:
            line.settimeout(_LIMIT_S)
            line.connect(address_of(os.environ[VARIABLE]))
            line.sendall("".join(words).encode() + b"\n" + given)
            line.shutdown(socket.SHUT_WR)
            line.settimeout(None if words == [_PATIENT] else _LIMIT_S)
            while piece := line.recv(65536):
                sys.stdout.buffer.write(piece)
    except (OSError, KeyError):
        return


if __name__ == "__main__":
    main(sys.argv[1:])
