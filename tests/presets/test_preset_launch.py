"""A launch with a preset or profile: what reaches the child, what is written down, what is refused."""

from __future__ import annotations

import hashlib
import json
import os
import signal
from typing import TYPE_CHECKING, Any

import pytest

from tests.apart import Apart
from tests.harness import REPOSITORY, real_pi
from tests.presets.shelf import EXAMPLE, Shelf
from tests.status.watchers import checked

if TYPE_CHECKING:
    from pathlib import Path

    from tests.desk import Desk
    from tests.harness import ModelServer

ECHO = REPOSITORY / "tests" / "children" / "echo.py"
BODY = "Look around quickly, report what you found in a few lines, change nothing."
KEY = "sk-SECRETSECRETSECRET"


class Launch:
    """A launched run of a child that writes down what reached it."""

    def __init__(self, desk: Desk, *arguments: str, **variables: str) -> None:
        told = {"TMUXAGENTS_PI": str(ECHO), **variables}
        done = desk("launch", "-m", "mock/mock-text", "--json", *arguments, "Do it.", variables=told)
        assert done.returncode == 0, done.stderr
        receipt = checked(done.stdout, "receipt")
        self.run: dict[str, Any] = receipt["run"]
        self.warnings: list[str] = receipt["warnings"]
        self.folder = desk.folder(self.run["runId"])
        desk.result(self.run["runId"])
        seen = json.loads((desk.home.folder / "record.echo").read_text())
        self.argv: list[str] = seen["argv"]
        self.environment: dict[str, str] = seen["environment"]
        self.meta: dict[str, Any] = json.loads((self.folder / "meta.json").read_text())

    @property
    def flags(self) -> list[str]:
        """The flags behind session and model, with paths of the run directory made short."""
        flags = self.argv[self.argv.index("--session") + 2 :]
        assert flags[0] == "--model"
        return [flag.replace(f"{self.folder}/", "RUN/") for flag in flags]

    def files(self) -> str:
        """Return everything that lies in the run directory, as one text."""
        return "".join(path.read_text("utf-8", "replace") for path in self.folder.iterdir() if path.is_file())


@pytest.fixture
def shelf(desk: Desk) -> Shelf:
    return Shelf(desk.home)


def test_what_a_preset_gives_the_child(desk: Desk, shelf: Shelf) -> None:
    path = shelf.put(shelf.own / "any.md", EXAMPLE)
    run = Launch(desk, "-p", "repo-scout")
    assert run.flags == [
        *("--model", "mock/mock-text", "--append-system-prompt", "RUN/system-prompt.md"),
        *("--tools", "read,grep,find,ls"),
    ]
    assert (run.folder / "system-prompt.md").read_text() == BODY
    assert not (run.folder / "append-system-prompt.md").exists()
    told = {key: run.meta[key] for key in run.meta if key.startswith("preset") or key == "tools"}
    assert told == {
        "preset": "repo-scout",
        "presetKind": "preset",
        "presetSource": "global",
        "presetPath": str(path),
        "presetHash": hashlib.sha256(EXAMPLE.encode()).hexdigest()[:12],
        "presetHides": None,
        "tools": ["read", "grep", "find", "ls"],
    }
    assert {key: run.run[key] for key in told} == told
    assert "Preset: repo-scout (global)" in (run.folder / "transcript.log").read_text()


@pytest.mark.parametrize("body", ["/etc/passwd", "-", "@x", "--tools", "", "é " * 20000])
def test_a_body_is_a_literal_text(desk: Desk, shelf: Shelf, body: str) -> None:
    shelf.put(shelf.own / "a.md", f"---\nname: a\ndescription: d\n---\n{body}\n")
    run = Launch(desk, "-p", "a")
    prompt = run.folder / "system-prompt.md"
    if body:
        assert prompt.read_text() == body.strip()
        assert run.flags[2:] == ["--append-system-prompt", "RUN/system-prompt.md"]
    else:
        assert not prompt.exists()
        assert run.flags[2:] == []


