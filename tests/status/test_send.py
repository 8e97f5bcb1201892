"""send, with the installed command and the real pi; and a person who attaches, types, leaves and returns."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import pytest

from tests.hands import TOOL, Live, soon
from tests.harness import stop
from tests.status.watchers import COMMAND, checked
from tests.terminal import Terminal
from tmuxagents.runs import logs
from tmuxagents.system import process

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator
    from pathlib import Path

    from tests.desk import Desk
    from tests.harness import ModelServer

ODD = "stay in \"src/\", 'please': $(touch {0}) `touch {0}` $HOME\n\n\tand é 🎉 \\n %s\n#say:Second."


@pytest.fixture
def live(desk: Desk, models: ModelServer) -> Iterator[Live]:
    made = Live(desk, models)
    yield made
    made.leave()


def refused(done: subprocess.CompletedProcess[str]) -> tuple[str, int]:
    error = checked(done.stdout, "error")["error"]
    return error["kind"], done.returncode


def test_a_parent_sends_twice_waits_and_reads(live: Live, models: ModelServer) -> None:
    planted = live.desk.home.folder / "planted"
    odd = ODD.format(planted)
    path, task = live.gate("First.")
    (run_id,) = live.working(1, task)
    first = live.desk("send", run_id, "-", input=odd)
    assert (first.returncode, first.stdout) == (0, f"Delivered to run {run_id}.\n")
    long = "Now this. #say:Third.\n" + f"{'x' * 99}\n" * 9000
    later = live.desk("send", "--follow-up", "--json", run_id, "-", input=long)
    assert checked(later.stdout, "run")["driver"] == "live"
    path.touch()
    assert live.desk("poll", "--wait", run_id).returncode == 0
    assert live.desk("output", run_id).stdout == "Third.\n"
    assert models.requests(odd)  # to the letter
    assert models.requests(long)
    assert not planted.exists()
    sent = [(event["inboxId"], event["kind"], event["text"]) for event in live.events(run_id, "message_sent")]
    assert sent == [(1, "steer", odd), (2, "followUp", long)]
    for line in (live.desk.folder(run_id) / logs.INBOX).read_text().splitlines():
        checked(line, "inbox")
    assert live.result(run_id)["status"] == "completed"
    assert refused(live.desk("send", "--json", run_id, "more")) == ("run-ended", 4)


def test_the_reply_to_a_message_is_printed_and_not_that_to_a_later_one(live: Live) -> None:
    path, task = live.gate("First.")
    (run_id,) = live.working(1, task)
    first = live.desk.start("send", "--wait", run_id, "Now this. #say:Second.")
    try:
        live.wait_for(run_id, "message_sent")
        assert live.desk("send", "--follow-up", run_id, "And that. #say:Third.").returncode == 0
        path.touch()
        said, complaints = first.communicate(timeout=90)
    finally:
        first.kill()
    assert (said, complaints, first.returncode) == ("Second.\n", "", 0)
    assert live.desk("output", "--wait", run_id).stdout == "Third.\n"


def test_a_tool_speaks_to_a_live_child_and_a_batch_child_refuses(live: Live) -> None:
    (run_id,) = live.theirs(1)
    said = live.desk(
        "call", "send_to_agent", "-", input=f'{{"runId":"{run_id}","text":"Go on. #say:Again."}}'
    )
    answer = checked(said.stdout, "call")
    assert answer["content"][0]["text"] == f"Delivered to run {run_id}."
    assert answer["details"]["delivered"] is True
    soon(lambda: live.run(run_id)["output"] == "Again.")
    assert live.desk("send", run_id, " \n").returncode == 2
    for odd in ("nan", "-1"):  # neither of them ever comes
        told = live.desk("send", "--json", "--wait", "--timeout", odd, run_id, "Never.")
        assert refused(told) == ("usage", 2)
    batch = live.desk.launch("Work.\n#bash:sleep 300")
    assert refused(live.desk("send", "--json", batch, "x")) == ("not-live", 4)
    assert live.desk("stop", run_id, batch).returncode == 0


def test_what_was_not_taken_is_not_said_to_be(live: Live) -> None:
    (run_id,) = live.working(1)
    child = live.child(run_id)
    started = process.start_time(child)
    assert started is not None
    stop(child)
    sending = live.desk.start("send", "--json", run_id, "Hello?")
    try:
        soon((live.desk.folder(run_id) / logs.INBOX).exists)
        os.kill(live.wrapper(run_id), signal.SIGKILL)
        out, _ = sending.communicate(timeout=60)
    finally:
        process.send(child, started, signal.SIGCONT)  # if nobody has ended it yet
    assert checked(out, "error")["error"]["kind"] == "run-ended"
    assert not live.events(run_id, "message_sent")


# --- a person ---------------------------------------------------------------------------------------------


class Person(Terminal):
    """A person who is attached to a run on a terminal."""

    def __init__(self, live: Live, run_id: str, folder: Path, *more: str) -> None:
        super().__init__([*COMMAND, "attach", *more, run_id], live.desk.home.environment, folder)
        self._live = live

    def detach(self) -> int:
        """Detach with keys; return the exit code of the attach command."""
        asked = ("list-clients", "-F", "#{client_name} #{client_prefix}")

        def is_heard() -> bool:
            if f"{self.name} 1" in self._live.desk.tmux(*asked):
                return True
            self.type("\x02")
            return False

        soon(is_heard)
        self.type("d")
        return self.left()


def test_a_person_watches_steers_breaks_off_goes_on_and_leaves(live: Live) -> None:
    path, task = live.gate("First.")
    (run_id,) = live.working(1, task)
    person = Person(live, run_id, live.desk.home.project)
    try:
        person.shows("until [ -e")  # the running tool
        person.type("Rather this. #say:Obeyed.")
        soon(lambda: "Obeyed." in live.screen(run_id))
        person.type("\r")
        person.shows("Steering")
        path.touch()
        soon(lambda: live.run(run_id)["output"] == "Obeyed.")
        live.settled(run_id)
        person.type("Next #bash:sleep 300")
        soon(lambda: "sleep 300" in live.screen(run_id))
        person.type("\r")
        soon(lambda: len(live.events(run_id, "tool_call")) == 2)
        person.type("\x1b")
        live.settled(run_id)
        person.type("Go on #say:Well done.")
        soon(lambda: "Well done." in live.screen(run_id))
        person.type("\r")
        soon(lambda: live.run(run_id)["output"] == "Well done.")
        assert person.detach() == 0
        run = live.settled(run_id)
        assert (run["status"], run["attended"]) == ("running", True)
        assert "read-only transcript" not in person.text
    finally:
        person.close()
    back = Person(live, run_id, live.desk.home.project)
    try:
        back.shows("Well done.")
        os.kill(live.wrapper(run_id), signal.SIGKILL)
        assert live.how(run_id) == ("completed", "done")
        assert back.detach() == 0  # their terminal obeys them
    finally:
        back.close()
    assert TOOL in (live.desk.folder(run_id) / "events.jsonl").read_text()


def test_who_only_looks_has_taken_nothing_over(live: Live) -> None:
    path, task = live.gate("Done.")
    (run_id,) = live.working(1, task)
    person = Person(live, run_id, live.desk.home.project)
    try:
        person.shows("until [ -e")
        for said in ("\x1b[I", "\x1b[O", "\x1b[?1;2c", "\x1b]11;rgb:0000/0000/0000\x1b\\"):
            live.press(run_id, "-l", said)  # what a terminal sends by itself
        live.press(run_id, "Up")
        live.press(run_id, "PPage")
        path.touch()
        assert live.how(run_id) == ("completed", "done")
        assert not live.events(run_id, "settled")[0]["attended"]
    finally:
        person.close()


def test_a_person_opens_an_ended_session_again(live: Live) -> None:
    first = live.desk.launch("Say it. #say:First.")
    assert live.how(first) == ("completed", "done")
    person = Person(live, first, live.desk.home.project, "--resume")
    try:
        (second,) = soon(lambda: live.runs_besides(first))
        person.shows("Say it.")  # the whole conversation is there
        assert checked((live.desk.folder(second) / "meta.json").read_text(), "meta")["reopens"] is True
        run = live.settled(second)
        held = [run[key] for key in ("driver", "sessionId", "resumes", "status", "attended", "output")]
        assert held == ["live", first, first, "running", True, None]
        assert live.desk("output", first).stdout == "First.\n"
        assert refused(live.desk("resume", "--json", first, "x")) == ("run-running", 4)
        live.say(second, "Go on. #say:Second.")
        soon(lambda: live.run(second)["output"] == "Second.")
        live.settled(second)
        live.say(second, "/quit")
        assert live.how(second) == ("completed", "done")
    finally:
        person.close()
    assert live.desk("output", first).stdout == "Second.\n"
    looked = Person(live, second, live.desk.home.project, "--resume")
    try:
        (third,) = soon(lambda: live.runs_besides(first, second))
        live.settled(third)
        assert live.desk("stop", third).returncode == 0
        assert live.how(third) == ("completed", "done")
        assert live.desk("output", third).stdout == "Second.\n"
    finally:
        looked.close()
    assert live.desk("retry", third).returncode == 2
