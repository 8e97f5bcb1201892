"""The verbs tools and call: subagent, background runs, refusals, progress, cancelling."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from typing import TYPE_CHECKING, Any

import pytest

from tests.harness import eventually, real_pi, waits_for
from tests.status.watchers import COMMAND, checked, counts
from tests.tools.parents import FAILS, WORKS, Answer, Parent

if TYPE_CHECKING:
    from pathlib import Path

    from tests.desk import Desk
    from tests.harness import ModelServer

CHILD = {"PI_SUBAGENTS_CHILD": "1"}


@pytest.fixture
def parent(desk: Desk) -> Parent:
    return Parent(desk)


def one(task: str, **more: Any) -> dict[str, Any]:
    return {"preset": "scout", "task": task, **more}


# --- the catalogue ----------------------------------------------------------------------------------------


def test_the_catalogue_as_json_and_as_a_list(desk: Desk) -> None:
    done = desk("tools", "--json")
    document = checked(done.stdout, "tools")
    assert (document["available"], document["why"], done.stderr) == (True, None, "")
    lines = desk("tools").stdout.splitlines()
    assert [line.split()[0] for line in lines] == [tool["name"] for tool in document["tools"]]
    assert lines[0].startswith("subagent ")
    assert not desk.home.state.joinpath("runs").exists()


def test_without_an_agent_the_tools_are_listed_and_not_available(desk: Desk) -> None:
    variables = {"TMUXAGENTS_PI": "no-such-pi"}
    document = checked(desk("tools", "--json", variables=variables).stdout, "tools")
    assert (document["available"], len(document["tools"])) == (False, 10)
    done = desk("tools", variables=variables)
    assert (len(done.stdout.splitlines()), document["why"] in done.stderr) == (10, True)


def test_a_child_has_no_tools(parent: Parent) -> None:
    document = checked(parent.desk("tools", "--json", variables=CHILD).stdout, "tools")
    assert (document["available"], document["tools"]) == (False, [])
    for tool in ("subagent", "background_agent_status", "no_such_tool"):
        assert parent.raw(tool, "{}", variables=CHILD).error["kind"] == "nested"
    assert parent.desk.runs() == []


def test_the_catalogue_by_a_template(parent: Parent) -> None:
    names = parent.desk("tools", "--format", "{{.name}}").stdout.split()
    document = checked(parent.desk("tools", "--json").stdout, "tools")
    assert names == [tool["name"] for tool in document["tools"]]


# --- subagent ---------------------------------------------------------------------------------------------


def test_one_child_and_its_answer(parent: Parent) -> None:
    done = parent("subagent", **one("done In src/auth.ts.", name="scout-1", timeout=70))
    (run,) = done.runs
    assert done.text == f"[1] scout-1: completed (run {run['runId']})\n\nIn src/auth.ts."
    assert (done.code, done.refused, done.stderr, done.progress) == (0, False, "", [])
    assert (done.details["mode"], done.details["status"]) == ("single", "completed")
    assert done.details["counts"] == counts(completed=1)
    keys = ("name", "timeout", "preset", "mode", "callId", "output", "cwd")
    assert [run[key] for key in keys] == [
        *("scout-1", 70, "scout", "single", run["runId"], "In src/auth.ts."),
        str(parent.desk.home.project),
    ]
    assert (parent.desk.folder(run["runId"]) / "system-prompt.md").read_text() == "Look around."


def test_several_children_in_order_and_a_failed_one_is_carried_out_too(parent: Parent) -> None:
    tasks = [one("begin\nsleep 0.5\nanswer stop slow\nsettle"), one(FAILS), one("done quick")]
    done = parent("subagent", tasks=tasks)
    assert (done.code, done.refused, done.details["status"]) == (0, False, "failed")
    ids = [run["runId"] for run in done.runs]
    message = "The answer was cut at the model's output limit."
    assert done.text == (
        f"[1] scout: completed (run {ids[0]})\n\nslow\n\n"
        f"[2] scout: failed, length: {message} (run {ids[1]})\n\n"
        f"[3] scout: completed (run {ids[2]})\n\nquick"
    )
    assert (done.details["mode"], {run["mode"] for run in done.runs}) == ("parallel", {"parallel"})
    assert ([run["taskIndex"] for run in done.runs], {run["callId"] for run in done.runs}) == (
        [0, 1, 2],
        {ids[0]},
    )
    assert done.details["counts"] == counts(completed=2, failed=1)


def test_a_long_answer_is_cut_and_says_where_the_rest_is(parent: Parent) -> None:
    done = parent("subagent", **one(f"done {'x' * 20_000}"))
    run_id = done.runs[0]["runId"]
    assert done.text.endswith(f"\n… 3616 bytes more: tmuxagents output {run_id}")
    assert len(done.text.encode()) < 17 * 1024


@pytest.mark.parametrize(
    ("arguments", "faults"),
    [
        ({}, [("preset", "bad-argument"), ("task", "bad-argument")]),
        ({"task": "x"}, [("preset", "bad-argument")]),
        ({"preset": "scout", "task": " "}, [("task", "empty-task")]),
        (
            {"preset": "scout", "task": "x", "tasks": [one("x")]},
            [("preset", "bad-argument"), ("task", "bad-argument")],
        ),
        ({"tasks": []}, [("tasks", "bad-argument")]),
        ({"preset": "scout", "task": "x", "chain": []}, [("chain", "removed")]),
        ({"preset": "scout", "task": "x", "cwd": "src"}, [("cwd", "bad-cwd")]),
        ({"preset": "scout", "task": "x", "cwd": "/tmp/../tmp"}, [("cwd", "bad-cwd")]),
        ({"preset": "scout", "task": "x", "cwd": "/nowhere"}, [("cwd", "bad-cwd")]),
        ({"preset": "scout", "task": "x", "model": "mock/nothing"}, [("model", "unknown-model")]),
        ({"preset": "scout", "task": "x", "name": "Not A Name"}, [("name", "bad-argument")]),
        ({"preset": "scout", "task": "x", "timeout": 0}, [("timeout", "bad-argument")]),
        ({"preset": "scout", "task": "x", "timeout": 10**10}, [("timeout", "bad-argument")]),
        ({"preset": "scuot", "task": "x"}, [("preset", "unknown-preset")]),
        (
            {
                "tasks": [
                    one("x", preset="scuot"),
                    {"preset": "scout"},
                    one("x", cwd="src"),
                    one("x", agent="a"),
                ]
            },
            [
                ("tasks[1].task", "bad-argument"),
                ("tasks[2].cwd", "bad-cwd"),
                ("tasks[3].agent", "removed"),
                ("tasks[0].preset", "unknown-preset"),
            ],
        ),
        (
            {"tasks": [one("x", name="twin"), one("x", name="twin")]},
            [("tasks[1].name", "bad-argument")],
        ),
    ],
)
def test_what_is_wrong_starts_nothing_and_all_of_it_is_told(
    parent: Parent, arguments: dict[str, Any], faults: list[tuple[str, str]]
) -> None:
    done = parent("subagent", **arguments)
    assert (done.faults, done.code) == (faults, 2)
    assert (parent.desk.runs(), parent.desk.sockets.exists()) == ([], False)


def test_an_unknown_preset_names_those_that_are_there(parent: Parent) -> None:
    error = parent("background_agent", **one("x", preset="scuot")).error
    assert error["message"] == 'Unknown preset: "scuot". Available presets: researcher, scout'
    assert (error["hint"], error["candidates"]) == ("Did you mean scout?", ["scout"])


def test_no_model_anywhere_is_refused(parent: Parent) -> None:
    parent.desk.home.environment["TMUXAGENTS_DEFAULT_MODEL"] = ""
    error = parent("subagent", **one("x")).error
    assert error["kind"] == "no-model"
    assert error["message"].startswith("no model resolved: ")


@pytest.mark.parametrize(
    "text", ["{bad", "[]", '"x"', "7", "", "[" * 5000, '{"preset": "scout", "task": "\\ud800"}']
)
def test_what_is_no_right_json_is_refused(parent: Parent, text: str) -> None:
    assert parent.raw("subagent", text).error["kind"] == "bad-argument"


def test_what_comes_by_stdin_may_be_long_and_must_be_utf8(parent: Parent) -> None:
    long = f"done {'ä' * 500_000}"
    done = parent("subagent", **one(long))
    assert done.runs[0]["outputBytes"] == 1_000_000
    refused = Answer(parent.desk("call", "subagent", "-", input="\udcff", errors="surrogateescape"))
    assert "is not valid UTF-8" in refused.error["message"]


def test_an_unknown_tool_names_the_nearest(parent: Parent) -> None:
    error = parent.raw("subagnet", "{}").error
    assert (error["kind"], error["candidates"], error["hint"]) == (
        "unknown-tool",
        ["subagent"],
        "did you mean subagent?",
    )


def test_a_machine_that_is_not_fit_is_an_error_of_its_own(parent: Parent) -> None:
    parent.desk.home.environment["PATH"] = "/nowhere"
    error = parent("subagent", **one("x")).error
    assert (error["kind"], error["exit"]) == ("tmux-missing", 3)
    assert parent("subagent", preset="scout").faults == [
        ("task", "bad-argument")
    ]  # open questions come first


def test_the_real_pi_works_behind_a_tool(parent: Parent, models: ModelServer) -> None:
    folder = models.agent_dir / "subagents"
    folder.mkdir(exist_ok=True)
    (folder / "shell.md").write_text("---\nname: shell\ndescription: Has one\ntools: bash\n---\nUse it.\n")
    environment = parent.desk.home.environment
    environment |= {"TMUXAGENTS_PI": real_pi(), "PI_CODING_AGENT_DIR": str(models.agent_dir)}
    task = "Look.\n#bash:sleep 1; echo seen\n#say:I have seen it."
    done = parent("subagent", "--stream", preset="shell", task=task, model="MOCK-TEXT")
    (run,) = done.runs
    assert (run["status"], run["resolvedModel"], run["toolCount"]) == ("completed", "mock/mock-text", 1)
    assert done.text.endswith("\n\nI have seen it.")
    assert "sleep 1; echo seen" in [line["content"][0]["text"] for line in done.progress]


# --- progress ---------------------------------------------------------------------------------------------


def test_progress_comes_line_by_line_and_the_result_last(parent: Parent) -> None:
    turns = ('tool read {"path":"src/a.ts"}', "answer toolUse I look.", "answer stop x")
    script = "begin\n" + "".join(f"sleep 0.3\n{turn}\n" for turn in turns) + "settle"
    done = parent("subagent", "--stream", **one(script))
    assert done.document["type"] == "result"
    told = [line["content"][0]["text"] for line in done.progress]
    assert told[0] == "queued"
    assert told[-1] == "completed"
    wanted = ["running", "Finished reading src/a.ts", "I look."]
    assert [text for text in told if text in wanted] == wanted
    assert {line["details"]["status"] for line in done.progress} == {"running"}
    assert done.progress[0]["details"]["counts"] == counts(queued=1)


def test_children_of_one_call_have_a_line_each(parent: Parent) -> None:
    done = parent(
        "subagent", "--stream", tasks=[one("begin\nsleep 0.5\nanswer stop x\nsettle"), one("done y")]
    )
    told = [line["content"][0]["text"].splitlines() for line in done.progress]
    assert told[0] == ["[1] scout: queued", "[2] scout: queued"]
    assert told[-1] == ["[1] scout: completed", "[2] scout: completed"]


def test_a_flood_is_told_at_most_ten_times_a_second(parent: Parent) -> None:
    turns = "".join(f'tool ls {{"path":"d{number}"}}\nsleep 0.01\n' for number in range(150))
    script = f"begin\n{turns}answer stop x\nsettle"
    done = parent("subagent", "--stream", **one(script))
    moments = [line["details"]["runs"][0]["lastEventAt"] or 0.0 for line in done.progress]
    (run,) = done.runs
    assert run["toolCount"] == 150
    assert 3 <= len(moments) <= (run["endedAt"] - run["createdAt"]) * 10 + 3


def test_a_listener_that_leaves_stops_nothing(parent: Parent) -> None:
    reading, writing = os.pipe()
    call = subprocess.Popen(
        [
            *COMMAND,
            "call",
            "--stream",
            "subagent",
            json.dumps(one("begin\nsleep 0.5\nanswer stop x\nsettle")),
        ],
        stdin=subprocess.DEVNULL,
        stdout=writing,
        stderr=subprocess.DEVNULL,
        env=parent.desk.home.environment,
        cwd=parent.desk.home.project,
    )
    os.close(writing)
    os.close(reading)
    call.wait(30)
    (run_id,) = parent.desk.runs()
    assert parent.desk.result(run_id)["status"] == "completed"


# --- cancelled --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_children_of_the_call_alone(parent: Parent, number: signal.Signals) -> None:
    parent.desk.home.environment["TMUXAGENTS_MAX_CONCURRENCY"] = "2"
    other = parent("background_agent", **one(f"pid other\n{WORKS}")).details["run"]["runId"]
    call = parent.start("subagent", tasks=[one(f"pid {name}\n{WORKS}") for name in ("a", "b", "c")])
    done = parent.cancel(call, number, "other", "a", "b")
    assert (done.code, done.refused, done.details["status"]) == (128 + number, False, "failed")
    assert [(run["status"], run["reason"]) for run in done.runs] == [("aborted", "parent")] * 3
    assert done.text.count("aborted, parent: The parent cancelled the call.") == 3
    assert "c" not in parent.desk.home.recorded()
    status = parent("background_agent_status", runId=other)
    assert status.runs[0]["status"] == "running"


# --- the background ---------------------------------------------------------------------------------------


def test_a_background_run_from_its_start_to_its_answer(parent: Parent, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    task = f"begin\nanswer toolUse I look.\ngate {gate}\nanswer stop Found.\nsettle"
    done = parent("background_agent", **one(task))
    run_id = done.details["run"]["runId"]
    assert done.text == f"Started scout in the background: run {run_id}. bg: 1 running / 1 total"
    assert done.details["counts"] == counts(running=1)
    assert (done.details["run"]["mode"], done.details["run"]["status"]) == ("background", "running")
    parent.desk.wait_for(run_id, "I look.")
    active = parent("background_agent_status")
    first, row = active.text.splitlines()
    assert first == "bg: 1 running / 1 total"
    assert row.startswith(f"{run_id} scout running ")
    assert row.endswith("s I look.")
    assert parent("background_agent_status", runId=run_id[:8]).text.startswith(f"{run_id} scout running ")
    gate.touch()
    parent.desk.result(run_id)
    eventually(lambda: parent("background_agent_status").runs == [])
    nothing = parent("background_agent_status")
    assert nothing.text == "bg: 0 running / 1 total\nNo active background runs."
    line, empty, answer = parent("background_agent_status", runId=run_id).text.split("\n")
    assert (line.startswith(f"{run_id} scout completed "), empty, answer) == (True, "", "Found.")
    everything = parent("background_agent_status", includeCompleted=True)
    assert [run["runId"] for run in everything.runs] == [run_id]


def test_a_failed_run_tells_why(parent: Parent) -> None:
    run_id = parent("background_agent", **one(FAILS)).details["run"]["runId"]
    parent.desk.result(run_id)
    text = eventually(lambda: (t := parent("background_agent_status", runId=run_id).text).count("\n") and t)
    assert text.split("\n\n")[1:] == ["The answer was cut at the model's output limit.", "half"]


def test_counted_are_the_background_runs_of_the_calling_parent(parent: Parent) -> None:
    environment = parent.desk.home.environment
    environment["TMUXAGENTS_OWNER"] = "one"
    mine = parent("background_agent", **one(WORKS)).details["run"]["runId"]
    parent.desk.launch("--name", "by-hand", "done x")  # of the same parent, and a background run, too
    parent("subagent", **one("done y"))
    environment["TMUXAGENTS_OWNER"] = "two"
    other = parent("background_agent", **one(WORKS))
    assert other.details["counts"]["total"] == 1
    environment["TMUXAGENTS_OWNER"] = "one"
    status = parent("background_agent_status")
    assert ([run["runId"] for run in status.runs], status.details["counts"]["total"]) == ([mine], 2)
    del environment["TMUXAGENTS_OWNER"]
    assert parent("background_agent_status").details["counts"]["total"] == 3  # those of the project


def test_only_the_latest_runs_are_listed(parent: Parent) -> None:
    ids = [parent.desk.home.run("x", mode="background", createdAt=1000.0 + n).run_id for n in range(52)]
    parent.desk.home.be_watched()
    done = parent.brief("background_agent_status", includeCompleted=True)
    assert [run["runId"] for run in done.runs] == ids[:-21:-1]
    assert done.text.splitlines()[-1] == "… 32 more: tmuxagents poll --all"
    assert len(json.dumps(done.document)) < 4096
    whole = parent("background_agent_status", includeCompleted=True, verbose=True)
    assert (len(whole.runs), "artifacts" in whole.runs[0]) == (20, True)


def test_a_call_without_a_need_for_documents_gets_none(parent: Parent) -> None:
    (run,) = parent.brief("subagent", **one("done In src/auth.ts.")).runs
    assert not {"output", "cwd", "artifacts"} & set(run)
    assert parent.brief("background_agent_status", runId=run["runId"]).runs == [run]
    assert "artifacts" in parent.brief("background_agent_status", runId=run["runId"], verbose=True).runs[0]
    (window,) = parent.brief("delegate_to_subagents", tasks=[{"name": "a", "prompt": "done x"}]).windows
    assert (window["state"], "allMessages" in window) == ("completed", False)


def test_an_answer_that_a_tool_has_told_is_read(parent: Parent) -> None:
    parent.desk.home.environment["TMUXAGENTS_OWNER"] = "me"

    def unread() -> list[str]:
        found = json.loads(parent.desk("poll", "--unread", "--json").stdout)["runs"]
        return [run["task"] for run in found]

    parent("subagent", tasks=[one("done first"), one("begin\nanswer length second\nsettle")])
    assert unread() == []
    behind = parent("background_agent", **one("done third")).details["run"]["runId"]
    works = parent("background_agent", **one(WORKS)).details["run"]["runId"]
    eventually(lambda: unread() == ["done third"])
    parent("background_agent_status", includeCompleted=True)  # a list has no answers
    assert unread() == ["done third"]
    parent("background_agent_status", runId=behind)
    assert unread() == []
    parent("background_agent_status", runId=works)
    parent("stop_agent", runId=works)
    assert unread() == []  # the parent that stops a run knows its ending
    for tool in ("get_subagent_output", "get_subagent_session"):
        (window,) = parent.delegate({"name": "a", "prompt": f"done {tool}"}).windows
        assert f"done {tool}" in unread()
        parent(tool, sessionId=window["sessionId"])
        assert unread() == []


def test_status_waits_for_an_end_and_reports_it(parent: Parent) -> None:
    quick = parent("background_agent", **one("begin\nsleep 1\nanswer stop Found.\nsettle")).details["run"][
        "runId"
    ]
    slow = parent("background_agent", **one(WORKS)).details["run"]["runId"]
    done = parent("background_agent_status", wait=60)
    assert [(run["runId"], run["status"]) for run in done.runs] == [(slow, "running"), (quick, "completed")]
    assert parent("background_agent_status", runId=quick, wait=60).text.endswith("\n\nFound.")
    begun = time.monotonic()
    late = parent("background_agent_status", runId=slow, wait=1)
    assert (late.runs[0]["status"], time.monotonic() - begun < 30) == ("running", True)


def test_a_wait_for_an_end_can_be_cancelled(parent: Parent) -> None:
    slow = parent("background_agent", **one(f"pid slow\n{WORKS}")).details["run"]["runId"]
    parent.desk.wait_for(slow, "so far")
    call = parent.start("background_agent_status", runId=slow, wait=240)
    eventually(lambda: waits_for(call.pid))  # before our first line, Python itself answers Ctrl-C
    call.send_signal(signal.SIGINT)
    call.communicate(timeout=30)
    assert call.returncode == 130
    assert parent("background_agent_status", runId=slow).runs[0]["status"] == "running"


def test_a_refusal_names_the_presets_and_models_that_there_are(parent: Parent) -> None:
    refused = parent.brief("background_agent", task="x")
    assert refused.whole.splitlines() == [
        "preset is missing",
        "hint: presets: researcher, scout",
        'example: {"preset": "repo-scout", "task": "Find where sessions are created.", "name": "auth-scout"}',
    ]
    stray = parent.brief("list_subagent_profiles", preset="x")  # it takes no preset
    assert stray.whole.splitlines()[1:] == ["example: {}"]
    unknown = parent.brief("background_agent", **one("x"), model="gpt-17")
    assert "\nhint: models: mock/mock-text, " in unknown.whole


def test_background_is_one_task(parent: Parent) -> None:
    done = parent("background_agent", **one("x"), tasks=[one("x")])
    assert done.faults == [("tasks", "bad-argument")]
    assert parent.desk.runs() == []


@pytest.mark.parametrize("tool", ["background_agent_status", "stop_agent"])
def test_a_run_that_nobody_knows(parent: Parent, tool: str) -> None:
    error = parent(tool, runId="X").error
    assert (error["message"], error["kind"], error["exit"]) == ('Run "X" not found.', "unknown-run", 4)


def test_a_run_is_stopped_and_a_second_time_it_had_ended(parent: Parent) -> None:
    run_id = parent("background_agent", **one(WORKS)).details["run"]["runId"]
    done = parent("stop_agent", runId=run_id[:6])
    assert (done.code, done.text) == (0, f"Stopped run {run_id}.")
    assert (done.details["run"]["status"], done.details["run"]["reason"]) == ("aborted", "stopped")
    again = parent("stop_agent", runId=run_id)
    assert (again.code, again.text) == (0, f"Run {run_id} had ended already: aborted.")


def test_a_batch_child_cannot_be_spoken_to(parent: Parent) -> None:
    run_id = parent("background_agent", **one(WORKS)).details["run"]["runId"]
    error = parent("send_to_agent", runId=run_id, text="stay in src/").error
    assert (error["kind"], error["exit"]) == ("not-live", 4)
    parent("stop_agent", runId=run_id)
    assert parent("send_to_agent", runId=run_id, text="x").error["kind"] == "run-ended"


def test_an_ambiguous_run_names_its_candidates(parent: Parent) -> None:
    home = parent.desk.home
    first, second = home.run("x", runId="abcd000000000001"), home.run("x", runId="abcd000000000002")
    error = parent("stop_agent", runId="abcd").error
    assert (error["kind"], sorted(error["candidates"])) == ("ambiguous-run", [first.run_id, second.run_id])


# --- profiles ---------------------------------------------------------------------------------------------


def test_presets_and_profiles_are_listed(parent: Parent) -> None:
    done = parent("list_subagent_profiles")
    assert done.details["count"] == 2
    assert done.details["profiles"]["researcher"] == (
        "profile: researcher, model=mock/mock-text, custom-system-prompt, tools=[read]"
    )
    assert done.text.splitlines() == list(done.details["profiles"].values())
    assert done.text.splitlines()[1] == "preset: scout — Finds its way around"


def test_where_there_are_none_it_says_how_to_make_one(desk: Desk) -> None:
    done = Answer(desk("call", "list_subagent_profiles"))
    assert done.details == {"count": 0}
    assert done.text == (
        "No subagent profiles found. Add .md files to ~/.pi/agent/agent-profiles/ or .pi/agent-profiles/."
    )


def test_a_bad_file_is_a_warning_beside_the_list(parent: Parent) -> None:
    parent.profile("bad", "---\nname: [\n---\n")
    done = parent("list_subagent_profiles")
    assert (done.details["count"], done.code) == (2, 0)
    assert "bad.md" in done.stderr