def test_what_a_profile_gives_the_child(desk: Desk, shelf: Shelf) -> None:
    lines = (
        "provider: mock\nmodel: mock-text\nthinkingLevel: high\nappendSystemPrompt: And this.\n"
        f"apiKey: {KEY}\nexcludeTools: bash\nnoExtensions: true\nextraArgs: --verbose"
    )
    shelf.put(shelf.profiles / "p.md", f"---\nname: p\n{lines}\n---\n\nOnly this.\n\n")
    run = Launch(desk, "-p", "p")
    assert run.flags == [
        *("--model", "mock/mock-text", "--system-prompt", "RUN/system-prompt.md"),
        *("--append-system-prompt", "RUN/append-system-prompt.md", "--thinking", "high"),
        *("--tools", "read,edit,write,grep,find,ls", "--no-extensions", "--verbose"),
    ]
    assert (run.folder / "system-prompt.md").read_text() == "Only this."
    assert (run.folder / "append-system-prompt.md").read_text() == "And this."
    assert run.environment["PI_API_KEY"] == KEY
    assert run.warnings[-1:] == [
        "profile p: no variable for the key of the provider mock is known; PI_API_KEY is set"
    ]


def test_a_key_goes_through_the_environment_and_nowhere_else(desk: Desk, shelf: Shelf) -> None:
    shelf.put(shelf.profiles / "p.md", f"---\nname: p\nmodel: openai/gpt-4o\napiKey: {KEY}\n---\n")
    run = Launch(desk, "-p", "p", "-m", "openai/gpt-4o", OPENAI_API_KEY="another")
    assert (run.environment["OPENAI_API_KEY"], run.environment["PI_API_KEY"]) == (KEY, KEY)
    assert "SECRETSECRET" not in run.files() + " ".join(run.argv)
    poll = desk("poll", "-a", "--json").stdout
    assert run.run["runId"] in poll
    assert "SECRETSECRET" not in poll


@pytest.mark.parametrize(
    ("header", "flags"),
    [
        ("noTools: true", ["--no-tools"]),
        ("tools: []", ["--tools", ""]),
        ("excludeTools: read,bash,edit,write,grep,find,ls", ["--tools", ""]),
    ],
)
def test_a_profile_that_leaves_no_tool_leaves_none(
    desk: Desk, shelf: Shelf, header: str, flags: list[str]
) -> None:
    shelf.put(shelf.profiles / "p.md", f"---\nname: p\n{header}\n---\n")
    assert Launch(desk, "-p", "p").flags[2:] == flags


def test_a_project_counts_before_the_user_without_a_question_and_loudly(desk: Desk, shelf: Shelf) -> None:
    own = shelf.put(shelf.own / "a.md", EXAMPLE)
    theirs = shelf.put(shelf.theirs / "b.md", EXAMPLE.replace("tools: read,grep,find,ls\n", ""))
    run = Launch(desk, "-p", "repo-scout")
    assert (run.meta["presetSource"], run.meta["presetPath"], run.meta["presetHides"]) == (
        "project",
        str(theirs),
        str(own),
    )
    assert run.flags[2:] == ["--append-system-prompt", "RUN/system-prompt.md"]
    assert f"preset repo-scout: project file hides {own} and allows more tools (all)" in run.warnings
    done = desk(
        "launch", "-m", "mock/mock-text", "-p", "repo-scout", "x", variables={"TMUXAGENTS_PI": str(ECHO)}
    )
    assert f"preset repo-scout: project file hides {own}" in done.stderr
    assert "(preset repo-scout of this project, model mock/mock-text)." in done.stderr


