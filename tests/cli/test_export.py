"""`export`: runs as one page, in a real browser."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import threading
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import pytest

from tests.runs.test_reading import ended
from tests.status.watchers import COMMAND
from tests.terminal import Terminal

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.harness import Home

pytestmark = pytest.mark.usefixtures("nothing_hangs")
BROWSER = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"),
    *("--disable-component-update", "--disable-sync", "--hide-scrollbars", "--window-size=800,600"),
)


class Asked(ThreadingHTTPServer):
    """Counts who asks for something."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Noting)
        self.paths: list[str] = []


class Noting(BaseHTTPRequestHandler):
    server: Asked

    def do_GET(self) -> None:
        self.server.paths.append(self.path)
        self.send_response(404)
        self.end_headers()

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def asked() -> Iterator[Asked]:
    server = Asked()
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def browse(folder: Path, *arguments: str) -> str:
    """Have Chromium do something with a page; return what it prints."""
    chromium = shutil.which("chromium")
    assert chromium, "scripts/test installs it"
    argv = [chromium, *BROWSER, f"--user-data-dir={folder / 'browser'}", *arguments]
    return subprocess.run(argv, capture_output=True, text=True, check=True, timeout=90).stdout


def ground(png: bytes) -> tuple[int, ...]:
    """Return the first pixel of a picture."""
    at, data = 8, b""
    while at < len(png):
        (length,) = struct.unpack(">I", png[at : at + 4])
        if png[at + 4 : at + 8] == b"IDAT":
            data += png[at + 8 : at + 8 + length]
        at += length + 12
    return tuple(
        zlib.decompress(data)[1:4]
    )  # after the filter of the first row, which has nothing to refer to


def test_a_browser_shows_a_page_and_asks_for_nothing(home: Home, tmp_path: Path, asked: Asked) -> None:
    address = f"http://127.0.0.1:{asked.server_port}"
    hostile = f"<img src={address}/a><script src={address}/b></script> ![x]({address}/c) [link]({address}/d)"
    script = f'begin\ntool bash {{"command":"make"}}\nanswer stop All **good**. {hostile}\nsettle'
    run = ended(home, script)
    page = tmp_path / "page.html"
    done = home.command("export", run.run_id, "--html", str(page))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert page.stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.glob("page.html*")) == [page]
    shown = browse(tmp_path, "--dump-dom", page.as_uri())
    assert "All <strong>good</strong>. &lt;img src=" in shown
    assert '<details class="call good"><summary>' in shown
    assert '<div class="end good">✓ <strong>completed</strong>' in shown
    grounds = []
    for scheme in (1, 0):  # light and dark, in the browser's words
        browse(
            tmp_path,
            f"--blink-settings=preferredColorScheme={scheme}",
            f"--screenshot={tmp_path / 'shot.png'}",
            page.as_uri(),
        )
        grounds.append(ground((tmp_path / "shot.png").read_bytes()))
    assert grounds == [(0xFB, 0xFB, 0xFA), (0x16, 0x18, 0x1D)]
    assert asked.paths == []


def test_several_runs_are_one_page_on_stdout(home: Home) -> None:
    first, other = ended(home, "done one"), ended(home, "answer error bad\nsettle")
    ended(home, "done two", sessionId=first.run_id)
    page = home.command("export", first.run_id, other.run_id, first.run_id).stdout
    assert page.count("<article ") == 3
    assert page.count('<table class="runs">') == 1
    assert page.endswith("</html>\n")
    assert home.command("export").stdout.count("<article ") == 2


def test_a_page_goes_into_a_pipe_or_a_device_that_stays_one(home: Home, tmp_path: Path) -> None:
    run, pipe = ended(home, "done x"), tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE) as reader:
        done = home.command("export", run.run_id, "--html", str(pipe))
        try:
            page, _ = reader.communicate(timeout=10)
        finally:
            reader.kill()
    assert (done.returncode, done.stderr, b"</html>" in page, pipe.is_fifo()) == (0, "", True, True)


def test_a_page_is_not_written_to_a_terminal_or_where_it_cannot_be(home: Home) -> None:
    run = ended(home, "done one")
    terminal = Terminal([*COMMAND, "export", run.run_id], home.environment, home.project)
    assert terminal.left() == 2
    assert "hint: --html FILE writes it to a file" in terminal.text
    terminal.close()
    done = home.command("export", run.run_id, "--html", "/nowhere/x.html")
    assert done.returncode == 3
    assert "/nowhere/x.html cannot be written: No such file or directory." in done.stderr
    (home.project / "folder").mkdir()
    assert home.command("export", run.run_id, "--html", "folder").returncode == 3
    assert [path.name for path in home.project.iterdir()] == ["folder"]
