"""Models and agents: asked of real programs, cached and checked; and the initiator for Copilot."""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from tests.harness import REPOSITORY, alive, eventually, real_pi
from tests.status.watchers import COMMAND, checked, command, document, validator
from tmuxagents.agents import AGENTS, installed
from tmuxagents.agents import resolve as agents_resolve
from tmuxagents.errors import BadRequest, TmuxAgentsError, Unusable
from tmuxagents.runs import writing
from tmuxagents.settings import keys, load
from tmuxagents.system import process_table

if TYPE_CHECKING:
    from pathlib import Path

    from tests.harness import Home, ModelServer
    from tmuxagents.agents.installed import Known
    from tmuxagents.agents.models import Resolved

TWO = ["zeta/one", "alpha/two"]
LISTED = "provider  model  context  max-out  thinking  images\nalpha  two  1K  1K  no  no\n"


class Agent:
    """A program that answers like pi, in the words of a test, and writes down what it was asked."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self.folder = home.folder / "installed"
        self.folder.mkdir()
        self.program = self.folder / "pi"
        self.asked_file = self.folder / "asked"
        self.founded = self.folder / "founded"
        home.environment["TMUXAGENTS_PI"] = str(self.program)
        self.says()

    def says(self, *, version: str = "echo 0.87.1", rpc: str | None = None, listing: str = "exit 1") -> None:
        """Make it answer the three questions by these pieces of shell."""
        steps = {"--version": version, "--mode": rpc or self.lists(*TWO), "--list-models": listing}
        cases = "\n".join(f"{flag}) {step} ;;" for flag, step in steps.items())
        script = f'#!/bin/sh\necho "$*" >> {self.asked_file}\ncase $1 in\n{cases}\nesac\n'
        if not self.program.exists() or self.program.read_text() != script:
            self.program.write_text(script)
            self.program.chmod(0o755)

    def lists(self, *ids: str) -> str:
        """Return the piece of shell that answers with these models, from a file beside the program."""
        rows = [dict(zip(("provider", "id"), model.split("/"), strict=True)) for model in ids]
        answer = {"type": "response", "command": "get_available_models", "success": True}
        path = self.folder / "models"
        path.write_text(json.dumps({**answer, "data": {"models": rows}}) + "\n")
        return f"read request; cat {path}; cat > /dev/null"

    @property
    def asked(self) -> list[str]:
        """Return the questions to it, and forget them."""
        if not self.asked_file.exists():
            return []
        lines = self.asked_file.read_text().splitlines()
        self.asked_file.unlink()
        return sorted(lines)

    def known(self, **more: Any) -> Known:
        environment = self.home.environment
        return installed.known("pi", environment, load.load(environment, None), **more)

    def touch(self, path: Path) -> None:
        """Change a file as an editor does."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(path.read_text() + " " if path.exists() else "{}")


BOTH = ["--mode rpc --no-session", "--version"]
ALL = ["--list-models", *BOTH]


@pytest.fixture
def agent(home: Home) -> Agent:
    return Agent(home)


@pytest.fixture(autouse=True)
def no_model_of_the_homes(home: Home) -> None:
    """Take the model away that all other tests have: here it is the question."""
    del home.environment["TMUXAGENTS_DEFAULT_MODEL"]


@pytest.fixture
def pi(home: Home, models: ModelServer) -> Home:
    """Have a home with the real pi, which talks to the model server."""
    home.environment |= {"TMUXAGENTS_PI": real_pi(), "PI_CODING_AGENT_DIR": str(models.agent_dir)}
    return home


def resolve(home: Home, wanted: str | None = None, **more: Any) -> Resolved:
    settings = load.load(home.environment, str(home.project))
    return agents_resolve.resolve(wanted, "pi", home.environment, settings, **more)


def refusal(home: Home, wanted: str | None = None, **more: Any) -> TmuxAgentsError:
    with pytest.raises(TmuxAgentsError) as caught:
        resolve(home, wanted, **more)
    return caught.value


# --- the real pi ---