@pytest.mark.parametrize(
    ("arguments", "variables"),
    [
        (["-p", "global:repo-scout"], {}),
        (["-p", "repo-scout", "--no-project-presets"], {}),
        (["-p", "repo-scout"], {"TMUXAGENTS_PROJECT_PRESETS": "0"}),
    ],
)
def test_the_careful_choose_their_own(
    desk: Desk, shelf: Shelf, arguments: list[str], variables: dict[str, str]
) -> None:
    own = shelf.put(shelf.own / "a.md", EXAMPLE)
    shelf.put(shelf.theirs / "b.md", EXAMPLE.replace("Look", "EVIL"))
    run = Launch(desk, *arguments, **variables)
    assert (run.meta["presetPath"], run.meta["systemPrompt"]) == (str(own), BODY)
    assert not any("hides" in warning for warning in run.warnings)


def test_a_project_decides_four_keys_and_no_more(desk: Desk, shelf: Shelf) -> None:
    evil = "env: {A: b}\ntimeout: 1\nagent: nosuch\nextraArgs: --evil\nextensions: ./x.js\napiKey: k\n"
    shelf.put(shelf.theirs / "a.md", f"---\nname: a\ndescription: d\n{evil}---\n")
    run = Launch(desk, "-p", "a")
    assert (run.flags[2:], run.meta["timeout"], run.meta["agent"]) == ([], 600, "pi")
    assert "PI_API_KEY" not in run.environment
    for key in ("env", "timeout", "agent", "extraArgs", "extensions", "apiKey"):
        assert any(f"may not set {key};" in warning for warning in run.warnings)


def test_what_the_user_says_in_a_preset_of_his_own(desk: Desk, shelf: Shelf) -> None:
    header = "---\nname: a\ndescription: d\nmodel: mock/mock-text\ntimeout: 90\nkeepBackground: true\n---\n"
    shelf.put(shelf.own / "a.md", header)
    run = Launch(desk, "-p", "a")
    assert (run.meta["timeout"], run.meta["keepBackground"]) == (90, True)
    assert Launch(desk, "-p", "a", "--timeout", "30").meta["timeout"] == 30


def test_a_launch_without_preset_is_a_plain_one(desk: Desk, shelf: Shelf) -> None:
    shelf.put(shelf.own / "a.md", EXAMPLE)
    run = Launch(desk)
    assert run.flags == ["--model", "mock/mock-text"]
    assert not (run.folder / "system-prompt.md").exists()


def test_an_unknown_tool_is_passed_on_and_warned_of(desk: Desk, shelf: Shelf) -> None:
    shelf.put(shelf.own / "a.md", "---\nname: a\ndescription: d\ntools: read,nosuch\n---\n")
    run = Launch(desk, "-p", "a")
    assert run.flags[2:] == ["--tools", "read,nosuch"]
    assert "preset a: the child itself has no tool nosuch; passed on all the same" in run.warnings


def test_skills_of_a_profile_are_looked_up_when_it_is_launched(desk: Desk, shelf: Shelf) -> None:
    skills = desk.home.agent_dir / "skills"
    for name in ("coding", "testing"):
        shelf.put(
            skills / name / "SKILL.md", f"---\nname: {name}\ndescription: d\n---\nThe text of {name}.\n"
        )
    header = "name: p\nappendSystemPrompt: First.\nsuggestedSkills: coding\nloadSkills: testing"
    shelf.put(shelf.profiles / "p.md", f"---\n{header}\n---\n")
    run = Launch(desk, "-p", "p")
    assert run.flags[2:] == [
        *("--append-system-prompt", "RUN/append-system-prompt.md"),
        *("--skill", f"{skills}/coding/SKILL.md"),
    ]
    assert (run.folder / "append-system-prompt.md").read_text() == (
        'First.\n\n<loaded_skill name="testing">\nThe text of testing.\n</loaded_skill>'
    )


