"""Live children: the real pi in a window of a real tmux, with people who type."""

from __future__ import annotations

import json
import os
import signal
import time
from typing import TYPE_CHECKING

import pytest

from tests.hands import SLEEPS, TOOL, Live, soon
from tests.harness import TmuxServer, alive
from tests.status.watchers import checked
from tmuxagents.runs import directory, events, logs
from tmuxagents.runs.inspect import inspect
from tmuxagents.system import process

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.desk import Desk
    from tests.harness import ModelServer


@pytest.fixture
def live(desk: Desk, models: ModelServer) -> Iterator[Live]:
    made = Live(desk, models)
    yield made
    made.leave()


# --- nobody's ---------------------------------------------------------------------------------------------


def test_nobodys_run_works_in_its_window_and_ends_by_itself(live: Live, models: ModelServer) -> None:
    planted = live.desk.home.folder / "planted"
    task = f'- @odd --flag \'"$(touch {planted})" é 🎉\n/quit\n#bash:echo seen\n#say:All done.'
    done = live.desk("launch", "--live", "--json", "--", task, umask=0o022)
    run = checked(done.stdout, "receipt")["run"]
    assert run["driver"] == "live"
    result = live.result(run["runId"])
    held = [result[key] for key in ("status", "reason", "exitCode", "output", "toolCount", "leftBehind")]
    assert held == ["completed", "done", 0, "All done.", 1, []]
    assert models.requests(task)  # to the letter
    assert not planted.exists()
    kinds = [event["type"] for event in live.events(run["runId"])]
    assert kinds == [
        *("run_started", "tool_call", "usage", "tool_result", "turn_end"),
        *("assistant_text", "usage", "turn_end", "settled", "child_exited"),
    ]
    soon(lambda: "All done." in live.screen(run["runId"]))
    soon(
        lambda: (
            f"Open it again with: tmuxagents attach --resume {run['runId'][:8]}" in live.screen(run["runId"])
        )
    )
    assert "To resume this session" not in live.screen(run["runId"])
    assert '"type":"message_end"' in (live.desk.folder(run["runId"]) / "stdout.log").read_text()
    assert not [path for path in live.desk.folder(run["runId"]).iterdir() if path.is_fifo()]
    is_whole_and_its_persons_alone(live, run["runId"])


def test_what_a_batch_child_leaves_is_its_persons_alone_too(live: Live) -> None:
    run_id = live.desk.launch("--batch", "-m", "mock/mock-text", "#say:fine\nplease", umask=0o022)
    result = live.result(run_id)
    assert (result["status"], result["output"]) == ("completed", "fine")
    is_whole_and_its_persons_alone(live, run_id)


def is_whole_and_its_persons_alone(live: Live, run_id: str) -> None:
    folder = live.desk.folder(run_id)
    assert (folder.stat().st_mode & 0o777, (folder / "stderr.log").read_bytes()) == (0o700, b"")
    assert '"type":"session"' in (folder / "child-session.jsonl").read_text()
    assert {path.name for path in folder.iterdir() if path.stat().st_mode & 0o777 != 0o600} == set()
    named = json.loads((folder / "meta.json").read_text())["artifacts"]
    assert [name for name in named.values() if not (folder / name).exists()] == []
    (told,) = json.loads(live.desk("poll", "--json", run_id).stdout)["runs"]
    shown = [name for name in told["artifacts"].values() if isinstance(name, str)]
    assert [name for name in shown if not (folder / name).exists()] == []


def test_it_has_the_panes_terminal_and_no_tool_has_its_channel(live: Live) -> None:
    fifos = "ls -l /proc/self/fd | grep -c fifo"
    asks = f"env | grep -c BRIDGE; env | grep ^TERM=; {fifos}; ps -o pgid=,tpgid= -p $PPID"
    run_id = live.launch(f"#bash:{asks}\n#say:x", variables={"TERM": "foreign"})
    assert live.how(run_id) == ("completed", "done")
    bridge, term, fifos, groups = live.events(run_id, "tool_result")[0]["text"].splitlines()
    assert (bridge, fifos) == ("0", "0")
    assert term.startswith(("TERM=screen", "TERM=tmux"))
    group, foreground = groups.split()
    assert group == foreground


def test_a_failing_model_a_loop_and_a_timeout_fail_it_like_in_batch(live: Live) -> None:
    refused = live.launch("#script:err401")
    calls = "#bash:true\n" * 9
    looping = live.launch(f"{calls}#say:x", variables={"TMUXAGENTS_LOOPING_TOOL_COUNT": "3"})
    slow = live.launch("--timeout", "3", SLEEPS, variables={"TMUXAGENTS_EXTEND_TIMEOUT_DEBOUNCE": "0"})
    assert live.how(refused) == ("failed", "error")
    assert live.result(refused)["errorMessage"].startswith("401")
    assert live.how(looping) == ("failed", "loop")
    assert live.how(slow) == ("failed", "timeout")


