"""The verbs `integrate claude` and `integrate codex`: a person's own text is given back to the byte."""

from __future__ import annotations

import json
import os
import stat
import sys
import tomllib
from typing import TYPE_CHECKING, Any

import pytest

from tests.status.watchers import checked
from tmuxagents.errors import BadConfig
from tmuxagents.integrate import parents
from tmuxagents.system import shipped

if TYPE_CHECKING:
    from pathlib import Path

    from tests.harness import Home

CONFIG = {"claude": ".claude.json", "codex": ".codex/config.toml"}
SHARED = {"claude": ".mcp.json", "codex": ".codex/config.toml"}
SKILL = {"claude": ".claude/skills/tmuxagents", "codex": ".agents/skills/tmuxagents"}
PARENTS = ("claude", "codex")
# Possible earlier texts of a person.
WRITTEN = {
    "claude": [
        None,
        b"{}",
        b'{ "mcpServers" : { } }\r\n',
        b'{"numStartups": 3,\n "mcpServers": {"other": {"command": "x"}}, "projects": {"/p": {"a": [1]}}}',
        '{\n\t"name": "Jürgen",\n\t"mcpServers": {\n\t\t"other": {"url": "y"}\n\t}\n}\n'.encode(),
    ],
    "codex": [
        None,
        b"",
        b'model = "m"',
        b'# mine\r\n[mcp_servers.other]\r\ncommand = "x"\r\n\r\n[profiles.a]\r\nmodel = "z"\r\n',
    ],
}
CASES = [(parent, before) for parent in PARENTS for before in WRITTEN[parent]]


