"""The tool delegate_to_subagents, and the tools that read its sessions later, by the installed command."""

from __future__ import annotations

import json
import os
import signal
import time
from typing import TYPE_CHECKING, Any

import pytest

from tests.harness import real_pi
from tests.tools.parents import FAILS, USES_TOOLS, WORKS, Answer, Parent
from tmuxagents.tools import retrieval

if TYPE_CHECKING:
    from tests.desk import Desk
    from tests.harness import Home, ModelServer, Run

UNKNOWN = "not found. The session may have expired or the ID is incorrect."


@pytest.fixture
def parent(desk: Desk) -> Parent:
    return Parent(desk)


def task(name: str, prompt: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "prompt": prompt, **more}


def outcome(window: dict[str, Any]) -> tuple[str, str, str]:
    return window["status"], window["state"], window["reason"]


# --- what it comes to -------------------------------------------------------------------------------------


def test_each_task_has_its_line_and_its_window(parent: Parent) -> None:
    done = parent.delegate(task("build assets", USES_TOOLS), task("run-tests", FAILS))
    first, second = done.details["sessionIds"]
    message = "The answer was cut at the model's output limit."
    assert done.text.splitlines() == [
        f"✓ build assets: completed (session: {first})",
        f"✗ run-tests: error — {message} (session: {second})",
    ]
    assert (done.code, done.refused, done.details["globalStatus"]) == (0, False, "done")
    assert done.details["maxLinesPerWindow"] == 15
    build, tests = done.windows
    assert build["lines"] == [
        {"text": "→ bash → make assets", "kind": "tool"},
        {"text": "Done.", "kind": "text"},
    ]
    assert (build["name"], build["exitCode"], build["toolCount"], build["timeout"]) == (
        "build assets",
        0,
        1,
        600,
    )
    assert 0 <= build["completedAt"] - build["startedAt"] < 60_000
    assert (outcome(build), outcome(tests)) == (
        ("completed", "completed", "done"),
        ("error", "failed", "length"),
    )
    runs = [parent.meta(window["runId"]) for window in done.windows]
    assert [(run["mode"], run["taskIndex"], run["callId"]) for run in runs] == [
        ("parallel", 0, first),
        ("parallel", 1, first),
    ]
    assert [run["name"] for run in runs] == [
        "build-assets",
        "run-tests",
    ]  # a person can attach to these names


def test_one_bad_task_does_not_hold_up_the_others(parent: Parent) -> None:
    parent.profile("alone", "---\nname: alone\nprovider: mock\n---\n")
    parent.profile("skilled", "---\nname: skilled\nloadSkills: nosuch\n---\n")
    parent.profile("unsafe", "---\nname: unsafe\nextraArgs: '$(x)'\n---\n")
    parent.profile("broken", "---\nname: broken\nmodel: [\n---\n")
    bad = ("nosuch", "alone", "skilled", "unsafe", "broken")
    done = parent.delegate(*(task(name, "done x", profile=name) for name in bad), task("good", "done y"))
    assert done.code == 0
    *failed, good = done.windows
    assert outcome(good) == ("completed", "completed", "done")
    for window, name in zip(failed, bad, strict=True):
        assert (*outcome(window), window["exitCode"]) == ("error", "failed", "config", 1), name
        assert (window["startedAt"], window["profileName"]) == (None, name)
        result = parent.desk.result(window["runId"])
        assert (result["errorMessage"], result["durationMs"]) == (window["errorMessage"], 0)
    assert len(parent.desk.windows()) == 1
    unknown, alone, skilled, unsafe, broken = (window["errorMessage"] for window in failed)
    assert unknown.startswith('Unknown profile: "nosuch". Available profiles: ')
    assert alone == 'Profile "alone" sets provider without model; set model as well.'
    assert skilled == 'Unknown skills: "nosuch". Available skills: (none)'
    assert unsafe == "Refusing extraArg: potentially unsafe argument '$(x)'"
    assert broken.startswith("Failed to load profile from ")
    assert done.text.splitlines()[0].endswith(f"(session: {failed[0]['sessionId']}) (nosuch)")