def test_ended_from_outside_it_is_told_like_in_batch(live: Live) -> None:
    runs = live.working(6)
    term, kill, lost, window, stopped, left = runs
    children = [live.child(run_id) for run_id in runs]
    os.kill(live.child(term), signal.SIGTERM)  # it settles on its way out, with exit 0: not finished
    os.kill(live.child(kill), signal.SIGKILL)
    os.kill(live.wrapper(lost), signal.SIGKILL)
    live.desk.tmux("kill-window", "-t", live.desk.windows()[window])
    assert live.desk("stop", stopped).returncode == 0
    live.leave_by_keys(left)
    assert live.how(term) == ("failed", "unfinished")
    assert live.how(kill) == ("failed", "signal")
    assert live.how(lost) == ("aborted", "lost")
    assert live.how(window) == ("aborted", "closed")
    assert live.how(stopped) == ("aborted", "stopped")
    assert live.how(left) == ("aborted", "stopped")
    assert not [child for child in children if alive(child)]
    asked = ("display-message", "-p", "-t", live.desk.windows()[kill], "#{alternate_on}#{mouse_any_flag}")
    assert live.desk.tmux(*asked) == "00"
    assert "The child was killed by SIGKILL." in (live.desk.folder(kill) / "transcript.log").read_text()


def test_a_bridge_that_is_killed_leaves_nothing_of_its_own(live: Live) -> None:
    program = live.desk.home.folder / "claude"
    program.write_text('#!/bin/sh\n[ "$1" = --version ] && echo 2.1.328 || exec sleep 300\n')
    program.chmod(0o700)
    run_id = live.launch("--agent", "claude", "Do it.", variables={"TMUXAGENTS_CLAUDE": str(program)})
    between = live.desk.folder(run_id) / directory.LIVE_FILES
    soon((between / "hooks").is_socket)
    os.kill(live.child(run_id), signal.SIGKILL)
    assert live.how(run_id) == ("failed", "signal")
    assert not between.exists()


def test_the_end_of_the_server_is_told_as_that(live: Live) -> None:
    (works,), (settled,) = live.working(1), live.theirs(1)
    live.desk.tmux("kill-server")
    assert live.how(works) == ("aborted", "closed")
    assert live.how(settled) == ("completed", "done")


def test_a_project_that_is_not_trusted_asks_nobody(live: Live) -> None:
    folder = live.desk.home.project / ".pi" / "extensions"
    folder.mkdir(parents=True)
    (folder / "own.ts").write_text("export default function () { throw new Error('loaded') }")
    assert live.how(live.launch("#say:Fine.")) == ("completed", "done")


# --- a person's -------------------------------------------------------------------------------------------


def test_a_person_takes_it_over_and_it_stays_until_they_leave(live: Live) -> None:
    path, task = live.gate("First.")
    run_id = live.launch("--timeout", "5", task)
    live.wait_for(run_id, TOOL)
    live.say(run_id, "And #say:Second.")
    path.touch()
    waited = live.desk("poll", "--wait", "--json", run_id)
    run = checked(waited.stdout)["runs"][0]
    assert waited.returncode == 0
    held = [run[key] for key in ("status", "attended", "settled", "needsInput", "output", "reason")]
    assert held == ["running", True, True, False, "Second.", None]
    assert live.desk("output", run_id).stdout == "Second.\n"
    assert [event["text"] for event in live.events(run_id, "human_input")] == ["And #say:Second."]
    assert "live, settled: Second." in live.desk("poll").stdout
    live.say(run_id, "Then #bash:sleep 300")
    soon(lambda: not live.run(run_id)["settled"])
    soon(lambda: live.run(run_id)["elapsedSeconds"] > 5.5)  # its timeout is off
    live.press(run_id, "Escape")
    assert live.settled(run_id)["status"] == "running"
    assert live.desk("output", run_id).stdout == "Second.\n"  # what was broken off takes nothing back
    assert live.desk("wait", run_id).returncode == 1
    live.say(run_id, "Then #say:Third.")
    soon(lambda: live.run(run_id)["output"] == "Third.")
    live.settled(run_id)
    assert not live.has_ended(run_id)
    live.say(run_id, "/quit")
    assert live.how(run_id) == ("completed", "done")
    assert live.desk("output", run_id).stdout == "Third.\n"


def test_escape_half_a_line_and_suspending_end_nothing(live: Live) -> None:
    path, task = live.gate("First.")
    escaped, (half, suspended) = live.working(1)[0], live.working(2, task)
    live.press(escaped, "Escape")
    live.type(half, "half a line")
    live.press(suspended, "C-z")
    assert live.settled(escaped)["attended"]
    path.touch()
    assert live.settled(half)["attended"]
    assert live.how(suspended) == ("completed", "done")
    assert live.desk("send", "--wait", half, "#say:Sent.").stdout == "Sent.\n"
    assert "half a line" in live.screen(half)
    assert [live.run(run_id)["status"] for run_id in (escaped, half)] == ["running", "running"]
    assert live.desk("stop", escaped, half).returncode == 0
    assert live.how(escaped) == ("aborted", "stopped")
    assert live.how(half) == ("completed", "done")