class Person:
    """A person who works with another agent."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self.folder = home.folder
        (home.project / ".git").mkdir()
        self.programs = home.folder.parent / "programs"
        self.programs.mkdir()
        for name in PARENTS:
            (self.programs / name).symlink_to("/bin/true")
        home.environment["PATH"] = f"{self.programs}:{home.environment['PATH']}"

    def say(self, *words: str, code: int = 0, **variables: str) -> list[str]:
        done = self.home.command(
            "integrate", *words, env=self.home.environment | variables, umask=0o022, timeout=60
        )
        assert (done.returncode, done.stderr if not code else "") == (code, ""), done.stderr
        return (done.stdout or done.stderr).splitlines()

    def do(self, parent: str, *, uninstall: bool = False, **variables: str) -> list[str]:
        """Integrate as the command does, but in this process; return why things were left alone."""
        environment = {"HOME": str(self.folder), "PATH": os.path.dirname(sys.executable), **variables}
        where = parents.place(parent, environment, None)
        found = parents.plan(where, uninstall=uninstall)
        parents.carry_out(found, where)
        return [f"{one.path}: {one.why}" for one in found.left]

    def tree(self) -> dict[str, tuple[int, bytes | None]]:
        """Return the mode and the content of each file of the person."""
        found: dict[str, tuple[int, bytes | None]] = {}
        for folder, folders, files in os.walk(self.folder):
            for name in [*folders, *files]:
                path = os.path.join(folder, name)
                mode = stat.S_IMODE(os.lstat(path).st_mode)
                if name in files:
                    with open(path, "rb") as file:
                        found[os.path.relpath(path, self.folder)] = (mode, file.read())
                else:
                    found[os.path.relpath(path, self.folder)] = (mode, None)
        return found

    def write(self, name: str, content: bytes) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return path

    def servers(self, parent: str, name: str | None = None) -> dict[str, Any]:
        content = (self.folder / (name or CONFIG[parent])).read_text("utf-8")
        found: dict[str, Any] = (
            tomllib.loads(content)["mcp_servers"] if parent == "codex" else json.loads(content)["mcpServers"]
        )
        return found


@pytest.fixture
def person(home: Home) -> Person:
    return Person(home)


# --- put in and taken out -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("parent", "before"), CASES)
def test_all_of_it_is_undone_to_the_byte(person: Person, parent: str, before: bytes | None) -> None:
    if before is not None:
        person.write(CONFIG[parent], before)
    was = person.tree()
    person.do(parent)
    entry = person.servers(parent)["tmuxagents"]
    assert (os.path.basename(entry["command"]), entry["args"]) == ("tmuxagents", ["mcp"])
    assert os.access(entry["command"], os.X_OK)
    skill = (person.folder / SKILL[parent] / "SKILL.md").read_text("utf-8")
    assert skill.startswith(shipped.skill())
    assert sorted(os.listdir(person.folder / SKILL[parent] / "prompts")) == [
        f"{name}.md" for name in shipped.prompts()
    ]
    there = person.tree()
    assert person.do(parent) == []
    assert person.tree() == there
    for _ in range(2):
        assert person.do(parent, uninstall=True) == []
        assert person.tree() == was


@pytest.mark.parametrize("parent", PARENTS)
def test_a_projects_own_files_name_no_place_of_this_machine(person: Person, parent: str) -> None:
    was = person.tree()
    person.say(parent, "--project")
    name = f"project/{SHARED[parent]}"
    assert person.servers(parent, name)["tmuxagents"]["command"] == "tmuxagents"
    assert (person.folder / "project" / SKILL[parent] / "SKILL.md").exists()
    assert not (person.folder / CONFIG[parent]).exists()
    person.say(parent, "--project", "--uninstall")
    assert person.tree() == was


@pytest.mark.parametrize("parent", PARENTS)
def test_a_dry_run_shows_it_and_changes_nothing(person: Person, parent: str) -> None:
    was = person.tree()
    shown = "\n".join(person.say(parent, "--dry-run"))
    assert (f"+++ {person.folder}/{CONFIG[parent]}" in shown, "name: tmuxagents" in shown) == (True, True)
    (line,) = person.say(parent, "--dry-run", "--json")
    document = checked(line, "integrate")
    assert (document["target"], document["dryRun"], len(document["changes"])) == (parent, True, 7)
    assert person.tree() == was


def test_the_skill_alone_costs_no_tools(person: Person) -> None:
    person.say("claude", "--no-tools")
    assert not (person.folder / ".claude.json").exists()
    assert (person.folder / ".claude/skills/tmuxagents/SKILL.md").exists()


def test_where_the_parent_says_that_it_lives(person: Person, tmp_path: Path) -> None:
    person.do("claude", CLAUDE_CONFIG_DIR=str(tmp_path / "c"))
    assert (tmp_path / "c" / ".claude.json").exists()
    assert (tmp_path / "c" / "skills" / "tmuxagents" / "SKILL.md").exists()
    person.do("codex", CODEX_HOME=str(tmp_path / "x"))
    assert (tmp_path / "x" / "config.toml").exists()


def test_what_codex_itself_writes_anew_is_kept_and_ours_goes(person: Person) -> None:
    path = person.write(".codex/config.toml", b"# mine\nmodel = 'm'\n")
    person.do("codex")
    lines = path.read_bytes().replace(b"_sec = 300", b"_sec = 300.0").splitlines(keepends=True)
    # Codex does this: it loses the mark before the table, and puts tables of its own before the last one.
    lines = [line for line in lines if not line.startswith(b"# >>>")]
    own = b'[mcp_servers.tmuxagents.tools.subagent]\napproval_mode = "approve"\n'
    path.write_bytes(b"".join([*lines[:-1], b"\n[mcp_servers.other]\ncommand = 'x'\n", own, lines[-1]]))
    assert person.do("codex") == []
    assert person.do("codex", uninstall=True) == []
    assert path.read_bytes() == b"# mine\nmodel = 'm'\n\n[mcp_servers.other]\ncommand = 'x'\n"


def test_what_a_person_adds_to_our_server_stays_with_it(person: Person) -> None:
    path = person.write(".codex/config.toml", b"model = 'm'\n")
    person.do("codex")
    added = path.read_bytes().replace(b'["TMUX"', b'["MY_KEY", "TMUX"')
    path.write_bytes(added)
    assert person.do("codex") == []
    assert path.read_bytes() == added
    person.do("codex", uninstall=True)
    assert path.read_bytes() == b"model = 'm'\n"


# --- what is somebody else's ------------------------------------------------------------------------------


def test_what_another_program_has_written_anew_is_kept(person: Person) -> None:
    person.do("claude")
    path = person.folder / ".claude.json"
    grown = json.loads(path.read_text()) | {"numStartups": 7}
    grown["mcpServers"]["tmuxagents"]["env"] = {}
    path.write_text(json.dumps(grown))
    person.do("claude", uninstall=True)
    assert json.loads(path.read_text())["numStartups"] == 7
    assert "tmuxagents" not in path.read_text()


@pytest.mark.parametrize(
    ("parent", "content", "why"),
    [
        ("claude", b'{"a": 1,\n', "it is not JSON, line 2"),
        ("claude", b'{"mcpServers": []}', '"mcpServers" in it is not an object'),
        ("claude", b"\xff\xfe{}", "it is not UTF-8 text"),
        ("codex", b"[a\n", "it is not TOML"),
        ("codex", b"mcp_servers = {}\n", 'nothing can be added to "mcp_servers" in it'),
        ("codex", b"mcp_servers = 3\n", '"mcp_servers" in it is not a table'),
    ],
)
def test_what_cannot_be_changed_is_refused_and_left(
    person: Person, parent: str, content: bytes, why: str
) -> None:
    path = person.write(CONFIG[parent], content)
    was = person.tree()
    with pytest.raises(BadConfig) as refusal:
        person.do(parent)
    assert refusal.value.message.startswith(f"{path} is left as it is: {why}")
    assert person.tree() == was
    person.do(parent, uninstall=True)
    assert person.tree() == was


@pytest.mark.parametrize(("parent", "name"), [("claude", "Claude Code"), ("codex", "Codex")])
def test_a_parent_that_is_not_there_is_told(person: Person, parent: str, name: str) -> None:
    (person.programs / parent).unlink()
    told = f"warning: {name} is not installed: there is no {parent} on PATH; this counts once it is\n"
    assert person.home.command("integrate", parent, "--dry-run").stderr == told
    assert person.home.command("integrate", parent, "--uninstall").stderr == ""


def test_a_refusal_is_one_sentence_and_a_hint(person: Person) -> None:
    path = person.write(".claude.json", b"{")
    first, second = person.say("claude", code=2)
    assert first.endswith(f"{path} is left as it is: it is not JSON, line 1.")
    assert second.startswith("hint: ")
    (line,) = person.say("claude", "--json", code=2)
    assert checked(line, "error")["error"]["kind"] == "bad-settings"


@pytest.mark.parametrize(
    ("parent", "content"),
    [
        (
            "claude",
            b'{"mcpServers": {"tmuxagents": {"command": "tmuxagents", "args": ["mcp", "--limit", "9"]}}}',
        ),
        ("codex", b'[mcp_servers.tmuxagents]\ncommand = "mine"\n'),
    ],
)
def test_a_server_of_our_name_that_somebody_else_wrote_stays(
    person: Person, parent: str, content: bytes
) -> None:
    path = person.write(CONFIG[parent], content)
    for uninstall in (False, True):
        left = person.do(parent, uninstall=uninstall)
        assert path.read_bytes() == content
        assert (parent == "codex" and uninstall) or any(str(path) in line for line in left)


def test_files_that_were_changed_by_hand_stay_and_so_do_others_beside_them(person: Person) -> None:
    person.say("claude")
    folder = person.folder / ".claude/skills/tmuxagents"
    changed = (folder / "SKILL.md").read_bytes().replace(b"One child", b"My child")
    (folder / "SKILL.md").write_bytes(changed)
    (folder / "prompts" / "mine.md").write_bytes(b"Mine.\n")
    assert any("changed by hand" in line for line in person.say("claude"))
    said = person.say("claude", "--uninstall")
    assert sum(line.startswith("left ") for line in said) == 2
    assert (folder / "SKILL.md").read_bytes() == changed
    assert os.listdir(folder / "prompts") == ["mine.md"]


def test_links_stay_links_and_modes_stay(person: Person) -> None:
    real = person.write("dotfiles/claude.json", b'{"a": 1}\n')
    real.chmod(0o640)
    (person.folder / ".claude.json").symlink_to(real)
    person.do("claude")
    assert (person.folder / ".claude.json").is_symlink()
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    person.do("claude", uninstall=True)
    assert real.read_bytes() == b'{"a": 1}\n'


def test_an_entry_of_an_earlier_install_is_brought_up_to_date(person: Person) -> None:
    before = {"mcpServers": {"tmuxagents": {"command": "/gone/tmuxagents", "args": ["mcp"]}}}
    person.write(".claude.json", json.dumps(before).encode())
    person.do("claude")
    assert os.access(person.servers("claude")["tmuxagents"]["command"], os.X_OK)