def test_the_profile_of_a_task_comes_before_that_of_the_call(parent: Parent) -> None:
    parent.profile("writer", "---\nname: writer\nthinkingLevel: low\n---\nWrite.\n")
    done = parent.delegate(task("a", "done x", profile="writer"), task("b", "done y"), profile="researcher")
    writer, researcher = done.windows
    assert (writer["profileName"], writer["thinkingLevel"]) == ("writer", "low")
    assert writer["profileInfo"] == "profile: writer, thinking=low, custom-system-prompt"
    assert researcher["profileName"] == "researcher"
    lines = done.text.splitlines()
    assert lines[1].endswith(
        "(profile: researcher, model=mock/mock-text, custom-system-prompt, tools=[read])"
    )
    assert (parent.desk.folder(writer["runId"]) / "system-prompt.md").read_text() == "Write."


def test_without_a_model_the_child_has_its_own_with_a_warning(parent: Parent) -> None:
    parent.desk.home.environment["TMUXAGENTS_DEFAULT_MODEL"] = ""
    done = parent.delegate(task("a", "done x"))
    assert outcome(done.windows[0]) == ("completed", "completed", "done")
    assert "no model chosen: the child uses its own default" in done.stderr


def test_excluded_tools_are_the_others_allowed(parent: Parent) -> None:
    parent.profile("careful", "---\nname: careful\nexcludeTools: bash, edit, write\n---\n")
    parent.profile("nothing", "---\nname: nothing\nexcludeTools: read,bash,edit,write,grep,find,ls\n---\n")
    done = parent.delegate(task("a", "done x", profile="careful"), task("b", "done y", profile="nothing"))
    plans = [parent.meta(window["runId"])["profile"] for window in done.windows]
    assert [plan["tools"] for plan in plans] == [["read", "grep", "find", "ls"], []]


def test_an_agent_that_is_not_there_fails_each_task_in_its_own_words(parent: Parent) -> None:
    parent.desk.home.environment["TMUXAGENTS_PI"] = "no-such-pi"
    done = parent.delegate(task("a", "done x"), task("b", "done y"))
    assert done.code == 0
    for window in done.windows:
        assert (*outcome(window), window["exitCode"]) == ("error", "failed", "spawn", 1)
        assert window["errorMessage"] == "Failed to spawn sub-agent process"


def test_files_stand_before_the_prompt(parent: Parent) -> None:
    (parent.desk.home.project / "a.txt").write_text("one\ntwo\nthree\n")
    files = [
        "a.txt",
        {"path": "a.txt", "start": 2, "end": 2},
        {"path": "a.txt", "tail": 1},
        "nowhere",
        "/etc/passwd",
    ]
    done = parent.delegate(task("a", "done x", files=files))
    (window,) = done.windows
    assert window["fileCount"] == 5
    prompt = (parent.desk.folder(window["runId"]) / "prompt.txt").read_text()
    assert prompt == (
        "=== a.txt ===\none\ntwo\nthree\n\n=== a.txt ===\ntwo\n\n=== a.txt ===\nthree\n\n"
        "[file not found: nowhere]\n\n"
        "[access denied: path outside project directory: /etc/passwd]\n\ndone x"
    )


def test_at_most_four_at_once_and_the_results_in_order(parent: Parent) -> None:
    tasks = [task(f"t{number}", f"begin\nsleep 0.4\nanswer stop {number}\nsettle") for number in range(6)]
    done = parent.delegate(*tasks, options=("--stream",))
    assert [window["name"] for window in done.windows] == [f"t{number}" for number in range(6)]
    for line in done.progress:
        states = [window["state"] for window in line["details"]["windows"]]
        assert states.count("running") <= 4
        assert {window["status"] for window in line["details"]["windows"]} <= {"running", "completed"}
    for window in done.windows:
        began = window["startedAt"]
        assert sum(w["startedAt"] <= began < w["completedAt"] for w in done.windows) <= 4
    assert done.progress[0]["content"][0]["text"] == "6 running"
    assert done.progress[-1]["content"][0]["text"] == "6 done"


