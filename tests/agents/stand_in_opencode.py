"""A stand-in for opencode, in tests that only start and end its server and its screen.

The server keeps what it is asked for in the file that REQUESTS names, and reports the lines of EVENTS.
"""

from __future__ import annotations

import json
import os
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


class Handler(BaseHTTPRequestHandler):
    """Answers as the server of opencode does."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"] or 0)) or b"{}")
        asked = {"path": self.path, "body": body, "key": self.headers["Authorization"]}
        with Path(os.environ["REQUESTS"]).open("a") as file:
            file.write(json.dumps(asked) + "\n")
        self.send_response(404 if "/gone/" in self.path else 200)
        self.end_headers()
        self.wfile.write(b'{"id": "ses_1"}')

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        told = 0
        while True:
            lines = Path(os.environ["EVENTS"]).read_text().splitlines()
            for line in lines[told:]:
                if line == "end":
                    return
                self.wfile.write(f"data: {line}\n\n".encode())
                self.wfile.flush()
            told = len(lines)
            time.sleep(0.02)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def main(words: list[str]) -> None:
    if words[0] == "serve":
        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        print(f"opencode server listening on http://127.0.0.1:{server.server_port}", flush=True)
        server.serve_forever()
    Path(os.environ["SCREEN"]).write_text(" ".join(words))
    while not Path(os.environ["QUIT"]).exists():
        time.sleep(0.02)


main(sys.argv[1:])
