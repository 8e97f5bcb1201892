"""The verb config, over real files: what it shows, writes and leaves alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.status.watchers import COMMAND
from tests.terminal import Terminal
from tmuxagents.integrate.config import SettingsFiles
from tmuxagents.system import places

if TYPE_CHECKING:
    from tests.harness import Home


def mine(home: Home) -> Path:
    return home.agent_dir / "settings.json"


def of_project(home: Home) -> Path:
    return home.project / ".pi" / "settings.json"


def told(home: Home, *words: str, **variables: str) -> dict[str, Any]:
    done = home.command("config", *words, "--json", env=home.environment | variables)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_a_setting_is_written_shown_and_taken_out_again(home: Home) -> None:
    before = '{\n  "theme": "dark"\n}\n'
    mine(home).write_text(before)
    done = home.command("config", "set", "timeout", "900")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == f"timeout is now 900 ({mine(home)})\n"
    assert home.command("config", "get", "timeout").stdout == "900\n"
    assert told(home, "get", "timeout") == {
        "v": 1,
        "settings": [{"key": "timeout", "value": 900, "source": "global"}],
        "warnings": [],
    }
    assert (
        home.command("config", "set", "timeout", "1h30m").stderr == f"timeout is now 1h30m ({mine(home)})\n"
    )
    assert home.command("config", "get", "timeout").stdout == "5400\n"
    done = home.command("config", "unset", "timeout")
    assert done.stderr == f"timeout is no longer set ({mine(home)})\n"
    assert mine(home).read_text() == before
    assert home.command("config", "get", "timeout").stdout == "600\n"
    assert home.command("config", "get", "onEnd").stdout == ""


def test_the_list_names_the_file_or_variable_that_decides(home: Home) -> None:
    home.command("config", "set", "--project", "timeout", "7")
    home.command("config", "set", "driver", "live")
    environment = home.environment | {"TMUXAGENTS_NOTIFY": "bell"}
    for verb in (["config"], ["config", "list"]):
        lines = home.command(*verb, env=environment).stdout.splitlines()
        rows = {line.split()[0]: line.split()[1:] for line in lines}
        assert rows["timeout"] == ["7", str(of_project(home))]
        assert rows["driver"] == ["live", str(mine(home))]
        assert rows["notify"] == ["bell", "TMUXAGENTS_NOTIFY"]
        assert rows["keepRuns"] == ["30d", "default"]
        assert rows["onEnd"] == ["-", "default"]
    assert "timeout" not in mine(home).read_text()


def test_who_sets_what_something_stronger_decides_hears_of_it(home: Home) -> None:
    done = home.command("config", "set", "timeout", "9", env=home.environment | {"TMUXAGENTS_TIMEOUT": "5"})
    assert done.stderr.endswith("\nwarning: TMUXAGENTS_TIMEOUT says otherwise, and counts here\n")


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        ("set timout 9", 2, 'There is no setting "timout".\nhint: did you mean timeout?\n'),
        ("get timout", 2, 'There is no setting "timout".\nhint: did you mean timeout?\n'),
        ("unset timout", 2, 'There is no setting "timout".\nhint: did you mean timeout?\n'),
        (
            "set timeout soon",
            2,
            "timeout must be a duration like 90s or 5m, at least 1.\nhint: nothing was changed\n",
        ),
        ("set --project driver live", 2, "A project may not set driver.\n"),
        ("edit", 2, "config edit needs a terminal.\n"),
    ],
)
def test_what_makes_no_sense_is_refused_and_changes_nothing(
    home: Home, words: str, code: int, message: str
) -> None:
    done = home.command("config", *words.split())
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr.startswith(message)
    assert (mine(home).exists(), of_project(home).exists()) == (False, False)


def test_json_in_front_of_a_verb_is_refused_as_in_other_groups(home: Home) -> None:
    for words in (["config", "--json", "get", "timeout"], ["presets", "--json", "list"]):
        done = home.command(*words)
        assert (done.returncode, json.loads(done.stdout)["error"]["message"]) == (
            2,
            "--json comes after the verb.",
        )


def test_a_file_that_cannot_be_edited_stays_as_it_is(home: Home) -> None:
    text = '{\n  // my comment\n  "theme": "dark"\n}\n'
    mine(home).write_text(text)
    done = home.command("config", "set", "timeout", "9")
    assert done.returncode == 2
    assert done.stderr.startswith(f"{mine(home)} cannot be edited: it is not JSON, line 2.\n")
    assert mine(home).read_text() == text
    mine(home).write_text("{}")
    mine(home).chmod(0o666)
    done = home.command("config", "set", "timeout", "9")
    assert (done.returncode, mine(home).read_text()) == (3, "{}")


def test_no_link_leads_out_of_a_project(home: Home) -> None:
    outside = home.folder / "outside"
    outside.mkdir()
    (home.project / ".pi").symlink_to(outside)
    done = home.command("config", "set", "--project", "timeout", "9")
    assert (done.returncode, list(outside.iterdir())) == (3, [])
    assert "leads out of the project" in done.stderr


def test_the_root_folder_has_settings_as_any_project_has(home: Home) -> None:
    assert places.project_path("/") == "/.pi/settings.json"
    assert SettingsFiles(home.environment, "/").text("project")  # and no refusal


def test_keys_that_nobody_reads_are_told(home: Home) -> None:
    mine(home).write_text('{"subagents": {"timout": 9}}')
    path = mine(home)
    assert home.command("config").stderr == (
        f'warning: {path}: There is no setting "timout": did you mean timeout?\n'
    )
    assert told(home, "list")["warnings"] == [f'{path}: There is no setting "timout": did you mean timeout?']


def test_the_file_is_edited_and_checked(home: Home) -> None:
    editor, texts = home.folder / "editor.sh", home.folder / "texts"
    editor.write_text(f'#!/bin/sh\ncp "$1" {texts}.seen\ncat {texts} >"$1"\n')
    editor.chmod(0o755)
    texts.write_text('{"subagents": {"timeout": 9,}}')
    argv, environment = [*COMMAND, "config", "edit"], home.environment | {"EDITOR": str(editor)}
    terminal = Terminal(argv, environment, home.project)
    terminal.shows("Edit it again?")
    assert not mine(home).exists()
    texts.write_text('{"subagents": {"timeout": 9, "notfy": "bell"}}\n')
    terminal.type("y\r")
    terminal.shows("did you mean notify?")
    assert terminal.left() == 0
    terminal.close()
    assert mine(home).read_text() == texts.read_text()
    assert Path(f"{texts}.seen").read_text() == '{"subagents": {"timeout": 9,}}\n'