# --- refused ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("header", "kind", "message"),
    [
        ("name: b", "unknown-preset", 'Unknown preset: "a". Available presets: b'),
        (
            "name: a\ntools: x\nexcludeTools: y",
            "bad-profile",
            (
                'Profile "a" has both "tools" (allowlist) and "excludeTools" (blacklist) set. '
                "These are mutually exclusive — choose one or the other."
            ),
        ),
        (
            "name: a\nnoSkills: true\nloadSkills: s",
            "bad-profile",
            (
                'Profile "a" has both "loadSkills" and "noSkills" set. '
                "These are mutually exclusive — --no-skills disables skill discovery."
            ),
        ),
        (
            "name: a\nprovider: x",
            "bad-profile",
            'Profile "a" sets provider without model; set model as well.',
        ),
        (
            "name: a\nmodel: m/n\ntools: read\nextraArgs: -xt,bash",
            "bad-profile",
            (
                'Refusing extraArg "-xt" which would override profile tool restrictions. '
                "Use the dedicated profile fields instead."
            ),
        ),
        (
            "name: a\nmodel: m/n\nloadSkills: ghost",
            "unknown-skill",
            'Unknown skills: "ghost". Available skills: (none)',
        ),
        ("name: a\nb: [", "bad-profile", None),
    ],
)
def test_what_is_refused_has_made_nothing(
    desk: Desk, shelf: Shelf, header: str, kind: str, message: str | None
) -> None:
    path = shelf.put(shelf.profiles / "a.md", f"---\n{header}\n---\n")
    done = desk("launch", "--json", "-p", "a", "x", variables={"TMUXAGENTS_PI": str(ECHO)})
    problem = checked(done.stdout, "error")["error"]
    assert (done.returncode, problem["kind"]) == (2, kind)
    assert problem["message"] == message or problem["message"].startswith(
        f"Failed to load profile from {path}:"
    )
    assert desk.runs() == []
    assert not desk.sockets.exists()


def test_a_refusal_says_which_files_were_left_out_and_why(desk: Desk, shelf: Shelf) -> None:
    path = shelf.put(shelf.theirs / "scout.md", EXAMPLE)
    bad = shelf.put(shelf.own / "bad.md", "---\nname: bad\n---\n")
    path.chmod(0o666)
    why = f"{path} is skipped: others can write to it (chmod go-w)"
    done = desk("launch", "--json", "-p", "scout", "x", variables={"TMUXAGENTS_PI": str(ECHO)})
    warnings = done.stderr.splitlines()
    assert (done.returncode, warnings[0]) == (2, f"warning: presets: {why}")
    assert warnings[1].startswith(f"warning: Failed to load preset from {bad}: ")
    assert checked(done.stdout, "error")["error"]["hint"] == why
    said = desk("launch", "-p", "bad", "x", variables={"TMUXAGENTS_PI": str(ECHO)}).stderr
    assert said.count(f"Failed to load preset from {bad}: ") == 1


def test_there_is_no_flag_for_tools_or_prompts(desk: Desk) -> None:
    for flag in ("--tools", "--agent-scope", "--system-prompt"):
        assert desk("launch", flag, "x", "task").returncode == 2


# --- a file that changes while it is launched ---------------------------------------------------------------


def test_what_is_launched_is_what_was_hashed(desk: Desk, shelf: Shelf) -> None:
    path = shelf.put(shelf.theirs / "a.md", EXAMPLE)

    def rewrite() -> None:
        number = 0
        while True:
            made = path.with_name("next")
            made.write_text(f"---\nname: a\ndescription: d\n---\n{number}")
            made.rename(path)
            number += 1

    def prompts(folder: Path) -> tuple[str, str]:
        meta = json.loads((folder / "meta.json").read_text())
        text = (folder / "system-prompt.md").read_text()
        assert meta["systemPrompt"] == text
        file = f"---\nname: a\ndescription: d\n---\n{text}"
        return meta["presetHash"], hashlib.sha256(file.encode()).hexdigest()[:12]

    with Apart(rewrite) as writing:
        found = [prompts(Launch(desk, "-p", "a").folder) for _ in range(8)]
        os.kill(writing.pid, signal.SIGKILL)
    assert len(set(found)) > 1
    assert all(written == computed for written, computed in found)


