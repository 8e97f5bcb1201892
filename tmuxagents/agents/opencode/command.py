"""How to call opencode (`opencode run --format json`), and its permission levels as its own rules. Pure.

What a user must know: opencode asks at some points even where its tools are allowed (a path outside of the
folder, a `.env` file), and nobody answers in a batch run, so that the run would end there, or hang where a
sub-agent asks. The levels `read-only` and `edit` therefore deny what opencode would ask for by itself, and
the child goes on without it. `edit` is opencode's own default otherwise: it runs shell commands. Rules of the
user's configuration that ask stay; a call that they stop ends the run (failed, unfinished, 1 denied).
"""

from __future__ import annotations

from tmuxagents.agents import raw as raw_json
from tmuxagents.agents.brand import Brand
from tmuxagents.agents.opencode.reader import TOOLS, OpencodeReader
from tmuxagents.errors import Unusable
from tmuxagents.records import LIVE
from tmuxagents.text import jsonline

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from tmuxagents.agents.agent_files import AgentFiles
    from tmuxagents.agents.base import LiveAgent
    from tmuxagents.agents.capabilities import Capabilities
    from tmuxagents.records import Plan

# Our rules are merged into the user's: keys that the user has too keep their place, new keys come last, and
# the last rule that matches decides. So these keys are patterns that no user writes.
_ALL = "**"
_READ, _OUTSIDE = "rea?", "external_director?"
_SAFE = {"*.env": "deny", "*.env.*": "deny", "*.env.example": "allow"}
_NOT_OUTSIDE = {"*": "deny", "*/opencode/tool-output/*": "allow"}  # there it keeps what a tool printed
_UNASKED: dict[str, Any] = {_READ: _SAFE, _OUTSIDE: _NOT_OUTSIDE, "doom_loo?": "deny"}
_CONTENT = "OPENCODE_CONFIG_CONTENT"
_EDITS = ("edit", "write", "apply_patch")  # these have one permission
_READERS = ("read", "glob", "grep", "webfetch", "websearch", "todowrite", "skill", "lsp")


class Opencode(Brand):
    """The adapter."""

    name = "opencode"
    program = "opencode"
    how_to_install = "npm install -g opencode-ai"
    how_to_log_in = "run: opencode providers login"
    tools = TOOLS

    def arguments(self, plan: Plan, _run_dir: str) -> list[str]:
        """Return the flags of a batch run. The task goes to stdin."""
        line = ["run", "--format", "json", "--thinking"]
        if plan.resolved_model:
            line += ["-m", plan.resolved_model]
        if plan.permission == "full":
            line.append("--auto")
        if plan.child_session:
            return [*line, "-s", plan.child_session]
        return [*line, "--title", f"tmuxagents {plan.run_id[:8]}"]  # else it asks the model for one

    def environment(self, _agent_dir: str, plan: Plan | None) -> dict[str, str]:
        """Return the permission rules, and that the program stays as it is while it works."""
        own = {"OPENCODE_DISABLE_AUTOUPDATE": "1"}
        if plan is None or (plan.driver == LIVE and plan.permission is None and not plan.tools):
            return own  # a person is there to be asked
        return {**own, **permission(plan.permission or "edit", plan.tools or ())}

    def prompted(self, path: str, environment: Mapping[str, str]) -> dict[str, str]:
        """Return a configuration with one more file of instructions; those of the user's stay."""
        own = raw_json.parse(environment.get(_CONTENT, "{}").encode())
        if own is None:
            raise Unusable(f"{_CONTENT} is no plain JSON, so no text can be added to it.", kind="no-prompt")
        listed = own.get("instructions")
        files = [*(listed if isinstance(listed, list) else ()), path]
        return {_CONTENT: jsonline.encode({**own, "instructions": files}).decode().rstrip()}

    def live(self) -> LiveAgent | None:
        """Return how it runs live."""
        from tmuxagents.agents.opencode import live  # noqa: PLC0415  (a batch child pays nothing for it)

        return live.LIVE

    def reader(self, _plan: Plan, _run_dir: str) -> OpencodeReader:
        """Return a reader for one child."""
        return OpencodeReader()

    def agent_files(self) -> AgentFiles:
        """Return what its own agent files mean."""
        from tmuxagents.agents import agent_files  # noqa: PLC0415  (only presets ask)

        return agent_files.USUAL.changed(
            agent=self.name,
            title="opencode",
            own=".config/opencode/agent,.config/opencode/agents",
            project=(".opencode/agent", ".opencode/agents"),
            titled=False,
            tools={one: (one,) for one in ("read", "bash", "edit", "write", "grep")}
            | {"glob": ("find",), "list": ("ls",), "patch": ("edit",)},
            own_tools=("webfetch", "websearch", "todowrite", "skill", "lsp"),
            switches=True,
            harmless=("color", "mode", "hidden"),
        )

    def capabilities(self) -> Capabilities:
        """Return what it can do."""
        from tmuxagents.agents import capabilities as can  # noqa: PLC0415  (no wrapper needs them)

        return can.USUAL.changed(
            seats=(can.STREAM, can.LIVE),
            system_prompt=(can.ADD,),
            tools={tool: tool for tool in ("read", "bash", "edit", "write", "grep")}
            | {"find": "glob", "ls": "read"},
            reads_tools=True,
            usage=can.OF_CALL,
            cost=can.ESTIMATED,
            oldest="1.18.0",
            tested="1.18.33",
        )


AGENT = Opencode()


def permission(level: str, tools: Any = ()) -> dict[str, str]:
    """Return the variable with the rules of a level; `tools`: the only ones allowed, if any are named."""
    return {"OPENCODE_PERMISSION": jsonline.encode(_rules(level, tools)).decode().rstrip()}


def _rules(level: str, tools: Any) -> dict[str, Any]:
    if level == "ask":  # over ACP
        own = {key: "ask" if rule == "deny" else rule for key, rule in _SAFE.items()}
        return {_ALL: "ask", **{_key(tool): "allow" for tool in _READERS}, _READ: {"*": "allow", **own}}
    if not tools and level == "edit":
        return _UNASKED
    if not tools and level == "full":
        return {_ALL: "allow"}
    allowed = tools or _READERS
    if level == "read-only":
        allowed = [tool for tool in allowed if tool in _READERS]
    rules: dict[str, Any] = {_ALL: "deny"}
    for tool in allowed:
        rules[_key(tool)] = "allow"
    if level == "full":
        return {**rules, _OUTSIDE: "allow"}
    return {**rules, _OUTSIDE: _NOT_OUTSIDE, **({_READ: {"*": "allow", **_SAFE}} if _READ in rules else {})}


def _key(tool: str) -> str:
    """Return the key of a tool's permission."""
    if tool in _EDITS:
        return "edi?"
    return f"{tool[:-1]}?" if tool in TOOLS or tool in _READERS else tool
