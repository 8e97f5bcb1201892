"""The real pi as a parent: tools, footer, notices and commands, in print, JSON and interactive mode."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import time
from typing import TYPE_CHECKING, Any

import pytest

from tests.harness import eventually, real_pi
from tests.tools.parents import PRESET

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.desk import Desk
    from tests.harness import ModelServer, TmuxServer

MODEL = "mock/mock-text"
OWN = ["read", "bash", "edit", "write"]
TOOLS = 10


class Pi:
    """The real pi with our extension, and its children, which are pi too."""

    def __init__(self, desk: Desk, models: ModelServer, server: TmuxServer) -> None:
        self.desk = desk
        self.server = server
        self.models = models
        self.home = desk.home
        self.sessions = self.home.folder / "sessions"
        for name in ("models.json", "settings.json"):
            if (models.agent_dir / name).exists():
                shutil.copy(models.agent_dir / name, self.home.agent_dir / name)
        for folder, name, text in (
            ("subagents", "scout", PRESET),
            ("agent-profiles", "researcher", f"---\nname: researcher\nmodel: {MODEL}\n---\nResearch.\n"),
        ):
            (self.home.agent_dir / folder).mkdir()
            (self.home.agent_dir / folder / f"{name}.md").write_text(text)
        (self.home.project / "notes.txt").write_text("a short note\n")
        self.home.environment |= {
            "TMUXAGENTS_PI": real_pi(),
            "TMUXAGENTS_EXTEND_TIMEOUT_DEBOUNCE": "0",
            "PI_CODING_AGENT_SESSION_DIR": str(self.sessions),
        }
        self._started: list[subprocess.Popen[str]] = []
        self.home.meet_agent()
        self.integrate()

    def leave(self) -> None:
        for one in self._started:
            one.kill()
            one.communicate()

    def integrate(self, *options: str) -> None:
        done = self.desk("integrate", "pi", *options)
        assert done.returncode == 0, done.stderr

    def start(self, *words: str) -> subprocess.Popen[str]:
        started = subprocess.Popen(
            [real_pi(), "--model", MODEL, *words],
            cwd=self.home.project,
            env=self.home.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._started.append(started)
        return started

    def __call__(self, *words: str) -> str:
        """Let it answer, and leave."""
        asked = self.start(*words)
        out, err = asked.communicate(timeout=90)
        assert (asked.returncode, err) == (0, ""), err
        return out

    def events(self, *words: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self("--mode", "json", *words).splitlines()]

    def session(self) -> list[dict[str, Any]]:
        """Return the entries of the newest session of the parent."""
        newest = max(self.sessions.rglob("*.jsonl"), key=lambda path: path.stat().st_mtime_ns)
        return [json.loads(line) for line in newest.read_text().splitlines()]

    def tools(self, task: str) -> list[list[str]]:
        """Return the tools of each request about a task."""
        records = map(json.loads, self.models.log.read_text().splitlines())
        return [one["tools"] for one in records if task in json.dumps(one["messages"])]


class Screen:
    """A pi that a person sits before, in a window of a private tmux."""

    def __init__(self, pi: Pi, *words: str) -> None:
        self._server = pi.server
        variables = [f"{name}={value}" for name, value in pi.home.environment.items() if name != "TERM"]
        self._server.run(
            *("new-session", "-d", "-s", "person", "-x", "130", "-y", "60", "-c", str(pi.home.project)),
            *("env", "-i", *variables, "TERM=tmux-256color", real_pi(), "--model", MODEL),
            *("--tui-mode", "regular", *words),
        )
        self.shows("mock-text")

    @property
    def text(self) -> str:
        return self._server.run("capture-pane", "-p", "-S", "-", "-t", "=person:")

    def shows(self, words: str) -> None:
        try:
            eventually(lambda: words in self.text, 40)
        except AssertionError:
            raise AssertionError(f"{words!r} is not there:\n{self.text}") from None

    def press(self, *keys: str) -> None:
        self._server.run("send-keys", "-t", "=person:", *keys)

    def say(self, words: str, until: str) -> None:
        """Type a line, and wait for words that come of it. While pi starts it takes no Enter."""
        before = self.text.count(until)
        self._server.run("send-keys", "-t", "=person:", "-l", words)
        self.shows(words)
        entered_at = -1.0

        def is_there() -> bool:
            nonlocal entered_at
            text = self.text
            if text.count(until) > before:
                return True
            if f"\n{words}\n" in text and time.monotonic() - entered_at > 1:
                entered_at = time.monotonic()
                self.press("Enter")
            return False

        try:
            eventually(is_there, 40)
        except AssertionError:
            raise AssertionError(f"{until!r} is not there:\n{self.text}") from None

    def leave(self) -> None:
        self.press("C-d")
        eventually(lambda: "person" not in self._server.run("list-sessions", "-F", "#{session_name}"))

    @property
    def footer(self) -> str:
        """Return what our line below pi's own says."""
        return next(iter(re.findall(r"^bg: .*", self.text, re.MULTILINE)[-1:]), "")


