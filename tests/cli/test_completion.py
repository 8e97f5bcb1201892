"""Shell completion by the installed command, as shells ask for it."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.presets.shelf import EXAMPLE, Shelf
from tests.status.watchers import COMMAND
from tests.terminals import press_tab
from tmuxagents.agents import AGENTS
from tmuxagents.machines import hosts
from tmuxagents.registry import database

if TYPE_CHECKING:
    from tests.harness import Home

BASH = "eval \"$('{0}' completion bash)\"; complete -p tmuxagents"


def offered(home: Home, line: str, shell: str = "bash") -> list[str]:
    """Return the words that are offered at the end of a line, without their descriptions."""
    words = {"COMP_WORDS": line, "COMP_CWORD": str(len(line.split(" ")) - 1)}
    if shell == "fish":
        words["COMP_CWORD"] = line.rpartition(" ")[2]
    environment = home.environment | words | {"_TMUXAGENTS_COMPLETE": f"{shell}_complete"}
    done = home.command(env=environment)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    if shell == "zsh":
        return lines[1::3]
    return [line.partition(",")[2].partition("\t")[0] for line in lines]


def test_verbs_and_options_are_offered(home: Home) -> None:
    assert offered(home, "tmuxagents lay") == ["layouts"]
    assert offered(home, "tmuxagents poll --js") == ["--json"]
    assert offered(home, "tmuxagents layouts open gr") == ["grid"]


def test_hosts_are_offered(home: Home) -> None:
    for name in ("box", "me@other"):
        hosts.write_host(hosts.Host(name, "ssh", name, ("/x",), "/y", "1"), home.environment)
    assert offered(home, "tmuxagents hosts check ") == ["box", "me@other"]
    assert offered(home, "tmuxagents hosts remove b") == ["box"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_runs_are_offered_by_name_and_id_the_live_ones_first(home: Home, shell: str) -> None:
    ended, live = home.run("begin\ndone", name="older"), home.run("begin", name="newer", createdAt=1.0)
    ended.start().wait()
    assert offered(home, "tmuxagents attach ", shell) == ["@last", "newer", "older"]
    assert offered(home, f"tmuxagents attach {live.run_id[:5]}", shell) == [live.run_id[:8]]
    assert offered(home, "tmuxagents stop ", shell) == ["newer"]
    assert offered(home, "tmuxagents resume ", shell) == ["older"]
    assert offered(home, f"tmuxagents output {ended.run_id[:5]}", shell) == [ended.run_id[:8]]
    with database.open_file(database.path_of(str(home.state)), 5) as book:
        row = book.row(ended.run_id)
    assert row is not None
    assert row.polled_at is None  # to be offered is not to be seen


def test_models_agents_schemas_and_verbs_are_offered(home: Home) -> None:
    assert offered(home, "tmuxagents launch -m mock/mock-te") == ["mock/mock-text"]
    assert offered(home, "tmuxagents run --agent ") == list(AGENTS)
    assert offered(home, "tmuxagents schema re") == ["receipt", "result"]
    assert offered(home, "tmuxagents help compl") == ["completion"]
    assert offered(home, "tmuxagents help presets ch") == ["check"]
    assert offered(home, "tmuxagents help poll ") == []
    assert offered(home, "tmuxagents launch --name ") == []
    assert offered(home, "tmuxagents poll --status fa") == ["failed"]


def test_presets_are_offered(home: Home) -> None:
    folder = home.agent_dir / "subagents"
    folder.mkdir()
    (folder / "repo-scout.md").write_text(EXAMPLE)
    (folder / "bad.md").write_text("---\nname: [\n---\n")
    assert offered(home, "tmuxagents launch -p re") == ["repo-scout"]


NAMES = (
    *("zed$(touch mark)", "zed`touch mark`", "zed;touch mark", "zed*", "zed a"),
    *("zed:a", "zed,a", "zed\n-x", "zed'", "-rf"),
)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
@pytest.mark.parametrize("line", ["launch -p ", "presets show ", "presets check ", "presets edit "])
def test_no_name_that_a_shell_would_read_is_offered(home: Home, line: str, shell: str) -> None:
    shelf = Shelf(home)
    for number, name in enumerate((*NAMES, "zed-1")):
        told = f"first: \x1b[31m{name}\tx"
        text = f"---\nname: {json.dumps(name)}\ndescription: {json.dumps(told)}\n---\nx\n"
        shelf.put(shelf.theirs / f"{number}.md", text)
    shelf.put(shelf.theirs / "zed$(touch mark)2.md", "---\ndescription: x\n---\nx\n")
    assert offered(home, f"tmuxagents {line}", shell) == ["zed-1"]
    assert offered(home, f"tmuxagents {line}zed", shell) == ["zed-1"]


def test_a_tab_puts_nothing_onto_the_line_that_a_file_of_a_clone_has_made_up(home: Home) -> None:
    shelf = Shelf(home)
    for name in ("zed$(touch mark)", "zod`touch mark`", "zud;touch mark"):
        shelf.put(shelf.theirs / f"{name}.md", EXAMPLE.replace("repo-scout", json.dumps(name)))
    shelf.put(shelf.theirs / "repo-scout.md", EXAMPLE)
    shown = press_tab(
        home, [f"tmuxagents presets show {beginning}" for beginning in ("ze", "zo", "zu", "rep")]
    )
    assert "Finds its way around a repository" in shown  # what may be completed was
    assert not list(home.folder.rglob("mark"))


def test_somebody_who_types_is_told_no_error(home: Home) -> None:
    assert offered(home, "tmuxagents nothing-of-ours ") == []


def test_what_is_printed_is_a_script_of_the_shell(home: Home) -> None:
    command = BASH.format(*COMMAND)
    done = subprocess.run(
        ["bash", "--norc", "-c", command],
        env=home.environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
    )
    assert "_tmuxagents_completion" in done.stdout
    assert home.command("completion", "zsh").stdout.startswith("#compdef tmuxagents")
    assert "fish_complete" in home.command("completion", "fish").stdout
    assert home.command("completion", "csh").returncode == 2
