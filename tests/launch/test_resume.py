"""resume by the installed command: the child's own session or a replay, one at a time, after any ending."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from scripts import model_turns
from tests.harness import REPOSITORY, eventually, stop
from tests.status.watchers import checked
from tmuxagents.runs import directory
from tmuxagents.system import process

if TYPE_CHECKING:
    import subprocess

    from tests.desk import Desk
    from tests.harness import Home, ModelServer

ECHO = str(REPOSITORY / "tests" / "children" / "echo.py")
NATIVE = "continues run {} in the child's own session"
REPLAYED = "continues run {} by replaying the session in the prompt: "
MISSING = "the session file of run {} is missing"
RUNNING = 'Cannot resume: session "{}" is still running. Wait for it to complete before resuming.'
UNKNOWN = 'Cannot resume: session "{}" not found. The session may have expired or the ID is incorrect.'


def ended(desk: Desk, *arguments: str) -> str:
    """Launch a run and wait for its end."""
    run_id = desk.launch(*arguments)
    desk.result(run_id)
    return run_id


def receipt(desk: Desk, *arguments: str, **more: Any) -> dict[str, Any]:
    """Resume, and wait for the end; return the receipt."""
    done = desk("resume", "--json", *arguments, **more)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    found = checked(done.stdout, "receipt")
    desk.result(found["run"]["runId"])
    return found


def resumed(desk: Desk, *arguments: str) -> str:
    """Resume, and wait for the end; return the new run."""
    return str(receipt(desk, *arguments)["run"]["runId"])


def refused(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    error: dict[str, Any] = checked(done.stdout, "error")["error"]
    assert done.returncode == error["exit"]
    return error


def meta(desk: Desk, run_id: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((desk.folder(run_id) / "meta.json").read_text())
    return found


def prompt(desk: Desk, run_id: str) -> str:
    return (desk.folder(run_id) / "prompt.txt").read_text()


def session_file(desk: Desk, run_id: str) -> Path:
    return desk.folder(run_id) / "child-session.jsonl"


def have_talked(desk: Desk, run_id: str, cwd: str | None = None) -> bytes:
    """Give a run the session file that such a child leaves."""
    header = {"type": "session", "version": 3, "id": "s1", "cwd": cwd or str(desk.home.project.resolve())}
    said = [{"type": "message", "id": "a", "parentId": None}, {"type": "message", "id": "b", "parentId": "a"}]
    text = "".join(f"{json.dumps(line)}\n" for line in (header, *said)).encode()
    session_file(desk, run_id).write_bytes(text)
    return text


# --- the real pi ------------------------------------------------------------------------------------------


def heard(models: ModelServer, task: str) -> list[tuple[str, str]]:
    """Return the messages of the first request for a task, without those of pi itself."""
    messages = models.requests(task)[0]["messages"]
    of_pi = ("system", "developer")
    return [(one["role"], model_turns.text_of(one)) for one in messages if one["role"] not in of_pi]


def header(desk: Desk, run_id: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(session_file(desk, run_id).read_text().partition("\n")[0])
    return found


def test_the_child_has_the_earlier_conversation_and_each_directory_stands_alone(
    real: Desk, models: ModelServer
) -> None:
    asks = [f"#say:answer {number}\nnative {number}" for number in range(3)]
    first = ended(real, "-m", "mock-text", asks[0])
    before = session_file(real, first).read_bytes()
    found = receipt(real, first, asks[1])
    run = found["run"]
    assert found["warnings"] == [NATIVE.format(first[:8])]
    assert [run[key] for key in ("sessionId", "resumes", "runCount", "mode", "callId")] == [
        *(first, first, 2, "background", run["runId"]),
    ]
    assert [run[key] for key in ("requestedModel", "resolvedModel", "modelSource")] == [
        *("mock-text", "mock/mock-text", "call"),
    ]
    assert heard(models, asks[1]) == [("user", asks[0]), ("assistant", "answer 0"), ("user", asks[1])]
    second = run["runId"]
    assert header(real, second)["id"] == header(real, first)["id"]
    assert session_file(real, first).read_bytes() == before
    assert session_file(real, second).read_bytes().startswith(before)
    assert session_file(real, second).stat().st_mode & 0o777 == 0o600

    # Whatever was known is forgotten: the machine may have been started anew.
    real.tmux("kill-server")
    real.home.end_watcher()
    shutil.rmtree(real.home.state / "hosts")
    third = resumed(real, first[:8], asks[2])
    assert meta(real, third)["resumes"] == second
    assert [role for role, _ in heard(models, asks[2])] == ["user", "assistant"] * 2 + ["user"]
    assert real("output", second).stdout == "answer 2\n"
    assert json.loads(real("output", "--json", first).stdout)["runCount"] == 3


def test_a_child_that_was_ended_in_the_middle_of_a_tool_goes_on(real: Desk, models: ModelServer) -> None:
    first = real.launch("-m", "mock-text", "#bash:sleep 300\ncut here")
    real.wait_for(first, '"tool_call"')
    real("stop", first)
    with session_file(real, first).open("a") as file:
        file.write('{"type":"message","id":"torn","parent')  # as a killed child may leave it
    found = receipt(real, first, "#script:text\n#say:I go on.\ngo on")
    second = found["run"]["runId"]
    assert found["warnings"] == [NATIVE.format(first[:8])]
    assert real.result(second)["status"] == "completed"
    told = heard(models, "#script:text\n#say:I go on.\ngo on")
    assert told[0] == ("user", "#bash:sleep 300\ncut here")
    assert told[-1][0] == "user"
    lines = session_file(real, second).read_text().splitlines()
    assert all(json.loads(line)["id"] != "torn" for line in lines)


@pytest.mark.parametrize("what", ["damaged", "missing"])
def test_a_session_file_that_is_not_whole_is_replayed_instead(
    real: Desk, models: ModelServer, what: str
) -> None:
    # tests/agents/test_pi_session.py has all that can be wrong with one.
    asks = [f"#say:answer {number}\n{what} {number}" for number in range(2)]
    first = ended(real, "-m", "mock-text", asks[0])
    file = session_file(real, first)
    lines = file.read_text().splitlines(keepends=True)
    words = {"damaged": "is damaged (line 4)", "missing": "is missing"}
    if what == "missing":
        file.unlink()
    else:
        file.write_text("".join([*lines[:3], "\0\0\0\n", *lines[3:]]))
    done = real("resume", first, asks[1])
    why = f"the session file of run {first[:8]} {words[what]}"
    assert done.stderr.splitlines()[0] == REPLAYED.format(first[:8]) + why
    second = done.stdout.strip()
    assert real.result(second)["output"] == "answer 1"
    transcript = f"User: {asks[0]}\n\nAssistant: answer 0"
    asked = f"Previously:\n\n{transcript}\n\nInstructions:\n\n{asks[1]}"
    assert heard(models, asked) == [("user", asked)]
    assert header(real, second)["cwd"] == str(real.home.project.resolve())


def test_a_replay_elsewhere_and_then_its_own_session(real: Desk, models: ModelServer) -> None:
    elsewhere = real.home.folder / "elsewhere"
    elsewhere.mkdir()
    first = ended(real, "-m", "mock-text", "#bash:echo here\n#say:one\nelsewhere 1")
    second = resumed(real, "--replay", "--cwd", "../elsewhere", first, "#script:text\n#say:two\nelsewhere 2")
    assert meta(real, second)["cwd"] == header(real, second)["cwd"] == str(elsewhere)
    assert header(real, second)["id"] != header(real, first)["id"]
    assert prompt(real, second) == (
        "Previously:\n\nUser: #bash:echo here\n#say:one\nelsewhere 1\n\n"
        'Tool Call: bash({"command":"echo here"})\n\nTool Result: here\n\n\n'
        "Assistant: one\n\nInstructions:\n\n#script:text\n#say:two\nelsewhere 2"
    )
    third = receipt(real, second, "#say:three\nelsewhere 3")
    assert third["warnings"] == [NATIVE.format(second[:8])]
    assert third["run"]["cwd"] == str(elsewhere)
    assert heard(models, "#say:three\nelsewhere 3")[0][1] == prompt(real, second)
    fourth = resumed(real, "--replay", first, "#say:four\nelsewhere 4")
    told = prompt(real, fourth)
    assert [told.count(word) for word in ("Previously:", "elsewhere 1\n", "elsewhere 2\n")] == [1, 1, 1]
    assert re.findall("(?m)^--- Run (.) .completed, . messages. ---$", told) == ["1", "2", "3"]


def test_another_model_for_the_next_run_and_the_sessions_for_the_one_after(
    real: Desk, models: ModelServer
) -> None:
    first = ended(real, "-m", "mock-text", "#say:one\nmodel 1")
    second = resumed(real, "-m", "mock-think", first, "#script:text\n#say:two\nmodel 2")
    third = resumed(real, first, "#script:text\n#say:three\nmodel 3")
    asked = [
        models.requests(f"#script:text\n#say:{word}\nmodel {n}")[0] for word, n in (("two", 2), ("three", 3))
    ]
    assert [request["model"] for request in asked] == ["mock-think", "mock-think"]
    assert [meta(real, run)["requestedModel"] for run in (second, third)] == ["mock-think"] * 2
    assert refused(real("resume", "--json", "-m", "mock/none", first, "x"))["kind"] == "unknown-model"


def test_a_session_that_the_real_pi_lost_with_its_wrapper_goes_on(real: Desk, models: ModelServer) -> None:
    first = real.launch("-m", "mock-text", "#bash:sleep 300\nlost here")
    real.wait_for(first, '"tool_call"')
    identity = directory.identity_of(directory.read_wrapper(str(real.folder(first))))
    assert identity is not None
    process.send(identity.pid, identity.start_time, signal.SIGKILL)
    process.wait_gone(identity.pid, identity.start_time, 5)
    second = resumed(real, first, "#script:text\n#say:found again\ngo on")
    assert real.result(first)["reason"] == "lost"
    assert real.result(second)["output"] == "found again"
    assert heard(models, "#script:text\n#say:found again\ngo on")[0] == ("user", "#bash:sleep 300\nlost here")


def test_the_set_up_holds_in_the_childs_own_session(real: Desk, models: ModelServer) -> None:
    # The folder of the model server is everybody's: a preset of the project harms no other test.
    folder = real.home.project / ".pi" / "subagents"
    folder.mkdir(parents=True)
    (folder / "scout.md").write_text(SCOUT.replace("mock-think", "mock-text"))
    first = ended(real, "-p", "scout", "#say:one\nset up 1")
    (folder / "scout.md").write_text(SCOUT.replace("Look.", "Do as you like.").replace("read, ls", "bash"))
    found = receipt(real, first, "#say:two\nset up 2")
    assert found["warnings"][0] == NATIVE.format(first[:8])
    assert found["run"]["tools"] == ["read", "ls"]
    told = model_turns.text_of(models.requests("#say:two\nset up 2")[0]["messages"][0])
    assert told == model_turns.text_of(models.requests("#say:one\nset up 1")[0]["messages"][0])
    assert ("Look." in told, "- read:" in told, "- bash:" in told) == (True, True, False)


# --- what holds again -------------------------------------------------------------------------------------

SCOUT = "---\nname: scout\ndescription: Looks around\nmodel: mock/mock-think\ntools: read, ls\n---\nLook.\n"


def test_the_set_up_is_the_recorded_one_though_the_preset_was_changed(desk: Desk) -> None:
    folder = desk.home.agent_dir / "subagents"
    folder.mkdir()
    path = folder / "scout.md"
    path.write_text(SCOUT)
    first = ended(desk, "-p", "scout", "--timeout", "77", "--keep-background", "done one")
    assert receipt(desk, first, "done two")["warnings"] == [
        REPLAYED.format(first[:8]) + f"the session file of run {first[:8]} holds no conversation"
    ]
    path.write_text(SCOUT.replace("read, ls", "bash").replace("Look.", "Run."))
    desk.home.environment["TMUXAGENTS_PI"] = ECHO
    found = receipt(desk, first, "three")
    goes_on = "the session keeps the set-up that it began with"
    assert found["warnings"][1:] == [f"preset scout has been changed since ({path}): {goes_on}"]
    third = found["run"]["runId"]
    seen = json.loads(Path(f"{desk.home.record}.echo").read_text())
    own = desk.folder(third) / "system-prompt.md"
    assert seen["argv"][4:] == [
        *("--model", "mock/mock-think", "--append-system-prompt", str(own), "--tools", "read,ls"),
    ]
    assert own.read_text() == "Look."
    same = ("preset", "presetSource", "presetHash", "tools", "systemPrompt", "timeout", "keepBackground")
    assert [meta(desk, third)[key] for key in same] == [meta(desk, first)[key] for key in same]
    path.unlink()
    gone = f"preset scout cannot be read now ({path}: no such file or directory): {goes_on}"
    assert receipt(desk, "--timeout", "5", first, "four")["warnings"][1:] == [gone]


def test_a_run_without_a_seal_goes_on_with_the_preset_of_today_and_nothing_of_its_own(desk: Desk) -> None:
    folder = desk.home.agent_dir / "subagents"
    folder.mkdir()
    path = folder / "scout.md"
    path.write_text(SCOUT)
    first = ended(desk, "-p", "scout", "--timeout", "77", "done one")
    bare = ended(desk, "done bare")
    path.write_text(SCOUT.replace("read, ls", "grep").replace("Look.", "Run."))
    for run_id in (first, bare):
        (desk.home.state / "sealed" / run_id).unlink()  # as of a run that is older than seals
        forged = {"tools": ["bash"], "profile": {"extensions": ["/evil.ts"]}, "presetKind": "profile"}
        own = desk.folder(run_id) / "meta.json"
        own.write_text(json.dumps(meta(desk, run_id) | forged | {"agentCommand": ["/bin/false"]}))
    desk.home.environment["TMUXAGENTS_PI"] = ECHO
    found = receipt(desk, first, "two")
    anew = "has no seal that says how it was set up: preset global:scout is read anew"
    assert f"run {first[:8]} {anew}" in found["warnings"]
    second = found["run"]["runId"]
    assert (found["run"]["timeout"], found["run"]["tools"]) == (77, ["grep"])
    seen = json.loads(Path(f"{desk.home.record}.echo").read_text())
    text = desk.folder(second) / "system-prompt.md"
    assert seen["argv"][4:] == [
        *("--model", "mock/mock-think", "--append-system-prompt", str(text), "--tools", "grep"),
    ]
    assert text.read_text() == "Run."
    assert receipt(desk, bare, "three")["run"]["tools"] == []
    seen = json.loads(Path(f"{desk.home.record}.echo").read_text())
    assert seen["argv"][4:] == ["--model", "mock/mock-text"]
    path.unlink()
    (desk.home.state / "sealed" / second).unlink()
    assert desk("resume", second, "four").returncode == 2


def test_a_profiles_key_is_the_one_of_today_and_in_no_file(desk: Desk) -> None:
    folder = desk.home.agent_dir / "agent-profiles"
    folder.mkdir()
    path = folder / "deep.md"
    keys = "name: deep\nmodel: mock/mock-think\nthinkingLevel: high\nappendSystemPrompt: More.\napiKey: {}\n"
    text = f"---\n{keys}---\nBe deep.\n"
    path.write_text(text.format("s3cr3t-k3y"))
    path.chmod(0o600)
    first = ended(desk, "-p", "deep", "done one")
    path.write_text(text.format("n3w-k3y"))
    desk.home.environment["TMUXAGENTS_PI"] = ECHO
    second = resumed(desk, first, "two")
    seen = json.loads(Path(f"{desk.home.record}.echo").read_text())
    assert seen["environment"]["PI_API_KEY"] == "n3w-k3y"
    own = desk.folder(second)
    assert seen["argv"][4:] == [
        *("--model", "mock/mock-think", "--system-prompt", f"{own}/system-prompt.md"),
        *("--append-system-prompt", f"{own}/append-system-prompt.md", "--thinking", "high"),
    ]
    assert [(own / name).read_text() for name in ("system-prompt.md", "append-system-prompt.md")] == [
        *("Be deep.", "More."),
    ]
    for file in own.iterdir():
        assert not file.is_file() or b"k3y" not in file.read_bytes()


def test_files_stand_before_what_was_said_and_are_found_where_the_child_works(desk: Desk) -> None:
    (desk.home.project / "a.txt").write_text("one\ntwo\n")
    first = ended(desk, "done first")
    second = resumed(
        desk,
        "--file",
        "a.txt:2-2",
        first,
        "done second",
    )
    said = "User: done first\n\nAssistant: first"
    assert prompt(desk, second) == (
        f"=== a.txt ===\ntwo\n\nPreviously:\n\n{said}\n\nInstructions:\n\ndone second"
    )
    third = resumed(desk, first, "done third")
    assert "User: === a.txt ===\ntwo\n\ndone second\n\nAssistant: second" in prompt(desk, third)
    have_talked(desk, third)
    fourth = receipt(desk, "--file", "a.txt:1-1", first, "done fourth", cwd=desk.home.folder)["run"]["runId"]
    assert prompt(desk, fourth) == "=== a.txt ===\none\n\ndone fourth"


def test_the_name_goes_on_unless_another_live_run_has_it(desk: Desk) -> None:
    first = ended(desk, "--name", "scout", "done one")
    assert meta(desk, resumed(desk, "scout", "done two"))["name"] == "scout"
    assert meta(desk, resumed(desk, "--name", "other", "scout", "done three"))["name"] == "other"
    assert meta(desk, resumed(desk, "--name", "scout", first, "done four"))["name"] == "scout"
    desk.launch("--name", "scout", "begin\nsleep 60")
    found = receipt(desk, first, "done five")
    assert found["run"]["name"] is None
    taken, working = found["warnings"][-2:]
    assert taken == "another active run has the name scout by now: this one has none"
    assert working.startswith("scout already works in this directory")
    assert refused(desk("resume", "--json", "--name", "scout", first, "x"))["kind"] == "bad-argument"


def test_the_folder_of_the_session_is_where_the_child_works(desk: Desk) -> None:
    place, link = desk.home.folder / "release-1", desk.home.project / "current"
    place.mkdir()
    link.symlink_to(place)
    first = ended(desk, "--cwd", "current", "done one")
    have_talked(desk, first, str(place))
    assert receipt(desk, first, "done two")["run"]["cwd"] == str(link)
    link.unlink()
    link.mkdir()
    found = receipt(desk, first, "done three")
    moved = f"the child works in {place}, as its own session says, not in {link}"
    assert (found["run"]["cwd"], found["warnings"][-1]) == (str(place), moved)
    place.rmdir()
    link.rmdir()
    gone = refused(desk("resume", "--json", first, "x"))
    assert (gone["kind"], gone["hint"]) == ("bad-cwd", "give --replay --cwd DIR")
    again = receipt(desk, "--replay", "--cwd", ".", first, "done four")["run"]
    assert (again["cwd"], again["runCount"]) == (str(desk.home.project), 4)


def test_a_session_file_is_copied_to_the_byte(desk: Desk) -> None:
    first = ended(desk, "done one")
    text = have_talked(desk, first)
    second = resumed(desk, first, "done two")
    assert session_file(desk, second).read_bytes() == text
    session_file(desk, first).write_text("forgotten")
    third = receipt(desk, first, "done three")
    assert third["warnings"] == [NATIVE.format(second[:8])]
    assert prompt(desk, third["run"]["runId"]) == "done three"


@pytest.mark.parametrize("what", ["link", "fifo", "folder", "huge", "not utf-8", "gone folder"])
def test_what_is_no_session_file_is_neither_followed_nor_waited_for(desk: Desk, what: str) -> None:
    first = ended(desk, "done one")
    text = have_talked(desk, first)
    path = session_file(desk, first)
    path.unlink()
    if what == "link":
        (desk.home.folder / "outside").write_bytes(text)
        path.symlink_to(desk.home.folder / "outside")
    elif what == "fifo":
        os.mkfifo(path)
    elif what == "folder":
        path.mkdir()
    elif what == "huge":
        path.write_bytes(text)
        os.truncate(path, 64 * 1024 * 1024 + 1)
    elif what == "not utf-8":
        path.write_bytes(text + b'{"type":"message","id":"\xff"}\n')
    else:
        have_talked(desk, first, "/nowhere/at/all")
    words = {
        "link": "is a link to somewhere else",
        "huge": "is larger than 64 MB",
        "gone folder": "belongs to a folder that is gone: /nowhere/at/all",
    }
    found = receipt(desk, first, "done two")
    problem = f"the session file of run {first[:8]} {words.get(what, 'cannot be read')}"
    assert found["warnings"] == [REPLAYED.format(first[:8]) + problem]
    assert session_file(desk, found["run"]["runId"]).read_bytes() == b""


# --- refused ----------------------------------------------------------------------------------------------


def test_a_session_that_works_is_not_resumed(desk: Desk) -> None:
    first = ended(desk, "done one")
    second = desk("resume", first, "begin\nanswer toolUse so far\nsleep 60").stdout.strip()
    for reference in (first, second, "@last"):
        error = refused(desk("resume", "--json", reference, "x"))
        assert (error["kind"], error["exit"], error["message"]) == ("run-running", 4, RUNNING.format(first))
        assert error["hint"] == f"tmuxagents wait {second[:8]}"
    told = desk("resume", first, "x")
    assert (told.returncode, told.stdout, told.stderr.splitlines()[0]) == (4, "", RUNNING.format(first))
    assert desk.runs() == sorted((first, second))


@pytest.mark.parametrize(
    ("arguments", "code", "kind", "message"),
    [
        (("0123456789abcdef", "x"), 4, "unknown-run", UNKNOWN.format("0123456789abcdef")),
        (("scout", "x"), 4, "unknown-run", 'There is no run "scout".'),
        (("../../etc", "x"), 4, "unknown-run", 'There is no run "../../etc".'),
        (("@last", "x"), 4, "unknown-run", None),
        (("one", "two", "three"), 2, "usage", None),
        (("scout",), 2, "empty-task", None),
        (("--cwd", ".", "scout", "x"), 2, "usage", "--cwd is only for --replay."),
        (("-p", "scout", "scout", "x"), 2, "usage", None),
    ],
)
def test_a_refusal_makes_nothing(
    desk: Desk, arguments: tuple[str, ...], code: int, kind: str, message: str | None
) -> None:
    error = refused(desk("resume", "--json", *arguments))
    assert (error["exit"], error["kind"]) == (code, kind)
    assert message in (None, error["message"])
    assert (desk.runs(), desk.sockets.exists()) == ([], False)


def test_a_bad_request_for_a_session_that_is_there_makes_nothing(desk: Desk) -> None:
    first = ended(desk, "done one")
    for arguments, kind in (
        ((first, " "), "empty-task"),
        (("--timeout", "0", first, "x"), "bad-argument"),
        (("--name", "two words", first, "x"), "bad-argument"),
        (("--file", "a:head=0", first, "x"), "bad-argument"),
        (("--replay", "--cwd", "/nowhere", first, "x"), "bad-cwd"),
    ):
        assert refused(desk("resume", "--json", *arguments))["kind"] == kind
    nested = desk("resume", "--json", first, "x", variables={"PI_SUBAGENTS_CHILD": "1"})
    assert refused(nested)["kind"] == "nested"
    assert desk.runs() == [first]


# --- one at a time ----------------------------------------------------------------------------------------


def test_of_many_that_resume_at_once_one_does(desk: Desk) -> None:
    first = ended(desk, "done one")
    have_talked(desk, first)
    for before in range(1, 4):
        calls = [desk.start("resume", "--json", first, "begin\nsleep 60") for _ in range(6)]
        told = [(call.communicate(timeout=90)[0], call.returncode) for call in calls]
        assert sorted(code for _, code in told) == [0, 4, 4, 4, 4, 4]
        errors = [json.loads(text)["error"] for text, code in told if code]
        assert {(error["kind"], error["message"]) for error in errors} == {
            ("run-running", RUNNING.format(first))
        }
        (winner,) = [json.loads(text)["run"]["runId"] for text, code in told if not code]
        assert len(desk.runs()) == before + 1
        desk("stop", winner)


def test_who_is_killed_while_it_resumes_blocks_nobody(desk: Desk) -> None:
    first = ended(desk, "done one")
    slow, asked = desk.home.folder / "slow", desk.home.folder / "asked"
    slow.write_text(f"#!/bin/sh\necho $$ > {asked}.new\nmv {asked}.new {asked}\nexec sleep 60\n")
    slow.chmod(0o755)
    quick, desk.home.environment["TMUXAGENTS_PI"] = desk.home.environment["TMUXAGENTS_PI"], str(slow)
    with desk.start("resume", first, "x") as call:
        try:
            eventually(asked.exists)  # what the child offers; the session is held since before that
            stop(call.pid)
            error = refused(desk("resume", "--json", first, "y"))
            held = refused(desk("prune", "--json", first))
        finally:
            call.kill()
    assert (error["kind"], error["message"]) == ("run-running", RUNNING.format(first))
    assert (held["kind"], held["message"].startswith(f"Another process holds run {first}")) == (
        *("run-busy", True),
    )
    assert desk.runs() == [first]
    desk.home.environment["TMUXAGENTS_PI"] = quick
    try:
        second = resumed(desk, first, "done two")
        os.kill(int(asked.read_text()), 0)  # what the killed one began still lives, and holds nothing
    finally:
        os.kill(int(asked.read_text()), signal.SIGKILL)
    assert desk.runs() == sorted((first, second))


def test_a_session_is_held_until_the_wrapper_has_the_run(desk: Desk) -> None:
    first = ended(desk, "done one")
    server = int(desk.tmux("display-message", "-p", "#{pid}"))
    stop(server)
    try:
        call = desk.start("resume", "--json", first, "done two")
        second = eventually(lambda: next(iter(set(desk.made()) - {first}), None))
        error = refused(desk("resume", "--json", first, "y"))
        assert (error["kind"], error["message"]) == ("run-running", RUNNING.format(first))
        removed = refused(desk("prune", "--json", first))
        assert (removed["exit"], len(desk.runs())) == (4, 2)
        assert removed["message"] == f"Run {first} is needed by run {second}, which has not ended."
        text = call.communicate(timeout=60)[0]
    finally:
        os.kill(server, signal.SIGCONT)
    assert json.loads(text)["error"]["kind"] == "tmux-unreachable"
    assert desk.result(second)["reason"] == "window"
    third = receipt(desk, first, "done three")["run"]
    assert (third["resumes"], third["runCount"]) == (second, 3)


def test_a_run_that_was_lost_is_concluded_first(home: Home, desk: Desk) -> None:
    lost = home.run("begin\nanswer toolUse so far\nfound tool\nsleep 60").start()
    lost.wait_for("assistant_text")
    eventually(home.recorded)
    lost.signal(signal.SIGKILL)
    assert lost.wrapper is not None
    lost.wrapper.wait()
    assert lost.result() is None
    home.environment["TMUXAGENTS_PI"] = ECHO  # the other child would do again what the transcript tells
    second = resumed(desk, lost.run_id, "go on")
    result = lost.result()
    assert result is not None
    assert (result["status"], result["reason"]) == ("aborted", "lost")
    assert [pid for pid in home.recorded().values() if process.start_time(pid) is not None] == []
    error = "[Error: Session was interrupted (main agent session ended unexpectedly)]"
    assert f"Assistant: so far\n\n{error}\n\nInstructions:" in prompt(desk, second)


def test_a_run_without_window_counts_as_running_until_it_is_late(home: Home, desk: Desk) -> None:
    young = home.run("done x")
    assert refused(desk("resume", "--json", young.run_id, "x"))["message"] == RUNNING.format(young.run_id)
    late = home.run("done x", createdAt=time.time() - 100)
    second = resumed(desk, late.run_id, "done two")
    assert (late.result() or {})["reason"] == "window"
    assert desk.result(second)["status"] == "completed"


def test_a_session_keeps_its_id_when_its_first_run_is_removed(desk: Desk) -> None:
    first = ended(desk, "done one")
    second = resumed(desk, first, "done two")
    assert desk("rm", first).returncode == 0
    assert desk("output", first).stdout == "two\n"
    assert "one" not in desk("transcript", first).stdout.splitlines()
    third = receipt(desk, first, "done three")["run"]
    assert [third[key] for key in ("sessionId", "resumes", "runCount")] == [first, second, 2]
    for run_id in (second, third["runId"]):
        desk("rm", run_id)
    assert refused(desk("resume", "--json", first, "x"))["message"] == UNKNOWN.format(first)


def test_what_was_said_goes_in_the_order_of_the_session_whatever_the_clock_says(
    home: Home, desk: Desk
) -> None:
    ahead = home.run("done one", createdAt=time.time() + 1000)
    ahead.start().wait()
    second = resumed(desk, ahead.run_id, "done two")
    assert meta(desk, second)["createdAt"] > ahead.meta["createdAt"]
    third = resumed(desk, ahead.run_id, "done three")
    assert meta(desk, third)["resumes"] == second
    assert desk("output", ahead.run_id).stdout == "three\n"


# --- done again -------------------------------------------------------------------------------------------


def retried(desk: Desk, run_id: str, *options: str) -> tuple[dict[str, Any], list[str]]:
    """Retry, and wait for the end; return the new plan and the printed words."""
    done = desk("retry", "--json", *options, run_id)
    found = checked(done.stdout, "receipt")
    desk.result(found["run"]["runId"])
    return meta(desk, found["run"]["runId"]), found["warnings"]


def test_a_resumed_run_is_done_again_from_where_it_began(desk: Desk) -> None:
    first = ended(desk, "--timeout", "77", "done one")
    said = have_talked(desk, first)
    (desk.home.project / "a.txt").write_text("a\n")
    done = desk("resume", "--name", "again", "--file", "a.txt", first, "begin\nanswer length half\nsettle")
    second = done.stdout.strip()
    desk.result(second)
    have_talked(desk, second, cwd="/")
    plan, warnings = retried(desk, second)
    assert warnings == [f"does run {second[:8]} again, " + NATIVE.format(first[:8])]
    third = plan["runId"]
    for key in ("task", "sessionId", "resumes", "name", "timeout", "files", "cwd"):
        assert plan[key] == meta(desk, second)[key], key
    assert (session_file(desk, third).read_bytes(), prompt(desk, third)) == (said, prompt(desk, second))
    assert desk("output", first).stdout.endswith("\nhalf\n"), "it is the session's latest run"
    plan, warnings = retried(desk, second, "--timeout", "5", "-m", "mock-think")
    since = f"the child does not know what was said since, in {third[:8]}"
    assert warnings[1:] == [since]
    assert [plan[key] for key in ("resumes", "timeout", "resolvedModel")] == [first, 5, "mock/mock-think"]
    assert plan["createdAt"] > meta(desk, third)["createdAt"]


def test_a_replayed_run_is_replayed_again_where_it_was(desk: Desk) -> None:
    first = ended(desk, "done one")
    elsewhere = desk.home.folder / "elsewhere"
    elsewhere.mkdir()
    have_talked(desk, first)
    second = resumed(desk, "--replay", "--cwd", str(elsewhere), first, "done two")
    plan, warnings = retried(desk, second)
    assert warnings == [f"does run {second[:8]} again, {REPLAYED.format(first[:8])}as that run did"]
    assert (plan["cwd"], prompt(desk, plan["runId"])) == (str(elsewhere), prompt(desk, second))


def test_a_resumed_run_is_not_done_again_where_that_would_be_something_else(desk: Desk) -> None:
    first = ended(desk, "done one")
    second = resumed(desk, first, "done two")
    third = desk("resume", first, "begin\nanswer toolUse so far\nsleep 60").stdout.strip()
    error = refused(desk("retry", "--json", second))
    assert (error["kind"], error["message"]) == ("run-running", RUNNING.format(first))
    desk("stop", third)
    assert desk("rm", first).returncode == 0
    error = refused(desk("retry", "--json", second))
    assert (error["kind"], error["exit"]) == ("unknown-run", 4)
    assert error["message"] == f"Run {first[:8]}, which run {second[:8]} continued, is gone."
    assert desk.runs() == sorted((second, third))


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["resume", "scout"], 'give it: tmuxagents resume RUN "the task", or - to read it from stdin'),
        (["resume", "scout", "a", "b"], 'quote the task: tmuxagents resume RUN "do this and that"'),
        (
            ["run"],
            'give it: tmuxagents run "the task", or - to read it from stdin; several tasks: --tasks FILE',
        ),
        (
            ["launch", "a", "b"],
            'quote the task: tmuxagents launch "do this and that"; several tasks: --tasks FILE',
        ),
    ],
)
def test_a_missing_task_is_asked_for_by_the_verb_that_was_called(
    desk: Desk, arguments: list[str], hint: str
) -> None:
    assert refused(desk(*arguments, "--json"))["hint"] == hint
