"""The process in the window of a live opencode, between the wrapper and opencode's own screen.

The bridge starts opencode's server, which only the bridge and the screen can use. It sends the prompts to the
server, and passes the server's reports on to the wrapper. The screen (`opencode attach`) has the terminal.
The bridge types no keys. It is started as `python bridge.py PROGRAM... -- SESSION MODEL TITLE`; each of the
last three words may be empty.

Touches: opencode's server and screen, and the two FIFOs of the wrapper.
"""

from __future__ import annotations

import base64
import contextlib
import http
import http.client
import json
import os
import secrets
import signal
import subprocess
import sys
import threading
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

_LISTENS = b"listening on http://"
_ANSWER_S, _GRACE_S = 60.0, 2.0
_PASSED_ON = ("message.updated", "message.part.updated", "session.status", "session.idle", "session.error")
_ASKING = ("permission.", "question.")
_DENY, _REFUSES = "deny", "reject"
_REPLIES = {"allow": "once", "session": "always"}
_ALIVE_S = 1.0  # the least time between two reports that a text grows


class OpencodeServer:
    """The server of opencode that belongs to this run."""

    def __init__(self, program: Sequence[str]) -> None:
        self._password = secrets.token_urlsafe(24)
        self.environment = {**os.environ, "OPENCODE_SERVER_PASSWORD": self._password}
        words = [*program, "serve", "--hostname", "127.0.0.1", "--port", "0"]
        self._process = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=self.environment
        )
        assert self._process.stdout is not None
        line = next((line for line in self._process.stdout if _LISTENS in line), None)
        if line is None:
            raise OSError("opencode's server did not start")
        self.address = line.split(_LISTENS, 1)[1].decode().strip().rstrip("/")
        threading.Thread(target=self._drain, daemon=True).start()

    def _drain(self) -> None:
        assert self._process.stdout is not None
        while self._process.stdout.read(65536):
            pass

    def request(
        self, method: str, path: str, body: Any = None, *, limit: float | None = _ANSWER_S
    ) -> http.client.HTTPResponse:
        """Send one request; return the answer, whatever its status."""
        connection = http.client.HTTPConnection(self.address, timeout=limit)
        key = base64.b64encode(f"opencode:{self._password}".encode()).decode()
        headers = {"Authorization": f"Basic {key}", "Content-Type": "application/json"}
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        return connection.getresponse()

    def session(self, title: str) -> str:
        """Begin a session; return its id."""
        with self.request("POST", "/session", {"title": title} if title else {}) as answer:
            return str(json.load(answer)["id"])

    def events(self) -> Iterator[dict[str, Any]]:
        """Yield the server's reports until it ends."""
        with self.request("GET", "/event", limit=None) as stream:
            for line in stream:
                if line.startswith(b"data:"):
                    with contextlib.suppress(ValueError, RecursionError):
                        yield json.loads(line[5:])

    def end(self) -> None:
        """End the server."""
        self._process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_GRACE_S)
            return
        self._process.kill()


