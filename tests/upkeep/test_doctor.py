"""The verb doctor on machines with one fault each: the check names the fault, and a remedy."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.apart import NOBODY, apart, become_somebody, let_in, mount_privately, mount_tmpfs, set_dumpable
from tests.harness import PATH, eventually, real_pi, stop
from tests.status.watchers import checked, registry_of, sleeper, told, wrapped_by
from tmuxagents.registry import lookup
from tmuxagents.runs import events, writing
from tmuxagents.text.checks import WARNING
from tmuxagents.upkeep import probes
from tmuxagents.upkeep.doctor import Case

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.harness import Home, ModelServer, TmuxServer

ALL = (
    *("tmux", "server", "access", "state", "disk", "proc", "inotify", "agent", "models", "node", "rg", "fd"),
    *("presets", "keys", "settings", "registry", "watcher", "runs", "processes"),
)


class Machine:
    """A machine for doctor, with programs of its own before those of the system."""

    def __init__(self, home: Home, folder: Path) -> None:
        self.home = home
        self.bin = folder / "bin"
        self.bin.mkdir()
        self.environment = home.environment
        self.environment["TMUX_TMPDIR"] = str(folder)
        self.environment["PATH"] = f"{self.bin}:{PATH}"
        for name, said in (("rg", "ripgrep 13.0.0"), ("fd", "fd 10.2.0"), ("node", "v22.19.0")):
            self.program(name, f"echo {said}")

    def program(
        self, name: str, script: str, folder: Path | None = None, interpreter: str = "/bin/sh"
    ) -> Path:
        """Make a program."""
        path = (folder or self.bin) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!{interpreter}\n{script}\n")
        path.chmod(0o755)
        return path

    def doctor(self, *words: str, **variables: str) -> dict[str, list[dict[str, Any]]]:
        """Return the checks by name."""
        document = self.document(*words, **variables)
        found: dict[str, list[dict[str, Any]]] = {}
        for check in document["checks"]:
            found.setdefault(check["name"], []).append(check)
        return found

    def document(self, *words: str, **variables: str) -> dict[str, Any]:
        done = self.home.command(*words, "doctor", "--json", env=self.environment | variables)
        assert done.stderr == ""
        document = checked(done.stdout, "doctor")
        assert document["ok"] == (done.returncode == 0) == ("broken" not in states(document["checks"]))
        return document

    def only(self, name: str, *words: str, **variables: str) -> dict[str, Any]:
        """Return the one check of a name."""
        (check,) = self.doctor(*words, **variables)[name]
        return check

    def case(self) -> Case:
        caller = lookup.Caller(self.environment, str(self.home.project))
        return Case(caller, str(self.home.project), self.environment, socket=None)


def states(checks: list[dict[str, Any]]) -> list[str]:
    return [check["state"] for check in checks]


@pytest.fixture
def machine(home: Home, tmp_path: Path) -> Machine:
    return Machine(home, tmp_path)


@pytest.fixture
def healthy(machine: Machine, models: ModelServer) -> Machine:
    """A machine without a fault: the real pi, with models."""
    machine.environment |= {"TMUXAGENTS_PI": real_pi(), "PI_CODING_AGENT_DIR": str(models.agent_dir)}
    for path in models.agent_dir.glob("*.json"):
        path.chmod(0o600)
    return machine


# --- on the whole -----------------------------------------------------------------------------------------


def test_on_a_healthy_machine_everything_is_well(healthy: Machine) -> None:
    document = healthy.document()
    assert [(check["name"], check["state"]) for check in document["checks"]] == [(name, "ok") for name in ALL]
    assert document["ok"] is True
    lines = healthy.home.command("doctor").stdout.splitlines()
    assert len(lines) == len(ALL)
    assert all(line.startswith("ok       ") for line in lines)


def test_a_warning_is_not_broken_and_says_what_to_do(machine: Machine) -> None:
    machine.program("fd", "echo fd 8.6.0")
    done = machine.home.command("doctor")
    assert done.returncode == 0
    (line,) = [line for line in done.stdout.splitlines() if " fd: " in line]
    assert line.startswith(
        f"warning  fd: {machine.bin}/fd is 8.6.0, too old for pi's tool find. Fix: install fd"
    )


def test_what_is_broken_is_exit_1_and_everything_else_is_looked_at(machine: Machine) -> None:
    done = machine.home.command("doctor", env=machine.environment | {"TMUXAGENTS_PI": "/nonexistent/pi"})
    assert done.returncode == 1
    broken = [line for line in done.stdout.splitlines() if line.startswith("broken")]
    what = "broken   agent: The agent pi is not installed: there is no /nonexistent/pi."
    to_do = (
        "install it: npm install -g @earendil-works/pi-coding-agent; or name its program in TMUXAGENTS_PI"
        " or agents.pi.command"
    )
    assert broken == [f"{what} Fix: {to_do}"]
    assert "processes: " in done.stdout


def test_nothing_is_made_where_nothing_was_launched(machine: Machine) -> None:
    def there() -> set[str]:
        return {str(path) for path in machine.home.folder.rglob("*")} - {str(machine.home.state)}

    before = there()
    machine.document()
    # Facts about the agent are stored, so the first launch need not ask for them.
    assert there() - before == {f"{machine.home.state}/agents.json"}


# --- tmux -------------------------------------------------------------------------------------------------


def without_tmux(machine: Machine) -> dict[str, str]:
    """Return variables that make a machine have no tmux."""
    for name in ("sh", "env", "python3"):
        (machine.bin / name).symlink_to(shutil.which(name, path=PATH) or "")
    return {"PATH": str(machine.bin)}


def test_without_tmux(machine: Machine) -> None:
    check = machine.only("tmux", **without_tmux(machine))
    assert (check["state"], check["message"]) == ("broken", "There is no tmux on PATH.")
    assert "install" in check["hint"]


@pytest.mark.parametrize(
    ("said", "state"), [("tmux 2.6", "broken"), ("tmux 3.2a", "ok"), ("nonsense", "broken")]
)
def test_the_version_of_tmux(machine: Machine, said: str, state: str) -> None:
    machine.program("tmux", f"echo {said}")
    assert machine.only("tmux")["state"] == state


def test_a_tmux_that_hangs_does_not_hang_us(machine: Machine) -> None:
    machine.program("tmux", "exec sleep 60")
    begun = time.monotonic()
    check = machine.only("tmux")
    assert time.monotonic() - begun < 20
    assert (check["state"], "did not answer" in check["message"]) == ("broken", True)


def test_the_server_that_would_be_used_and_why(machine: Machine, tmux_server: TmuxServer) -> None:
    socket = str(tmux_server.socket)
    own = f"{machine.environment['TMUX_TMPDIR']}/tmux-{os.getuid()}/tmuxagents"
    assert machine.only("server")["message"].startswith(f"none runs at {own} (by default)")
    answers = f"answers, pid {tmux_server.pid}"
    for words, variables, why in (
        (("-L", socket), {}, "flag"),
        ((), {"TMUXAGENTS_SOCKET": socket}, "environment"),
        ((), {"TMUX": f"{socket},{tmux_server.pid},0"}, "caller"),
    ):
        check = machine.only("server", *words, **variables)
        assert (check["state"], check["message"]) == ("ok", f"the one at {socket} (by {why}) {answers}")


def test_a_tmux_variable_whose_server_is_gone_is_told(machine: Machine) -> None:
    first, second = machine.doctor(TMUX="/nonexistent/socket,1,0")["server"]
    assert (first["state"], "/nonexistent/socket" in first["message"]) == ("warning", True)
    assert second["state"] == "ok"


def test_a_server_that_does_not_answer_is_broken(machine: Machine, tmux_server: TmuxServer) -> None:
    stop(tmux_server.pid)
    try:
        check = machine.only("server", TMUXAGENTS_SOCKET=str(tmux_server.socket))
    finally:
        os.kill(tmux_server.pid, signal.SIGCONT)
    assert (check["state"], "did not answer within 5 s" in check["message"]) == ("broken", True)


def test_a_socket_path_that_is_too_long_is_broken(machine: Machine) -> None:
    deep = Path(machine.environment["TMUX_TMPDIR"]) / ("x" * 100)
    deep.mkdir()
    check = machine.only("server", TMUX_TMPDIR=str(deep))
    assert (check["state"], "too long" in check["message"]) == ("broken", True)


def test_a_folder_of_sockets_that_others_can_write_to_is_broken(machine: Machine) -> None:
    folder = Path(machine.environment["TMUX_TMPDIR"]) / f"tmux-{os.getuid()}"
    folder.mkdir()
    folder.chmod(0o777)
    check = machine.only("server")
    assert (check["state"], "Others could put" in check["message"]) == ("broken", True)


def test_a_server_that_cannot_be_named_is_broken_and_the_rest_is_looked_at(machine: Machine) -> None:
    found = machine.doctor(TMUXAGENTS_SOCKET="a/b")
    assert (states(found["server"]), states(found["tmux"])) == (["broken"], ["ok"])
    assert "'a/b' names no tmux socket" in found["server"][0]["message"]


# --- where we may work ------------------------------------------------------------------------------------


def test_a_sandbox_is_told_with_both_paths_to_allow(machine: Machine, tmux_server: TmuxServer) -> None:
    machine.environment["TMUXAGENTS_SOCKET"] = str(tmux_server.socket)
    case = machine.case()
    let_in(machine.home.folder)
    machine.home.state.mkdir(mode=0o500)
    if os.getuid() == 0:
        os.chown(machine.home.state, NOBODY, NOBODY)

    def act() -> dict[str, Any]:
        become_somebody()
        check = probes.access(case)
        return check.document()

    check = apart(act)
    assert check["state"] == "broken"
    assert f"{machine.home.state} (Permission denied)" in check["message"]
    assert str(tmux_server.socket) in check["message"]
    both = f"{machine.home.state} and {tmux_server.socket.parent}"
    assert check["hint"] == f"a sandbox must allow both {both}"


@pytest.mark.parametrize("place", ["/proc/nothing", "/dev/null/below"])
def test_a_state_directory_that_cannot_be_is_broken(machine: Machine, place: str) -> None:
    found = machine.doctor(TMUXAGENTS_HOME=place)
    assert states(found["access"]) == ["broken"]
    assert states(found["state"]) == ["broken"]


def test_a_state_directory_that_others_can_look_into_is_told(machine: Machine) -> None:
    machine.home.state.mkdir()
    machine.home.state.chmod(0o755)
    check = machine.only("state")
    assert (check["state"], check["hint"]) == ("warning", f"chmod 700 {machine.home.state}")
    machine.home.state.chmod(0o700)
    assert machine.only("state")["state"] == "ok"


def test_a_file_system_without_a_write_ahead_log_works_with_a_warning(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probes, "has_wal", lambda _: False)
    check = probes.state(machine.case())
    assert check.state == WARNING


def test_a_full_disk_is_broken(machine: Machine) -> None:
    machine.home.state.mkdir()
    case = machine.case()

    def act() -> dict[str, Any]:
        mount_privately()
        mount_tmpfs(machine.home.state, "512k")
        check = probes.space(case)
        return check.document()

    assert apart(act)["state"] == "broken"


def test_where_a_task_cannot_be_hidden_from_ps_that_is_a_warning(machine: Machine) -> None:
    def act() -> dict[str, Any]:
        become_somebody()
        set_dumpable(dumpable=False)
        check = probes.proc(machine.case())
        return check.document()

    check = apart(act)
    assert (check["state"], "on stdin" in check["hint"]) == ("warning", True)


def test_where_folders_cannot_be_watched_that_is_a_warning(machine: Machine) -> None:
    script = 'echo 0 > /proc/sys/user/max_inotify_instances && exec "$0" doctor --json'
    argv = ["unshare", "-Ur", "sh", "-c", script, str(Path(sys.executable).with_name("tmuxagents"))]
    done = subprocess.run(
        argv,
        env=machine.environment,
        cwd=machine.home.project,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    (check,) = [one for one in checked(done.stdout, "doctor")["checks"] if one["name"] == "inotify"]
    assert (check["state"], "max_user_instances" in check["message"]) == ("warning", True)


# --- the agent --------------------------------------------------------------------------------------------


def test_an_agent_without_credentials_is_broken(healthy: Machine) -> None:
    check = healthy.only("models", PI_CODING_AGENT_DIR=str(healthy.home.agent_dir))
    assert (check["state"], "credentials" in check["message"]) == ("broken", True)


def test_a_default_model_that_there_is_not_is_told(healthy: Machine) -> None:
    assert states(healthy.doctor(TMUXAGENTS_DEFAULT_MODEL="mock/mock-text")["models"]) == ["ok"]
    _, check = healthy.doctor(TMUXAGENTS_DEFAULT_MODEL="mock/mock-tx")["models"]
    assert (check["state"], "defaultModel" in check["message"]) == ("warning", True)


def test_an_agent_that_is_too_old_or_says_nothing_is_told(machine: Machine) -> None:
    old = machine.program("pi", 'test "$1" = --version && echo 0.73.1')
    check, silent = machine.doctor(TMUXAGENTS_PI=str(old))["agent"]
    assert (check["state"], "0.73.1" in check["message"]) == ("warning", True)
    assert (silent["state"], "models" in silent["message"]) == ("warning", True)


def test_an_agent_that_cannot_be_executed_is_broken(machine: Machine) -> None:
    agent = machine.program("pi", "echo 0.87.1")
    agent.chmod(0o644)
    for there in (agent, machine.bin):
        check = machine.only("agent", TMUXAGENTS_PI=str(there))
        assert (check["state"], "cannot be executed" in check["message"]) == ("broken", True)


def test_node_is_looked_at_where_the_agent_takes_it_from_path(machine: Machine) -> None:
    pi = machine.program("pi", "", interpreter="/usr/bin/env node")
    machine.environment["TMUXAGENTS_PI"] = str(pi)
    assert machine.only("node")["state"] == "ok"
    machine.program("node", "echo v20.1.0")
    assert machine.only("node")["state"] == "warning"
    (machine.bin / "node").unlink()
    variables = without_tmux(machine)
    check = machine.only("node", **variables)
    assert (check["state"], "Not on PATH" in check["message"]) == ("broken", True)
    pi.write_text("#!/bin/sh\n")
    assert machine.only("node", **variables)["state"] == "ok"


def test_the_programs_of_pi_are_looked_for_where_pi_looks(machine: Machine) -> None:
    for name in ("rg", "fd"):
        (machine.bin / name).unlink()
    variables = without_tmux(machine)
    found = machine.doctor(**variables)
    assert [*states(found["rg"]), *states(found["fd"])] == ["warning", "warning"]
    machine.program("fdfind", "echo fd 8.7.0")
    assert machine.only("fd", **variables)["state"] == "ok"
    machine.program("fd", "echo fd 8.6.0", machine.home.agent_dir / "bin")
    machine.program("rg", "exit 3", machine.home.agent_dir / "bin")
    found = machine.doctor(**variables)
    assert f"{machine.home.agent_dir}/bin/fd is 8.6.0" in found["fd"][0]["message"]
    assert states(found["rg"]) == ["warning"]


# --- a person's files -------------------------------------------------------------------------------------

PRESET = "---\nname: {name}\ndescription: d\n{more}---\nDo it.\n"


def test_presets_that_are_broken_or_hide_others_are_told(machine: Machine) -> None:
    own = machine.home.agent_dir / "subagents"
    project = machine.home.project / ".pi" / "subagents"
    for folder in (own, project):
        folder.mkdir(parents=True)
    (own / "bad.md").write_text("---\nname: bad\n---\n")
    for name, mine, theirs in (("scout", "tools: read\n", "tools: read\n"), ("wide", "tools: read\n", "")):
        (own / f"{name}.md").write_text(PRESET.format(name=name, more=mine))
        (project / f"{name}.md").write_text(PRESET.format(name=name, more=theirs))
    found = machine.doctor()["presets"]
    words = {check["state"]: check["message"] for check in found}
    assert states(found).count("warning") == 2
    bad, wide = [check for check in found if check["state"] == "warning"]
    assert f"{own}/bad.md" in bad["message"]
    assert f"hides {own}/wide.md and allows more tools" in wide["message"]
    hidden = [check["message"] for check in found if "is hidden by" in check["message"]]
    assert f"scout: {own}/scout.md is hidden by {project}/scout.md" in hidden
    assert words["ok"].startswith("2 in ")


def test_keys_that_others_can_read_are_told_with_the_command_that_helps(machine: Machine) -> None:
    profiles = machine.home.agent_dir / "agent-profiles"
    profiles.mkdir()
    with_key, without = profiles / "key.md", profiles / "none.md"
    with_key.write_text("---\nname: key\nmodel: a/b\napiKey: sk-1\n---\n")
    without.write_text("---\nname: none\nmodel: a/b\n---\n")
    auth = machine.home.agent_dir / "auth.json"
    auth.write_text("{}")
    for path in (with_key, without, auth):
        path.chmod(0o644)
    check = machine.only("keys")
    assert check["state"] == "warning"
    assert check["hint"] == f"chmod 600 {with_key} {auth}"
    subprocess.run(check["hint"].split(), check=True)
    assert machine.only("keys")["state"] == "ok"


@pytest.mark.parametrize("folder", ["subagents", "agent-profiles"])
def test_a_projects_files_of_both_kinds_are_looked_into_for_keys(machine: Machine, folder: str) -> None:
    file = machine.home.project / ".pi" / folder / "key.md"
    file.parent.mkdir(parents=True)
    file.write_text("---\nname: key\nmodel: a/b\napiKey: sk-1\n---\n")
    file.chmod(0o644)
    check = machine.only("keys")
    assert (check["state"], check["hint"]) == ("warning", f"chmod 600 {file}")


@pytest.mark.parametrize("name", ["models.json", "settings.json"])
def test_a_key_in_minified_json_is_found_too(machine: Machine, name: str) -> None:
    file = machine.home.agent_dir / name
    file.write_text('{"providers":{"mine":{"baseUrl":"http://127.0.0.1:9/v1","apiKey":"sk-1","models":[]}}}')
    file.chmod(0o644)
    check = machine.only("keys")
    assert (check["state"], check["hint"]) == ("warning", f"chmod 600 {file}")
    file.write_text('{"providers":{"mine":{"baseUrl":"http://127.0.0.1:9/v1","apiKey":"$MINE","models":[]}}}')
    assert machine.only("keys")["state"] == "ok"


def test_settings_are_told_with_their_sources_and_what_is_wrong_with_them(machine: Machine) -> None:
    (machine.home.agent_dir / "settings.json").write_text('{"subagents": {"timeout": 30, "maxRunning": 2}}')
    (machine.home.project / ".pi").mkdir()
    (machine.home.project / ".pi" / "settings.json").write_text(
        '{"subagents": {"timeout": 60, "onEnd": ["x"]}}'
    )
    document = machine.document(TMUXAGENTS_MAX_RUNNING="7")
    rows = {row["key"]: (row["value"], row["source"]) for row in document["settings"]}
    assert rows["timeout"] == (60, "project")
    assert rows["maxRunning"] == (7, "environment")
    assert rows["looping_tool_count"] == (5, "default")
    warning, told_ = [check for check in document["checks"] if check["name"] == "settings"]
    assert (warning["state"], "onEnd" in warning["message"]) == ("warning", True)
    assert "timeout 60 (project)" in told_["message"]
    assert "maxRunning 7 (environment)" in told_["message"]


# --- runs -------------------------------------------------------------------------------------------------


def test_a_lost_run_is_told_and_the_hint_helps(machine: Machine) -> None:
    run = machine.home.run("x")
    with sleeper() as pid:
        wrapped_by(run, pid, start_time=1)
        told(run, events.run_started({"pid": 1, "pidStartTime": 1, "wrapperPid": 1}))
    check = machine.only("runs")
    assert (check["state"], check["hint"]) == ("warning", f"tmuxagents stop {run.run_id[:8]}")
    assert machine.home.command(*check["hint"].split()[1:]).returncode == 0
    assert machine.only("runs")["state"] == "ok"


def test_a_live_run_without_a_watcher_is_told(machine: Machine) -> None:
    run = machine.home.run("begin\nsleep 60").start()
    run.wait_for("run_started")
    assert machine.only("watcher")["state"] == "warning"
    machine.home.be_watched()
    machine.home.run("begin\nsleep 60").start()  # its wrapper starts one
    pid, _ = eventually(machine.home.watcher)
    check = machine.only("watcher")
    assert (check["state"], check["message"]) == ("ok", f"running, pid {pid}")
    assert machine.only("runs")["message"] == "none is lost (live: 2)"


@contextlib.contextmanager
def leftover(run_id: str) -> Iterator[int]:
    """Start a process with the mark of a run, for the length of a test."""
    marked = {"TMUXAGENTS_RUN": run_id}
    with subprocess.Popen(["sleep", "100"], env=marked, start_new_session=True) as process_:
        try:
            yield process_.pid
        finally:
            process_.kill()


def test_a_process_that_an_ended_run_left_is_told(machine: Machine) -> None:
    run, other = machine.home.run("done fine"), machine.home.run("done fine")
    run.start().wait()
    live = machine.home.run("begin\nfound tool\nsleep 60").start()
    live.wait_for("run_started")
    with leftover(run.run_id) as left, leftover("0123456789abcdef"), leftover(other.run_id):
        check = machine.only("processes")
        assert (check["state"], check["hint"]) == ("warning", f"look at them, then kill {left}")
        assert f"sleep ({left})" in check["message"]
    assert machine.only("processes")["state"] == "ok"


def test_a_process_that_was_spared_on_purpose_is_none_left_behind(machine: Machine) -> None:
    run = machine.home.run("done fine")
    run.start().wait()
    with leftover(run.run_id) as left:
        result = json.loads((run.folder / "result.json").read_text())
        spared = {"pid": left, "comm": "sleep", "why": "is kept in the background"}
        writing.write_result(str(run.folder), result | {"leftBehind": [spared]})
        assert machine.only("processes")["state"] == "ok"


def test_a_registry_that_cannot_be_used_is_told_and_left_as_it_is(machine: Machine) -> None:
    machine.home.run("x")
    path = Path(registry_of(machine.home))
    assert machine.only("registry")["state"] == "ok"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"garbage" * 1000)
    check = machine.only("registry")
    assert (check["state"], "damaged" in check["message"]) == ("warning", True)
    assert path.read_bytes() == b"garbage" * 1000
