"""A demand that an agent cannot meet is refused by key and agent; others are put into the agent's words."""

from __future__ import annotations

from typing import Any

import pytest

from tmuxagents.agents.pi.questions import CAPABILITIES
from tmuxagents.errors import BadRequest
from tmuxagents.launch import demands
from tmuxagents.launch.plan import LaunchRequest
from tmuxagents.presets.preset import Preset, PresetFile

pytestmark = pytest.mark.pure
OTHER = CAPABILITIES.changed(
    seats=("stream",),
    permissions=("read-only", "edit", "full"),
    default_permission="edit",
    tools={"read": "Read", "bash": "Bash"},
    reads_tools=False,
    profiles=False,
)


def granted(
    has: Any = OTHER, *, preset: dict[str, Any] | None = None, kind: str = "preset", **asked: Any
) -> demands.Granted:
    file = PresetFile(kind=kind, source=asked.pop("source", "global"), path="/p/a.md", text="")
    found = None if preset is None else Preset(file, "a", preset)
    request = LaunchRequest(task="x", cwd="/p", project="/p", **asked)
    return demands.grant("other", has, request, found)


def refused(*args: Any, **more: Any) -> list[tuple[str | None, str]]:
    with pytest.raises(BadRequest) as caught:
        granted(*args, **more)
    assert (caught.value.exit_code, "tmuxagents agents" in str(caught.value.hint)) == (2, True)
    return [(fault.field, fault.message) for fault in caught.value.faults]


def test_an_agent_without_levels_has_no_permission() -> None:
    assert granted(CAPABILITIES) == (None, [])
    why = "The agent other has no permission levels: it may do what its tools can."
    assert refused(CAPABILITIES, permission="edit") == [("permission", why)]


@pytest.mark.parametrize(
    ("call", "preset", "source", "given"),
    [
        (None, None, "global", "edit"),
        ("full", None, "global", "full"),
        ("full", "read-only", "project", "full"),
        (None, "full", "global", "full"),
        (None, "full", "project", "edit"),
        (None, "read-only", "project", "read-only"),
    ],
)
def test_the_call_decides_and_a_projects_preset_only_narrows(
    call: str | None, preset: str | None, source: str, given: str
) -> None:
    fields = None if preset is None else {"permission": preset}
    assert granted(preset=fields, source=source, permission=call).permission == given


def test_a_question_needs_an_agent_that_can_ask() -> None:
    why = "The agent other has no permission ask: it knows read-only, edit, full."
    assert refused(preset={"permission": "ask"}, source="project") == [("permission", why)]
    asks = OTHER.changed(permissions=(*OTHER.permissions, "ask"))
    assert granted(asks, preset={"permission": "ask"}, source="project").permission == "ask"


def test_tools_get_the_names_of_the_agent() -> None:
    assert granted(preset={"tools": ["read", "Bash"]}).tools == ["Read", "Bash"]
    assert granted(CAPABILITIES, preset={"tools": ["read", "own_one"]}).tools == ["read", "own_one"]
    assert refused(preset={"tools": ["read", "ls"]}) == [
        ("tools", "The agent other has no tool ls: it has read, bash.")
    ]
    why = "The agent other cannot be restricted to a list of tools; use permission instead."
    assert refused(OTHER.changed(tools={}), preset={"tools": ["read"]}) == [("tools", why)]


def test_each_thing_that_it_cannot_do_is_named_at_once() -> None:
    bare = OTHER.changed(takes_model=False, system_prompt=())
    told = refused(bare, preset={"systemPrompt": "Be brief."}, driver="live", model="m")
    assert [field for field, _ in told] == ["driver", "model", "systemPrompt"]
    assert told[0][1] == "The agent other cannot run live."
    assert granted(preset={"systemPrompt": "Be brief."}, model="m").permission == "edit"
    assert [field for field, _ in refused(preset={}, kind="profile")] == ["preset"]
