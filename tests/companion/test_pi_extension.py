"""The extension for pi, without pi: what it registers and when, and what it does when things go wrong.

The program behind it is the installed one; how it fares inside the real pi is in test_pi_parent.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import pytest

from tests.harness import REPOSITORY, alive, eventually, real_pi
from tests.status.watchers import COMMAND
from tests.tools.parents import PRESET

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.desk import Desk

HOST = REPOSITORY / "tests" / "children" / "pi_host.mjs"
EXTENSION = REPOSITORY / "tmuxagents" / "extensions" / "pi" / "index.ts"
ONE, OTHER = "zeta/One", "alpha/two"


class Host:
    """The extension, loaded, with a test in the place of pi."""

    def __init__(self, desk: Desk, **variables: str) -> None:
        node = os.path.join(os.path.dirname(real_pi()), "node")
        packages = Path(real_pi()).parents[1] / "pi"
        lent = {"TMUXAGENTS_COMMAND": COMMAND[0], "PI_PACKAGES": str(packages)}
        environment = desk.home.environment | lent | variables
        self.process = subprocess.Popen(
            [node, "--no-warnings", str(HOST), str(EXTENSION), "session-1"],
            cwd=desk.home.project,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.heard: list[dict[str, Any]] = []
        self._said: list[dict[str, Any]] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self._said.append(json.loads(line))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        self._reader.join(10)
        for stream in (self.process.stdin, self.process.stdout):
            assert stream
            with contextlib.suppress(BrokenPipeError):
                stream.close()

    def ask(self, **wanted: Any) -> None:
        assert self.process.stdin
        self.process.stdin.write(json.dumps(wanted) + "\n")
        self.process.stdin.flush()

    def hear(self, what: str) -> dict[str, Any]:
        """Wait for something; what comes before it is heard, too."""

        def came() -> bool:
            while self._said:
                self.heard.append(self._said.pop(0))
                if self.heard[-1]["what"] == what:
                    return True
            return False

        try:
            eventually(came, 40)
        except AssertionError:
            raise AssertionError(f"{what} was not heard, but {self.heard}") from None
        return self.heard[-1]

    def do(self, **wanted: Any) -> list[dict[str, Any]]:
        """Have something done; return what came of it."""
        self.heard.clear()
        self.ask(**wanted)
        self.hear("done")
        return self.heard

    def start(self, reason: str = "startup") -> None:
        """Begin a session, up to where the first request to a model would be made."""
        self.do(emit="session_start", of={"reason": reason})
        before = [*self.heard]
        self.do(emit="before_agent_start")
        self.heard[:0] = before

    def registered(self) -> dict[str, Any]:
        return {one["name"]: one["parameters"] for one in self.heard if one["what"] == "tool"}


class Agent:
    """An agent whose models are in a file."""

    def __init__(self, desk: Desk) -> None:
        self.program = desk.home.folder / "agent-program"
        self._models = desk.home.folder / "agent-models"
        answers = f"--version) echo 0.87.1 ;;\n*) read request; cat {self._models}; cat > /dev/null ;;"
        self.program.write_text(f"#!/bin/sh\ncase $1 in\n{answers}\nesac\n")
        self.program.chmod(0o755)
        desk.home.environment["TMUXAGENTS_PI"] = str(self.program)
        self._agent_dir = desk.home.agent_dir

    def offers(self, *ids: str) -> None:
        rows = [dict(zip(("provider", "id"), model.split("/"), strict=True)) for model in ids]
        answer = {"type": "response", "command": "get_available_models", "success": True}
        self._models.write_text(json.dumps({**answer, "data": {"models": rows}}) + "\n")
        (self._agent_dir / "models.json").write_text(
            json.dumps(ids)
        )  # a change of this is what is looked for


@pytest.fixture
def agent(desk: Desk) -> Agent:
    return Agent(desk)


@pytest.fixture
def host(desk: Desk) -> Iterator[Host]:
    with Host(desk) as made:
        yield made


def test_tools_are_registered_when_there_is_a_model_and_again_when_there_are_others(
    desk: Desk, agent: Agent
) -> None:
    agent.offers()
    with Host(desk) as host:
        host.start()
        assert host.registered() == {}  # without a model there is no tool, not even the one that only looks
        steps: list[tuple[tuple[str, ...], list[str]]] = [
            ((ONE, OTHER), [ONE, OTHER]),  # in their own order
            ((OTHER, ONE), []),  # the same set
            (("ZETA/one", OTHER), []),
            ((OTHER,), [OTHER]),
        ]
        for ids, enum in steps:
            agent.offers(*ids)
            host.do(models=list(ids))
            host.do(emit="before_agent_start")
            names = list(host.registered())
            assert len(names) == (10 if enum else 0), ids
            if enum:
                properties = host.registered()["subagent"]["properties"]
                assert properties["model"]["enum"] == enum
                assert properties["tasks"]["items"]["properties"]["model"]["enum"] == enum
                assert host.registered()["background_agent"]["properties"]["model"]["enum"] == enum
        assert [one["what"] for one in host.do(emit="before_agent_start")] == ["done"]


def test_where_the_models_are_not_known_any_may_be_asked_for(desk: Desk, agent: Agent) -> None:
    agent.program.write_text("#!/bin/sh\nexit 1\n")
    with Host(desk) as host:
        host.start()
        assert "enum" not in host.registered()["subagent"]["properties"]["model"]


def test_a_child_registers_nothing_and_asks_nothing(desk: Desk, tmp_path: Path) -> None:
    asked = tmp_path / "asked"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\necho $* >> {asked}\n")
    program.chmod(0o755)
    with Host(desk, PI_SUBAGENTS_CHILD="1", TMUXAGENTS_COMMAND=str(program)) as host:
        host.start()
        assert {one["what"] for one in host.heard} == {"done"}
    assert not asked.exists()


def test_where_the_program_is_not_found_pi_goes_on_with_a_warning(desk: Desk) -> None:
    with Host(desk, TMUXAGENTS_COMMAND="/no/such/tmuxagents") as host:
        host.start()
        (warning,) = [one for one in host.heard if one["what"] == "notify"]
        assert (warning["level"], "/no/such/tmuxagents" in warning["text"]) == ("warning", True)


def preset(desk: Desk) -> None:
    folder = desk.home.agent_dir / "subagents"
    folder.mkdir()
    (folder / "scout.md").write_text(PRESET)


def test_a_session_that_cannot_be_written_is_a_warning_and_the_result_is_whole(
    desk: Desk, host: Host
) -> None:
    preset(desk)
    host.start()
    host.do(refuse=True)
    host.do(call="background_agent", params={"preset": "scout", "task": "done Seen."})
    (result,) = [one for one in host.heard if one["what"] == "result"]
    assert result["text"].startswith("Started scout in the background: run ")
    warning = next(one for one in host.heard if one["what"] == "notify")
    assert (warning["level"], "no space left" in warning["text"]) == ("warning", True)
    message = host.hear("message")
    assert message["message"]["customType"] == "pi-subagents:bg-done"
    assert message["options"] == {"triggerTurn": False}


def test_a_refusal_is_thrown_with_all_its_words(desk: Desk, host: Host) -> None:
    preset(desk)
    host.start()
    host.do(call="subagent", params={"preset": "scuot", "task": "x"})
    (thrown,) = [one for one in host.heard if one["what"] == "thrown"]
    assert thrown["text"] == 'Unknown preset: "scuot". Available presets: scout\nhint: Did you mean scout?'


def test_cancelling_a_call_stops_its_children(desk: Desk, host: Host) -> None:
    preset(desk)
    host.start()
    host.ask(call="subagent", params={"preset": "scout", "task": "begin\nspawn sleep 600\nsleep 600"})
    host.hear("update")
    (run_id,) = eventually(desk.made)
    desk.wait_for(run_id, "run_started")
    host.ask(abort=True)
    result = host.hear("result")
    assert result["details"]["runs"][0]["reason"] == "parent"
    assert desk.result(run_id)["reason"] == "parent"


def test_the_follower_dies_with_whoever_started_it(desk: Desk, host: Host) -> None:
    preset(desk)
    host.start()
    host.do(call="background_agent", params={"preset": "scout", "task": "begin\nsleep 600"})
    host.hear("status")
    children = Path(f"/proc/{host.process.pid}/task").glob("*/children")
    (follower,) = [int(pid) for file in children for pid in file.read_text().split()]
    assert alive(follower)
    host.process.send_signal(signal.SIGKILL)
    eventually(lambda: not alive(follower))


# --- drawn ------------------------------------------------------------------------------------------------


def drawn(host: Host, tool: str, args: Any, result: Any = None, **how: Any) -> tuple[list[str], list[str]]:
    """Return the lines of a call, and of its result."""
    host.do(draw=tool, args=args, result=result or {"content": [], "details": {}}, **how)
    (found,) = [one for one in host.heard if one["what"] == "drawn"]
    return found["call"], found["result"]


def test_a_call_shows_who_is_to_do_what_on_lines_that_obey_nothing(host: Host) -> None:
    host.start()
    title = "<toolTitle><bold>Subagent</></>"
    args = {"preset": "scout", "task": "Find\n\x1b[2J it"}
    assert drawn(host, "subagent", args)[0] == [f"{title}  <accent>scout</>  <muted>Find [2J it</>"]
    assert drawn(host, "subagent", {})[0] == [title]  # not all of it has come yet
    tasks = [{"preset": "scout", "name": f"n{number}", "task": "x"} for number in range(10)]
    call, _ = drawn(host, "subagent", {"tasks": tasks})
    assert call[:2] == [f"{title}  <accent>10 tasks</>", "  <accent>n0 scout</>  <muted>x</>"]
    assert call[-1] == "<muted>  … 2 more</>"
    assert drawn(host, "subagent", {"tasks": tasks}, started=True)[0] == call[:1]


def test_a_result_is_a_line_for_each_child_and_opened_what_it_did(desk: Desk, host: Host) -> None:
    preset(desk)
    host.start()
    tasks = [
        {"preset": "scout", "task": task} for task in ("done Seen.", "begin\nanswer error No key.\nsettle")
    ]
    host.do(call="subagent", params={"tasks": tasks})
    (result,) = [one for one in host.heard if one["what"] == "result"]
    given = {"content": [{"type": "text", "text": result["text"]}], "details": result["details"]}
    _, lines = drawn(host, "subagent", {"tasks": tasks}, given)
    assert lines[0].startswith("<success>✓ </><bold>scout</><muted>  completed · ")
    assert lines[0].endswith("  done Seen.")
    assert lines[1].startswith("<error>✗ </><bold>scout</><muted>  failed · ")
    assert lines[2:] == ["<error>  No key.</>", "<dim>  Ctrl-O shows what they did</>"]
    _, opened = drawn(host, "subagent", {}, given, expanded=True)
    assert "    Seen." in opened
    assert opened[-1] != lines[-1]


def test_a_result_without_children_is_its_text_and_a_long_one_is_opened(host: Host) -> None:
    host.start()
    given = {"content": [{"type": "text", "text": "\n".join(map(str, range(14)))}], "details": {}}
    _, lines = drawn(host, "subagent", {}, given)
    assert (lines[0], lines[-1]) == ("<toolOutput>0</>", "<dim>… 4 more lines, Ctrl-O shows them</>")
    assert len(drawn(host, "subagent", {}, given, expanded=True)[1]) == 14


def test_background_runs_have_a_line_each_above_the_editor_until_they_end(desk: Desk, host: Host) -> None:
    preset(desk)
    host.start()
    host.do(call="background_agent", params={"preset": "scout", "name": "finder", "task": "begin\nsleep 600"})
    while not (lines := host.hear("widget")["lines"]):
        pass
    assert lines[0].startswith("<accent>● </><bold>finder</><muted>  ")
    (run_id,) = desk.made()
    desk("stop", run_id)
    while host.hear("widget")["lines"]:
        pass
