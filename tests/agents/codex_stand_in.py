"""A stand-in for Codex in tests of the bridge: `app-server` is on a WebSocket, `--remote` a screen.

STAND_IN says what goes wrong: the server is not there, goes, or refuses; the screen is closed at once.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from pathlib import Path

MODE = os.environ.get("STAND_IN", "")


def frame(client: socket.socket) -> bytes:
    """Read one message of the client."""
    head = exact(client, 2)
    size = head[1] & 0x7F
    if size > 125:
        size = int.from_bytes(exact(client, 2 if size == 126 else 8), "big")
    exact(client, 4)
    return exact(client, size)


def exact(client: socket.socket, size: int) -> bytes:
    """Read so many bytes, or end with the client."""
    heard = b""
    while len(heard) < size:
        piece = client.recv(size - len(heard))
        if not piece:
            sys.exit(0)
        heard += piece
    return heard


def say(client: socket.socket, **message: object) -> None:
    """Say one message."""
    text = json.dumps(message, separators=(",", ":")).encode()
    size = bytes((len(text),)) if len(text) < 126 else b"\x7e" + len(text).to_bytes(2, "big")
    client.sendall(b"\x81" + size + text)


def note(client: socket.socket, method: str, **params: object) -> None:
    """Say a notification of the one session."""
    say(client, method=method, params={"threadId": "T", **params})


def answer(client: socket.socket, asked: dict[str, object]) -> None:
    """Do what a request asks for."""
    number, method, params = asked.get("id"), asked.get("method"), asked.get("params")
    if method is None:  # the answer to our own request
        note(client, "serverRequest/resolved", requestId=number)
        note(client, "item/agentMessage", answered=asked.get("result"))
    refused = {"thread/start": "refuses", "turn/start": "refuses-turn"}.get(str(method)) == MODE
    if refused:
        say(client, id=number, error={"message": "not here"})
    elif method == "initialize":
        say(client, id=number, result={})
    elif method in ("thread/start", "thread/resume"):
        say(client, id=number, result={"thread": {"id": "T"}, "model": "m1"})
    elif method == "turn/start":
        say(client, id=number, result={"turn": {"id": "U"}})
        note(client, "turn/started", turn={"id": "U"})
        content = params["input"] if isinstance(params, dict) else []
        note(client, "item/started", item={"type": "userMessage", "id": "u", "content": content})
        if MODE == "asks":
            for number in (7, 8):
                params = {"threadId": "T", "itemId": f"i{number}", "command": "ls"}
                say(client, id=number, method="item/commandExecution/requestApproval", params=params)
        if MODE == "goes":
            sys.exit(1)
    elif method in ("turn/steer", "turn/interrupt"):
        say(client, id=number, result={})
        status = "completed" if method == "turn/steer" else "interrupted"
        note(client, "turn/completed", turn={"id": "U", "status": status})


def serve(path: str) -> None:
    """Be the app server of one client."""
    if MODE == "no-server":
        sys.exit(1)
    if Path(path).parent.is_symlink():  # as Codex, which makes the socket's folder private first
        sys.exit("socket directory path exists and is not a directory")
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(path)
    listening.listen()
    client, _ = listening.accept()
    heard = b""
    while not heard.endswith(b"\r\n\r\n"):
        heard += exact(client, 1)
    client.sendall(b"HTTP/1.1 101 Switching Protocols\r\n\r\n")
    while True:
        answer(client, json.loads(frame(client)))


def show(words: list[str]) -> None:
    """Be the screen."""
    written = Path("screen.part")
    written.write_text(json.dumps(words), "utf-8")
    written.rename("screen.json")
    if MODE == "closes":
        sys.exit(3)
    time.sleep(600)


if sys.argv[1] == "app-server":
    serve(sys.argv[-1].removeprefix("unix://"))
else:
    show(sys.argv[1:])