class OpencodeBridge:
    """The bridge between one wrapper and one session."""

    def __init__(self, program: Sequence[str], folder: str, *, session: str, model: str, title: str) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._events = os.open(f"{folder}/live-events.fifo", os.O_WRONLY | os.O_CLOEXEC)
        self._orders = os.open(f"{folder}/live-orders.fifo", os.O_RDONLY | os.O_CLOEXEC)
        self.tell({"type": "bridge_starts"})  # the server may take its time
        self._server = OpencodeServer(program)
        self._session = session or self._server.session(title)
        self._model = dict(zip(("providerID", "modelID"), model.split("/", 1), strict=False))
        self._settlings = 0
        self._busy = False
        self._leaving = False
        self._alive_at = 0.0
        self._asked: dict[str, int] = {}  # question -> the number of things that it asks
        screen = [*program, "attach", f"http://{self._server.address}", "-s", self._session]
        self.tell({"type": "bridge_session", "sessionID": self._session, "model": model})
        self._screen = subprocess.Popen(screen, env=self._server.environment)

    def tell(self, line: dict[str, Any]) -> None:
        """Send the wrapper one line."""
        with self._lock:
            self._write(line)

    def _write(self, line: dict[str, Any]) -> None:
        text = json.dumps(line, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
        while text:
            text = text[os.write(self._events, text) :]

    def run(self) -> int:
        """Pass everything on until the screen ends; return our exit status."""
        threading.Thread(target=self._report, daemon=True).start()
        threading.Thread(target=self._obey, daemon=True).start()
        code = self._screen.wait()
        if not self._leaving:
            self.tell({"type": "bridge_person", "typed": False})
        self._server.end()
        return 0 if self._leaving else max(code, 0)

    def _report(self) -> None:
        with contextlib.suppress(OSError, http.client.HTTPException):
            for event in self._server.events():
                kind, properties = str(event.get("type")), event.get("properties") or {}
                own = properties.get("sessionID") == self._session
                if kind == "message.part.delta" and time.monotonic() > self._alive_at + _ALIVE_S:
                    self._alive_at = time.monotonic()
                    self.tell({"type": "bridge_alive"})
                is_question = kind.startswith(_ASKING)  # a sub-agent may ask, too
                if not is_question and not (own and kind in _PASSED_ON):
                    continue
                if kind == "session.status":
                    self._busy = properties.get("status", {}).get("type") != "idle"
                elif kind == "session.idle":
                    self._settlings += 1
                elif kind == "question.asked":
                    self._asked[str(properties.get("id"))] = len(properties.get("questions") or ())
                self.tell({"type": kind, "properties": properties})
        self._screen.terminate()

    def _obey(self) -> None:
        with open(self._orders, "rb", closefd=False) as orders:
            for line in orders:
                with contextlib.suppress(OSError, http.client.HTTPException, ValueError):
                    self._carry_out(json.loads(line))

    def _carry_out(self, order: dict[str, Any]) -> None:
        what = order.get("order")
        if what == "task":
            with open(f"{self._folder}/prompt.txt", encoding="utf-8", errors="surrogateescape") as prompt:
                self._say(0, prompt.read())
        elif what == "say":
            self._say(order["inboxId"], str(order["text"]))
        elif what == "answer":
            self._answer(order["ask"], order["answer"], order["by"])
        elif what == "abort":
            self._server.request("POST", f"/session/{self._session}/abort").close()
            self.tell({"type": "bridge_taken", "inboxId": order["inboxId"]})
        elif what == "leave" and order["settlings"] == self._settlings and not self._busy:
            self._leaving = True
            self._screen.terminate()

    def _answer(self, ask: str, answer: str, by: str) -> None:
        """Answer a question. The server takes the first answer, and refuses any later one."""
        count = self._asked.get(ask)
        body: dict[str, Any] = {}
        if count is None:
            path, body = f"/permission/{ask}/reply", {"reply": _REPLIES.get(answer, _REFUSES)}
            if body["reply"] == _REFUSES:  # a refusal without words would end the turn
                body["message"] = f"This was denied by {by}." if answer == _DENY else answer
        elif answer == _DENY:
            path = f"/question/{ask}/reject"
        else:
            path, body = f"/question/{ask}/reply", {"answers": [[answer]] * count}
        with self._lock:  # so that the effects of the answer are reported after the answer
            with self._server.request("POST", path, body) as answered:
                is_taken = answered.status == http.HTTPStatus.OK
            if is_taken:
                self._write({"type": "bridge_answer", "ask": ask, "answer": answer, "by": by})

    def _say(self, number: int, text: str) -> None:
        self.tell({"type": "bridge_says", "inboxId": number, "text": text})
        body: dict[str, Any] = {"parts": [{"type": "text", "text": text}]}
        if len(self._model) == 2:  # noqa: PLR2004  (provider and model)
            body["model"] = self._model
        self._server.request("POST", f"/session/{self._session}/prompt_async", body).close()


def main(words: list[str]) -> int:
    """Run the bridge; return our exit status."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the screen
    os.write(1, "opencode is starting …\n".encode())  # its screen takes seconds
    *program, _, session, model, title = words
    folder = os.environ.pop("TMUXAGENTS_BRIDGE")
    return OpencodeBridge(program, folder, session=session, model=model, title=title).run()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
