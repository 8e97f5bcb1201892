"""hosts add, check, list and remove by the installed command over a real sshd. Refusals leave nothing."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
import time
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.apart import running
from tests.harness import PATH, SCRIPTED, eventually, real_pi
from tests.machines.lab import Lab
from tests.terminal import Terminal
from tmuxagents.errors import Unusable
from tmuxagents.machines import build, hosts, install, probe, ssh
from tmuxagents.machines.hosts import Host

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

COMMAND = str(Path(sys.executable).with_name("tmuxagents"))


class NearDesk:
    """Somebody here, with a far machine and no hosts yet."""

    def __init__(self, lab: Lab, home: Path) -> None:
        self.lab, self.home = lab, home
        home.mkdir(exist_ok=True)
        self.environment = {"PATH": PATH, "HOME": str(home), "LANG": "C.UTF-8", **lab.near}

    def hosts(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Call the verb."""
        return subprocess.run([COMMAND, "hosts", *words], check=False, timeout=120, **self.options)

    @property
    def options(self) -> dict[str, Any]:
        streams = {"stdin": subprocess.DEVNULL, "capture_output": True, "text": True}
        return {"env": self.environment, "cwd": self.home, **streams}

    def far_files(self) -> set[str]:
        """Return what lies in the far home."""
        return {str(path) for path in self.lab.home.rglob("*")}


@pytest.fixture(scope="module")
def machine() -> Iterator[Lab]:
    with Lab() as made:
        yield made


@pytest.fixture
def near(machine: Lab, tmp_path: Path) -> Iterator[NearDesk]:
    for program in ("python3", "tmux"):
        machine.have(program)
    machine.have("pi", real_pi())
    for program in ("date", "df"):
        machine.lack(program)
    yield NearDesk(machine, tmp_path / "near")
    machine.mend()
    machine.disconnect()
    machine.export({})
    for made in (".local", ".pi"):
        shutil.rmtree(machine.home / made, ignore_errors=True)


def test_from_nothing_to_a_host_and_back(near: NearDesk) -> None:
    said = near.hosts("add", "box", "--yes", "--max-running", "3", "--cwd", "~", "--json")
    assert said.returncode == 0, said.stderr
    (added,) = json.loads(said.stdout)["hosts"]
    far = near.lab.home / ".local/share/tmuxagents/far" / build.version()
    assert added["command"] == [str(far / "tmuxagents")]
    assert (added["home"], added["version"]) == (str(near.lab.state), build.version())
    assert (added["cwd"], added["maxRunning"], added["ok"]) == (str(near.lab.home), 3, True)
    assert [check["name"] for check in added["checks"]][:3] == ["python", "tmux", "agent"]
    assert "pi " in added["checks"][2]["message"]
    # What lies there is this very program, and nothing else was made.
    asked = f"{far}/bin/python -c 'from tmuxagents.machines import build; print(build.version())'"
    assert near.lab.ssh(asked).stdout.strip() == build.version()
    assert [path.name for path in far.parent.iterdir()] == [far.name]
    assert not near.lab.state.exists()
    assert oct((near.home / ".config/tmuxagents/hosts.json").stat().st_mode)[-3:] == "600"
    # One connection did it all, and the next calls go on with it.
    before = near.lab.connections()
    assert near.hosts("check").returncode == 0
    again = near.hosts("add", "box", "--agent", "pi")
    assert again.returncode == 0, again.stderr
    kept = hosts.find_host("box", near.environment)
    assert (kept.max_running, kept.cwd, kept.agent) == (3, str(near.lab.home), "pi")
    assert near.lab.connections() == before
    listed = near.hosts().stdout.splitlines()
    assert listed[1].split()[:3] == ["box", "ssh", build.version()]
    removed = near.hosts("remove", "box", "--uninstall")
    assert removed.stdout == f"Removed box, and {far} there.\n"
    assert not far.parent.parent.exists()
    assert hosts.read_hosts(near.environment) == {}
    assert near.lab.masters() == []


def test_without_a_terminal_or_yes_nothing_is_installed(near: NearDesk) -> None:
    before = near.far_files()
    said = near.hosts("add", "box")
    assert (said.returncode, said.stdout) == (2, "")
    assert said.stderr.startswith(f"Install tmuxagents {build.version()} on box, in ")
    assert "--yes" in said.stderr
    assert near.far_files() == before


