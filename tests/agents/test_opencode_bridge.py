"""The bridge of a live opencode as a process, with stand-ins for the server and the screen."""

from __future__ import annotations

import base64
import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.harness import eventually
from tmuxagents.agents.opencode.live import LIVE

if TYPE_CHECKING:
    from collections.abc import Iterator

STAND_IN = Path(__file__).with_name("stand_in_opencode.py")


class Place:
    """A run directory with a bridge in it."""

    def __init__(self, folder: Path, session: str = "", *, starts: tuple[str, ...] = ()) -> None:
        self.folder = folder
        for name in ("live-events.fifo", "live-orders.fifo"):
            os.mkfifo(folder / name)
        for name in ("requests", "events"):
            (folder / name).touch()
        (folder / "prompt.txt").write_text("Do it: é\n")
        self._told = os.open(folder / "live-events.fifo", os.O_RDWR | os.O_NONBLOCK)
        self._orders = os.open(folder / "live-orders.fifo", os.O_RDWR)
        own = {name.upper(): str(folder / name) for name in ("requests", "events", "screen", "quit")}
        words = [*starts, sys.executable, str(STAND_IN), "--", session, "mock/m-1", "A title"]
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(LIVE.bridge), *words],
            env={**os.environ, **own, "TMUXAGENTS_BRIDGE": str(folder)},
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._text = b""

    def told(self, kind: str, count: int = 1) -> list[dict[str, Any]]:
        """Wait until the bridge has written `count` lines of a kind; return them."""

        def found() -> list[dict[str, Any]] | None:
            with suppress(BlockingIOError):
                self._text += os.read(self._told, 65536)
            lines = [json.loads(line) for line in self._text.split(b"\n")[:-1]]
            of_kind = [line for line in lines if line["type"] == kind]
            return of_kind if len(of_kind) >= count else None

        lines: list[dict[str, Any]] = eventually(found)
        return lines

    def order(self, **order: Any) -> None:
        os.write(self._orders, json.dumps(order).encode() + b"\n")

    def report(self, kind: str, **properties: Any) -> None:
        with (self.folder / "events").open("a") as file:
            file.write(json.dumps({"type": kind, "properties": {"sessionID": "ses_1", **properties}}) + "\n")

    def asked(self, count: int) -> list[dict[str, Any]]:
        """Wait for `count` requests to the server; return them."""

        def found() -> list[dict[str, Any]] | None:
            lines = [json.loads(line) for line in (self.folder / "requests").read_text().splitlines()]
            return lines if len(lines) >= count else None

        lines: list[dict[str, Any]] = eventually(found)
        return lines

    def leave(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        os.close(self._told)
        os.close(self._orders)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    made = Place(tmp_path)
    yield made
    made.leave()


def test_a_prompt_goes_to_the_session_by_the_server_and_is_announced_first(place: Place) -> None:
    session = place.told("bridge_session")[0]
    assert (session["sessionID"], session["model"]) == ("ses_1", "mock/m-1")
    place.order(order="task")
    place.order(order="say", inboxId=7, text="Go on")
    began, task, message = place.asked(3)
    assert (began["path"], began["body"]) == ("/session", {"title": "A title"})
    assert task["path"] == "/session/ses_1/prompt_async"
    assert task["body"] == {
        "parts": [{"type": "text", "text": "Do it: é\n"}],
        "model": {"providerID": "mock", "modelID": "m-1"},
    }
    assert message["body"]["parts"][0]["text"] == "Go on"
    assert [line["inboxId"] for line in place.told("bridge_says", 2)] == [0, 7]
    assert base64.b64decode(began["key"].split()[1]).startswith(b"opencode:")


def test_the_command_of_opencode_may_have_dashes_of_its_own(tmp_path: Path) -> None:
    place = Place(tmp_path, starts=("/usr/bin/env", "--"))
    try:
        assert place.told("bridge_session")[0]["model"] == "mock/m-1"
    finally:
        place.leave()


def test_a_report_that_is_nested_too_deeply_is_left_out_and_no_other(place: Place) -> None:
    line = json.dumps({"type": "message.updated", "properties": {"sessionID": "ses_1", "x": []}})
    with (place.folder / "events").open("a") as file:
        file.write(line.replace("[]", "[" * 300_000 + "]" * 300_000) + "\n")
    place.report("session.idle")
    assert place.told("session.idle")
    assert place.process.poll() is None


def test_the_screen_is_attached_to_the_session_and_what_the_server_reports_is_told(place: Place) -> None:
    screen = place.folder / "screen"
    words = eventually(lambda: screen.exists() and screen.read_text().split())
    assert (words[0], words[2:]) == ("attach", ["-s", "ses_1"])
    place.report("session.status", status={"type": "busy"})
    place.report("message.updated", sessionID="another")
    place.report("permission.asked", sessionID="another", id="p1")  # of a sub-agent
    place.report("plugin.added")
    place.report("message.part.delta")
    place.report("session.idle")
    place.told("session.idle")
    assert place.told("permission.asked")[0]["properties"]["id"] == "p1"
    kinds = [json.loads(line)["type"] for line in place._text.splitlines()]
    assert kinds[:2] == ["bridge_starts", "bridge_session"]
    assert kinds[2:] == ["session.status", "permission.asked", "bridge_alive", "session.idle"]


def test_an_answer_goes_to_the_server_and_one_that_comes_too_late_is_not_told(place: Place) -> None:
    place.told("bridge_session")
    place.report("question.asked", id="q1", questions=[{}, {}])
    place.told("question.asked")
    answers = [("gone", "allow"), ("p1", "allow"), ("p2", "session"), ("p3", "deny"), ("p4", "Not now")]
    for ask, answer in (*answers, ("q1", "Red"), ("q1", "deny")):
        place.order(order="answer", ask=ask, answer=answer, by="a person")
    asked = [(one["path"], one["body"]) for one in place.asked(8)[1:]]
    assert asked == [
        ("/permission/gone/reply", {"reply": "once"}),
        ("/permission/p1/reply", {"reply": "once"}),
        ("/permission/p2/reply", {"reply": "always"}),
        ("/permission/p3/reply", {"reply": "reject", "message": "This was denied by a person."}),
        ("/permission/p4/reply", {"reply": "reject", "message": "Not now"}),
        ("/question/q1/reply", {"answers": [["Red"], ["Red"]]}),
        ("/question/q1/reject", {}),
    ]
    assert [one["ask"] for one in place.told("bridge_answer", 6)] == ["p1", "p2", "p3", "p4", "q1", "q1"]


def test_it_leaves_when_it_may_and_has_done_no_more(place: Place) -> None:
    place.told("bridge_session")
    place.report("session.status", status={"type": "idle"})
    place.report("session.idle")
    place.told("session.idle")
    place.order(order="leave", settlings=0)
    place.order(order="abort", inboxId=3)
    assert place.told("bridge_taken")[0]["inboxId"] == 3
    assert place.asked(2)[1]["path"] == "/session/ses_1/abort"
    assert place.process.poll() is None
    place.order(order="leave", settlings=1)
    assert place.process.wait(10) == 0


def test_who_quits_the_screen_has_left(place: Place) -> None:
    place.told("bridge_session")
    (place.folder / "quit").touch()
    assert place.told("bridge_person")[0]["typed"] is False
    assert place.process.wait(10) == 0


def test_a_server_that_ends_takes_the_screen_with_it(place: Place) -> None:
    place.told("bridge_session")
    with (place.folder / "events").open("a") as file:
        file.write("end\n")
    assert place.told("bridge_person")
    place.process.wait(10)


def test_a_session_is_gone_on_with(tmp_path: Path) -> None:
    place = Place(tmp_path, "ses_9")
    try:
        assert place.told("bridge_session")[0]["sessionID"] == "ses_9"
        assert not (tmp_path / "requests").read_text()
    finally:
        place.leave()
