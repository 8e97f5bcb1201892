"""A brand's own agent files as presets: what their keys mean, what is refused, whose they are, who wins."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.presets.shelf import Shelf
from tests.status.watchers import checked
from tmuxagents.agents import AGENTS
from tmuxagents.presets import describe, preset
from tmuxagents.presets.catalogue import Catalogue
from tmuxagents.presets.preset import BadPreset, Preset, PresetFile

if TYPE_CHECKING:
    from tests.desk import Desk

NAMED = "---\nname: reviewer\ndescription: Reviews\n"
BODY = "---\nReview what changed.\n"
LOOKS = "tools: Read, Grep, Glob\nmodel: sonnet\npermissionMode: plan\ncolor: blue\n"


def read(brand: str, text: str, *, source: str = "global", name: str = "reviewer.md") -> Any:
    files = AGENTS[brand].agent_files()
    path = f"/home/dev/{name}"
    return preset.parse(PresetFile(kind="preset", source=source, path=path, text=text, brand=files))


@pytest.mark.parametrize(
    ("brand", "text", "fields"),
    [
        (
            "claude",
            f"{NAMED}{LOOKS}{BODY}",
            {"model": "sonnet", "tools": ["read", "grep", "find"], "permission": "read-only"},
        ),
        ("claude", f"{NAMED}model: inherit\n{BODY}", {}),
        ("claude", f"{NAMED}tools: [MultiEdit, Edit, WebFetch]\n{BODY}", {"tools": ["edit", "WebFetch"]}),
        ("claude", f"{NAMED}tools: '*'\npermissionMode: acceptEdits\n{BODY}", {"permission": "edit"}),
        ("gemini", f"{NAMED}tools: [read_file, replace]\n{BODY}", {"tools": ["read", "edit"]}),
        (
            "qwen",
            f"{NAMED}tools: [glob, web_fetch]\napprovalMode: yolo\n{BODY}",
            {"tools": ["find", "web_fetch"], "permission": "full"},
        ),
        (
            "copilot",
            "---\nname: The Reviewer\ndescription: Reviews\ntools: [execute, Search]\ntarget: vscode\n"
            + BODY,
            {"tools": ["bash", "grep", "find"]},
        ),
        ("opencode", f"---\ndescription: Reviews\nmode: subagent\n{BODY}", {}),
        ("opencode", f"---\ndescription: Reviews\ntools:\n  bash: true\n{BODY}", {}),
        (
            "opencode",
            f"---\ndescription: Reviews\nmodel: a/b\ntools: {{'*': false, read: true, 'web*': true}}\n{BODY}",
            {"model": "a/b", "tools": ["read", "webfetch", "websearch"]},
        ),
        (
            "opencode",
            f"---\ndescription: Reviews\npermission:\n  bash: deny\n  edit: deny\n  'web*': deny\n{BODY}",
            {"tools": ["read", "write", "grep", "find", "ls", "edit", "todowrite", "skill", "lsp"]},
        ),
    ],
)
def test_what_the_keys_of_a_brand_mean(brand: str, text: str, fields: dict[str, Any]) -> None:
    found = read(brand, text)
    assert isinstance(found, Preset), found and found.warning()
    own = {"description": "Reviews", "systemPrompt": "Review what changed.", "agent": brand}
    assert (found.name, found.fields) == ("reviewer", own | fields)


def test_a_codex_agent_is_toml() -> None:
    text = 'name = "reviewer"\ndescription = "Reviews"\nsandbox_mode = "read-only"\nmodel = "m"\n'
    text += 'developer_instructions = """\nReview\nit.\n"""\nnickname_candidates = ["Ann"]\n'
    found = read("codex", text, name="reviewer.toml")
    assert isinstance(found, Preset), found and found.warning()
    assert found.fields == {
        "description": "Reviews",
        "model": "m",
        "permission": "read-only",
        "systemPrompt": "Review\nit.",
        "agent": "codex",
    }
    bad = read("codex", f"{text}[mcp_servers.docs]\nurl = 'x'\n", name="reviewer.toml")
    assert [flaw.words()[:26] for flaw in bad.flaws] == ["line 10, mcp_servers: a pr"]
    assert "cannot be read as TOML" in read("codex", "name = ", name="a.toml").flaws[0].message


@pytest.mark.parametrize(
    ("brand", "line", "said"),
    [
        ("claude", "hooks:\n  Stop: []", "line 5, hooks: a preset has nothing that means this"),
        ("claude", "tools: Bash(git *)", "line 4, tools: 'Bash(git *)' is no tool that a child"),
        ("claude", "tools: Task, mcp__x__y", "line 4, tools: 'Task' is no tool that a child"),
        ("claude", "tools: {a: b}", "line 4, tools: this must be a list of words"),
        ("claude", "permissionMode: auto", "line 4, permissionMode: no permission level means 'auto'"),
        ("claude", "tools: []", "line 4, tools: it is empty"),
        ("opencode", "permission:\n  bash: ask", "line 5, permission: this must say allow or deny of each"),
        ("opencode", "tools: [read]", "line 4, tools: this must say true or false of each tool"),
        ("opencode", "temperature: 0.1", "line 4, temperature: a preset has nothing that means this"),
        ("gemini", "tools: [web_fetch]", "line 4, tools: 'web_fetch' is no tool that a child"),
    ],
)
def test_what_no_preset_means_is_refused_by_its_key(brand: str, line: str, said: str) -> None:
    found = read(brand, f"{NAMED}{line}\n{BODY}")
    assert isinstance(found, BadPreset)
    assert found.flaws[0].words().startswith(said)


def test_a_file_that_is_no_agent_is_none() -> None:
    assert read("claude", "# Read me\n") is None
    assert read("claude", f"---\ndescription: d\n{BODY}") is None
    assert read("opencode", "Only text.\n") is None


def test_ours_comes_first_then_the_order_of_the_setting_and_each_says_whose_it_is() -> None:
    def file(brand: str | None, source: str, place: int = 0) -> PresetFile:
        files = AGENTS[brand].agent_files() if brand else None
        path = f"/{brand}-{source}/reviewer.md"
        text = f"{NAMED}model: m\n{BODY}"
        return PresetFile(kind="preset", source=source, path=path, text=text, brand=files, place=place)

    files = [
        file("claude", "global", 1),
        file("gemini", "global"),
        file("gemini", "project"),
        file(None, "global"),
    ]
    found = Catalogue(files).presets
    assert [one.path.split("/")[1] for one in found] == [
        *("None-global", "gemini-project", "gemini-global", "claude-global"),
    ]
    ours, theirs = found[0], found[1]
    assert (ours.whose, theirs.whose) == (None, "Gemini CLI")
    assert ("from" in describe.document(ours), describe.document(theirs)["from"]) == (False, "Gemini CLI")
    assert "From: Gemini CLI's agents of this project" in describe.provenance(theirs)
    assert "project, gemini (hidden)" in "\n".join(describe.table(found, 200))
    assert ("of" in ours.file.document(), theirs.file.document()["of"]) == (False, "gemini")
    assert [ours.for_agent("pi").model, theirs.for_agent(None).model, theirs.for_agent("gemini").model] == [
        "m"
    ] * 3
    other = theirs.for_agent("codex")
    assert (other.model, other.warnings[0].startswith("preset reviewer: the model m is one of")) == (
        None,
        True,
    )


# --- the installed command ----------------------------------------------------------------------------------


@pytest.fixture
def shelf(desk: Desk) -> Shelf:
    shelf = Shelf(desk.home)
    settings = {"subagents": {"presetsFrom": ["claude", "opencode"]}}
    (desk.home.agent_dir / "settings.json").write_text(json.dumps(settings))
    shelf.put(desk.home.folder / ".claude" / "agents" / "reviewer.md", f"{NAMED}{LOOKS}{BODY}")
    theirs = f"{NAMED}permissionMode: bypassPermissions\n{BODY}".replace("reviewer", "breaker")
    shelf.put(desk.home.project / ".claude" / "agents" / "breaker.md", theirs)
    own = desk.home.folder / ".config" / "opencode" / "agent" / "reviewer.md"
    shelf.put(own, f"---\ndescription: Another\n{BODY}")
    shelf.put(desk.home.project / ".opencode" / "agents" / "bad.md", f"---\ndescription: d\nsteps: 3\n{BODY}")
    return shelf


def test_they_are_listed_with_whose_they_are_and_only_if_the_users_setting_names_them(
    desk: Desk, shelf: Shelf
) -> None:
    document = shelf.document("list")
    found = [(one["name"], one["source"], one["from"], one["agent"]) for one in document["presets"]]
    assert found == [
        ("breaker", "project", "Claude Code", "claude"),
        ("reviewer", "global", "Claude Code", "claude"),
        ("reviewer", "global", "opencode", "opencode"),
    ]
    assert document["presets"][2]["hiddenBy"] == document["presets"][1]["path"]
    assert [one for one in document["warnings"] if "bad.md: line 3, steps: a preset has nothing" in one]
    assert "project, claude" in shelf("list").stdout
    assert "From: Claude Code's agents of this project" in shelf("show", "breaker").stdout
    assert "presetFrom" not in shelf("check", "reviewer").stdout
    assert "steps" in shelf.error("show", "bad")["message"]
    (desk.home.agent_dir / "settings.json").write_text("{}")
    project = {"subagents": {"presetsFrom": ["claude"]}}
    shelf.put(desk.home.project / ".pi" / "settings.json", json.dumps(project))
    assert shelf.document("list")["presets"] == []
    assert [one for one in shelf.warnings("list") if "a project may not set 'presetsFrom'" in one]


def test_our_own_presets_win_and_theirs_are_only_read(desk: Desk, shelf: Shelf) -> None:
    for verb in (("edit", "breaker", "--set", "model=m"), ("rm", "breaker", "--yes")):
        assert "which tmuxagents only reads" in shelf.error(*verb)["message"]
    made = shelf("new", "reviewer", "-d", "Ours")
    assert made.returncode == 0, made.stderr
    first = shelf.document("list")["presets"][1]
    assert (first["description"], "from" in first) == ("Ours", False)
    assert shelf("rm", "reviewer", "--yes").returncode == 0
    assert (desk.home.folder / ".claude" / "agents" / "reviewer.md").exists()
    assert shelf.document("show", "reviewer")["from"] == "Claude Code"


def test_a_run_tells_whose_agent_it_is_and_a_projects_only_narrows(desk: Desk, shelf: Shelf) -> None:
    stand_in = shelf.put(desk.home.folder / "claude", "#!/bin/sh\necho 2.1.328\n")
    stand_in.chmod(0o700)
    told = {"TMUXAGENTS_CLAUDE": str(stand_in)}
    for name, source, permission in (("reviewer", "", "read-only"), ("breaker", " of this project", "edit")):
        done = desk("launch", "-p", name, "Do it.", variables=told)
        assert f"preset {name} from Claude Code's agents{source}, " in done.stderr
        run_id = done.stdout.strip()
        desk.result(run_id)
        meta = json.loads((desk.folder(run_id) / "meta.json").read_text())
        assert (meta["agent"], meta["presetFrom"], meta["permission"]) == (
            "claude",
            "Claude Code",
            permission,
        )
        polled = checked(desk("poll", run_id, "--json").stdout, "poll")["runs"][0]
        assert polled["presetFrom"] == "Claude Code"


def test_another_agent_gets_their_tools_by_its_names_and_no_model_of_theirs(desk: Desk, shelf: Shelf) -> None:
    own = desk.home.folder / ".claude" / "agents" / "reviewer.md"
    shelf.put(own, f"{NAMED}{LOOKS}{BODY}".replace("permissionMode: plan\n", ""))
    done = desk("launch", "--agent", "pi", "-m", "mock/mock-text", "-p", "reviewer", "--json", "Do it.")
    assert done.returncode == 0, done.stderr
    receipt = checked(done.stdout, "receipt")
    assert receipt["run"]["tools"] == ["read", "grep", "find"]
    assert [one for one in receipt["warnings"] if "the model sonnet is one of Claude Code" in one]
    text = f"{NAMED}tools: Read, WebFetch\n{BODY}".replace("reviewer", "fetcher")
    shelf.put(desk.home.folder / ".claude" / "agents" / "fetcher.md", text)
    refused = desk(
        "launch",
        "--agent",
        "copilot",
        "-p",
        "fetcher",
        "Do it.",
        variables={"TMUXAGENTS_COPILOT": "/bin/true"},
    )
    assert (refused.returncode, "The agent copilot has no tool WebFetch" in refused.stderr) == (2, True)
