"""A link between two ports of this machine that can be held and slowed, where no network may be made."""

from __future__ import annotations

import contextlib
import socket
import threading
import time


class Relay:
    """Passes what comes to `port` on to `target`, and back. Held, it takes nothing and passes nothing on."""

    def __init__(self, port: int) -> None:
        self._server = socket.create_server(("127.0.0.1", port))
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.target = int(free.getsockname()[1])
        self._open = threading.Event()
        self._open.set()
        self._delay_s = 0.0
        self._stopped = False
        self._sockets: set[socket.socket] = set()

    def start(self) -> None:
        """Begin to pass on."""
        threading.Thread(target=self._accept, daemon=True).start()

    def stop(self) -> None:
        """Close everything."""
        self._stopped = True
        self._open.set()
        for one in (self._server, *self._sockets):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def hold(self) -> None:
        """Pass nothing on, and drop nothing."""
        self._open.clear()

    def delay(self, seconds: float) -> None:
        """Pass each piece on so much later."""
        self._delay_s = seconds

    def mend(self) -> None:
        """Pass on at once again."""
        self._delay_s = 0.0
        self._open.set()

    def _accept(self) -> None:
        while not self._stopped:
            try:
                near, _ = self._server.accept()
            except OSError:
                return
            threading.Thread(target=self._join, args=(near,), daemon=True).start()

    def _join(self, near: socket.socket) -> None:
        self._open.wait()
        try:
            far = socket.create_connection(("127.0.0.1", self.target))
        except OSError:
            near.close()
            return
        self._sockets |= {near, far}
        for one, other in ((near, far), (far, near)):
            threading.Thread(target=self._pass, args=(one, other), daemon=True).start()

    def _pass(self, one: socket.socket, other: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while piece := one.recv(65536):
                if self._delay_s:
                    time.sleep(self._delay_s)
                self._open.wait()
                other.sendall(piece)
        for end in (one, other):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