def test_a_time_limit_is_that_of_its_task(parent: Parent) -> None:
    parent.desk.home.environment["TMUXAGENTS_EXTEND_TIMEOUT_DEBOUNCE"] = "0"
    done = parent.delegate(task("slow", "begin\nsleep 30", timeout=1), task("quick", "done x"))
    slow, quick = done.windows
    assert (outcome(slow), outcome(quick)[0]) == (("error", "failed", "timeout"), "completed")
    assert slow["errorMessage"] == "Timed out after 1s. Consider resuming with a longer timeout."


def test_a_name_that_another_run_has_is_only_wished_for(parent: Parent) -> None:
    other = parent.desk.launch("--name", "build", WORKS)
    done = parent.delegate(task("build", "done x"), task("tests", "done y"), task("tests", "done z"))
    assert [window["status"] for window in done.windows] == ["completed"] * 3
    assert [parent.meta(window["runId"])["name"] for window in done.windows] == [None, "tests", None]
    parent.desk("stop", other)


def test_cancelled_it_ends_all_that_it_has_begun_and_the_rest(parent: Parent) -> None:
    parent.desk.home.environment["TMUXAGENTS_MAX_CONCURRENCY"] = "1"
    call = parent.start("delegate_to_subagents", tasks=[task(n, f"pid {n}\n{WORKS}") for n in ("a", "b")])
    done = parent.cancel(call, signal.SIGINT, "a")
    assert done.code == 130
    assert [outcome(window) for window in done.windows] == [("error", "aborted", "parent")] * 2
    assert done.text.count("✗ ") == 2
    assert "b" not in parent.desk.home.recorded()


# --- the whole call is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "faults"),
    [
        ({"tasks": []}, [("tasks", "bad-argument")]),
        ({"tasks": [task("n", "p")] * 17}, [("tasks", "bad-argument")]),
        ({"tasks": [task("n", "")]}, [("tasks[0].prompt", "empty-task")]),
        ({"tasks": [task("n", "a\0b")]}, [("tasks[0].prompt", "bad-argument")]),
        ({"tasks": [task("n", "p", cwd="src")]}, [("tasks[0].cwd", "bad-cwd")]),
        ({"tasks": [task("n", "p", cwd="/tmp/../x")]}, [("tasks[0].cwd", "bad-cwd")]),
        ({"tasks": [task("n", "p")], "chain": []}, [("chain", "removed")]),
        ({"tasks": [task("n", "p")], "profile": 7}, [("profile", "bad-argument")]),
        ({"tasks": [task("n", "p"), task("n", "p", agent="x")]}, [("tasks[1].agent", "removed")]),
        ({"tasks": [task("n", "p", resume="x")]}, [("tasks[0].resume", "unknown-run")]),
        ({"tasks": [task("n", "p")], "profile": "both"}, [("profile", "bad-profile")]),
        ({"tasks": [task("n", "p", profile="mute")]}, [("tasks[0].profile", "bad-profile")]),
        (
            {
                "tasks": [
                    task("a", "p", profile="mute"),
                    task("b", "p", profile="both"),
                    task("c", "p", resume="zz"),
                    task("d", "p", cwd="src"),
                    {"name": "e"},
                    task("f", "p", profile="nosuch"),
                ]
            },
            [
                ("tasks[4].prompt", "bad-argument"),
                ("tasks[3].cwd", "bad-cwd"),
                ("tasks[2].resume", "unknown-run"),
                ("tasks[1].profile", "bad-profile"),
                ("tasks[0].profile", "bad-profile"),
            ],
        ),
    ],
)
def test_what_is_wrong_with_the_call_starts_nothing(
    parent: Parent, arguments: dict[str, Any], faults: list[tuple[str, str]]
) -> None:
    parent.profile("both", "---\nname: both\ntools: read\nexcludeTools: bash\n---\n")
    parent.profile("mute", "---\nname: mute\nnoSkills: true\nloadSkills: x\n---\n")
    assert parent("delegate_to_subagents", **arguments).faults == faults
    assert (parent.desk.runs(), parent.desk.sockets.exists()) == ([], False)