@pytest.mark.parametrize(("answer", "code"), [("n\r", 0), ("\r", 0), ("\x03", 130)])
def test_a_person_is_asked_before_anything_is_installed(near: NearDesk, answer: str, code: int) -> None:
    before = near.far_files()
    environment = {**near.environment, "TERM": "xterm"}
    person = Terminal([COMMAND, "hosts", "add", "box"], environment, near.home)
    try:
        person.shows("? [Y/n]: ")
        person.type(answer)
        assert person.left() == code
        agreed = answer == "\r"
        assert ("Added box" in person.text, list(hosts.read_hosts(near.environment))) == (
            agreed,
            ["box"] * agreed,
        )
        assert (near.far_files() == before) != agreed
    finally:
        person.close()


def test_what_cannot_be_noted_here_is_taken_back_there(near: NearDesk) -> None:
    (near.home / ".config").write_text("in the way")
    said = near.hosts("add", "box", "--yes")
    assert said.returncode == 3, said
    assert not (near.lab.home / ".local/share/tmuxagents").exists()


# --- refusals ---------------------------------------------------------------------------------------------


def _other_key(lab: Lab) -> None:
    key = lab.folder / "other"
    if not key.exists():
        words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)]
        subprocess.run(words, check=True, capture_output=True)
    lab.trust(key)


def _no_login(lab: Lab) -> None:
    (lab.folder / "authorized_keys").write_text("")


def _full_disk(lab: Lab) -> None:
    """Have a far disk that is full: a tiny one; who may mount nothing has its figures alone."""
    if lab.spaces:
        (lab.home / ".local").mkdir()
        mount(lab, "200k")
    else:
        lab.program("df", "echo x; echo none 9 0 12 99% /")


def mount(lab: Lab, size: str) -> None:
    """Give the far machine a disk of this size for what it installs; it needs a boot to see it."""
    words = ["mount", "-t", "tmpfs", "-o", f"size={size},mode=700", "none", str(lab.home / ".local")]
    subprocess.run(words, check=True)
    lab.reboot()


def _of_somebody_else(lab: Lab) -> None:
    lab.state.mkdir(parents=True)
    if os.geteuid() == 0:
        os.chown(lab.state, 12345, 12345)
    else:
        lab.export({"TMUXAGENTS_HOME": "/usr"})


def _open_to_others(lab: Lab) -> None:
    lab.state.mkdir(parents=True)
    lab.state.chmod(0o777)


def _late(lab: Lab) -> None:
    lab.program("date", "echo $(($(/bin/date +%s) + 10800))")


