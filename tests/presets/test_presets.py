"""presets list, show and check by the installed command: what there is, who wins, what is bad."""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING, Any

import pytest

from tests.presets.shelf import EXAMPLE, Shelf

if TYPE_CHECKING:
    from tests.harness import Home

NONE = "There are no presets yet.\nhint: tmuxagents presets new NAME\n"
COPILOT = "github-copilot/gpt-4o"
KEY = "sk-SECRETSECRETSECRET"


@pytest.fixture
def shelf(home: Home) -> Shelf:
    return Shelf(home)


# --- list -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("arguments", [("list",), ("ls",), ()])
def test_a_fresh_machine_has_none(shelf: Shelf, arguments: tuple[str, ...]) -> None:
    shelf.put(shelf.home.project / ".pi/agents/scout.md", EXAMPLE)  # nobody's place
    done = shelf(*arguments)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", NONE)
    assert shelf.document("list") == {"v": 1, "presets": [], "warnings": []}


def test_the_table(shelf: Shelf) -> None:
    own = shelf.put(shelf.own / "scout.md", EXAMPLE)
    shelf.put(shelf.theirs / "scout.md", EXAMPLE.replace("read,grep,find,ls", "read,bash"))
    shelf.put(shelf.profiles / "p.md", "---\nname: p\nprovider: x\nmodel: y\nnoTools: true\n---\n")
    done = shelf("list")
    assert [line.split("  ") for line in re.sub(" {3,}", "  ", done.stdout).splitlines()] == [
        ["NAME", "KIND", "SOURCE", "MODEL", "TOOLS", "DESCRIPTION"],
        ["p", "profile", "global", "x/y", "none", "-"],
        ["repo-scout", "preset", "project", COPILOT, "read,bash", "Finds its way aroun…"],
        ["repo-scout", "preset", "global (hidden)", COPILOT, "read,grep,find,ls", "Finds its way aroun…"],
    ]
    assert {len(line) for line in done.stdout.splitlines()[2:]} == {100}
    assert done.stderr == (
        f"warning: preset repo-scout: project file hides {own} and allows more tools (bash)\n"
    )
    names = [(one["name"], one["source"], one["hides"]) for one in shelf.document("list")["presets"]]
    assert names == [
        ("p", "global", None),
        ("repo-scout", "project", str(own)),
        ("repo-scout", "global", None),
    ]


def test_presets_of_the_project_can_be_switched_off(shelf: Shelf) -> None:
    shelf.put(shelf.theirs / "scout.md", EXAMPLE)
    assert "repo-scout" in shelf("list").stdout
    assert shelf("list", TMUXAGENTS_PROJECT_PRESETS="false").stdout == ""


def test_hostile_and_broken_files_are_one_warning_each_and_cost_nothing(shelf: Shelf) -> None:
    folder = shelf.theirs
    shelf.put(folder / "good.md", EXAMPLE)
    shelf.put(folder / "bomb.md", "---\nname: b\nx: " + "[" * 60000)
    shelf.put(folder / "broken.md", "---\nname: x\ndescription: a: b\n---\n")
    shelf.put(folder / "nameless.md", "just notes\n")
    os.mkfifo(folder / "fifo.md")
    (folder / "secret.md").symlink_to("/etc/passwd")
    done = shelf("list")
    failed = f"Failed to load preset from {folder}"
    assert (done.returncode, len(done.stdout.splitlines())) == (0, 2)
    assert shelf.warnings("list") == [
        f"presets: {folder}/fifo.md is skipped: it is no regular file",
        f"presets: {folder}/secret.md is skipped: it is a symbolic link that leaves its folder",
        f"{failed}/bomb.md: line 1: the header is not closed: a line `---` is missing",
        f'{failed}/broken.md: line 3, description: a text that holds ": " must be in quotes',
    ]
    assert "root:" not in done.stdout + done.stderr


def test_what_a_projects_profile_may_not_set_is_said_to_the_letter(shelf: Shelf) -> None:
    path = shelf.put(shelf.home.project / ".pi/agent-profiles/p.md", f"---\nname: p\napiKey: {KEY}\n---\n")
    refused = (
        f'Warning: Refusing to load apiKey from project-local profile "p" in {path}. Move the profile to the '
        "global directory (~/.pi/agent/agent-profiles/) or use environment variables.\n"
    )
    assert shelf("list").stderr == refused
    assert shelf.document("show", "p")["apiKey"] is None


def test_the_users_setting_lets_a_projects_profile_be_whole(shelf: Shelf) -> None:
    shelf.put(shelf.home.project / ".pi/agent-profiles/p.md", "---\nname: p\nextraArgs: --verbose\n---\n")
    settings = shelf.put(shelf.home.agent_dir / "settings.json", '{"subagents": {"projectProfiles": "full"}}')
    assert shelf.document("show", "p")["extraArgs"] == ["--verbose"]
    settings.unlink()
    shelf.put(shelf.home.project / ".pi/settings.json", '{"subagents": {"projectProfiles": "full"}}')
    assert shelf.document("show", "p")["extraArgs"] == []