@pytest.fixture
def pi(desk: Desk, models: ModelServer, tmux_server: TmuxServer) -> Iterator[Pi]:
    made = Pi(desk, models, tmux_server)
    yield made
    made.leave()


def of_type(entries: list[dict[str, Any]], kind: str) -> list[Any]:
    return [entry.get("data", entry) for entry in entries if entry.get("customType") == kind]


def results(events: list[dict[str, Any]]) -> dict[str, tuple[bool, str]]:
    """Return what came of each tool that was called: whether it failed, and its text."""
    ends = [event for event in events if event["type"] == "tool_execution_end"]
    return {end["toolName"]: (end["isError"], end["result"]["content"][0]["text"]) for end in ends}


def test_print_mode_hands_a_task_to_a_child_which_has_no_tools_of_ours(pi: Pi) -> None:
    answer = pi("-p", "#script:parent-single")
    (run_id,) = pi.desk.runs()
    assert answer == f"The child says: [1] scout: completed (run {run_id})\n\nThere is one door.\n"
    assert {len(tools) - len(OWN) for tools in pi.tools("#script:parent-single")} == {TOOLS}
    assert [tools for tools in pi.tools("Look around. #say:There is one door.") if len(tools) < TOOLS] == [
        OWN
    ]
    assert json.loads((pi.desk.folder(run_id) / "meta.json").read_text())["owner"]


def test_json_mode_tells_of_children_in_parallel_of_which_one_fails(pi: Pi) -> None:
    events = pi.events("#script:parent-parallel")
    failed, text = results(events)["subagent"]
    assert not failed
    assert re.match(
        r"\[1\] scout: completed \(run \w+\)\n\nLeft is a wall.\n\n\[2\] scout: failed, error: 401", text
    )
    updates = [event["partialResult"] for event in events if event["type"] == "tool_execution_update"]
    assert updates
    assert updates[-1]["details"]["counts"]["total"] == 2


def test_delegated_tasks_are_entered_read_and_gone_on_with(pi: Pi) -> None:
    events = pi.events("#script:parent-delegate")
    found = results(events)
    assert [failed for failed, _ in found.values()] == [False] * 4
    assert "profile: researcher, model=mock/mock-text" in found["list_subagent_profiles"][1]
    assert found["get_subagent_output"][1] == "It is short."
    assert found["get_subagent_session"][1] == "It is short."
    assert found["delegate_to_subagents"][1].startswith("✓ again: completed (session: ")
    updates = [event["partialResult"] for event in events if event["type"] == "tool_execution_update"]
    views = [update["content"][0]["text"] for update in updates]
    assert all(view.startswith("Sub-agents: ") for view in views)
    assert any("\n✓ reader • researcher (" in view for view in views)
    entries = of_type(pi.session(), "pi-subagents")
    assert sorted((entry["name"], entry["status"], entry["reason"]) for entry in entries) == [
        ("again", "completed", "done"),
        ("lost", "error", "config"),
        ("reader", "completed", "done"),
        ("sleeper", "error", "timeout"),
    ]
    prompts = {
        entry["name"]: (pi.desk.folder(entry["runId"]) / "prompt.txt").read_text() for entry in entries
    }
    assert prompts["reader"].startswith("=== notes.txt ===\na short note\n\n")
    assert prompts["again"].startswith("Previously:\n\n")
    assert (by_name := {entry["name"]: entry["sessionId"] for entry in entries})["again"] == by_name["reader"]


def test_a_run_in_the_background_is_followed_through_reload_fork_and_its_end(pi: Pi) -> None:
    screen = Screen(pi)
    task = "#script:parent-background"
    screen.say(task, "So far: bg: 1 running / 1 total")
    screen.shows("Started lookout in the background: run")
    eventually(lambda: screen.footer == "bg: 1 running / 1 total")
    screen.say("/reload", "Reloaded")
    eventually(lambda: screen.footer == "bg: 1 running / 1 total")
    screen.say("/clone", "Cloned")
    eventually(lambda: screen.footer == "bg: 1 running / 1 total")
    (pi.home.project / "go").touch()
    screen.shows("✓ lookout completed after")
    screen.shows("Background run")
    eventually(lambda: screen.footer == "bg: 0 running / 1 total")
    # The notice made no request: the next one is the person's, with the notice in it.
    before = len(pi.models.requests(task))
    screen.say("#script:parent-status", "Now: bg: 0 running / 1 total")
    assert (before, len(pi.models.requests(task))) == (3, 5)
    (run_id,) = pi.desk.runs()
    assert f"{run_id} lookout completed" in screen.text
    entries = pi.session()
    assert [entry["runId"] for entry in of_type(entries, "pi-subagents:bg-run")] == [run_id]
    told = of_type(entries, "pi-subagents:bg-update")
    assert [(entry["status"], entry["reason"]) for entry in told if entry["reason"]] == [
        ("completed", "done")
    ]
    assert len(of_type(entries, "pi-subagents:bg-done")) == 1
    screen.say("/reload", "Reloaded")
    eventually(lambda: screen.footer == "bg: 0 running / 1 total")
    screen.say("/agents", "enter select")
    screen.press("Enter")
    screen.shows("→ attach")
    screen.press("Down")
    screen.shows("→ output")
    screen.press("Enter")
    screen.shows("\n Land in sight.")
    screen.say("/profile show researcher", "Profile: researcher")
    assert len(of_type(pi.session(), "pi-subagents:bg-done")) == 1
    screen.say("/new", "New session")
    eventually(lambda: screen.footer == "")


