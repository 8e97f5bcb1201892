"""How to call pi: its command line, its environment, and the fields of a preset as its flags. Pure.

Every wrapper imports this module, so it is light. It takes every field of a preset: presets/ has already
dropped those that a project may not set.
"""

from __future__ import annotations

from tmuxagents.agents.base import Agent, inside
from tmuxagents.agents.pi.reader import PiReader
from tmuxagents.errors import BadRequest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from tmuxagents.agents.base import ChildSession, LiveAgent
    from tmuxagents.agents.capabilities import Capabilities, Questions
    from tmuxagents.records import Plan

# Shipped beside this file: it marks a child's requests if an agent launched the run with a Copilot model.
CHILD_EXTENSION = f"{__file__.rpartition('/')[0]}/child.ts"
BRIDGE = f"{__file__.rpartition('/agents/')[0]}/extensions/bridge/index.ts"  # loaded into a live child
INITIATOR = "PI_SUBAGENTS_COPILOT_INITIATOR"
_COPILOT = "github-copilot/"


class Pi(Agent):
    """The agent pi."""

    name = "pi"
    program = "pi"
    home_variable = "PI_CODING_AGENT_DIR"
    keeps_sessions = False
    how_to_install = "npm install -g @earendil-works/pi-coding-agent"
    how_to_log_in = "start pi and type /login, or set an API key such as ANTHROPIC_API_KEY"
    tools = ("read", "bash", "edit", "write", "grep", "find", "ls")  # built-in, in its order

    def arguments(self, plan: Plan, run_dir: str) -> list[str]:
        """Return pi's flags for a batch run. The task goes to stdin: it may be long, or start with - or @."""
        line = ["--mode", "json", "--session", inside(plan.session_path, run_dir)]
        if plan.preset_kind == "profile" and plan.preset_source == "project":
            line.append("--no-approve")  # to use a project's profile is not to trust the project
        if _is_marked(plan):
            line += ["-e", CHILD_EXTENSION]
        # The rest of the flags: the profile's fields, the model, the tools, and files in place of texts.
        own = plan.model_source == "agent"  # pi chooses: a named model would change how much it thinks
        fields = {**(plan.profile or {}), "model": None if own else plan.resolved_model}
        if plan.tools:  # none named: no restriction, unless the profile has an empty list
            fields["tools"] = plan.tools
        replaces = "systemPrompt" if plan.preset_kind == "profile" else "appendSystemPrompt"
        files = ((replaces, plan.system_prompt_path), ("appendSystemPrompt", plan.append_system_prompt_path))
        fields |= {key: inside(path, run_dir) for key, path in files if path}
        return [*line, *arguments(fields)]

    def environment(self, agent_dir: str, plan: Plan | None) -> dict[str, str]:
        """Return pi's own variables, for a run or without one."""
        own = {"PI_SUBAGENTS_CHILD": "1", "PI_CODING_AGENT_DIR": agent_dir}
        return {**own, INITIATOR: "agent"} if plan and _is_marked(plan) else own

    def key_variables(self, key: str, provider: str | None) -> dict[str, str]:
        """Return the variables that give the child an API key; more than one for a known provider."""
        from tmuxagents.agents.pi import questions  # noqa: PLC0415  (a launcher asks, a wrapper never does)

        return questions.variables(key, provider)

    def questions(self) -> Questions:
        """Return the questions to an installed pi about itself."""
        from tmuxagents.agents.pi import questions  # noqa: PLC0415  (a launcher asks, a wrapper never does)

        return questions.PiQuestions(questions.CAPABILITIES.oldest)

    def reader(self, _plan: Plan | None = None, _run_dir: str = "") -> PiReader:
        """Return a reader for one child."""
        return PiReader()

    def live(self) -> LiveAgent | None:
        """Return how pi runs live."""
        from tmuxagents.agents.pi import live  # noqa: PLC0415  (a batch child pays nothing for it)

        return live.LIVE

    def live_arguments(self, plan: Plan, run_dir: str) -> list[str]:
        """Return pi's flags for a live run. pi must not ask about trust: there may be no person."""
        batch = self.arguments(plan, run_dir)
        flags = batch[batch.index("--session") :]
        trust = [] if "--no-approve" in flags else ["--no-approve"]
        name = ["--name", plan.name] if plan.name else []
        return ["--tui-mode", "regular", *trust, *name, "-e", BRIDGE, *flags]

    def session(self, text: str) -> ChildSession:
        """Read a session file, for a child that continues it."""
        from tmuxagents.agents.pi import live  # noqa: PLC0415  (as above)

        return live.read_session(text)

    def capabilities(self) -> Capabilities:
        """Return pi's capabilities."""
        from tmuxagents.agents.pi import questions  # noqa: PLC0415  (as above)

        return questions.CAPABILITIES


AGENT = Pi()


def _is_marked(plan: Plan) -> bool:
    """Say whether to mark requests as an agent's: Copilot bills a person's requests differently."""
    return plan.initiator == "agent" and (plan.resolved_model or "").startswith(_COPILOT)