# --- show -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("arguments", [("show", "repo-scout"), ("repo-scout",)])
def test_the_example_is_shown_as_written(shelf: Shelf, arguments: tuple[str, ...]) -> None:
    path = shelf.put(shelf.own / "any.md", EXAMPLE)
    done = shelf(*arguments)
    assert done.returncode == 0
    assert re.fullmatch(
        "Preset: repo-scout\n"
        "  description:       Finds its way around a repository\n"
        "  model:             github-copilot/gpt-4o\n"
        "  tools:             \\[read, grep, find, ls\\]\n"
        "  systemPrompt:      Look around quickly, report what you found in a few lines, change nothing.\n"
        f"\nFile: {re.escape(str(path))} \\(global, sha256 [0-9a-f]{{12}}\\)\n",
        done.stdout,
    )
    shown = shelf.document("show", "repo-scout")
    assert (shown["model"], shown["tools"]) == ("github-copilot/gpt-4o", ["read", "grep", "find", "ls"])


def test_a_key_is_never_shown(shelf: Shelf) -> None:
    shelf.put(shelf.profiles / "p.md", f"---\nname: p\napiKey: {KEY}\n---\n")
    for arguments in (("show", "p"), ("show", "p", "--json"), ("list",), ("list", "--json"), ("check", "p")):
        done = shelf(*arguments)
        assert done.returncode == 0
        assert "SECRETSECRET" not in done.stdout + done.stderr
    assert "  apiKey:            sk-S****CRET\n" in shelf("show", "p").stdout


def test_a_hidden_one_is_shown_by_its_source(shelf: Shelf) -> None:
    own, theirs = shelf.put(shelf.own / "a.md", EXAMPLE), shelf.put(shelf.theirs / "a.md", EXAMPLE)
    assert shelf.document("show", "repo-scout")["path"] == str(theirs)
    hidden = shelf.document("show", "global:repo-scout")
    assert (hidden["path"], hidden["hiddenBy"]) == (str(own), str(theirs))


def test_one_that_is_not_there(shelf: Shelf) -> None:
    shelf.put(shelf.own / "a.md", EXAMPLE)
    problem = shelf.error("show", "repo-scuot")
    assert (problem["kind"], problem["message"], problem["hint"], problem["candidates"]) == (
        "unknown-preset",
        'Unknown preset: "repo-scuot". Available presets: repo-scout',
        "Did you mean repo-scout?",
        ["repo-scout"],
    )


def test_one_whose_file_is_bad(shelf: Shelf) -> None:
    path = shelf.put(shelf.own / "a.md", "---\nname: a\n---\n")
    problem = shelf.error("show", "a")
    words = f"Failed to load preset from {path}: description: it is missing"
    assert (problem["kind"], problem["message"].startswith(words)) == ("bad-preset", True)


def test_no_terminal_is_told_what_to_do_by_a_file(shelf: Shelf) -> None:
    evil = '---\nname: "evil"\ndescription: "a\\e[31m\\e]52;c;eA==\\a"\n---\nBody \x1b[2J\x9b31m\n'
    shelf.put(shelf.own / "a.md", evil)
    for arguments in (("list",), ("show", "evil"), ("check",), ("show", "\x1b[31m")):
        done = shelf(*arguments)
        assert not re.search("[\x1b\x9b\x07]", done.stdout + done.stderr)


# --- check ------------------------------------------------------------------------------------------------


def test_files_that_are_good(shelf: Shelf) -> None:
    own = shelf.put(shelf.own / "a.md", EXAMPLE)
    profile = shelf.put(shelf.profiles / "p.md", "---\nname: p\nnoTools: 'true'\ncolour: red\n---\n")
    done = shelf("check")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (
        f"ok   {profile} (global profile p)\n"
        "     line 3, noTools: this counts only when it is literally true\n"
        "     line 4, colour: a profile has no such key; it is ignored\n"
        f"ok   {own} (global preset repo-scout)\n"
    )
    (checked_,) = shelf.document("check", str(own))["files"]
    assert (checked_["path"], checked_["name"], checked_["faults"]) == (str(own), "repo-scout", [])


BAD = "---\nname: a\ndescription: d\ntools:\ntimeout: soon\n---\n"


def test_files_that_are_bad_by_path_and_by_name(shelf: Shelf) -> None:
    path = shelf.put(shelf.own / "a.md", BAD)
    empty = f"{path}: line 4, tools: it is empty: name the tools, or leave the key out to restrict none"
    for wanted in (str(path), "a", "global:a", os.path.relpath(path, shelf.home.project)):
        problem = shelf.error("check", wanted)
        assert (problem["kind"], problem["message"]) == ("bad-preset", empty)
        assert [(fault["field"], fault["message"]) for fault in problem["faults"]] == [
            ("tools", empty),
            (
                "timeout",
                f"{path}: line 5, timeout: this must be a duration like 90s or 5m, at least 1s",
            ),
        ]
    assert shelf("check", "a").stdout == (
        f"bad  {path}\n"
        "     line 4, tools: it is empty: name the tools, or leave the key out to restrict none\n"
        "     line 5, timeout: this must be a duration like 90s or 5m, at least 1s\n"
    )


