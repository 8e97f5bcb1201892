"""The client's side of a WebSocket over a Unix socket, by which Codex's app server serves several clients.

Touches: a socket.
"""

from __future__ import annotations

import socket
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_GREETING = (
    b"GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dG11eGFnZW50cy1jb2RleC0xMg==\r\n\r\n"
)
_END_OF_HEAD = b"\r\n\r\n"
_MORE, _TEXT, _CLOSE, _PING, _PONG = 0, 1, 8, 9, 10
_LAST, _MASKED = 0x80, 0x80
_SHORT, _MEDIUM, _LONG = 125, 126, 127
_NO_MASK = bytes(4)  # only the server reads this: a mask of zeros is enough, and costs nothing
_GREETS_WITHIN_S = 10.0
_PIECE = 256 * 1024


class WebSocket:
    """One connection. Only the greeting and sending wait; call `hear` when there is something to read."""

    def __init__(self, path: str) -> None:
        self._heard = b""
        self._message = b""
        self._socket = socket.socket(socket.AF_UNIX)
        try:
            self._socket.settimeout(_GREETS_WITHIN_S)
            self._socket.connect(path)
            self._greet()
            self._socket.settimeout(None)
        except OSError:
            self.close()
            raise

    def _greet(self) -> None:
        self._socket.sendall(_GREETING)
        head = b""
        while not head.endswith(_END_OF_HEAD):
            head += self._piece(1)  # byte by byte: what follows stays in the socket
        if b" 101 " not in head.split(b"\r\n", 1)[0]:
            raise ConnectionError("the server speaks no WebSocket")

    def fileno(self) -> int:
        """Return the descriptor to wait on."""
        return self._socket.fileno()

    def _piece(self, most: int) -> bytes:
        piece = self._socket.recv(most)
        if not piece:
            raise ConnectionError("the server has closed the connection")
        return piece

    def send(self, text: bytes) -> None:
        """Send a text as one message."""
        self._send(_TEXT, text)

    def _send(self, kind: int, content: bytes) -> None:
        size = len(content)
        if size <= _SHORT:
            head = bytes((_LAST | kind, _MASKED | size))
        elif size < 1 << 16:
            head = struct.pack("!BBH", _LAST | kind, _MASKED | _MEDIUM, size)
        else:
            head = struct.pack("!BBQ", _LAST | kind, _MASKED | _LONG, size)
        self._socket.sendall(head + _NO_MASK + content)

    def hear(self) -> list[bytes]:
        """Return the messages that have come. Raises OSError once the connection is gone."""
        self._heard += self._piece(_PIECE)
        return list(self._messages())

    def _messages(self) -> Iterator[bytes]:
        while (frame := self._frame()) is not None:
            first, content = frame
            kind = first & 0x0F
            if kind == _CLOSE:
                raise ConnectionError("the server has said goodbye")
            if kind == _PING:
                self._send(_PONG, content)
            elif kind in (_TEXT, _MORE):
                self._message += content
                if first & _LAST:
                    whole, self._message = self._message, b""
                    yield whole

    def _frame(self) -> tuple[int, bytes] | None:
        """Take one whole frame from the bytes read so far; None if there is none yet."""
        heard = self._heard
        if len(heard) < 2:  # noqa: PLR2004  (its kind, and its size)
            return None
        size, begins = heard[1], 2
        if size in (_MEDIUM, _LONG):
            begins = 4 if size == _MEDIUM else 10
            if len(heard) < begins:
                return None
            size = int.from_bytes(heard[2:begins], "big")
        if len(heard) < begins + size:
            return None
        self._heard = heard[begins + size :]
        return heard[0], heard[begins : begins + size]

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()
