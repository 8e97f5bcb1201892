"""What README and docs tell people to type: everything can be parsed, and what a newcomer types does work."""

from __future__ import annotations

import os
import re
import shlex
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import click
import pytest

from tests.harness import REPOSITORY, eventually, real_pi
from tests.terminal import Terminal
from tmuxagents.cli.group import tmuxagents

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.desk import Desk
    from tests.harness import ModelServer

README = REPOSITORY / "README.md"
PAGES = [README, *(REPOSITORY / name for name in ("CONTRIBUTING.md", "AGENTS.md"))]
PAGES += sorted((REPOSITORY / "docs").glob("*.md"))
PAGES += sorted((REPOSITORY / "tmuxagents").glob("skills/*/SKILL.md"))
PAGES += sorted((REPOSITORY / "tmuxagents").glob("prompts/*.md"))
SHELL = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SPAN = re.compile(r"(?<!`)`((?:tmuxagents|scripts/\w+) [^`\n]+)`(?!`)")
ASSIGNED = re.compile(r"\w+=\$\((.*)\)")


def fenced(kind: str) -> str:
    """Return the README's only example of a kind."""
    (found,) = re.findall(rf"^```{kind}\n(.*?)^```$", README.read_text(), re.MULTILINE | re.DOTALL)
    return str(found)


def command_lines() -> Iterator[tuple[str, str]]:
    """Yield each command line that a page shows: where, and the line without its comment."""
    for page in PAGES:
        text = page.read_text()
        lines = [line for block in SHELL.findall(text) for line in block.splitlines()]
        for line in [*lines, *SPAN.findall(text)]:
            command = re.sub(r"(^|\s+)#.*", "", line)
            if command:
                yield page.name, command


COMMAND_LINES = sorted(set(command_lines()))
# Programs of others, and what our pages do with them.
OTHERS = {"git": ("diff", "log", "merge"), "ssh": ("box",)}


def test_there_is_something_to_check() -> None:
    names = [name for name, _ in COMMAND_LINES]
    assert names.count("README.md") > 20
    assert names.count("SKILL.md") > 5
    assert {"CONTRIBUTING.md", "AGENTS.md", "implement.md"} <= set(names)


@pytest.mark.parametrize(("page", "line"), COMMAND_LINES)
def test_every_command_line_can_be_parsed(page: str, line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = ASSIGNED.fullmatch(line)
    program, *arguments = shlex.split(found[1] if found else line)
    if program.startswith("scripts/"):
        a_script(program, arguments)
    elif program == "pipx":
        an_installation(arguments)
    elif program in OTHERS:
        assert arguments[0] in OTHERS[program], f"{page} calls {program} in a way that nobody has tried"
    else:
        assert program == "tmuxagents", f"{page} shows a command that nobody checks"
        a_verb(arguments, monkeypatch)


def a_verb(arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail where the command line would refuse these words; what they ask for is not done."""
    reached: list[str | None] = []
    monkeypatch.setattr(click.Command, "invoke", lambda command, _: reached.append(command.name))
    tmuxagents.main(arguments, prog_name="tmuxagents", standalone_mode=False)
    assert reached or "--help" in arguments


def a_script(program: str, arguments: list[str]) -> None:
    """Fail where there is no such script, or it knows nothing of such an option or such a path."""
    path = REPOSITORY / program
    assert os.access(path, os.X_OK)
    known = path.read_text() + (REPOSITORY / "tests" / "torture" / "__main__.py").read_text()
    options = {word for word in arguments if word.startswith("-")} - {"-k"}  # that one is pytest's
    assert [option for option in options if not re.search(rf"{option}\b", known)] == []
    paths = [word for word in arguments if "/" in word]
    assert [name for name in paths if not (REPOSITORY / name).exists()] == []


def an_installation(arguments: list[str]) -> None:
    """Fail where not this project is meant."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    assert arguments in (["install", "."], ["uninstall", project["name"]])
    assert "tmuxagents" in project["scripts"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_a_page_points_to_is_there(page: Path) -> None:
    text = page.read_text()
    links = [link for link in re.findall(r"\]\(([^)#]+)\)", text) if "://" not in link]
    assert [link for link in links if not (page.parent / link).exists()] == []
    if page.name == "plan.md":
        return  # it names what is still to come
    named = re.findall(r"`((?:tests|scripts|docs)/[\w/.-]+)`", text)
    assert [name for name in named if not (REPOSITORY / name).exists()] == []


def test_what_the_readme_tells_a_newcomer_to_type_works(desk: Desk, models: ModelServer) -> None:
    project = desk.home.project
    (project / ".pi" / "subagents").mkdir(parents=True)
    (project / ".pi" / "subagents" / "repo-guide.md").write_text(with_model(fenced("markdown")))
    (project / "tasks.yaml").write_text(with_model(fenced("yaml")))
    environment = desk.home.environment | {
        "PATH": f"{Path(sys.executable).parent}:{desk.home.environment['PATH']}",
        "TMUXAGENTS_PI": real_pi(),
        "PI_CODING_AGENT_DIR": str(models.agent_dir),
        "TERM": "xterm-256color",
    }
    lines = [line for block in SHELL.findall(README.read_text()) for line in block.splitlines()]
    script = "\n".join(with_model(line) for line in lines if not line.startswith(("scripts/", "pipx ")))
    person = Terminal(["bash", "-x", "-e", "-c", script], environment, project)
    try:
        for name in ("finder", "guide"):
            person.shows(f"+ tmuxagents attach {name}")
            eventually(lambda name=name: desk.tmux("list-clients", "-F", "#{window_name}") == name)
            person.type("\x02")  # typed too fast, keys are taken for a paste
            eventually(lambda: desk.tmux("list-clients", "-F", "#{client_prefix}") == "1")
            person.type("d")
            person.shows(f"+ tmuxagents {'wait' if name == 'finder' else 'stop'} {name}")
        assert person.left(180) == 0, person.text  # two dozen commands and seven pi's
    finally:
        person.close()
    typed = [line.removeprefix("+ ") for line in person.text.splitlines() if line.startswith("+ tmuxagents ")]
    assert len(typed) >= 20
    assert person.text.count("Hello from the model server. All is well.") >= 4


def test_a_command_without_its_verb_shows_the_page_as_help_does(desk: Desk) -> None:
    alone, asked = desk("integrate"), desk("integrate", "--help")
    assert (alone.returncode, alone.stdout, alone.stderr) == (2, "", asked.stdout)
    assert asked.stdout.count("\n") > 10


def with_model(text: str) -> str:
    """Put a model into an example."""
    return text.replace("PROVIDER/MODEL", "mock/mock-text")