# --- the real pi ------------------------------------------------------------------------------------------


@pytest.fixture
def real(desk: Desk, models: ModelServer) -> Desk:
    """Launch the real pi, with the model server's models and presets of our own."""
    desk.home.environment |= {"TMUXAGENTS_PI": real_pi()}
    (desk.home.agent_dir / "models.json").write_text((models.agent_dir / "models.json").read_text())
    return desk


def asked(desk: Desk, models: ModelServer, task: str, *arguments: str) -> dict[str, Any]:
    """Launch a task and return what the real pi asked the model."""
    run_id = desk.launch(*arguments, task)
    assert desk.result(run_id)["status"] == "completed"
    request: dict[str, Any] = models.requests(task)[0]
    return request


def system_text(request: dict[str, Any]) -> str:
    return json.dumps(
        [message for message in request["messages"] if message["role"] in ("system", "developer")]
    )


def tool_names(request: dict[str, Any]) -> list[str]:
    return sorted(
        tool if isinstance(tool, str) else tool["function"]["name"] for tool in request["tools"] or ()
    )


def test_the_real_pi_gets_prompt_tools_and_model_of_a_preset(
    real: Desk, shelf: Shelf, models: ModelServer
) -> None:
    header = "name: scout\ndescription: d\nmodel: mock/mock-text\ntools: read,ls"
    shelf.put(shelf.own / "a.md", f"---\n{header}\n---\nMARK-OF-A-PRESET")
    request = asked(real, models, "preset: say something", "-p", "scout")
    assert "MARK-OF-A-PRESET" in system_text(request)
    assert tool_names(request) == ["ls", "read"]


def test_the_real_pi_gets_a_profile(real: Desk, shelf: Shelf, models: ModelServer) -> None:
    header = "name: p\nprovider: mock\nmodel: mock-text\nappendSystemPrompt: MARK-APPENDED\nnoTools: true"
    shelf.put(shelf.profiles / "p.md", f"---\n{header}\n---\nMARK-REPLACED")
    request = asked(real, models, "profile: say something", "-p", "p")
    text = system_text(request)
    assert "MARK-REPLACED" in text
    assert "MARK-APPENDED" in text
    assert "coding assistant" not in text
    assert tool_names(request) == []


def test_the_real_pi_has_no_tool_where_none_is_left(real: Desk, shelf: Shelf, models: ModelServer) -> None:
    header = "name: p\nmodel: mock/mock-text\nexcludeTools: read,bash,edit,write,grep,find,ls"
    shelf.put(shelf.profiles / "p.md", f"---\n{header}\n---\n")
    assert tool_names(asked(real, models, "excluded: say something", "-p", "p")) == []


EXTENSION = """
export default function (pi) {
  pi.registerTool({
    name: "extra", label: "extra", description: "An extra tool.",
    parameters: { type: "object", properties: {} },
    execute: async () => ({ content: [{ type: "text", text: "done" }] }),
  });
}
"""


def test_tools_are_a_list_of_all_tools_those_of_extensions_included(
    real: Desk, shelf: Shelf, models: ModelServer
) -> None:
    extension = shelf.put(real.home.folder / "extra.ts", EXTENSION)
    header = f"name: p\nmodel: mock/mock-text\nextensions: {extension}"
    path = shelf.put(shelf.profiles / "p.md", f"---\n{header}\n---\n")
    assert "extra" in tool_names(asked(real, models, "extended: say something", "-p", "p"))
    path.write_text(f"---\n{header}\ntools: read\n---\n")
    assert tool_names(asked(real, models, "listed: say something", "-p", "p")) == ["read"]
    path.write_text(f"---\n{header}\ntools: read,nosuch\n---\n")
    assert tool_names(asked(real, models, "unknown: say something", "-p", "p")) == ["read"]
