"""What a preset or profile becomes: keys of the plan, prompt files, and in the end pi's command line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests import plans
from tests.presets.preset_files import PROJECT, catalogue, file, preset, profile
from tests.schema_examples import VALIDATORS
from tmuxagents.agents import AGENTS
from tmuxagents.agents.models import Resolved
from tmuxagents.agents.pi import command
from tmuxagents.agents.pi.command import AGENT
from tmuxagents.errors import BadRequest
from tmuxagents.launch import plan
from tmuxagents.launch.plan import LaunchRequest
from tmuxagents.runs.documents import plan_of

if TYPE_CHECKING:
    from tmuxagents.presets.preset import Preset

RUN = "01a1ee15069b4c1f"
RUN_DIR = f"/state/runs/{RUN}"
SESSION = ["--mode", "json", "--session", f"{RUN_DIR}/child-session.jsonl"]
SYSTEM, APPENDED = f"{RUN_DIR}/system-prompt.md", f"{RUN_DIR}/append-system-prompt.md"


def planned(chosen: Preset | None, model: str | None = None, resolved: str | None = None) -> dict[str, Any]:
    request = LaunchRequest(task="Find it.", cwd=PROJECT, project=PROJECT, model=model)
    found = Resolved(resolved, resolved, "preset", agent_command=["pi"]) if resolved else None
    meta = plans.document(request, run_id=RUN, now=1794996000.1, preset=chosen, model=found)
    VALIDATORS["meta"].validate(json.loads(json.dumps(meta)))
    return meta


def refusal(chosen: Preset, **call: Any) -> BadRequest:
    with pytest.raises(BadRequest) as caught:
        planned(chosen, **call)
    return caught.value


def command_line(meta: dict[str, Any]) -> list[str]:
    line = AGENT.arguments(plan_of(meta), RUN_DIR)
    assert line[: len(SESSION)] == SESSION
    return line[len(SESSION) :]


# --- presets ----------------------------------------------------------------------------------------------


def test_a_preset_stands_in_the_plan() -> None:
    chosen = preset("model: a/b\ntools: read,ls", "\nLook around.\n")
    meta = planned(chosen)
    expected = {
        "preset": "scout",
        "presetKind": "preset",
        "presetSource": "global",
        "presetPath": "/home/dev/.pi/agent/subagents/a.md",
        "presetHash": chosen.hash,
        "presetHides": None,
        "tools": ["read", "ls"],
        "systemPrompt": "Look around.",
        "systemPromptPath": "system-prompt.md",
        "appendSystemPromptPath": None,
    }
    assert {key: meta[key] for key in expected} == expected
    assert plan.prompt_files(chosen) == {"system-prompt.md": b"Look around."}
    assert list(meta) == list(planned(None)), "a preset brings no key of its own"


def test_a_plan_names_the_file_that_is_hidden() -> None:
    both = catalogue(file("name: a\ndescription: d"), file("name: a\ndescription: e", source="project"))
    meta = planned(both.choose("a"))
    assert (meta["presetSource"], meta["presetHides"]) == ("project", "/home/dev/.pi/agent/subagents/a.md")


def test_the_body_of_a_preset_is_appended() -> None:
    meta = planned(preset("tools: read,ls", "Look."), resolved="a/b")
    assert command_line(meta) == ["--model", "a/b", "--append-system-prompt", SYSTEM, "--tools", "read,ls"]


def test_without_body_and_tools_there_are_no_flags() -> None:
    assert command_line(planned(preset())) == []
    assert plan.prompt_files(preset()) == {}
    assert (planned(preset())["systemPrompt"], planned(preset())["systemPromptPath"]) == (None, None)


def test_without_a_preset_there_is_nothing_of_one() -> None:
    meta = planned(None)
    assert (meta["preset"], meta["tools"], command_line(meta), plan.prompt_files(None)) == (None, [], [], {})


@pytest.mark.parametrize("text", ["/etc/passwd", "-", "@x", "--tools", "é\n$(x) #{pid}"])
def test_no_text_of_a_prompt_stands_on_the_command_line(text: str) -> None:
    for chosen in (preset(body=text), profile(f"appendSystemPrompt: '{'é' + text[1:]}'", text)):
        line = command_line(planned(chosen))
        assert text not in line
        assert plan.prompt_files(chosen)["system-prompt.md"] == text.encode()


# --- profiles ---------------------------------------------------------------------------------------------

EVERYTHING = (
    "provider: a\nmodel: b\nthinkingLevel: high\nappendSystemPrompt: MORE\napiKey: SECRET\ntools: read,ls\n"
    "noExtensions: true\nnoContextFiles: true\nextensions: /e1,/e2\nsuggestedSkills: /s\n"
    "extraArgs: --verbose,x"
)


def test_a_profile_replaces_the_prompt_and_keeps_the_order_of_flags() -> None:
    meta = planned(profile(EVERYTHING, "BODY"), resolved="a/b")
    assert command_line(meta) == [
        *("--model", "a/b", "--system-prompt", SYSTEM, "--append-system-prompt", APPENDED),
        *("--thinking", "high", "--tools", "read,ls", "--no-extensions", "--no-context-files"),
        *("--extension", "/e1", "--extension", "/e2", "--skill", "/s", "--verbose", "x"),
    ]
    assert plan.prompt_files(profile(EVERYTHING, "BODY")) == {
        "system-prompt.md": b"BODY",
        "append-system-prompt.md": b"MORE",
    }
    assert (meta["systemPromptPath"], meta["appendSystemPromptPath"]) == (
        "system-prompt.md",
        "append-system-prompt.md",
    )


def test_the_text_of_a_prompt_file_is_trimmed() -> None:
    alone = profile().ready(
        {"appendSystemPrompt": "\n\n<loaded_skill>"}, []
    )  # as skills without a text before
    assert plan.prompt_files(alone) == {"append-system-prompt.md": b"<loaded_skill>"}
    assert plan.prompt_files(profile().ready({"appendSystemPrompt": " \n"}, [])) == {}


def test_a_key_stands_in_no_file_and_no_argument() -> None:
    chosen = profile(EVERYTHING, "BODY")
    meta = planned(chosen, resolved="a/b")
    assert "SECRET" not in json.dumps(meta)
    assert "SECRET" not in " ".join(command_line(meta))
    assert all(b"SECRET" not in text for text in plan.prompt_files(chosen).values())


@pytest.mark.parametrize(
    ("header", "flags"),
    [
        ("", []),
        ("noTools: true", ["--no-tools"]),
        ("tools: []", ["--tools", ""]),
        ("tools: read", ["--tools", "read"]),
        ("noSkills: true", ["--no-skills"]),
        ("thinkingLevel: off", ["--thinking", "off"]),
        ("appendSystemPrompt: x", ["--append-system-prompt", APPENDED]),
        ("extraArgs: ['']", [""]),
    ],
)
def test_each_field_of_a_profile_reaches_the_child(header: str, flags: list[str]) -> None:
    assert command_line(planned(profile(header))) == flags


def test_exclusions_that_leave_no_tool_reach_the_child_as_none() -> None:
    chosen = profile("excludeTools: read,bash,edit,write,grep,find,ls")
    ready = chosen.ready(command.apply_exclusions(chosen.fields, AGENT.tools), [])
    meta = planned(ready)
    assert (meta["tools"], command_line(meta)) == ([], ["--tools", ""])


def test_a_projects_profile_brings_no_trust_along() -> None:
    line = command_line(planned(profile("thinkingLevel: high", source="project", full=True)))
    assert line == ["--no-approve", "--thinking", "high"]
    assert command_line(planned(preset("tools: read", source="project"))) == ["--tools", "read"]


@pytest.mark.parametrize("profile_", [None, {}])
def test_a_plan_of_an_older_program_is_read_too(profile_: dict[str, Any] | None) -> None:
    meta = planned(profile("tools: read", "BODY"))
    old = {key: value for key, value in meta.items() if key not in ("profile", "presetSource")}
    if profile_ is not None:
        old["profile"] = profile_
    assert command_line(old) == ["--system-prompt", SYSTEM, "--tools", "read"]


# --- refused ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("header", "message"),
    [
        (
            "tools: a\nexcludeTools: b",
            (
                'Profile "p" has both "tools" (allowlist) and "excludeTools" (blacklist) set. '
                "These are mutually exclusive — choose one or the other."
            ),
        ),
        (
            "noSkills: true\nloadSkills: s",
            (
                'Profile "p" has both "loadSkills" and "noSkills" set. '
                "These are mutually exclusive — --no-skills disables skill discovery."
            ),
        ),
        ("provider: a", 'Profile "p" sets provider without model; set model as well.'),
        ("extraArgs: a;b", "Refusing extraArg: potentially unsafe argument 'a;b'"),
    ],
)
def test_a_profile_that_contradicts_itself_is_refused(header: str, message: str) -> None:
    error = refusal(profile(header))
    assert (error.message, error.kind, error.exit_code) == (message, "bad-profile", 2)
    assert error.hint == "correct /home/dev/.pi/agent/agent-profiles/a.md"
    assert [fault.field for fault in error.faults] == ["preset"]


def test_a_model_of_the_call_makes_up_for_a_provider_alone() -> None:
    assert planned(profile("provider: a"), model="x/y")["requestedModel"] == "x/y"


def test_all_that_is_wrong_with_a_profile_is_told_at_once() -> None:
    error = refusal(profile("provider: a\ntools: a\nexcludeTools: b\nextraArgs: ['!']"))
    assert len(error.faults) == 3


def test_a_preset_has_no_rules_of_profiles() -> None:
    assert planned(preset("model: m"))["preset"] == "scout"


# --- keys -------------------------------------------------------------------------------------------------


def test_a_key_goes_to_the_variable_of_its_provider() -> None:
    assert AGENT.key_variables("k", "openai") == {"PI_API_KEY": "k", "OPENAI_API_KEY": "k"}
    assert AGENT.key_variables("k", "google") == {"PI_API_KEY": "k", "GEMINI_API_KEY": "k"}
    for unknown in ("mock", "", None):
        assert AGENT.key_variables("k", unknown) == {"PI_API_KEY": "k"}


def test_a_token_that_would_count_before_the_key_is_blanked() -> None:
    given = AGENT.key_variables("k", "anthropic")
    assert given == {
        "PI_API_KEY": "k",
        "ANTHROPIC_API_KEY": "k",
        "ANTHROPIC_AUTH_TOKEN": "",
        "ANTHROPIC_OAUTH_TOKEN": "",
    }


def test_pi_has_these_tools_by_itself() -> None:
    assert AGENTS["pi"].tools == ("read", "bash", "edit", "write", "grep", "find", "ls")