REFUSALS: dict[str, tuple[Callable[[Lab], Any], str, str]] = {
    "changed key": (_other_key, "host-key-changed", "The host key of box has changed"),
    "unknown key": (
        lambda lab: (lab.folder / "known_hosts").write_text(""),
        "host-key-unknown",
        "does not know",
    ),
    "password": (_no_login, "login-refused", "without a password"),
    "down": (lambda lab: lab.shut_down(), "unreachable", "box is unreachable: "),
    "cut": (lambda lab: lab.cut(), "unreachable", "box is unreachable: "),
    "Python 3.9": (lambda lab: lab.program("python3", "echo 3.9.18 $0"), "far-python", "Python 3.9.18 only"),
    "no Python": (lambda lab: lab.lack("python3"), "far-python", "has no Python"),
    "no tmux": (lambda lab: lab.lack("tmux"), "far-tmux", "has no tmux"),
    "old tmux": (lambda lab: lab.program("tmux", "echo tmux 3.1c"), "far-tmux", "too old"),
    "no agent": (lambda lab: lab.lack("pi"), "far-agent", "has no agent"),
    "clock": (_late, "far-clock", "The clock of box is 3h 00m ahead of this one's"),
    "full disk": (_full_disk, "far-disk", "The disk of box is full"),
    "somebody else": (_of_somebody_else, "far-home", "belongs to user"),
    "open": (_open_to_others, "far-home", "can be written by others"),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_a_refusal_is_one_sentence_and_leaves_nothing(case: str, near: NearDesk) -> None:
    arrange, kind, words = REFUSALS[case]
    lab = near.lab
    try:
        arrange(lab)
        before = near.far_files()
        began = time.monotonic()
        said = near.hosts("add", "box", "--yes", "--json")
        assert time.monotonic() - began < 30
        assert (said.returncode, said.stdout.count("\n")) == (3, 0 if not said.stdout else 1), said
        error = json.loads(said.stderr or said.stdout)["error"]
        assert (error["kind"], words in error["message"]) == (kind, True), error
        assert error["hint"]
        assert near.far_files() == before
        assert {path.name for path in near.home.rglob("*")} == set()
        assert lab.masters() == []
    finally:
        _be_well(lab)


def _be_well(lab: Lab) -> None:
    lab.trust()
    shutil.copy(lab.folder / "key.pub", lab.folder / "authorized_keys")
    lab.mend()
    mounted = os.path.ismount(lab.home / ".local")
    if mounted:
        lab.shut_down()
        subprocess.run(["umount", str(lab.home / ".local")], check=True)
    if lab.is_down:
        lab.boot()


def test_a_name_that_no_machine_has(near: NearDesk) -> None:
    said = near.hosts("add", "nowhere.invalid", "--yes")
    assert said.returncode == 3
    assert said.stderr.splitlines()[0] == "nowhere.invalid is unreachable: no machine has this name."


@pytest.mark.parametrize("name", ["-oProxyCommand=touch x", "a/b", "slurm"])
def test_what_is_no_name_is_refused_here(near: NearDesk, name: str) -> None:
    said = near.hosts("add", "--yes", "--", name)
    assert said.returncode == 2
    assert "cannot be a host" in said.stderr
    assert list(near.home.iterdir()) == []


def test_what_a_host_is_to_have_must_be_there(near: NearDesk) -> None:
    before = near.far_files()
    for words, told in (
        (("--agent", "claude"), "has no claude on PATH"),
        (("--cwd", "/nowhere"), "has no folder"),
    ):
        said = near.hosts("add", "box", "--yes", *words)
        assert (said.returncode, told in said.stderr) == (3, True), said
    assert near.far_files() == before


def test_an_agent_that_nothing_there_knows_takes_the_installation_back(near: NearDesk) -> None:
    said = near.hosts("add", "box", "--yes", "--agent", "goose")
    assert (said.returncode, "box has no agent goose." in said.stderr) == (3, True), said
    assert not (near.lab.home / ".local/share/tmuxagents").exists()
    assert not near.lab.state.exists()
    assert hosts.read_hosts(near.environment) == {}


def test_start_files_may_print_what_they_like(near: NearDesk) -> None:
    (near.lab.folder / "more.sh").write_text("echo Welcome; echo 'begin' >&2\n")
    try:
        found = probe.ask(Host("box", "ssh", "box", (), "", ""), {"pi": "pi"}, near.environment)
    finally:
        (near.lab.folder / "more.sh").unlink()
    assert (found.first("system"), found.agents) == ("Linux", {"pi": str(near.lab.bin / "pi")})


def test_agents_on_the_path_of_a_login_are_found(near: NearDesk) -> None:
    near.lab.lack("pi")
    elsewhere = near.lab.home / ".local/agents"
    elsewhere.mkdir(parents=True)
    (elsewhere / "pi").symlink_to(real_pi())
    (near.lab.home / ".profile").write_text(f"PATH={elsewhere}:$PATH\n")
    try:
        said = near.hosts("add", "box", "--yes")
    finally:
        (near.lab.home / ".profile").unlink()
    assert said.returncode == 0, said.stderr
    assert "agent: pi " in said.stdout


@pytest.mark.parametrize("is_there", [True, False])
def test_a_home_that_both_share_gets_two_state_directories(near: NearDesk, *, is_there: bool) -> None:
    near.environment["TMUXAGENTS_HOME"] = str(near.lab.state)
    if is_there:
        near.lab.state.mkdir(parents=True, mode=0o700)
    said = near.hosts("add", "box", "--yes")
    assert said.returncode == 0, said.stderr
    found = hosts.find_host("box", near.environment)
    assert found.home == f"{near.lab.state}-far"
    assert found.command[:-1] == ("env", f"TMUXAGENTS_HOME={found.home}")
    assert not list(near.lab.home.rglob(".tmuxagents-*"))
    assert near.hosts("check").returncode == 0
    assert near.hosts("remove", "box", "--uninstall").returncode == 0


# --- installations ----------------------------------------------------------------------------------------


def test_the_archive_has_everything_and_nothing_compiled() -> None:
    with tarfile.open(fileobj=BytesIO(build.archive())) as archive:
        names = archive.getnames()
    assert {"tmuxagents/__main__.py", "tmuxagents/machines/probe.sh", "click/__init__.py"} <= set(names)
    assert "tmuxagents/layouts/shipped/grid.yaml" in names
    assert not [name for name in names if name.endswith((".so", ".pyc", ".pth")) or ".." in name]


def test_a_disk_that_gets_full_meanwhile_keeps_nothing(near: NearDesk) -> None:
    lab = near.lab
    host = Host("box", "ssh", "box", (), "", "")
    (lab.home / ".local").mkdir(exist_ok=True)
    before = near.far_files()
    try:
        if lab.spaces:
            mount(lab, "6m")
        else:
            (lab.folder / "more.sh").write_text("ulimit -f 100\n")
        found = probe.ask(host, {"pi": "pi"}, near.environment)
        with pytest.raises(Unusable) as caught:
            install.install(host, found, near.environment)
        ssh.close(host, near.environment)
        assert caught.value.kind == ("far-disk" if lab.spaces else "far-install")
        assert near.far_files() == before
    finally:
        _be_well(lab)


def test_an_installation_that_is_broken_off_keeps_nothing(near: NearDesk) -> None:
    near.lab.slow(50, "2mbit")
    share = near.lab.home / ".local/share/tmuxagents"
    words = [COMMAND, "hosts", "add", "box", "--yes"]
    nothing = subprocess.DEVNULL
    with running(words, env=near.environment, stdin=nothing, stdout=nothing, stderr=nothing):
        eventually(lambda: list(share.glob("far/.making-*/lib/*/site-packages/*")), 60)
    near.lab.mend()
    eventually(lambda: not share.exists(), 60)
    assert hosts.read_hosts(near.environment) == {}


def test_one_that_no_longer_works_is_replaced(near: NearDesk) -> None:
    assert near.hosts("add", "box", "--yes").returncode == 0
    far = near.lab.home / ".local/share/tmuxagents/far" / build.version()
    (far / "tmuxagents").unlink()
    checked = near.hosts("check", "box")
    assert (checked.returncode, "any more" in checked.stdout) == (1, True)
    assert near.hosts("add", "box", "--yes").returncode == 0
    assert (far / "tmuxagents").is_file()
    assert [path.name for path in far.parent.iterdir()] == [far.name]


# --- check, list and remove -------------------------------------------------------------------------------


@pytest.fixture
def known(near: NearDesk) -> Host:
    """A host in the file that nothing was installed on."""
    command = (f"{near.lab.home}/.local/share/tmuxagents/far/0.0.1-ab/tmuxagents",)
    made = Host("box", "ssh", "box", command, str(near.lab.state), "0.0.1-ab")
    hosts.write_host(made, near.environment)
    return made


def test_check_says_what_is_wrong_of_each_host(near: NearDesk, known: Host) -> None:
    hosts.write_host(known._replace(name="away", destination="nowhere.invalid"), near.environment)
    said = near.hosts("check", "--json")
    assert said.returncode == 1
    box, away = json.loads(said.stdout)["hosts"]
    assert (box["ok"], away["ok"]) == (False, False)
    assert [check["name"] for check in box["checks"] if check["state"] == "broken"] == ["tmuxagents"]
    assert [check["name"] for check in away["checks"]] == ["connection"]
    lines = near.hosts("check", "away").stdout.splitlines()
    assert lines[0] == "away:"
    assert lines[1].startswith("  broken   connection: away is unreachable: no machine has this name. Fix: ")


def test_list_asks_nobody_and_says_since_when_one_is_away(near: NearDesk, known: Host) -> None:
    folder = near.home / ".local/state/tmuxagents/machines"
    folder.mkdir(parents=True)
    heard = {"lastHeard": time.time() - 7200, "unreachableSince": time.time() - 3700}
    (folder / f"{known.name}.json").write_text(json.dumps(heard))
    near.environment["PATH"] = str(near.home)  # there is no ssh
    assert "unreachable for 1h" in near.hosts("list").stdout
    (one,) = json.loads(near.hosts("list", "--json").stdout)["hosts"]
    assert {key: one[key] for key in heard} == heard
    (folder / f"{known.name}.json").write_text("[nonsense")
    assert near.hosts("list", "--format", "{{.name}} {{.lastHeard}}").stdout.split()[0] == "box"


def test_doctor_has_a_line_for_each_host_and_asks_none(near: NearDesk, known: Host) -> None:
    hosts.write_host(known._replace(name="right", version=build.version()), near.environment)
    hosts.write_host(known._replace(name="away", version=build.version()), near.environment)
    folder = near.home / ".local/state/tmuxagents/machines"
    folder.mkdir(parents=True)
    (folder / "right.json").write_text(json.dumps({"lastHeard": time.time() - 300}))
    (folder / "away.json").write_text(json.dumps({"unreachableSince": time.time() - 3700}))
    before = near.lab.connections()
    said = subprocess.run([COMMAND, "doctor"], check=False, timeout=60, **near.options).stdout
    lines = [line for line in said.splitlines() if " host: " in line]
    old = f"box has tmuxagents 0.0.1-ab, and this is {build.version()}; runs need the same"
    assert lines == [
        f"warning  host: {old}. Fix: tmuxagents hosts add box",
        f"ok       host: right: ssh, tmuxagents {build.version()}, heard 5m ago.",
        "warning  host: away has been unreachable for 1h. Fix: tmuxagents hosts check away",
    ]
    assert near.lab.connections() == before


def test_nothing_is_launched_with_another_version_there(near: NearDesk, known: Host) -> None:
    before = near.lab.connections()
    words = [COMMAND, "launch", "--on", known.name, "Look around."]
    said = subprocess.run(words, check=False, timeout=60, **near.options)
    assert (said.returncode, said.stdout) == (3, "")
    ours = build.version()
    assert said.stderr.splitlines() == [
        f"box has tmuxagents 0.0.1-ab, and this is {ours}; runs need the same.",
        "hint: tmuxagents hosts add box",
    ]
    assert near.lab.connections() == before
    assert list((near.home / ".local/state/tmuxagents").glob("runs/*")) == []


def test_a_host_with_runs_stays_unless_forced(near: NearDesk, known: Host) -> None:
    run = near.home / ".local/state/tmuxagents/runs/0123456789abcdef"
    run.mkdir(parents=True)
    (run / "machine.json").write_text('{"v":1,"engine":"ssh","host":"box"}')
    seal = run.parents[1] / "sealed" / run.name
    seal.parent.mkdir()
    seal.write_text('{"v":1,"files":{},"sizes":{},"far":true}')
    said = near.hosts("remove", "box")
    assert (said.returncode, said.stderr.splitlines()[0]) == (4, "Runs on box have not ended: 01234567.")
    assert list(hosts.read_hosts(near.environment)) == [known.name]
    assert near.hosts("remove", "box", "--force").returncode == 0
    (run / "result.json").write_text('{"status":"completed","reason":"completed"}')
    hosts.write_host(known, near.environment)
    assert near.hosts("remove", "box").returncode == 0


def test_only_what_add_has_installed_is_uninstalled(near: NearDesk, known: Host) -> None:
    hosts.write_host(known._replace(command=("/usr/bin/tmuxagents",)), near.environment)
    said = near.hosts("remove", "box", "--uninstall")
    assert (said.returncode, "so it stays" in said.stderr) == (4, True)
    assert near.hosts("remove", "nobody").returncode == 2


def test_runs_over_there_keep_their_program(near: NearDesk) -> None:
    assert near.hosts("add", "box", "--yes").returncode == 0
    near.lab.have("pi", SCRIPTED)
    program = hosts.find_host("box", near.environment).command[0]
    near.lab.export({"TMUXAGENTS_DEFAULT_MODEL": "mock/mock-text"})
    launched = near.lab.ssh(
        f"{program} launch --cwd {near.lab.home} -m mock/mock-text -", input="begin\nsleep 600"
    )
    run = launched.stdout.strip()
    assert launched.returncode == 0, launched.stderr
    try:
        said = near.hosts("remove", "box", "--uninstall")
        assert (said.returncode, said.stderr.splitlines()[0]) == (4, "Runs on box have not ended: 1.")
        assert list(hosts.read_hosts(near.environment)) == ["box"]
    finally:
        near.lab.ssh(f"{program} stop {run}")
        near.lab.ssh(f"{program} wait {run}")
    assert near.hosts("remove", "box", "--uninstall").returncode == 0
    assert not Path(program).exists()