def test_the_real_pi_tells_its_models_in_the_order_of_its_configuration(
    pi: Home, models: ModelServer
) -> None:
    configuration = json.loads((models.agent_dir / "models.json").read_text())
    (provider,) = configuration["providers"]
    expected = [f"{provider}/{model['id']}" for model in configuration["providers"][provider]["models"]]
    found = document(pi, "models", kind="models")
    assert [model["id"] for model in found["models"]] == expected
    assert expected != sorted(expected)  # else the order would prove nothing
    assert (found["available"], found["why"], found["generation"]) == (True, None, 1)
    said = subprocess.run([real_pi(), "--version"], capture_output=True, text=True, check=True)
    assert found["agentVersion"] == said.stdout.strip()
    text = command(pi, "models")
    assert [line.split()[0] for line in text.stdout.splitlines()] == ["MODEL", *expected]
    assert text.stderr == ""


def test_the_real_pi_lists_them_in_print_too(pi: Home) -> None:
    environment = pi.environment
    argv = [real_pi(), *AGENTS["pi"].questions().LISTING]
    said = subprocess.run(argv, env=environment, stdin=subprocess.DEVNULL, capture_output=True, check=True)
    listed = [model["id"] for model in AGENTS["pi"].questions().listing(said.stdout) or []]
    told = [model["id"] for model in document(pi, "models", kind="models")["models"]]
    assert listed == sorted(told)


def test_the_real_pi_without_a_provider_offers_none_and_is_asked_once(home: Home) -> None:
    home.environment |= {"TMUXAGENTS_PI": real_pi()}
    found = document(home, "models", kind="models")
    assert (found["available"], found["models"], found["generation"]) == (False, [], 1)
    assert (home.agent_dir / "auth.json").exists()  # the pi that was asked has made it
    environment = home.environment
    assert installed.known("pi", environment, load.load(environment, None)).cached
    error = refusal(home, "mock/mock-text")
    assert (error.kind, error.exit_code, error.message) == ("no-models", 3, found["why"])


@pytest.mark.parametrize("asked", ["mock/mock-text", "MOCK/Mock-Text", "mock-text", "mock-text:high"])
def test_a_model_of_the_real_pi_is_found_by_its_names(pi: Home, asked: str) -> None:
    tail = ":high" if asked.endswith(":high") else ""
    found = resolve(pi, asked)
    assert (found.requested, found.resolved, found.source) == (asked, f"mock/mock-text{tail}", "call")
    assert (found.warnings, found.agent_command) == ([], [real_pi()])