def test_only_what_was_named_is_checked(shelf: Shelf) -> None:
    shelf.put(shelf.own / "bad.md", BAD)
    shelf.put(shelf.own / "good.md", EXAMPLE)
    assert shelf("check", "repo-scout").returncode == 0
    assert shelf("check").returncode == 2


def test_a_profile_that_contradicts_itself_is_bad(shelf: Shelf) -> None:
    path = shelf.put(shelf.profiles / "p.md", "---\nname: p\nprovider: x\nextraArgs: a;b\n---\n")
    problem = shelf.error("check", "p")
    assert (problem["kind"], problem["message"]) == (
        "bad-profile",
        f'{path}: Profile "p" sets provider without model; set model as well.',
    )
    assert len(problem["faults"]) == 2


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (
            lambda path: path.write_text("just notes"),
            "line 1: it has no header: the file must begin with a line `---`",
        ),
        (
            lambda path: path.write_text("---\nname: 5\n---\n"),
            "line 2, name: the name must be a text; put it in quotes",
        ),
        (os.mkfifo, "it is no regular file"),
        (lambda path: path.symlink_to("/etc/passwd"), "it is a symbolic link that leaves its folder"),
        (lambda path: path.write_bytes(b"\xff"), "it is not UTF-8"),
        (lambda _: None, "no such file or directory"),
    ],
)
def test_a_file_that_is_no_preset(shelf: Shelf, make: Any, words: str) -> None:
    path = shelf.home.project / "a.md"
    make(path)
    assert shelf.error("check", "a.md")["message"] == f"{path}: {words}"


@pytest.mark.parametrize(
    ("place", "kind", "source"),
    [
        ("agent/subagents/x.md", "preset", "global"),
        ("agent/agent-profiles/x.md", "profile", "global"),
        ("project/.pi/subagents/x.md", "preset", "project"),
        ("project/.pi/agent-profiles/x.md", "profile", "project"),
        ("project/lib/agent-profiles/x.md", "profile", "global"),
        ("project/x.md", "preset", "global"),
    ],
)
def test_what_a_file_is_depends_on_where_it_lies(shelf: Shelf, place: str, kind: str, source: str) -> None:
    path = shelf.put(shelf.home.folder / place, EXAMPLE)
    (one,) = shelf.document("check", str(path))["files"]
    assert (one["kind"], one["source"]) == (kind, source)


def test_what_is_left_out_is_bad_too(shelf: Shelf) -> None:
    shelf.put(shelf.theirs / "a.md", EXAMPLE)
    shelf.theirs.chmod(0o777)
    (shelf.own / "x.md").parent.mkdir(parents=True)
    (shelf.own / "x.md").symlink_to("/etc/passwd")
    messages = {fault["message"] for fault in shelf.error("check")["faults"]}
    assert messages == {
        f"{shelf.theirs}: others can write to it (chmod go-w)",
        f"{shelf.own}/x.md: it is a symbolic link that leaves its folder",
    }


def test_a_name_that_nothing_has_cannot_be_checked(shelf: Shelf) -> None:
    assert shelf.error("check", "ghost")["message"] == 'Unknown preset: "ghost". Available presets: (none)'


# --- verbs ------------------------------------------------------------------------------------------------


def test_an_unknown_verb_names_the_nearest(shelf: Shelf) -> None:
    problem = shelf.error("lst")
    assert (problem["message"], problem["hint"]) == ('presets has no verb "lst".', "did you mean list?")
    assert shelf("--json", "list").returncode == 2
    assert json.loads(shelf("--json").stdout)["presets"] == []


def test_a_name_alone_shows_the_preset(shelf: Shelf) -> None:
    shelf.put(shelf.own / "a.md", EXAMPLE)
    assert shelf("plain").stdout == shelf("show", "plain").stdout
    shown = shelf.document("show", "repo-scout")
    assert shelf.document("repo-scout") == shown
    before = shelf.home.command("--json", "presets", "repo-scout")
    assert (before.returncode, json.loads(before.stdout)) == (0, shown)
    before = shelf.home.command("--json", "presets", "ghost")
    assert (before.returncode, json.loads(before.stdout)["error"]["kind"]) == (2, "unknown-preset")


def test_a_shell_completes_names(shelf: Shelf) -> None:
    shelf.put(shelf.own / "a.md", EXAMPLE)
    variables = {
        "_TMUXAGENTS_COMPLETE": "bash_complete",
        "COMP_WORDS": "tmuxagents presets show re",
        "COMP_CWORD": "3",
    }
    assert shelf(**variables).stdout == "plain,repo-scout\n"