KIND = "bad-profile"
_TEXTS = (
    ("provider", "--provider"),
    ("model", "--model"),
    ("systemPrompt", "--system-prompt"),
    ("appendSystemPrompt", "--append-system-prompt"),
    ("thinkingLevel", "--thinking"),
)
_SWITCHES = (
    ("noExtensions", "--no-extensions"),
    ("noSkills", "--no-skills"),
    ("noContextFiles", "--no-context-files"),
)
_TOOL_FLAGS = frozenset(
    {
        *("--tools", "-t", "--no-tools", "-nt"),
        *("--exclude-tools", "-xt", "--no-builtin-tools", "-nbt"),
    }
)
_UNSAFE_FIRST = frozenset("|&;$\\`!")
_UNSAFE_INSIDE = ("&&", "||", ";", ">", "<")
_MOST_SHOWN = 40


def arguments(
    fields: Mapping[str, Any], *, cwd: str | None = None, agent_dir: str | None = None
) -> list[str]:
    """Return the flags, or raise BadRequest for an argument that is refused.

    `suggestedSkills` holds paths here. If `cwd` or `agent_dir` is given, each must lie below one of them.
    """
    flags = [word for key, flag in _TEXTS if fields.get(key) for word in (flag, fields[key])]
    if fields.get("noTools"):
        flags += ["--no-tools"]
    elif fields.get("tools") is not None:  # an empty list allows no tool; without a flag, pi would allow all
        flags += ["--tools", ",".join(fields["tools"])]
    flags += [flag for key, flag in _SWITCHES if fields.get(key)]
    flags += [word for path in fields.get("extensions") or () for word in ("--extension", path)]
    folders = [folder for folder in (cwd, agent_dir) if folder]
    for path in filter(None, fields.get("suggestedSkills") or ()):
        if folders and not any(_is_below(path, folder) for folder in folders):
            message = f"Refusing skill path outside allowed directories: {path}"
            raise BadRequest(message, kind=KIND, field="suggestedSkills")
        flags += ["--skill", path]
    for argument in fields.get("extraArgs") or ():
        refusal = refused_argument(argument, fields)
        if refusal:
            raise BadRequest(refusal, kind=KIND, field="extraArgs")
        flags.append(argument)
    return flags


# --- tools that are excluded ------------------------------------------------------------------------------


def apply_exclusions(fields: Mapping[str, Any], known: Sequence[str]) -> dict[str, Any]:
    """Return the fields with `excludeTools` turned into `tools`: the known tools less the excluded ones."""
    excluded = fields.get("excludeTools")
    if not excluded or fields.get("tools") is not None:
        return dict(fields)
    rest = {key: value for key, value in fields.items() if key != "excludeTools"}
    return rest | {"tools": [tool for tool in known if tool not in excluded]}


# --- what is refused --------------------------------------------------------------------------------------


def refusals(fields: Mapping[str, Any], name: str | None) -> Iterator[str]:
    """Yield the reasons against launching a profile, in the order of the messages."""
    for check in (tool_conflict, skill_conflict, provider_alone):
        message = check(fields, name)
        if message:
            yield message
    for argument in fields.get("extraArgs") or ():
        message = refused_argument(argument, fields)
        if message:
            yield message


def tool_conflict(fields: Mapping[str, Any], name: str | None) -> str | None:
    """Say what is wrong with tools that are both listed and excluded."""
    if not fields.get("tools") or not fields.get("excludeTools"):
        return None  # an empty list is no conflict: it excludes none, or allows none
    return (
        f'{_who(name)} has both "tools" (allowlist) and "excludeTools" (blacklist) set. '
        "These are mutually exclusive — choose one or the other."
    )


def skill_conflict(fields: Mapping[str, Any], name: str | None) -> str | None:
    """Say what is wrong with skills that are both wanted and switched off."""
    if not fields.get("noSkills"):
        return None
    for key, why in (
        ("suggestedSkills", "--no-skills would override --skill flags"),
        ("loadSkills", "--no-skills disables skill discovery"),
    ):
        if fields.get(key):
            return f'{_who(name)} has both "{key}" and "noSkills" set. These are mutually exclusive — {why}.'
    return None


def provider_alone(fields: Mapping[str, Any], name: str | None) -> str | None:
    """Say what is wrong with a provider without a model: the child would choose one."""
    if not fields.get("provider") or fields.get("model"):
        return None
    return f"{_who(name)} sets provider without model; set model as well."


def refused_argument(argument: str, fields: Mapping[str, Any]) -> str | None:
    """Say why an extra argument is not passed on."""
    restricts = fields.get("noTools") or fields.get("excludeTools") or fields.get("tools") is not None
    if restricts and argument.partition("=")[0] in _TOOL_FLAGS:
        return (
            f'Refusing extraArg "{argument}" which would override profile tool restrictions. '
            "Use the dedicated profile fields instead."
        )
    if "\0" in argument:
        return "Invalid extraArg: contains null byte"
    first = argument[:1]
    if first.isspace() or first in _UNSAFE_FIRST or any(sign in argument for sign in _UNSAFE_INSIDE):
        return f"Refusing extraArg: potentially unsafe argument '{argument[:_MOST_SHOWN]}'"
    return None


def _who(name: str | None) -> str:
    return f'Profile "{name}"' if name else "Profile"


def _is_below(path: str, folder: str) -> bool:
    """Say whether a path lies in a folder, by its text alone: the caller resolves links."""
    from tmuxagents.text import paths  # noqa: PLC0415  (a wrapper never asks this)

    within, outer = paths.parts(inside(path, folder)), paths.parts(folder)
    return within[: len(outer)] == outer
