"""What a far machine says, and what that means for children there: a table of what can be wrong."""

from __future__ import annotations

import pytest

from tmuxagents.errors import Unusable
from tmuxagents.machines import build, probe
from tmuxagents.machines.hosts import Host
from tmuxagents.text.checks import BROKEN, OK, WARNING

HOST = Host("box", "ssh", "box", (), "", "")
PROGRAMS = {"pi": "pi", "claude": "claude"}
RIGHT = {
    "system": ["Linux"],
    "user": ["1000"],
    "python": ["3.9.2 /usr/bin/python3", "3.12.1 /opt/python"],
    "tmux": ["tmux 3.3a"],
    "git": ["git version 2.39.5"],
    "agent": ["pi /usr/bin/pi"],
    "state": ["/home/me/.local/state/tmuxagents"],
    "far": ["/home/me/.local/share/tmuxagents/far"],
    "owner": ["drwx------ 1000"],
    "free": ["9999999 /home/me", "8888888 /home/me"],
}


def found(changes: dict[str, list[str]] | None = None, ahead: float = 0.0) -> probe.FarFacts:
    return probe.FarFacts(RIGHT | (changes or {}), ahead, PROGRAMS)


def test_where_all_is_right_nothing_is_refused() -> None:
    checks = probe.judge(HOST, found())
    probe.refuse(checks)
    assert {check.state for check in checks} == {OK}
    assert [check.name for check in checks] == ["python", "tmux", "agent", "clock", "disk"]
    assert found().python == ("3.12.1", "/opt/python")
    program = f"/home/me/.local/share/tmuxagents/far/{build.version()}/tmuxagents"
    assert found().command == (program,)
    state = "TMUXAGENTS_HOME=/home/me/.local/state/tmuxagents"
    assert found({"shared": ["yes"]}).command == ("env", state, program)


@pytest.mark.parametrize(
    ("changes", "kind", "words"),
    [
        ({"system": ["Darwin"]}, "far-system", "box runs Darwin"),
        ({"system": []}, "far-system", "an unknown system"),
        ({"python": []}, "far-python", "box has no Python"),
        ({"python": ["3.9.18 /usr/bin/python3"]}, "far-python", "box has Python 3.9.18 only"),
        ({"python": ["nonsense"]}, "far-python", "box has no Python"),
        ({"tmux": []}, "far-tmux", "box has no tmux on PATH"),
        ({"tmux": ["tmux 3.1c"]}, "far-tmux", "The tmux of box is too old: '3.1c'"),
        ({"agent": []}, "far-agent", "box has no agent that tmuxagents knows"),
        ({"owner": ["drwx------ 0"]}, "far-home", "belongs to user 0"),
        ({"owner": ["drwxrwx--- 1000"]}, "far-home", "can be written by others"),
        ({"readonly": ["/home"]}, "far-home", "You cannot write to /home on box"),
        ({"free": ["9999999 /a", "100 /b"]}, "far-disk", "The disk of box is full: 0 MB are left at /b"),
    ],
)
def test_one_thing_wrong_is_one_sentence(changes: dict[str, list[str]], kind: str, words: str) -> None:
    with pytest.raises(Unusable) as caught:
        probe.refuse(probe.judge(HOST, found(changes)))
    assert (caught.value.kind, caught.value.exit_code) == (kind, 3)
    assert words in caught.value.message
    assert caught.value.message.endswith(".")
    assert caught.value.hint


@pytest.mark.parametrize(
    ("ahead", "state"),
    [(0, OK), (-10, OK), (11, WARNING), (-600, WARNING), (601, BROKEN), (-10800, BROKEN)],
)
def test_a_clock_may_be_a_little_off(ahead: float, state: str) -> None:
    checks = {check.name: check for check in probe.judge(HOST, found(ahead=ahead))}
    assert checks["clock"].state == state
    if state != OK:
        assert ("ahead of" if ahead > 0 else "behind of") in checks["clock"].message or ahead < 0


@pytest.mark.parametrize(
    ("clock", "ahead"),
    [("100", 0), ("99", 0), ("103", 0), ("104", 1), ("98", -1), ("10900", 10797), ("", 0), ("x", 0)],
)
def test_the_clock_is_compared_as_exactly_as_it_can_be(clock: str, ahead: float) -> None:
    assert probe._ahead(clock, 100.0, 103.0) == ahead


def test_what_was_chosen_for_a_host_must_be_there() -> None:
    chosen = HOST._replace(agent="claude", cwd="/src", engine="slurm")
    broken = {check.name: check.message for check in probe.judge(chosen, found()) if check.state == BROKEN}
    assert broken == {
        "agent": "box has no claude on PATH; it has pi.",
        "cwd": "box has no folder /src.",
        "slurm": "box has no sbatch on PATH.",
    }
    there = found({"agent": ["claude /c"], "cwd": ["/src"], "sbatch": ["/usr/bin/sbatch"]})
    assert BROKEN not in {check.state for check in probe.judge(chosen, there)}
    of_their_own = HOST._replace(agent="goose")
    assert BROKEN not in {check.state for check in probe.judge(of_their_own, found())}


def test_without_git_children_still_work_there() -> None:
    checks = {check.name: check.state for check in probe.judge(HOST, found({"git": []}))}
    assert checks["git"] == WARNING


def test_another_version_or_none_is_told() -> None:
    old = HOST._replace(version="0.0.1-abc", command=("/far/tmuxagents",))
    checks = {check.name: check for check in probe.judge(old, found())}
    assert checks["tmuxagents"].message.startswith("box has tmuxagents 0.0.1-abc, and this is ")
    gone = old._replace(version=build.version())
    checks = {check.name: check for check in probe.judge(gone, found())}
    assert checks["tmuxagents"].message == "box has no tmuxagents at /far/tmuxagents any more."
    checks = {
        check.name: check for check in probe.judge(gone, found({"installed": ["tmuxagents, version 1"]}))
    }
    assert checks["tmuxagents"].state == OK


def test_rubbish_from_a_machine_is_no_crash() -> None:
    many = "9" * 5000
    odd = {
        "python": [f"{many}.² /python", "3.² /python"],
        "agent": ["pi"],
        "free": ["7", f"{many} /there", "² /there"],
        "owner": ["d"],
        "tmux": ["tmux "],
    }
    checks = {check.name: check.state for check in probe.judge(HOST, found(odd))}
    assert {name for name, state in checks.items() if state == BROKEN} >= {"python", "agent", "tmux"}
    for version in ("²", f"3.{many}", many):
        assert {check.name for check in probe.judge(HOST, found({"tmux": [f"tmux {version}"]}))} >= {"tmux"}
    assert probe._ahead("²", 100.0, 103.0) == probe._ahead(many, 100.0, 103.0) == 0.0
