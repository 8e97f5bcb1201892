"""The wrapper around scripted children: the input of the child, the window, and refusals to start."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.harness import BOOT, REPOSITORY, alive, eventually
from tests.torture import memory
from tests.torture.endings import press_until_it_ends
from tmuxagents.runs import writing
from tmuxagents.runs.conclude import NEVER_OPENED, conclude

if TYPE_CHECKING:
    from tests.harness import Home, Run, TmuxServer

ECHO = REPOSITORY / "tests" / "children" / "echo.py"
TASKS = {
    "a megabyte": "All work and no play. " * 50_000,
    "leading dash": "- item\n--help",
    "leading at": "@/etc/passwd",
    "formats": "#(touch x) #{pid} %H %1 ##[fg=red]",
    "quotes": "it's \"so\" `date` $(date) \\ ' ; fi",
    "newlines": "\n\none\n\n\ttwo\r\nthree\n",
    "odd unicode": "\u2028\u2029\ufeff\u202e\U0001f600 e\u0301 \x1b[31m \x07 \x7f \x85",
    "slash": "/quit",
}


def echoed(home: Home) -> dict[str, Any]:
    seen: dict[str, Any] = json.loads(Path(f"{home.record}.echo").read_text())
    return seen


@pytest.fixture
def echo(home: Home) -> Home:
    home.environment["TMUXAGENTS_PI"] = str(ECHO)
    return home


@pytest.mark.parametrize("name", TASKS)
def test_the_task_reaches_stdin_to_the_byte_and_no_command_line(echo: Home, name: str) -> None:
    run = echo.run(TASKS[name])
    assert run.start().wait()["status"] == "completed"
    assert Path(f"{echo.record}.stdin").read_bytes() == TASKS[name].encode()
    argv = ["--mode", "json", "--session", f"{run.folder}/child-session.jsonl", "--model", "mock/mock-text"]
    assert echoed(echo)["argv"] == argv


def test_the_environment_of_a_child(echo: Home) -> None:
    run = echo.run("x")
    ours = {"TMUX": "/x,1,0", "TMUX_PANE": "%1", "TERM_PROGRAM": "t", "PI_SESSION_ID": "s", "AI_AGENT": "pi"}
    run.start({**ours, "API_KEY": "k", "TMUXAGENTS_OWNER": "o"}).wait()
    seen = echoed(echo)["environment"]
    assert not {*ours, "TERM", "TMUXAGENTS_OWNER", "TMUXAGENTS_HOME", "TMUXAGENTS_PI"} & set(seen)
    assert seen["API_KEY"] == "k"
    marks = {"PI_SUBAGENTS_CHILD": "1", "TMUXAGENTS_CHILD": "1", "TMUXAGENTS_RUN": run.run_id}
    assert marks.items() <= seen.items()
    assert seen["PI_CODING_AGENT_DIR"] == str(echo.agent_dir)


def test_a_child_gets_three_descriptors_its_own_session_and_usual_signals(echo: Home) -> None:
    run = echo.run("x")
    run.start().wait()
    seen = echoed(echo)
    assert seen["descriptors"] == [0, 1, 2]
    assert seen["session"] == seen["pid"]
    assert seen["ignored"] == 0
    assert seen["cwd"] == str(echo.project)
    assert not seen["terminal"]


def test_the_childs_umask_is_the_launchers_and_our_files_are_private(echo: Home) -> None:
    before = os.umask(0o027)
    try:
        run = echo.run("x")
        run.start().wait()
    finally:
        os.umask(before)
    assert echoed(echo)["umask"] == 0o027
    assert {oct(path.stat().st_mode & 0o777) for path in run.folder.iterdir()} == {"0o600"}
    assert run.folder.stat().st_mode & 0o777 == 0o700


def test_prompts_of_presets_and_profiles_are_files_on_the_command_line(echo: Home) -> None:
    changes: dict[str, Any] = {"systemPromptPath": "system-prompt.md", "tools": ["read", "ls"]}
    run = echo.run("x", presetKind="profile", appendSystemPromptPath="append-system-prompt.md", **changes)
    run.start().wait()
    flags = echoed(echo)["argv"][6:]
    system, more = f"{run.folder}/system-prompt.md", f"{run.folder}/append-system-prompt.md"
    assert flags == ["--system-prompt", system, "--append-system-prompt", more, "--tools", "read,ls"]
    preset = echo.run("x", presetKind="preset", systemPromptPath="system-prompt.md")
    preset.start().wait()
    assert echoed(echo)["argv"][6:] == ["--append-system-prompt", f"{preset.folder}/system-prompt.md"]


# --- who may start ---


def second(run: Run) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-I", "-S", str(BOOT), str(run.folder)]
    return subprocess.run(
        argv, env=run.environment(), capture_output=True, text=True, check=False, timeout=60
    )


def test_a_second_wrapper_starts_nothing_while_the_first_works(home: Home) -> None:
    run = home.run("pid one\nbegin\nanswer toolUse x\nsleep 30").start()
    run.wait_for("assistant_text")
    (run.folder / "run.lock").unlink()  # even without the lock in its way
    late = second(run)
    assert (late.returncode, late.stderr) == (4, "This run has a wrapper already; nothing was started.\n")
    assert list(home.recorded()) == ["one"]
    assert run.status() == "running"


def test_a_window_that_opens_after_the_verdict_starts_nothing(home: Home) -> None:
    run = home.run("pid one\ndone fine")
    assert (conclude(str(run.folder), never_came=NEVER_OPENED) or {})["reason"] == "window"
    late = second(run)
    assert (late.returncode, late.stderr) == (4, "This run has ended already; nothing was started.\n")
    assert home.recorded() == {}
    assert run.status() == "failed"


def test_a_stop_before_there_is_a_child_starts_none(home: Home) -> None:
    run = home.run("pid one\ndone fine")
    held = writing.lock(str(run.folder), 1)
    assert held is not None
    run.start()
    assert run.wrapper is not None
    pid = run.wrapper.pid
    eventually(lambda: _catches_term(pid))
    run.signal(signal.SIGTERM)
    os.close(held)
    result = run.wait()
    assert (result["status"], result["reason"], result["startedAt"]) == ("aborted", "stopped", None)
    assert home.recorded() == {}


def _catches_term(pid: int) -> bool:
    status = Path(f"/proc/{pid}/status").read_text()
    caught = int(re.findall(r"SigCgt:\s*(\w+)", status)[0], 16)
    return bool(caught >> (signal.SIGTERM - 1) & 1)


def test_no_plan_no_child(home: Home) -> None:
    run = home.run("pid one\ndone fine")
    (run.folder / "meta.json").write_text("{")
    assert second(run).returncode == 4
    assert not (run.folder / "wrapper.json").exists()
    assert home.recorded() == {}


# --- the screen ---


def test_nothing_a_terminal_obeys_reaches_it_from_the_child(home: Home) -> None:
    evil = "\x1b]52;c;aGk=\x07\x1b[?1049h\x1bP1$t\x1b\\\x9b31m\x1b]0;title\x1b\\\u202e\x1b[6n\x07"
    plain = evil.replace("\u202e", "").encode("unicode_escape").decode()
    steps = [
        f"stderr {evil}",
        "begin",
        f"json {json.dumps({'type': 'message_end', 'message': message(evil)})}",
        f"tool bash {json.dumps({'command': evil + 'ls'})}",
        f"raw {plain}not json\\n",
        f"answer error {evil}bad",
        "settle",
    ]
    run = home.run("\n".join(steps), task=f"{evil}task", resolvedModel=f"m{evil}")
    assert run.start().wait()["reason"] == "error"
    screen = bytes(run.screen).decode()
    ours = r"\x1b\[[\d;]*m|\x1b\[\d+A\x1b\[J|\x1b\]2;[^\x00-\x1f\x7f-\x9f#]*\x07|\r\n|\x07$"
    allowed = re.sub(ours, "", screen)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", allowed), ascii(allowed)
    transcript = (run.folder / "transcript.log").read_text()
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", transcript)
    assert "bad" in transcript


def message(text: str) -> dict[str, Any]:
    return {
        "role": "assistant",
        "content": [{"type": "text", "text": text + "words"}],
        "stopReason": "toolUse",
    }


def test_the_window_shows_rendered_what_the_transcript_says_plainly(home: Home) -> None:
    run = home.run('begin\ntool read {"path":"src/auth.ts"}\nanswer stop All good.\nsettle')
    run.start().wait()
    shown = re.sub(r"\x1b\[[\d;]*m|\x1b\]2;.*?\x07|\x07", "", bytes(run.screen).decode()).split("\r\n")
    assert shown[0] == f"{run.run_id[:8]}  pi mock/mock-text  ~/project"
    assert shown[1:5] == [
        "\u203a begin",
        '  tool read {"path":"src/auth.ts"}',
        "  answer stop All good.",
        "  settle",
    ]
    assert re.fullmatch(r"✓ Reading src/auth.ts  1 line +0:00", shown[6])
    assert shown[7:10] == ["", "  All good.", ""]
    assert re.fullmatch(r"✓ completed in \d\.\ds · 1 tool · ↑20 ↓10 · \$0\.002", shown[10])
    transcript = (run.folder / "transcript.log").read_text()
    *header, _empty, call, result, answer, closing = transcript.splitlines()
    assert [line.split(": ")[0] for line in header] == ["Run", "Task", "Model", "Cwd", "Started"]
    assert [call, result, answer] == ["Reading src/auth.ts", "Finished reading src/auth.ts", "All good."]
    assert re.fullmatch(r"Completed after \ds", closing)


def test_activity_is_the_panes_title(home: Home, tmux_server: TmuxServer) -> None:
    task = 'begin\ntool read {"path":"src/#[fg=red]auth.ts"}\nanswer toolUse looking\nsleep 30'
    run = home.run(task).start_in(tmux_server)
    run.wait_for("assistant_text")
    title = ("display-message", "-p", "-t", run.window, "#{pane_title}")
    assert eventually(lambda: tmux_server.run(*title) == "looking")
    where = json.loads((run.folder / "wrapper.json").read_text())["tmux"]
    assert where["socketPath"] == str(tmux_server.socket)
    assert (where["serverPid"], where["serverStartTime"]) == (tmux_server.pid, tmux_server.started)
    assert run.event("run_started") == run.wait_for("run_started")
    tmux_server.run("kill-window", "-t", run.window)
    assert run.wait_gone()["reason"] == "closed"


def test_a_terminal_that_nobody_reads_does_not_slow_the_child(home: Home) -> None:
    talk = "".join(f"answer toolUse {'talk ' * 200}\n" for _ in range(500))
    run = home.run(f"begin\n{talk}done fine")
    run.start(read=False)
    assert run.wrapper is not None
    assert run.wrapper.wait(30) == 0
    assert (run.result() or {})["status"] == "completed"


def test_a_wrapper_leaves_at_once_after_its_result_also_by_a_terminal_that_nobody_reads(home: Home) -> None:
    talk = "".join(f"answer toolUse {'talk ' * 200}\n" for _ in range(500))
    stayed = []
    for _ in range(3):  # a busy machine may be slow once
        run = home.run(f"begin\n{talk}done fine").start(read=False)
        eventually((run.folder / "result.json").exists)
        begun = time.monotonic()
        assert run.wrapper is not None
        assert run.wrapper.wait(30) == 0
        stayed.append(time.monotonic() - begun)
    assert min(stayed) < 0.1


# --- what cannot be written ---


def test_a_transcript_that_cannot_be_written_costs_only_itself(home: Home) -> None:
    run = home.run("done fine")
    for name in ("transcript.log", "stdout.log", "output.md"):
        (run.folder / name).mkdir()
    result = run.start().wait()
    assert (result["status"], result["output"], result["logsIncomplete"]) == ("completed", "fine", True)
    assert home.command("transcript", run.run_id).stdout == "fine\n\n1 run · ↑10 ↓5 · $0.001\n"


@pytest.mark.parametrize("gone", ["transcript.log", "events.jsonl", "events.jsonl meta.json wrapper.json"])
def test_a_log_that_is_removed_is_begun_anew_and_the_others_go_on(home: Home, gone: str) -> None:
    gate = home.folder / "gate"
    removes = "".join(f"remove {name}\n" for name in gone.split())
    run = home.run(f"begin\nanswer toolUse so far\ngate {gate}\n{removes}done fine").start()
    run.wait_for("turn_end")
    gate.touch()
    assert run.wait()["logsIncomplete"] is True
    events = run.events()
    since = ["assistant_text", "usage", "turn_end", "settled", "child_exited"]
    if gone == "transcript.log":
        assert [event["seq"] for event in events] == list(range(1, 10))  # none is there twice
    else:
        assert [event["type"] for event in events] == ["run_started", *since]
    assert "fine\nCompleted after " in (run.folder / "transcript.log").read_text()


@pytest.mark.parametrize("name", ["meta.json", "wrapper.json"])
def test_what_a_child_writes_over_in_its_run_is_as_it_was_at_the_end(home: Home, name: str) -> None:
    gate = home.folder / "gate"
    run = home.run(f"begin\nanswer toolUse so far\ngate {gate}\nforge_plan {name}\ndone fine").start()
    run.wait_for("turn_end")
    before = (run.folder / name).read_bytes()
    gate.touch()
    assert run.wait()["status"] == "completed"
    assert (run.folder / name).read_bytes() == before


@pytest.mark.parametrize("taken", ["0 $D", "500 $D", "0 $D/.."], ids=["all", "writing", "the way there"])
def test_a_child_that_takes_the_rights_to_its_run_away_keeps_no_result_back(home: Home, taken: str) -> None:
    # No permission binds root, so root runs it without the capabilities to override them.
    without = ("setpriv", "--bounding-set=-dac_override,-dac_read_search") if os.getuid() == 0 else ()
    take = f"D=$(dirname $(readlink /proc/$PPID/fd/0)); chmod {taken}"
    run = home.run(f"begin\nanswer toolUse so far\nshell {take}").start(prefix=without)
    result = run.wait()
    assert (result["status"], result["output"], result["logsIncomplete"]) == ("completed", "0 ", False)
    assert (run.folder / "output.md").read_text() == "0 "
    assert [run.folder.stat().st_mode & 0o777, run.folder.parent.stat().st_mode & 0o700] == [0o700] * 2


def test_a_result_that_cannot_be_written_is_written_later(home: Home) -> None:
    run = home.run("begin\nanswer toolUse x\nsleep 0.5\ndone fine").start()
    run.wait_for("assistant_text")
    runs = run.folder.parent
    away = runs.rename(runs.with_name("away"))
    runs.write_text("in the way")
    eventually(lambda: b"cannot be written" in run.screen)
    runs.unlink()
    away.rename(runs)
    result = run.wait()
    assert (result["status"], result["output"]) == ("completed", "fine")


def test_files_that_may_not_grow_cost_the_answer_in_the_result_but_not_the_result(home: Home) -> None:
    run = home.run(f"begin\nanswer stop {'x' * 50_000}\nsettle")
    run.start(prefix=["prlimit", "--fsize=4096:4096"])
    result = run.wait()
    assert (result["status"], result["output"], result["outputBytes"]) == ("completed", "x" * 256, 50_000)
    assert result["logsIncomplete"]


def test_logs_are_bounded(home: Home) -> None:
    run = home.run("flood both 30000\ndone fine")
    run.start().wait()
    for name in ("stdout.log", "stderr.log"):
        assert 12 * 1024**2 <= (run.folder / name).stat().st_size <= 16 * 1024**2
    assert len(run.events()) < 300


def test_snapshots_are_not_logged(home: Home) -> None:
    run = home.run("flood updates 5000\ndone fine")
    run.start().wait()
    assert b"message_update" not in (run.folder / "stdout.log").read_bytes()


# --- what it costs ---

MODULES = {
    "": "agents cpython errors launch records render runs settings system text wrapper",
    "agents": "base environment pi raw",
    "agents.pi": "command reader",
    "launch": "handover",
    "runs": "directory documents endings events leftovers lifecycle logs marks narration slots writing",
    "settings": "keys load rules",
    "system": "identity places process process_table watcher_lock",
    "text": "figures jsonline provider_error safe width",
    "render": "flow inline markdown rows story styles tool_calls",
    "wrapper": "child claim guards recorder run signals streams terminal waits watch",
}


def test_a_wrapper_imports_this_and_no_more() -> None:
    steps = ["import sys", f"sys.path.append({str(REPOSITORY)!r})", "import tmuxagents.wrapper.run"]
    steps += ["tmuxagents.wrapper.run.find('pi', None).reader()", "print(*sys.modules)"]
    line = "; ".join(steps)
    argv = [sys.executable, "-I", "-S", "-c", line]
    loaded = set(subprocess.run(argv, capture_output=True, text=True, check=True).stdout.split())
    ours = {f"{folder}.{name}".strip(".") for folder, names in MODULES.items() for name in names.split()}
    seen = {name.removeprefix("tmuxagents.") for name in loaded if name.startswith("tmuxagents.")}
    assert seen == ours
    dear = {
        "pathlib",
        "typing",
        "dataclasses",
        "subprocess",
        "asyncio",
        "logging",
        "threading",
        "socket",
        "tempfile",
        *("contextlib", "signal", "enum", "collections", "functools"),  # cpython
    }
    assert (
        not (dear | {"click", "libtmux", "yaml", "watchdog", "sqlite3", "inspect", "argparse", "datetime"})
        & loaded
    )


@pytest.mark.parametrize("name", memory.FLOODS)
def test_a_wrapper_stays_below_64_mb(home: Home, name: str) -> None:
    run = home.run(memory.FLOODS[name])
    assert 0 < memory.peak_kb(run) <= 64 * 1024
    assert (run.result() or {})["status"] == "completed"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_who_had_settled_before_a_stop_has_settled_though_it_was_not_heard_yet(
    home: Home, number: int
) -> None:
    talk = "answer toolUse talk\nsleep 0.03\n" * 20  # from now on it is heard five times a second
    run = home.run(f"begin\n{talk}answer stop fine\nsettle\npid settled\nsleep 60").start()
    eventually(lambda: "settled" in home.recorded())
    run.signal(number)
    result = run.wait()
    assert (result["status"], result["reason"], result["output"]) == ("completed", "done", "fine")


def test_ctrl_c_is_asked_about_once_and_then_obeyed(home: Home) -> None:
    run = home.run("begin\nanswer toolUse x\nsleep 60").start()
    run.wait_for("assistant_text")
    run.type(b"q\x03")
    eventually(lambda: b"Ctrl-C again within 3 s stops this run" in run.screen)
    assert alive(run.child)
    run.type(b"\x03\x03")  # too soon to be an answer
    assert alive(run.child)
    press_until_it_ends(run)
    assert run.wait()["reason"] == "stopped"