def test_a_profile_that_contradicts_itself_is_told_once(parent: Parent) -> None:
    parent.profile("both", "---\nname: both\ntools: read\nexcludeTools: bash\n---\n")
    done = parent.delegate(task("a", "p"), task("b", "p"), profile="both")
    assert done.text == (
        'Profile "both" has both "tools" (allowlist) and "excludeTools" (blacklist) set. '
        "These are mutually exclusive — choose one or the other."
    )
    assert len(done.faults) == 1


# --- resumed ----------------------------------------------------------------------------------------------


def test_a_session_goes_on_with_what_was_said_before(parent: Parent) -> None:
    first = parent.delegate(task("build", USES_TOOLS)).windows[0]
    again = parent.delegate(task("more", "done More.", resume=first["sessionId"])).windows[0]
    assert (again["sessionId"], again["runId"] != first["runId"]) == (first["sessionId"], True)
    prompt = (parent.desk.folder(again["runId"]) / "prompt.txt").read_text()
    assert prompt == (
        f"Previously:\n\nUser: {USES_TOOLS}\n\n"
        'Tool Call: bash({"command":"make assets"})\n\nTool Result: fine\n\nAssistant: Done.\n\n'
        "Instructions:\n\ndone More."
    )
    plan = parent.meta(again["runId"])
    assert (plan["resumes"], plan["taskName"], plan["mode"]) == (first["runId"], "more", "parallel")
    latest = parent("get_subagent_output", sessionId=first["sessionId"])
    assert (latest.text, latest.details["taskName"], latest.details["runCount"]) == ("More.", "more", 2)


def test_a_resumed_task_keeps_the_model_of_its_session_unless_its_profile_names_one(parent: Parent) -> None:
    parent.profile("quick", "---\nname: quick\n---\nBe quick.\n")
    parent.profile("other", "---\nname: other\nmodel: mock/x\n---\nBe other.\n")
    first = parent.delegate(task("a", "done x", profile="researcher")).windows[0]["sessionId"]
    used = []
    for profile in ({}, {"profile": "quick"}, {"profile": "other"}):
        again = parent.delegate(task("b", "done y", resume=first, **profile)).windows[0]
        plan = parent.meta(again["runId"])
        used.append((plan["resolvedModel"], plan["modelSource"]))
    assert used == [("mock/mock-text", "preset"), ("mock/mock-text", "preset"), ("mock/x", "preset")]


def test_a_failed_session_can_be_resumed_and_the_command_line_can_go_on_with_it(parent: Parent) -> None:
    first = parent.delegate(task("a", FAILS)).windows[0]
    again = parent.delegate(task("a", "done x", resume=first["sessionId"])).windows[0]
    assert again["sessionId"] == first["sessionId"]
    done = parent.desk("resume", "--replay", first["sessionId"], "done y")
    assert done.returncode == 0, done.stderr
    parent.desk.result(done.stdout.strip())
    assert parent("get_subagent_output", sessionId=first["sessionId"]).details["runCount"] == 3


def test_a_session_that_works_is_not_resumed_and_blocks_the_call(parent: Parent) -> None:
    live = parent.desk.launch(WORKS)
    done = parent.delegate(task("a", "done x"), task("b", "done y", resume=live))
    assert done.text == (
        f'Cannot resume: session "{live}" is still running. Wait for it to complete before resuming.'
    )
    assert (done.error["kind"], done.faults) == ("run-running", [("tasks[1].resume", "run-running")])
    assert parent.desk.runs() == [live]