def test_a_settled_run_of_a_person_is_completed_whatever_ends_it(live: Live) -> None:
    live.desk.home.environment["TMUXAGENTS_MAX_RUNNING"] = "4"
    runs = kill, lost, window, stopped = live.theirs(4)
    windows = live.desk.windows()
    rung = [
        live.desk.tmux("display-message", "-p", "-t", windows[one], "#{window_bell_flag}") for one in runs
    ]
    assert rung.count("1") >= 3  # not where somebody would look now
    other = live.launch("#say:Other.")  # they have given their slots back
    assert live.how(other) == ("completed", "done")
    for run_id in runs:  # that breaks off what they do, and they do nothing
        logs.append_message(str(live.desk.folder(run_id)), events.STOP, None)
    soon(lambda: all(live.events(run_id, "message_sent") for run_id in runs))
    assert all(live.run(run_id)["settled"] for run_id in runs)
    os.kill(live.child(kill), signal.SIGKILL)
    os.kill(live.wrapper(lost), signal.SIGKILL)
    live.desk.tmux("kill-window", "-t", live.desk.windows()[window])
    assert live.desk("stop", stopped).returncode == 0
    for run_id in runs:
        result = live.result(run_id)
        assert (result["status"], result["reason"], result["output"]) == ("completed", "done", "Second.")
    assert live.result(lost)["note"] == "wrapper lost"


# --- waiting for a person ---------------------------------------------------------------------------------


def test_who_waits_for_a_person_says_so_and_its_clock_stands(live: Live, tmux_server: TmuxServer) -> None:
    keyless = live.desk.home.run("x", model="anthropic/claude-opus-4-5", driver="live", timeout=60)
    keyless.start_in(tmux_server)
    folder = live.desk.home.agent_dir / "extensions"
    folder.mkdir()
    asks = 'pi.on("agent_start", async (_e, ctx) => { await ctx.ui.confirm("Go on?", "It is late."); });'
    (folder / "asks.ts").write_text(f"export default function (pi: any) {{ {asks} }}\n")
    run_id = live.launch(
        "--timeout", "8", "#say:Thanks.", variables={"TMUXAGENTS_EXTEND_TIMEOUT_DEBOUNCE": "0"}
    )
    live.wait_for(run_id, "needs_input")
    (asked,) = live.events(run_id, "needs_input")
    assert (asked["kind"], asked["text"]) == ("confirm", "Go on?")
    assert live.run(run_id)["needsInput"]
    assert "waiting" in live.desk("statusline").stdout
    assert "asks: Go on?" in live.desk("poll").stdout
    soon(lambda: time.time() > asked["at"] + 8.5)  # longer than it may work
    live.press(run_id, "Enter")
    assert live.how(run_id) == ("completed", "done")
    assert len(live.events(run_id, "input_given")) == 1
    assert not live.events(run_id, "settled")[0]["attended"]  # an answer is no taking over
    assert keyless.wait_for("needs_input", 60)["kind"] == "start"
    assert inspect(str(keyless.folder)).state.needs_input
    identity = directory.identity_of(directory.read_wrapper(str(keyless.folder)))
    assert identity is not None
    process.send(identity.pid, identity.start_time, signal.SIGTERM)
    assert keyless.wait_gone()["reason"] == "stopped"


# --- which driver -----------------------------------------------------------------------------------------


def test_who_decides_whether_it_is_live(live: Live) -> None:
    """The launch decides it, so the child need not work."""
    program = live.desk.home.folder / "pi"
    program.write_text("#!/bin/sh\nexit 1\n")
    program.chmod(0o700)
    live.desk.home.environment["TMUXAGENTS_PI"] = str(program)
    presets = live.desk.home.agent_dir / "subagents"
    presets.mkdir()
    (presets / "talker.md").write_text("---\nname: talker\ndescription: Talks\ndriver: live\n---\nTalk.\n")

    def launched(*arguments: str, **variables: str) -> dict[str, str]:
        done = live.desk("launch", "--json", *arguments, "#say:x", variables=variables)
        found: dict[str, str] = checked(done.stdout, "receipt")["run"]
        return found

    batch, preset = launched(), launched("-p", "talker")
    assert (batch["driver"], preset["driver"]) == ("batch", "live")
    assert launched(TMUXAGENTS_DRIVER="live")["driver"] == "live"
    assert launched("-p", "talker", "--batch")["driver"] == "batch"
    live.result(preset["runId"])
    again = checked(live.desk("retry", "--json", preset["runId"]).stdout, "receipt")["run"]
    assert again["driver"] == "live"
    for verb in ("retry", "resume"):
        words = ["x"] if verb == "resume" else []
        done = live.desk(verb, "--json", "--batch", preset["runId"], *words)
        assert checked(done.stdout, "receipt")["run"]["driver"] == "batch"
