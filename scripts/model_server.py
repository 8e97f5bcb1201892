"""A model server for tests: it does what a provider does, right or wrong, by script and without a model.

    python scripts/model_server.py --log requests.jsonl --agent-dir DIR    and, with PI_CODING_AGENT_DIR=DIR:
    pi --model mock/mock-text "say hello"

It speaks as the providers of all agents do (model_shapes/), on 127.0.0.1, prints its address when it
listens, and ends with the process that started it. What it answers is in model_scripts.json, and
model_turns.py says how to read that.
With --demo it is the quickstart's model: its scripts are in demo_scripts.json, it ends with its port file.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import signal
import socket
import sys
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

# Started as a program, Python looks for modules beside this file only.
sys.path.insert(0, str(Path(__file__).parents[1]))

from scripts import model_shapes, model_turns

if TYPE_CHECKING:
    from collections.abc import Callable

    from scripts.model_shapes import Shape
    from scripts.model_turns import Asked, Json, Turn

BUILT_IN_SCRIPTS = Path(__file__).with_name("model_scripts.json")
KEYS = ("authorization", "x-api-key", "x-goog-api-key", "api-key")
DEMO_SCRIPTS = Path(__file__).with_name("demo_scripts.json")


class ModelServer(ThreadingHTTPServer):
    """The listening server: scripts, log, and a counter for scripts that fail at first."""

    daemon_threads = True  # a hanging answer must not keep the server from ending
    block_on_close = False

    def __init__(self, options: argparse.Namespace, scripts: Json) -> None:
        super().__init__(("127.0.0.1", options.port), Connection)
        self.url = f"http://127.0.0.1:{self.server_port}/v1"
        self.provider = "demo" if options.demo else "mock"
        self.scripts = scripts
        self.pace = options.pace
        self.models = {name if options.demo else f"mock-{name}": script for name, script in scripts.items()}
        self._log = options.log.open("a", encoding="utf-8") if options.log else None
        self._lock = threading.Lock()
        self._tried: Counter[str] = Counter()
        self._is_wanted = named_in(options.port_file, self.server_port) if options.demo else child_of_parent()

    def service_actions(self) -> None:
        """Twice a second: end if nobody wants the server any more, so that nothing is left behind."""
        if not self._is_wanted():
            sys.exit()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Stay silent about clients that leave: some scripts make them."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)

    def note(self, record: Json) -> None:
        """Append to the log, readable there on return."""
        if self._log:
            with self._lock:
                self._log.write(json.dumps(record) + "\n")
                self._log.flush()

    def fails(self, turn: Turn, asked: Asked) -> bool:
        """Say whether the turn is a failure this time; after a success it begins anew, for the next run."""
        if "failures" not in turn:
            return "status" in turn
        conversation = hashlib.sha256(json.dumps(asked.messages).encode()).hexdigest()
        with self._lock:
            self._tried[conversation] += 1
            return self._tried[conversation] % (turn["failures"] + 1) != 0


class Connection(BaseHTTPRequestHandler):
    """One client, for as long as it stays."""

    protocol_version = "HTTP/1.1"  # its chunks tell a cut stream from a finished one
    disable_nagle_algorithm = True
    server: ModelServer

    def log_message(self, *_: object) -> None:
        """Say nothing on stderr."""

    def do_GET(self) -> None:
        """List the models."""
        models = [{"id": name, "object": "model"} for name in self.server.models]
        self.send_document(200, {"object": "list", "data": models})

    def do_POST(self) -> None:
        """Answer a conversation, after noting it."""
        request = json.loads(self.rfile.read(int(self.headers["content-length"])) or b"{}")
        path = self.path.partition("?")[0]
        name, count = model_shapes.name_of(path), model_shapes.counted(path)
        if name is None:
            self.send_document(
                200 if count else 404, count or {"error": {"message": f"No such path: {path}"}}
            )
            return
        shape = model_shapes.named(name)
        asked = shape.asked(path, request)
        choice = model_turns.choose(self.server.scripts, asked.model, asked.messages)
        self.server.note(
            {
                "at": time.time(),
                "path": path,
                "shape": name,
                "model": asked.model,
                "script": choice.script,
                "turn": choice.number,
                "headers": {key.lower(): self.visible(key, value) for key, value in self.headers.items()},
                "messages": asked.messages,
                "prompts": model_turns.prompts(asked.messages),
                "tools": list(asked.tools),
            }
        )
        time.sleep(choice.delay_s)
        if self.server.fails(choice.turn, asked):
            self.send_document(choice.turn["status"], shape.error(choice.turn), choice.turn.get("after"))
        elif asked.stream:
            self.send_stream(shape, asked, choice.turn)
        elif "then" in choice.turn:
            self.break_off(choice.turn["then"])
        else:
            self.send_document(200, shape.whole(asked, choice.turn))

    @staticmethod
    def visible(key: str, value: str) -> str:
        """Keep keys out of the log, also the false ones of tests."""
        return "(hidden)" if key.lower() in KEYS else value

    def send_document(self, status: int, document: Json, after: int | None = None) -> None:
        """Send one JSON document; say when to try again."""
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        if after is not None:
            self.send_header("retry-after", str(after))
        self.end_headers()
        self.wfile.write(body)

    def send_stream(self, shape: Shape, asked: Asked, turn: Turn) -> None:
        """Send an answer piece by piece, or as far as the turn goes."""
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for part in shape.stream(asked, turn):
            self.send_part(part)
            time.sleep(turn.get("pause", 0) * self.server.pace)
        if "then" in turn:
            self.break_off(turn["then"])
        else:
            self.send_part("")

    def send_part(self, text: str) -> None:
        """Send one chunk of HTTP; the empty one ends the answer."""
        data = text.encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    def break_off(self, how: str) -> None:
        """Leave an answer unfinished."""
        self.close_connection = True
        if how == "hang":
            self.rfile.read(1)  # the client has nothing more to say: this returns when it leaves
        else:
            self.connection.shutdown(socket.SHUT_RDWR)


def main() -> None:
    """Serve until told to stop."""
    options = parse_options()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, leave)
    scripts: Json = {}
    for path in filter(None, (DEMO_SCRIPTS if options.demo else BUILT_IN_SCRIPTS, options.scripts)):
        scripts |= json.loads(path.read_text(encoding="utf-8"))
    with ModelServer(options, scripts) as server:
        if options.agent_dir:
            write_agent_dir(options.agent_dir, server)
        if options.port_file:
            unfinished = options.port_file.with_name(f"{options.port_file.name}.new")
            unfinished.write_text(f"{server.server_port}\n", encoding="utf-8")
            unfinished.replace(options.port_file)
        print(server.url, flush=True)
        server.serve_forever()


def parse_options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--port", type=int, default=0, help="0, as by default, takes a free one")
    parser.add_argument("--port-file", type=Path, help="the port, written when all else is in place")
    parser.add_argument("--log", type=Path, help="a JSON line for each request, written before its answer")
    parser.add_argument("--scripts", type=Path, help="a JSON file of more scripts")
    parser.add_argument("--agent-dir", type=Path, help="a folder for pi's models.json and settings.json")
    parser.add_argument("--pace", type=float, default=1, help="how many times longer the pauses are")
    parser.add_argument(
        "--demo", action="store_true", help="be the provider `demo`, while the port file says so"
    )
    options = parser.parse_args()
    if options.demo and not options.port_file:
        parser.error("--demo needs --port-file")
    return options


def child_of_parent() -> Callable[[], bool]:
    """Return what says whether the process that started this one lives."""
    parent = os.getppid()
    return lambda: os.getppid() == parent


def named_in(port_file: Path, port: int) -> Callable[[], bool]:
    """Return what says whether a port file is there and names this port."""

    def is_named() -> bool:
        try:
            return port_file.read_text(encoding="utf-8").strip() == str(port)
        except FileNotFoundError:
            return False

    return is_named


def leave(*_: object) -> NoReturn:
    """End at once and quietly; answers under way end too."""
    sys.exit()


def write_agent_dir(folder: Path, server: ModelServer) -> None:
    """Tell pi of this server, and let it retry without its usual seconds of waiting."""
    limits = {"contextWindow": 128_000, "maxTokens": 4096}
    models = [{"id": name, **limits, **script.get("model", {})} for name, script in server.models.items()]
    provider = {"baseUrl": server.url, "api": "openai-completions", "apiKey": "dummy", "models": models}
    documents = {
        "models.json": {"providers": {server.provider: provider}},
        "settings.json": {"retry": {"baseDelayMs": 10}, "quietStartup": True},
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name, document in documents.items():
        path = folder / name
        path.touch(mode=0o600)  # as pi makes them: there are keys in such files
        path.chmod(0o600)
        path.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