def test_an_unknown_session_is_not_resumed(parent: Parent) -> None:
    done = parent.delegate(task("a", "x", resume="0123456789abcdef"))
    assert done.text == f'Cannot resume: session "0123456789abcdef" {UNKNOWN}'
    assert done.code == 4


def test_two_tasks_cannot_go_on_with_one_session(parent: Parent) -> None:
    first = parent.delegate(task("a", "done x")).windows[0]
    done = parent.delegate(*(task(name, "done y", resume=first["sessionId"]) for name in ("b", "c")))
    assert done.faults == [("tasks[1].resume", "bad-argument")]
    assert len(parent.desk.runs()) == 1


def test_a_resumed_task_that_is_wrong_itself_is_a_run_of_the_session(parent: Parent) -> None:
    first = parent.delegate(task("a", "done x")).windows[0]
    again = parent.delegate(task("b", "done y", resume=first["sessionId"], profile="nosuch")).windows[0]
    assert (again["sessionId"], outcome(again)[2]) == (first["sessionId"], "config")


# --- read again, from another process -----------------------------------------------------------------------


def test_output_and_transcript_of_a_session(parent: Parent) -> None:
    session = parent.delegate(task("build", USES_TOOLS)).windows[0]["sessionId"]
    output = parent("get_subagent_output", sessionId=session)
    base = {"sessionId": session, "status": "completed", "taskName": "build", "runCount": 1, "maxLines": 15}
    base |= {"state": "completed", "reason": "done"}
    assert (output.text, output.details) == ("Done.", base)
    transcript = parent("get_subagent_session", sessionId=session)
    assert transcript.text == '→ bash: {"command":"make assets"}\n---\n[tool result]: fine\n---\nDone.'
    more = {"messageCount": 4, "exitCode": 0, "model": "mock/scripted"}
    assert transcript.details == base | more


def test_several_runs_are_told_apart(parent: Parent) -> None:
    session = parent.delegate(task("a", FAILS)).windows[0]["sessionId"]
    parent.delegate(task("b", "done x", resume=session, profile="nosuch"))
    text = parent("get_subagent_session", sessionId=session).text
    assert text.startswith("=== Run 1/2 (error) ===\n---\nhalf\n---\n[Error: The answer was cut")
    assert "\n---\n=== Run 2/2 (error) ===\n---\n[Error: Unknown profile" in text


def test_a_running_session_tells_what_there_is(parent: Parent) -> None:
    live = parent.desk.launch(WORKS)
    parent.desk.wait_for(live, "so far")
    done = parent("get_subagent_output", sessionId=live)
    assert done.text == "still running; what follows is no answer yet\n\nso far"
    assert (done.details["status"], done.details["reason"]) == ("running", None)


def test_the_text_of_a_failed_session_is_not_taken_for_an_answer(parent: Parent) -> None:
    session = parent.delegate(task("a", FAILS)).windows[0]["sessionId"]
    line, empty, text = parent("get_subagent_output", sessionId=session).text.split("\n")
    why = "failed (length): The answer was cut at the model's output limit"
    assert (line, empty, text) == (f"{why}; what follows is unfinished", "", "half")


def test_no_answer_is_said_to_be_none(parent: Parent) -> None:
    session = parent.delegate(task("a", "begin\nsettle")).windows[0]["sessionId"]
    line, _, text = parent("get_subagent_output", sessionId=session).text.split("\n")
    assert (line.split(":")[0], text) == ("failed (unfinished)", "(no text output from sub-agent)")


@pytest.mark.parametrize("tool", ["get_subagent_output", "get_subagent_session"])
def test_a_session_that_nobody_knows(parent: Parent, tool: str) -> None:
    error = parent(tool, sessionId="zz").error
    assert (error["message"], error["kind"], error["exit"]) == (f'Session "zz" {UNKNOWN}', "unknown-run", 4)


