"""A preset with another account: its variables reach the child and no file, and the receipt names it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.presets.preset_files import bad, preset
from tests.presets.shelf import Shelf
from tests.presets.test_preset_launch import ECHO, Launch
from tests.status.watchers import checked

if TYPE_CHECKING:
    from tests.desk import Desk

SECRET = "sk-of-another-account"
HEADER = "name: scout\ndescription: d\naccount: work\nhome: ~/other\nenv:\n  WORK_KEY: {}\n  SHARED: preset\n"


@pytest.fixture
def shelf(desk: Desk) -> Shelf:
    shelf = Shelf(desk.home)
    own = {"agents": {"pi": {"home": "~/mine", "env": {"SHARED": "settings", "MINE": "1"}}}}
    (desk.home.agent_dir / "settings.json").write_text(json.dumps({"subagents": own}))
    shelf.put(shelf.own / "scout.md", f"---\n{HEADER.format(SECRET)}---\nLook.\n")
    return shelf


@pytest.mark.parametrize(
    ("header", "said"),
    [
        ("home: other", "line 4, home: this must be an absolute path, or begin with ~/"),
        ("home: [a]", "line 4, home: this must be a line of text"),
        ("env: x", "line 4, env: this must have a name and a text in each line below it"),
        ("env:\n  A: [b]", "line 5, env: this must have a name and a text in each line below it"),
        ("env:\n  A-B: b", "line 5, env: this must have a name and a text in each line below it"),
    ],
)
def test_what_a_preset_may_say_of_an_account(header: str, said: str) -> None:
    assert bad(f"name: a\ndescription: d\n{header}") == [said]


def test_an_account_is_called_as_the_preset_says_or_as_the_preset() -> None:
    assert [preset(f"home: /h{more}").account for more in ("", "\naccount: work")] == ["scout", "work"]
    assert [preset().account, preset("account: work").account] == [None, None]
    assert preset("env:\n  A: 0123\n  B: off").variables == {"A": "0123", "B": "off"}


@pytest.mark.usefixtures("shelf")
def test_the_child_has_the_presets_account_and_no_file_has_its_values(desk: Desk) -> None:
    run = Launch(desk, "-p", "scout")
    got = {key: run.environment.get(key) for key in ("WORK_KEY", "SHARED", "MINE", "PI_CODING_AGENT_DIR")}
    assert got == {
        "WORK_KEY": SECRET,
        "SHARED": "preset",
        "MINE": "1",
        "PI_CODING_AGENT_DIR": f"{desk.home.folder}/other",
    }
    assert SECRET not in " ".join(run.argv)
    for path in desk.home.state.rglob("*"):
        if path.is_file():
            assert not any(value.encode() in path.read_bytes() for value in (SECRET, "/other")), path
    ending = json.loads((run.folder / "result.json").read_text())
    polled = checked(desk("poll", "--all", "--json").stdout, "poll")["runs"][0]
    assert [one["account"] for one in (run.meta, run.run, ending, polled)] == ["work"] * 4


def test_a_resume_keeps_the_account_or_is_refused(desk: Desk, shelf: Shelf) -> None:
    first = Launch(desk, "-p", "scout").run["runId"]
    record = desk.home.folder / "record.echo"
    record.unlink()
    told = {"TMUXAGENTS_PI": str(ECHO)}
    done = desk("resume", first, "Go on.", "--json", variables=told)
    assert done.returncode == 0, done.stderr
    second = checked(done.stdout, "receipt")["run"]
    desk.result(second["runId"])
    assert json.loads(record.read_text())["environment"]["WORK_KEY"] == SECRET
    assert second["account"] == "work"
    shelf.put(shelf.own / "scout.md", "---\nname: scout\ndescription: d\n---\nLook.\n")
    done = desk("resume", second["runId"], "Go on.", variables=told)
    assert (done.returncode, "The account work of the session is no longer that of" in done.stderr) == (
        4,
        True,
    )


def test_a_projects_preset_chooses_no_account(desk: Desk, shelf: Shelf) -> None:
    text = f"---\n{HEADER.format('theirs').replace('scout', 'clone')}---\nLook.\n"
    path = shelf.put(shelf.theirs / "clone.md", text)
    run = Launch(desk, "-p", "clone")
    for key in ("account", "home", "env"):
        assert f"{path}: a project's preset may not set {key}; it is ignored" in run.warnings
    assert (run.environment.get("WORK_KEY"), run.environment["SHARED"]) == (None, "settings")
    assert "account" not in run.meta


@pytest.mark.usefixtures("shelf")
def test_presets_show_names_and_no_values(desk: Desk) -> None:
    shown = desk("presets", "show", "scout")
    assert ("WORK_KEY, SHARED" in shown.stdout, SECRET in shown.stdout) == (True, False)
    document = checked(desk("presets", "show", "scout", "--json").stdout, "preset")
    assert (document["account"], document["home"]) == ("work", "~/other")
    assert document["env"] == ["WORK_KEY", "SHARED"]


def test_an_edit_keeps_the_account(desk: Desk, shelf: Shelf) -> None:
    done = desk("presets", "edit", "scout", "--set", "timeout=20m", "--set", "account=home")
    assert done.returncode == 0, done.stderr
    assert Launch(desk, "-p", "scout").environment["WORK_KEY"] == SECRET
    assert (
        'env: {"WORK_KEY": "sk-of-another-account", "SHARED": "preset"}'
        in (shelf.own / "scout.md").read_text()
    )