def test_the_real_pi_leaves_nothing_behind(pi: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    ours = secrets.token_hex(6)  # others may ask their own at this moment
    monkeypatch.setattr(writing, "secret", lambda: ours)
    before = {row.pid for row in process_table.table(since=0)}
    assert not installed.known("pi", pi.environment, load.load(pi.environment, None)).cached
    after = process_table.table(since=0)
    assert [row.pid for row in after if row.marker == f"question-{ours}"] == []
    assert [row.pid for row in after if row.pid not in before and row.ppid == os.getpid()] == []


# --- asked once ---


def test_an_agent_is_asked_once(agent: Agent) -> None:
    first, second = agent.known(), agent.known()
    assert agent.asked == BOTH
    assert (first.cached, second.cached) == (False, True)
    assert first.ids == second.ids == TWO
    assert (second.version, second.generation, second.warnings) == ("0.87.1", 1, [])


@pytest.mark.parametrize("name", ["models.json", "auth.json", "settings.json"])
def test_it_is_asked_again_when_a_file_of_its_own_was_made_changed_or_removed(
    agent: Agent, name: str
) -> None:
    path = agent.home.agent_dir / name
    agent.known()
    for act in (agent.touch, agent.touch, os.unlink):
        assert agent.asked == BOTH
        act(path)
        assert not agent.known().cached
        assert agent.known().cached


def test_what_the_first_question_makes_it_write_is_no_change(agent: Agent) -> None:
    agent.says(version=f"echo {{}} > {agent.home.agent_dir}/auth.json; echo 0.87.1")
    agent.known()
    assert agent.known().cached
    agent.touch(agent.home.agent_dir / "auth.json")
    assert not agent.known().cached


def test_other_files_of_its_folder_are_no_reason(agent: Agent) -> None:
    agent.known()
    agent.touch(agent.home.agent_dir / "models-store.json")
    assert agent.known().cached


def test_it_is_asked_again_when_its_program_was_replaced_behind_a_link(agent: Agent) -> None:
    link = agent.folder / "link"
    link.symlink_to(agent.program)
    agent.home.environment["TMUXAGENTS_PI"] = str(link)
    agent.known()
    assert agent.known().cached
    agent.says(version="echo 0.88.0")
    assert (agent.known().version, agent.known().cached) == ("0.88.0", True)


def test_it_is_asked_again_with_other_credentials(agent: Agent) -> None:
    agent.known()
    agent.home.environment["SOME_API_KEY"] = "x"
    assert not agent.known().cached
    agent.home.environment["SOME_API_KEY"] = "y"  # only the name counts
    assert agent.known().cached
    del agent.home.environment["SOME_API_KEY"]
    assert agent.known().cached
    assert b"SOME_API" not in (agent.home.state / "agents.json").read_bytes()


def test_each_folder_of_the_agent_has_a_memory_of_its_own(agent: Agent, tmp_path: Path) -> None:
    agent.known()
    first = agent.home.environment["PI_CODING_AGENT_DIR"]
    agent.home.environment["PI_CODING_AGENT_DIR"] = str(tmp_path)
    assert not agent.known().cached
    for folder in (first, str(tmp_path)):
        agent.home.environment["PI_CODING_AGENT_DIR"] = folder
        assert agent.known().cached


def test_it_can_be_asked_again_on_purpose(agent: Agent) -> None:
    def first(*options: str) -> str:
        return str(document(agent.home, "models", *options, kind="models")["models"][0]["id"])

    assert first() == "zeta/one"
    agent.lists("beta/three")  # its own files and the program stay as they are
    assert first() == "zeta/one"
    assert first("--refresh") == "beta/three"
    assert first() == "beta/three"


def test_a_command_of_several_words_is_asked_again_when_its_script_has_changed(agent: Agent) -> None:
    del agent.home.environment["TMUXAGENTS_PI"]
    command_ = {"subagents": {"agents": {"pi": {"command": ["sh", str(agent.program)]}}}}
    (agent.home.agent_dir / "settings.json").write_text(json.dumps(command_))
    assert agent.known().command == ["/usr/bin/sh", str(agent.program)]
    assert (agent.asked, agent.known().cached) == (BOTH, True)
    agent.says(version="echo 0.88.0")
    assert agent.known().version == "0.88.0"


# --- the memory ---


def test_the_memory_is_one_file_for_us_alone(agent: Agent) -> None:
    agent.known()
    (made,) = agent.home.state.iterdir()
    assert (made.name, made.stat().st_mode & 0o777) == ("agents.json", 0o600)
    assert agent.home.state.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize(
    "content", [b"", b"{", b"\xff\x00garbage", b'{"v":1,"agents":{"x":5}}', b"[" * 100_000]
)
def test_a_memory_that_was_damaged_is_made_anew(agent: Agent, content: bytes) -> None:
    agent.known()
    (agent.home.state / "agents.json").write_bytes(content)
    assert (agent.known().cached, agent.known().cached) == (False, True)


def test_a_memory_cut_anywhere_is_made_anew(agent: Agent) -> None:
    agent.known()
    memory = agent.home.state / "agents.json"
    whole = memory.read_bytes()
    for length in range(0, len(whole) - 1, 40):
        memory.write_bytes(whole[:length])
        assert installed._read(str(agent.home.state)) == {}
    memory.write_bytes(whole)
    assert agent.known().cached


@pytest.mark.parametrize("kind", ["folder", "link", "fifo"])
def test_what_lies_in_the_place_of_the_memory_does_no_harm(agent: Agent, kind: str, tmp_path: Path) -> None:
    agent.home.state.mkdir()
    path, elsewhere = agent.home.state / "agents.json", tmp_path / "elsewhere"
    elsewhere.write_text("somebody's")
    if kind == "folder":
        path.mkdir()
    elif kind == "link":
        path.symlink_to(elsewhere)
    else:
        os.mkfifo(path)
    assert (agent.known().ids, agent.known().cached) == (TWO, True)
    assert elsewhere.read_text() == "somebody's"


def test_without_a_place_for_a_memory_the_agent_is_asked_each_time(agent: Agent) -> None:
    agent.home.state.write_text("no folder")
    assert (agent.known().ids, agent.known().cached) == (TWO, False)


def test_a_state_directory_that_is_a_link_has_a_memory_too(agent: Agent, tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    agent.home.state.symlink_to(tmp_path / "disk")
    assert (agent.known().cached, agent.known().cached) == (False, True)


def test_many_at_once_all_get_the_answer_and_leave_a_memory(agent: Agent) -> None:
    verbs = [
        subprocess.Popen(
            [*COMMAND, "models", "--json"],
            env=agent.home.environment,
            cwd=agent.home.project,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(6)
    ]
    for verb in verbs:
        told, _ = verb.communicate(timeout=60)
        assert [model["id"] for model in checked(told, "models")["models"]] == TWO
    assert agent.known().cached


IMPORTS = """
import sys, os
from tmuxagents.settings import load as configured
from tmuxagents.agents import resolve as models
found = models.resolve("one", "pi", os.environ, configured.load(os.environ, None))
print(found.resolved, *sys.modules)
"""


def test_where_it_is_known_nothing_dear_is_imported_and_nobody_asked(agent: Agent) -> None:
    agent.known()
    assert agent.asked == BOTH
    argv = [sys.executable, "-c", IMPORTS]
    said = subprocess.run(argv, env=agent.home.environment, capture_output=True, text=True, check=True)
    resolved, *loaded = said.stdout.split()
    assert resolved == "zeta/one"
    dear = {"subprocess", "asyncio", "yaml", "watchdog", "libtmux", "sqlite3", "click", "difflib", "socket"}
    assert not dear & set(loaded)
    assert "tmuxagents.agents.ask" not in loaded
    assert agent.asked == []


# --- generations ---


def test_the_generation_grows_with_other_models_only(agent: Agent) -> None:
    steps = [(TWO, 1), (TWO[::-1], 1), ([name.upper() for name in TWO], 1), ([*TWO, "a/b"], 2), (TWO, 3)]
    steps += [([], 4), ([], 4), (TWO, 5)]
    for ids, generation in steps:
        agent.lists(*ids)
        found = agent.known(refresh=True)
        assert (found.ids, found.generation) == (ids, generation)
    agent.says(rpc="exit 1")
    assert (agent.known().ids, agent.known().generation) == (None, 5)
    agent.says()
    agent.lists(*TWO)
    assert agent.known().generation == 6  # what it was in between, nobody knows


# --- agents that answer badly ---


def test_where_the_first_way_gives_nothing_the_printed_list_is_asked(agent: Agent) -> None:
    agent.says(rpc="echo '{}'; exit 1", listing=f"printf '{LISTED}'")
    assert (agent.known().ids, agent.known().warnings) == (["alpha/two"], [])
    assert agent.asked == ALL


@pytest.mark.parametrize("rpc", ["echo nonsense", "exit 1", "kill -9 $$", "cat > /dev/null", "yes"])
def test_an_agent_that_does_not_tell_is_believed_unchecked_with_a_warning(agent: Agent, rpc: str) -> None:
    agent.says(rpc=rpc, listing="echo nonsense")
    found = resolve(agent.home, "some/model:high")
    assert (found.resolved, len(found.warnings)) == ("some/model:high", 1)
    assert "is not checked" in found.warnings[0]
    assert agent.asked == ALL
    assert resolve(agent.home, "x").warnings == found.warnings
    assert agent.asked == []  # a silence is remembered for a while
    told = document_with_warnings(agent.home)
    assert (told["available"], told["models"], told["warnings"]) == (True, [], found.warnings)


def document_with_warnings(home: Home) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(command(home, "models", "--json").stdout)
    validator("models").validate(found)
    return found


def test_a_silence_is_not_remembered_for_ever(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    agent.says(rpc="exit 1")
    agent.known()
    later = time.time() + 61
    monkeypatch.setattr(time, "time", lambda: later)
    assert not agent.known().cached


def test_an_agent_that_hangs_is_given_up_and_gone(agent: Agent) -> None:
    hang = f"trap '' TERM; echo $$ >> {agent.founded}; sleep 300 & echo $! >> {agent.founded}; sleep 300"
    agent.says(version=hang, rpc=hang, listing="echo")
    found = agent.known()
    assert (found.version, found.ids, len(found.warnings)) == (None, None, 2)
    pids = [int(line) for line in agent.founded.read_text().split()]
    assert len(pids) == 4
    assert eventually(lambda: not any(map(alive, pids)))


def test_what_an_agent_put_into_the_background_is_gone_too(agent: Agent) -> None:
    far = f"setsid sleep 300 > /dev/null 2>&1 & echo $! >> {agent.founded}"
    agent.says(version=f"{far}; echo 0.87.1", rpc=f"{far}; {agent.lists(*TWO)}")
    assert agent.known().ids == TWO
    pids = [int(line) for line in agent.founded.read_text().split()]
    assert len(pids) == 2
    assert not any(map(alive, pids))


def test_an_agent_is_asked_as_a_child_would_be_called(agent: Agent) -> None:
    agent.says(rpc=f"env > {agent.founded}; {agent.lists(*TWO)}")
    agent.home.environment |= {"PI_CODING_AGENT": "true", "PI_SESSION_ID": "s", "TMUX": "/tmp/x,1,0"}
    agent.known()
    seen = dict(line.split("=", 1) for line in agent.founded.read_text().splitlines())
    assert (seen["PI_SUBAGENTS_CHILD"], seen["TMUXAGENTS_CHILD"]) == ("1", "1")
    assert seen["PI_CODING_AGENT_DIR"] == str(agent.home.agent_dir)
    assert not {"PI_CODING_AGENT", "PI_SESSION_ID", "TMUX", "TMUXAGENTS_HOME"} & set(seen)


@pytest.mark.parametrize(
    ("version", "words"),
    [("echo 0.73.1", "0.73.1 is older than 0.87"), ("echo huh", "its version"), ("exit 1", "its version")],
)
def test_a_version_that_is_old_or_unreadable_is_a_warning(agent: Agent, version: str, words: str) -> None:
    agent.says(version=version)
    for _ in range(2):  # from the memory, too
        found = resolve(agent.home, "one")
        assert (found.resolved, [words in warning for warning in found.warnings]) == ("zeta/one", [True])


# --- no agent, no models ---


@pytest.mark.parametrize("named", ["/nowhere/pi", "no-such-program"])
def test_an_agent_that_is_not_there_is_missing_and_nothing_is_made(home: Home, named: str) -> None:
    home.environment["TMUXAGENTS_PI"] = named
    for wanted in ("mock/mock-text", None):
        error = refusal(home, wanted)
        assert isinstance(error, Unusable)
        assert (error.kind, error.exit_code, named in error.message) == ("agent-missing", 3, True)
    found = document(home, "models", kind="models")
    assert (found["available"], found["why"], found["generation"]) == (False, error.message, 0)
    assert not home.state.exists()
    said = command(home, "models")
    assert (said.returncode, said.stdout, error.message in said.stderr) == (3, "", True)
    assert command(home, "models", "--json").returncode == 3


def test_the_program_is_looked_for_on_the_callers_path(agent: Agent) -> None:
    del agent.home.environment["TMUXAGENTS_PI"]
    agent.home.environment["PATH"] = f"{agent.folder}:{agent.home.environment['PATH']}"
    assert agent.known().command == [str(agent.program)]


def test_a_relative_program_is_the_one_where_the_caller_stands(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent.home.environment["TMUXAGENTS_PI"] = "./pi"
    monkeypatch.chdir(agent.folder)
    assert agent.known().command == [str(agent.program)]


def test_the_variable_wins_over_the_setting(agent: Agent) -> None:
    other = {"subagents": {"agents": {"pi": {"command": ["/nowhere/pi", "x"]}}}}
    (agent.home.agent_dir / "settings.json").write_text(json.dumps(other))
    assert agent.known().command == [str(agent.program)]
    del agent.home.environment["TMUXAGENTS_PI"]
    assert refusal(agent.home, "one").kind == "agent-missing"


def test_an_agent_of_another_brand_is_unknown(home: Home) -> None:
    with pytest.raises(BadRequest) as caught:
        agents_resolve.resolve("a", "nosuch", home.environment, load.load(home.environment, None))
    assert (caught.value.kind, caught.value.candidates[0]) == ("unknown-agent", "pi")
    said = command(home, "models", "--agent", "nosuch", "--json")
    assert (said.returncode, checked(said.stdout, "error")["error"]["kind"]) == (2, "unknown-agent")


def test_an_agent_without_models_is_refused_until_it_has_some(agent: Agent) -> None:
    agent.lists()
    error = refusal(agent.home, "one")
    assert (error.kind, error.exit_code) == ("no-models", 3)
    assert refusal(agent.home).kind == "no-model"  # none is asked for, whatever there is
    agent.lists(*TWO)
    agent.touch(agent.home.agent_dir / "auth.json")  # somebody logs in
    assert resolve(agent.home, "one").resolved == "zeta/one"


# --- where the model comes from ---


def test_call_preset_and_setting_in_this_order(agent: Agent) -> None:
    settings = agent.home.agent_dir / "settings.json"
    settings.write_text('{"subagents": {"defaultModel": "one"}}')
    preset = {"preset_model": "two", "preset_name": "scout"}
    seen = [resolve(agent.home, "alpha/two", **preset), resolve(agent.home, **preset), resolve(agent.home)]
    assert [(found.source, found.requested, found.resolved) for found in seen] == [
        ("call", "alpha/two", "alpha/two"),
        ("preset", "two", "alpha/two"),
        ("setting", "one", "zeta/one"),
    ]
    settings.write_text("{}")
    error = refusal(agent.home)
    assert (error.kind, error.message.startswith("no model resolved: give -m MODEL")) == ("no-model", True)


def test_a_bad_model_of_a_preset_names_the_preset(agent: Agent) -> None:
    error = refusal(agent.home, preset_model="thre", preset_name="scout")
    assert (error.kind, error.message) == ("unknown-model", 'Preset "scout": unknown model: "thre".')
    assert set(error.candidates) == set(TWO)


def test_where_none_is_required_the_agent_has_its_own(agent: Agent) -> None:
    found = resolve(agent.home, required=False)
    assert (found.requested, found.resolved, found.source) == (None, None, None)
    assert found.warnings == []
    assert found.agent_version == "0.87.1"


@pytest.mark.parametrize(
    ("own", "of_folder", "resolved"),
    [
        ({"defaultProvider": "zeta", "defaultModel": "one"}, None, "zeta/one"),
        ({"defaultProvider": "zeta", "defaultModel": "one"}, {"subagents": {}}, "zeta/one"),
        ({"defaultProvider": "zeta", "defaultModel": "gone"}, None, None),
        ({"defaultProvider": "zeta", "defaultModel": "one"}, {"defaultModel": "two"}, None),
    ],
)
def test_the_agents_own_model_is_told_where_its_settings_say_so(
    agent: Agent, own: dict[str, str], of_folder: dict[str, Any] | None, resolved: str | None
) -> None:
    (agent.home.agent_dir / "settings.json").write_text(json.dumps(own))
    if of_folder is not None:
        (agent.home.project / ".pi").mkdir()
        (agent.home.project / ".pi" / "settings.json").write_text(json.dumps(of_folder))
    found = resolve(agent.home, required=False, cwd=str(agent.home.project))
    source = "agent" if resolved else None
    assert (found.requested, found.resolved, found.source) == (None, resolved, source)


def test_a_run_with_a_key_of_its_own_may_use_what_is_not_listed(agent: Agent) -> None:
    for ids in (TWO, []):
        agent.lists(*ids)
        agent.known(refresh=True)
        assert resolve(agent.home, "other/model", listed=False).resolved == "other/model"
        assert refusal(agent.home, "other/model").kind == ("unknown-model" if ids else "no-models")


def test_inherit_is_the_model_of_the_pi_that_calls(agent: Agent) -> None:
    agent.home.environment |= {"PI_PROVIDER": "zeta", "PI_MODEL": "one"}
    found = resolve(agent.home, "inherit")
    assert (found.requested, found.resolved) == ("inherit", "zeta/one")


# --- what a run has of it ---


def test_a_run_tells_the_version_and_starts_the_program_that_were_found(agent: Agent) -> None:
    home = agent.home
    program = home.environment["TMUXAGENTS_PI"]
    home.environment["TMUXAGENTS_PI"] = "/nowhere/pi"  # it has gone from where a wrapper would look
    agent.program.unlink()
    agent.program.symlink_to(REPOSITORY / "tests" / "children" / "scripted.py")
    run = home.run("done fine", agentCommand=[program], agentVersion="0.87.1")
    assert run.start().wait()["status"] == "completed"
    assert run.wait_for("run_started")["agentVersion"] == "0.87.1"
    (shown,) = document(home, "poll", run.run_id)["runs"]
    assert shown["agentVersion"] == "0.87.1"


# --- GitHub Copilot ---


@pytest.fixture
def copilot(pi: Home, models: ModelServer, tmp_path: Path) -> Home:
    """Let the model server be GitHub Copilot, too, as far as pi can see."""
    configuration = json.loads((models.agent_dir / "models.json").read_text())
    configuration["providers"]["github-copilot"] = configuration["providers"]["mock"]
    folder = tmp_path / "copilot"
    folder.mkdir()
    (folder / "models.json").write_text(json.dumps(configuration))
    (folder / "settings.json").write_text((models.agent_dir / "settings.json").read_text())
    pi.environment["PI_CODING_AGENT_DIR"] = str(folder)
    return pi


def initiators(home: Home, server: ModelServer, model: str, initiator: str, task: str) -> list[str | None]:
    """Run a task of three requests; return who each said that it comes from."""
    found = resolve(home, model)
    asked = f"#script:tools {task}"
    plan = {"initiator": initiator, "requestedModel": found.requested, "resolvedModel": found.resolved}
    run = home.run(asked, **plan, agentCommand=found.agent_command)
    assert run.start().wait()["status"] == "completed"
    requests = server.requests(asked)
    assert len(requests) == 6
    return [request["headers"].get("x-initiator") for request in requests]


def test_every_request_of_an_agents_run_is_an_agents_to_copilot(copilot: Home, models: ModelServer) -> None:
    seen = initiators(copilot, models, "GitHub-Copilot/mock-text", "agent", "marked")
    assert seen == ["agent"] * 6


def test_a_persons_run_is_a_persons_to_copilot(copilot: Home, models: ModelServer) -> None:
    seen = initiators(copilot, models, "github-copilot/mock-text", "person", "not marked")
    assert seen == ["user", *["agent"] * 5]  # as pi does by itself


def test_other_providers_are_told_nothing(copilot: Home, models: ModelServer) -> None:
    assert initiators(copilot, models, "mock/mock-text", "agent", "elsewhere") == [None] * 6


def test_the_extension_asks_the_model_of_each_request(copilot: Home, models: ModelServer) -> None:
    # Loaded and told to mark, but with a model of somebody else: as after a change of the model.
    environment = copilot.environment | {"PI_SUBAGENTS_COPILOT_INITIATOR": "agent"}
    extension = str(REPOSITORY / "tmuxagents" / "agents" / "pi" / "child.ts")
    for model, expected in (("mock/mock-text", None), ("github-copilot/mock-text", "agent")):
        task = f"by hand with {model}"
        argv = [real_pi(), "--mode", "json", "--no-session", "-e", extension, "--model", model, task]
        subprocess.run(
            argv, env=environment, stdin=subprocess.DEVNULL, capture_output=True, check=True, timeout=60
        )
        assert [request["headers"].get("x-initiator") for request in models.requests(task)] == [expected]


def test_without_the_variable_the_extension_does_nothing(copilot: Home, models: ModelServer) -> None:
    extension = str(REPOSITORY / "tmuxagents" / "agents" / "pi" / "child.ts")
    argv = [real_pi(), "--mode", "json", "--no-session", "-e", extension]
    argv += ["--model", "github-copilot/mock-text", "by hand, unmarked"]
    options: dict[str, Any] = {"stdin": subprocess.DEVNULL, "capture_output": True, "timeout": 60}
    subprocess.run(argv, env=copilot.environment, check=True, **options)
    (request,) = models.requests("by hand, unmarked")
    assert request["headers"]["x-initiator"] == "user"


# --- settings, shown ---


def test_settings_are_shown_with_their_sources(home: Home) -> None:
    folder = home.project / ".pi"
    folder.mkdir()
    (folder / "settings.json").write_text('{"subagents": {"timeout": 60, "onEnd": ["evil"]}}')
    (home.agent_dir / "settings.json").write_text('{"subagents": {"timeout": 90, "notify": "off"}}')
    settings = load.load(home.environment | {"TMUXAGENTS_DRIVER": "live"}, str(home.project))
    by_key = {key: (value, source) for key, value, source in keys.rows(settings)}
    assert by_key["timeout"] == (60, "project")
    assert by_key["notify"] == ("off", "global")
    assert by_key["driver"] == ("live", "environment")
    assert by_key["maxRunning"] == (16, "default")
    (warning,) = settings.warnings
    assert str(folder / "settings.json") in warning


def test_a_settings_file_that_others_can_write_is_told_of_and_not_read(home: Home) -> None:
    path = home.agent_dir / "settings.json"
    path.write_text('{"subagents": {"timeout": 90}}')
    path.chmod(0o666)
    settings = load.load(home.environment, None)
    assert ("timeout", 600, "default") in keys.rows(settings)
    assert [str(path) in warning for warning in settings.warnings] == [True]


def test_the_file_of_the_user_is_not_a_projects_too(home: Home) -> None:
    folder = home.project / ".pi"
    folder.mkdir()
    (folder / "settings.json").write_text('{"subagents": {"maxRunning": 3}}')
    environment = home.environment | {"PI_AGENT_DIR": str(folder)}
    found = load.load(environment, str(home.project))
    assert (found.numbers["maxRunning"], found.sources["maxRunning"], found.warnings) == (3, "global", [])


def test_nothing_of_the_agent_is_left_when_the_caller_is_interrupted(agent: Agent) -> None:
    agent.says(rpc=f"echo $$ > {agent.founded}; sleep 300", listing="sleep 300")
    verb = subprocess.Popen([*COMMAND, "models"], env=agent.home.environment, cwd=agent.home.project)
    pid = int(eventually(lambda: agent.founded.exists() and agent.founded.read_text().strip()))
    verb.send_signal(signal.SIGINT)
    assert verb.wait(30) == 130
    assert not alive(pid)


def test_a_missing_agent_names_one_that_is_installed(agent: Agent, tmp_path: Path) -> None:
    program = tmp_path / "bin" / "codex"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    del agent.home.environment["TMUXAGENTS_PI"]
    agent.home.environment["PATH"] = str(program.parent)
    hint = str(refusal(agent.home, "one").hint)
    assert hint.startswith(
        "codex is installed: --agent codex, or the setting defaultAgent; else install it: npm"
    )