# --- forgotten ----------------------------------------------------------------------------------------------


def made(home: Home, number: int, **more: Any) -> Run:
    """Make the directory of an old run of a call. It has ended unless it is wrapped."""
    plan: dict[str, Any] = {
        "mode": "parallel",
        "createdAt": 1000.0 + number,
        "taskName": f"t{number}",
        "owner": "me",
    }
    run = home.run("x", **(plan | more))
    if more.get("live") is None:
        result = {
            "v": 1,
            "runId": run.run_id,
            "status": "completed",
            "reason": "done",
            "output": f"o{number}",
        }
        result |= {"startedAt": None, "endedAt": 2000.0, "exitCode": 0}
        (run.folder / "result.json").write_text(json.dumps(result))
    return run


def known(parent: Parent, run: Run) -> bool:
    done = Answer(parent.desk("call", "get_subagent_output", json.dumps({"sessionId": run.run_id})))
    assert done.code in (0, 4)
    return done.code == 0


def test_a_parent_remembers_its_latest_sessions_and_those_that_work(parent: Parent) -> None:
    home = parent.desk.home
    live = made(home, 0, live=True, createdAt=time.time() - 5).start()
    old = [made(home, number) for number in range(1, 4)]
    others = [
        made(home, 4, owner="somebody else"),
        made(home, 5, owner=None),
        home.run("done x", mode="parallel", createdAt=1006.0, owner="me"),  # of `run --tasks`
    ]
    others[-1].start().wait()
    new = [made(home, 10 + number) for number in range(retrieval.MOST_SESSIONS - 2)]
    # 32 sessions of delegate_to_subagents of this parent are later than the second oldest.
    assert [known(parent, run) for run in (live, *old)] == [True, False, False, True]
    assert all(known(parent, run) for run in (*others, new[0], new[-1]))
    assert parent("get_subagent_session", sessionId=old[0].run_id).text.endswith(UNKNOWN)
    refused = parent.delegate(task("a", "x", resume=old[0].run_id))
    assert refused.text == f'Cannot resume: session "{old[0].run_id}" {UNKNOWN}'
    assert parent.desk("output", old[0].run_id).stdout == "o1\n"  # the command line forgets nothing
    live.kill()


def test_a_session_has_its_latest_ten_runs(parent: Parent) -> None:
    first = made(parent.desk.home, 0)
    for number in range(1, 12):
        made(parent.desk.home, number, sessionId=first.run_id)
    done = parent("get_subagent_session", sessionId=first.run_id)
    assert (done.details["runCount"], done.details["taskName"]) == (10, "t11")
    assert done.text.startswith("=== Run 1/10 (completed) ===")


# --- with the real pi ---------------------------------------------------------------------------------------


def test_the_real_pi_is_delegated_to_and_goes_on(parent: Parent, models: ModelServer) -> None:
    environment = parent.desk.home.environment
    environment |= {"TMUXAGENTS_PI": real_pi(), "PI_CODING_AGENT_DIR": str(models.agent_dir)}
    said = f"Look. #say:{os.urandom(4).hex()}"
    first, tools = parent.delegate(task("text", said), task("tools", "Look. #script:readonly")).windows
    assert [outcome(window)[1] for window in (first, tools)] == ["completed", "completed"]
    assert tools["lines"][0]["text"].startswith("→ read → ")
    again = parent.delegate(task("more", "And now? #say:More.", resume=first["sessionId"]))
    assert again.windows[0]["status"] == "completed"
    assert parent("get_subagent_output", sessionId=first["sessionId"]).text == "More."
    assert any(
        said in str(request["messages"])
        for request in models.requests(
            (parent.desk.folder(again.windows[0]["runId"]) / "prompt.txt").read_text()
        )
    )
