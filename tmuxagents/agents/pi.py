"""The pi coding agent: its command line and its environment. What it prints is read in agents/pi_reader."""

from __future__ import annotations

from tmuxagents.agents.pi_reader import SNAPSHOTS, PiReader
from tmuxagents.core import child_flags

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from tmuxagents.agents.base import ChildSession, Live

# Shipped beside this file: it marks the child's requests, where an agent launched it with a Copilot model.
CHILD_EXTENSION = f"{__file__.rpartition('/')[0]}/pi_child.ts"
INITIATOR = "PI_SUBAGENTS_COPILOT_INITIATOR"
_COPILOT = "github-copilot/"


class Pi:
    """The adapter."""

    name = "pi"
    program = "pi"
    program_variable = "TMUXAGENTS_PI"
    snapshots = SNAPSHOTS
    tools = ("read", "bash", "edit", "write", "grep", "find", "ls")  # its own, in its order

    def arguments(self, meta: Mapping[str, Any], run_dir: str) -> list[str]:
        """Return pi's flags for a batch run. The task goes to stdin: it may be long, or start with - or @."""

        def inside(path: str) -> str:
            return path if path.startswith("/") else f"{run_dir}/{path}"

        line = ["--mode", "json", "--session", inside(meta["sessionPath"])]
        if meta["presetKind"] == "profile" and meta.get("presetSource") == "project":
            line.append("--no-approve")  # what a project ships is not trusted because its profile was named
        if _is_marked(meta):
            line += ["-e", CHILD_EXTENSION]
        return [*line, *child_flags.arguments(_fields(meta, inside))]

    def environment(self, agent_dir: str, meta: Mapping[str, Any]) -> dict[str, str]:
        """Return pi's own variables for a run."""
        own = {"PI_SUBAGENTS_CHILD": "1", "PI_CODING_AGENT_DIR": agent_dir}
        return {**own, INITIATOR: "agent"} if _is_marked(meta) else own

    def key_variables(self, key: str, provider: str | None) -> dict[str, str]:
        """Return the variables that give the child an API key; more than one if its provider is known."""
        from tmuxagents.agents import pi_keys  # noqa: PLC0415  (a launcher asks, a wrapper never does)

        return pi_keys.variables(key, provider)

    def reader(self) -> PiReader:
        """Return a reader for one child."""
        return PiReader()

    def live(self) -> Live | None:
        """Return how it is run live."""
        from tmuxagents.agents import pi_live  # noqa: PLC0415  (a batch child pays nothing for it)

        return pi_live.LIVE

    def session(self, text: str) -> ChildSession:
        """Read a session file, for a child that is to go on with it."""
        from tmuxagents.agents import pi_session  # noqa: PLC0415  (as above)

        return pi_session.read(text)


AGENT = Pi()


def _is_marked(meta: Mapping[str, Any]) -> bool:
    """Say whether requests are to be marked as an agent's own: Copilot bills a person's differently."""
    return meta.get("initiator") == "agent" and str(meta.get("resolvedModel") or "").startswith(_COPILOT)


def _fields(meta: Mapping[str, Any], inside: Callable[[str], str]) -> dict[str, Any]:
    """Return the fields that make the rest of the command line; for a text stands the path of its file."""
    profile = meta.get("profile") or {}
    fields = {**profile, "model": meta["resolvedModel"]}
    if meta["tools"]:  # none named: no restriction, unless the profile has an empty list
        fields["tools"] = meta["tools"]
    replaces = "systemPrompt" if meta["presetKind"] == "profile" else "appendSystemPrompt"
    for key, path in (
        (replaces, meta["systemPromptPath"]),
        ("appendSystemPrompt", meta["appendSystemPromptPath"]),
    ):
        if path:
            fields[key] = inside(path)
    return fields