def test_what_ends_while_the_parent_is_away_is_told_once_when_it_is_back(pi: Pi) -> None:
    pi.events("#script:parent-background")
    (run_id,) = pi.desk.runs()
    (path,) = pi.sessions.rglob("*.jsonl")
    assert [entry["runId"] for entry in of_type(pi.session(), "pi-subagents:bg-run")] == [run_id]
    (pi.home.project / "go").touch()
    assert pi.desk.result(run_id)["status"] == "completed"
    screen = Screen(pi, "--session", str(path))
    screen.shows("✓ lookout completed after")
    eventually(lambda: screen.footer == "bg: 0 running / 1 total")
    eventually(lambda: of_type(pi.session(), "pi-subagents:bg-done"))
    screen.leave()
    events = pi.events("--session", str(path), "#script:text #delay:1")
    assert [event for event in events if event["type"] == "entry_appended"] == []
    (notice,) = of_type(pi.session(), "pi-subagents:bg-done")
    assert run_id in notice["content"]


def test_ending_the_parent_stops_the_children_it_waits_for(pi: Pi) -> None:
    asked = pi.start("-p", "#script:parent-slow")
    (run_id,) = eventually(pi.desk.made)
    pi.desk.wait_for(run_id, "tool_call")
    asked.send_signal(signal.SIGTERM)
    asked.communicate(timeout=60)
    assert pi.desk.result(run_id)["reason"] == "parent"


def test_on_the_screen_a_child_shows_what_it_does_and_escape_stops_it(pi: Pi) -> None:
    screen = Screen(pi)
    screen.say("#script:parent-slow", "sleep 600")
    (run_id,) = pi.desk.runs()
    assert screen.footer == ""  # it is not in the background
    screen.press("Escape")
    assert pi.desk.result(run_id)["reason"] == "parent"
    screen.shows("aborted")


def test_without_tools_the_commands_are_there_all_the_same(pi: Pi) -> None:
    pi.integrate("--no-tools")
    assert pi("-p", "/profile list", "/agents", "#script:text #say:quiet").splitlines() == [
        "Subagent profiles:",
        "  profile: researcher, model=mock/mock-text, custom-system-prompt",
        "  profile: scout, custom-system-prompt",
        "bg: 0 running / 0 total",
        "This session has launched no runs.",
        "quiet",
    ]
    assert pi.tools("#say:quiet") == [OWN]


def test_a_pi_whose_tmuxagents_has_gone_starts_and_says_so(pi: Pi) -> None:
    path = pi.home.agent_dir / "extensions" / "tmuxagents.ts"
    path.write_text(path.read_text().replace("/extensions/pi/index.ts", "/extensions/pi/gone.ts"))
    asked = pi.start("-p", "#script:text")
    out, err = asked.communicate(timeout=60)
    assert (asked.returncode, out.strip()) == (0, "Hello from the model server. All is well.")
    assert "tmuxagents is not loaded" in err


def test_integrate_pi_leaves_nothing_behind_and_touches_nothing_of_others(pi: Pi) -> None:
    path = pi.home.agent_dir / "extensions" / "tmuxagents.ts"
    assert os.stat(path).st_mode & 0o777 == 0o600
    own = path.read_text()
    for text, state in ((own, "ok"), (own.replace("/pi/index.ts", "/pi/gone.ts"), "warning")):
        path.write_text(text)
        checks = json.loads(pi.desk("doctor", "--json").stdout)["checks"]
        assert [check["state"] for check in checks if check["name"] == "pi"] == [state]
    path.write_text(own)
    before = {one: one.read_bytes() for one in pi.home.agent_dir.rglob("*") if one.is_file()}
    shown = pi.desk("integrate", "pi", "--uninstall", "--dry-run").stdout
    assert (shown.startswith(f"--- {path}\n+++ /dev/null\n"), path.exists()) == (True, True)
    pi.integrate("--uninstall")
    assert not path.parent.exists()
    pi.integrate()
    assert {one: one.read_bytes() for one in pi.home.agent_dir.rglob("*") if one.is_file()} == before
    path.write_text("// mine\n")
    for options in ((), ("--uninstall",)):
        done = pi.desk("integrate", "pi", *options)
        assert (done.stdout, path.read_text()) == (
            f"left {path} alone: tmuxagents did not write it\n",
            "// mine\n",
        )
