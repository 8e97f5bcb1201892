"""The real pi asks the model server: what each script makes it do, and that it did ask."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from scripts import model_turns
from tests.harness import MODEL_SERVER, ModelServer, real_pi

if TYPE_CHECKING:
    from collections.abc import Iterator

SCRIPTS = json.loads(Path(model_turns.__file__).with_name("model_scripts.json").read_text())
TOOLS = ["bash", "edit", "ls", "read", "write"]


@dataclass(frozen=True)
class Ran:
    """What is left of a run of pi."""

    status: int
    events: list[dict[str, Any]]
    requests: list[dict[str, Any]]

    @property
    def answers(self) -> list[dict[str, Any]]:
        messages = [event["message"] for event in self.events if event["type"] == "message_end"]
        return [message for message in messages if message["role"] == "assistant"]

    @property
    def results(self) -> list[tuple[str, bool]]:
        ended = [event for event in self.events if event["type"] == "tool_execution_end"]
        return [(event["toolName"], event["isError"]) for event in ended]


@dataclass(frozen=True)
class RealPi:
    """The real pi, with a home and a working directory of its own."""

    path: str
    server: ModelServer
    folder: Path

    def run(self, task: str, model: str = "text") -> Ran:
        """Do one task."""
        home, cwd, task_file = self.folder / "home", self.folder / "cwd", self.folder / "task"
        home.mkdir()
        cwd.mkdir()
        task_file.write_text(task)
        env = {"HOME": str(home), "PATH": os.defpath, "PI_OFFLINE": "1", "PI_TELEMETRY": "0"}
        env["PI_CODING_AGENT_DIR"] = str(self.server.agent_dir)
        argv = [self.path, "--mode", "json", "--no-session", "--model", f"mock/mock-{model}"]
        argv += ["--tools", ",".join(TOOLS)]
        with task_file.open() as stdin:
            done = subprocess.run(
                argv, stdin=stdin, env=env, cwd=cwd, capture_output=True, timeout=30, check=False
            )
        assert done.stderr == b""
        events = [json.loads(line) for line in done.stdout.splitlines()]
        return Ran(done.returncode, events, self.server.requests(task))


@pytest.fixture(scope="module")
def model_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModelServer]:
    with ModelServer(tmp_path_factory.mktemp("model-server")) as server:
        yield server


@pytest.fixture
def pi(model_server: ModelServer, tmp_path: Path) -> RealPi:
    return RealPi(real_pi(), model_server, tmp_path)


FINISHED = ["turn_end", "agent_end", "agent_settled"]
GIVEN_UP = ["agent_end", "auto_retry_end", "agent_settled"]


SCRIPTED = {
    "text": (["stop"], FINISHED),
    "empty": (["stop"], FINISHED),
    "think": (["stop"], FINISHED),
    "tools": ([*["toolUse"] * 5, "stop"], FINISHED),
    "badtool": (["toolUse", "toolUse", "stop"], FINISHED),
    "length": (["length"], FINISHED),
    "err401": (["error"], FINISHED),
    "quota": (["error"], FINISHED),
    "flaky": (["error", "error", "stop"], FINISHED),
    "err500": (["error"] * 4, GIVEN_UP),
    "drop": (["error"] * 4, GIVEN_UP),
}


@pytest.mark.parametrize("script", SCRIPTED)
def test_pi_does_what_the_script_says(pi: RealPi, script: str) -> None:
    stop_reasons, last_events = SCRIPTED[script]
    ran = pi.run(f"do what #script:{script} says")

    assert ran.status == 0  # after an error too: only the stream tells
    assert [event["type"] for event in ran.events][-3:] == last_events
    assert [answer["stopReason"] for answer in ran.answers] == stop_reasons

    assert [request["script"] for request in ran.requests] == [script] * len(stop_reasons)
    assert {request["model"] for request in ran.requests} == {"mock-text"}
    assert {request["headers"]["authorization"] for request in ran.requests} == {"(hidden)"}
    assert sorted(ran.requests[0]["tools"]) == TOOLS


def test_the_tools_really_run(pi: RealPi) -> None:
    ran = pi.run("the model names the script", model="tools")
    assert ran.results == [(tool, False) for tool in ("ls", "write", "read", "edit", "bash")]
    assert (pi.folder / "cwd" / "notes.txt").read_text() == "one\nthree\n"


def test_a_task_can_bring_its_own_commands_and_answer(pi: RealPi) -> None:
    ran = pi.run("two commands\n#bash:echo $((40 + 2)) >sum\n#bash:exit 3\n#say:It is 42.")
    assert ran.results == [("bash", False), ("bash", True)]
    assert (pi.folder / "cwd" / "sum").read_text() == "42\n"
    assert ran.answers[-1]["content"] == [{"type": "text", "text": "It is 42."}]


def test_pi_counts_what_an_answer_costs(pi: RealPi) -> None:
    (answer,) = pi.run("what does it cost?", model="cost").answers
    tokens = {key: answer["usage"][key] for key in ("input", "output", "cacheRead")}
    assert tokens == {"input": 600, "output": 200, "cacheRead": 400}
    assert answer["usage"]["cost"]["total"] == pytest.approx(0.00492)


def test_a_turn_is_played_so_often_before_the_next() -> None:
    talk: list[dict[str, Any]] = [{"role": "user", "content": "#script:loop"}]
    turns = []
    for _ in range(42):
        turns.append(model_turns.choose(SCRIPTS, "mock-text", talk).turn)
        talk.append({"role": "assistant", "tool_calls": turns[-1].get("calls")})
    assert ["calls" in turn for turn in turns] == [True] * 40 + [False] * 2
    assert turns[-1].get("then") == "hang"  # a parent may be late with its TERM


def test_no_script_starts_again_when_somebody_speaks() -> None:
    talk: list[dict[str, Any]] = [{"role": "user", "content": "#script:tools"}]
    choices = []
    for word in ("#say:bye", "faster", "#script:tools, I said", "", "", "", ""):
        choices.append(model_turns.choose(SCRIPTS, "mock-text", talk))
        talk.append({"role": "assistant", "tool_calls": choices[-1].turn.get("calls")})
        talk.append({"role": "user", "content": [{"type": "text", "text": word}]})
    assert [choice.number for choice in choices] == [0, 1, 2, 3, 4, 5, 5]
    assert choices[-1].turn["text"] == "bye"


def test_words_that_came_with_the_result_of_a_tool_are_the_users() -> None:
    said = f"done\n<system-reminder>\n{model_turns.MEANWHILE}Also: #say:Second.\n</system-reminder>"
    messages = [{"role": "user", "content": "#say:First."}, {"role": "tool", "content": said}]
    assert model_turns.choose(SCRIPTS, "mock-text", messages).turn["text"] == "Second."
    messages[1]["content"] = "#say:Third."
    assert model_turns.choose(SCRIPTS, "mock-text", messages).turn["text"] == "First."


def test_a_script_can_say_and_use_what_the_last_call_returned() -> None:
    turns = [
        {"calls": [{"bash": {"command": "ls"}}]},
        {"text": "I saw {result}.", "calls": [{"write": {"path": "seen", "content": "{result}\\n"}}]},
    ]
    talk: list[dict[str, Any]] = [{"role": "user", "content": "look"}]
    first = model_turns.choose({"look": {"turns": turns}}, "look", talk)
    assert (first.script, first.turn["calls"]) == ("look", [{"bash": {"command": "ls"}}])
    talk += [{"role": "assistant", "tool_calls": [{}]}, {"role": "tool", "content": "two files\n"}]
    second = model_turns.choose({"look": {"turns": turns}}, "look", talk)
    assert second.turn["text"] == "I saw two files."
    assert second.turn["calls"] == [{"write": {"path": "seen", "content": "two files\\n"}}]


def test_the_server_answers_without_a_stream_too(model_server: ModelServer) -> None:
    question = {"model": "any", "messages": [{"role": "user", "content": "#script:readonly #delay:0.01"}]}
    request = urllib.request.Request(f"{model_server.url}/chat/completions", json.dumps(question).encode())
    with urllib.request.urlopen(request, timeout=10) as response:
        (choice,) = json.load(response)["choices"]
    assert choice["finish_reason"] == "tool_calls"
    assert [call["function"]["name"] for call in choice["message"]["tool_calls"]] == ["read", "ls"]
    with urllib.request.urlopen(f"{model_server.url}/models", timeout=10) as response:
        assert "mock-text" in [model["id"] for model in json.load(response)["data"]]


def test_the_server_ends_with_the_process_that_started_it() -> None:
    # The shell lives until it reads a line. Its stdout is the server's too, so that it ends when both have.
    shell = ["sh", "-c", '"$@" & read -r line', "sh", sys.executable, str(MODEL_SERVER)]
    with subprocess.Popen(shell, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as starter:
        assert starter.stdout
        assert starter.stdout.readline().startswith("http://127.0.0.1:")
        assert not starter.communicate("end\n", timeout=10)[0]
