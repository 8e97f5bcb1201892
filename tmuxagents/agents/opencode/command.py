"""How to call opencode (`opencode run --format json`), and how to read it. Pure.

The permission levels are rules of opencode's own. Even if a tool is allowed, opencode asks about some uses of
it (a path outside the folder, a `.env` file). In a batch run there is no answer, so the run would end there,
or hang if a sub-agent asks. The levels `read-only` and `edit` therefore deny these uses, and the child
continues without them. Apart from that, `edit` is opencode's default, so a child may run shell commands.
Rules in the user's configuration that ask for permission stay in force. If such a rule stops a call, the run
ends (failed, unfinished, 1 denied).

An answer is finished only if the last `step_finish` says `stop`. The exit code proves nothing. It is 0 after
a permission was refused because there was no person to ask (the last step then says `tool-calls`). It is 1
after a whole answer if anything failed on the way. More work may follow an `error` line; the line is the end
only if the child then exits. opencode reports a tool call only when the call has ended.
"""

from __future__ import annotations

from tmuxagents.agents import raw as raw_json
from tmuxagents.agents.base import NOTHING, Agent, Reading
from tmuxagents.agents.brand import LineReader, usage_of
from tmuxagents.errors import Unusable
from tmuxagents.records import LIVE
from tmuxagents.runs import events
from tmuxagents.text import jsonline

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from tmuxagents.agents.base import LiveAgent
    from tmuxagents.agents.capabilities import AgentFiles, Capabilities
    from tmuxagents.records import Plan
    from tmuxagents.runs.events import Event

TOOLS = ("read", "bash", "edit", "write", "grep", "glob", "webfetch", "task", "todowrite", "skill")
# opencode merges our rules into the user's. A key that the user has keeps its place, and a new key comes
# last. The last rule that matches decides. So our keys are patterns that no user writes.
_ALL = "**"
_READ, _OUTSIDE = "rea?", "external_director?"
_SAFE = {"*.env": "deny", "*.env.*": "deny", "*.env.example": "allow"}
_NOT_OUTSIDE = {"*": "deny", "*/opencode/tool-output/*": "allow"}  # there opencode keeps the output of tools
_UNASKED: dict[str, Any] = {_READ: _SAFE, _OUTSIDE: _NOT_OUTSIDE, "doom_loo?": "deny"}
_CONTENT = "OPENCODE_CONFIG_CONTENT"
_EDITS = ("edit", "write", "apply_patch")  # these share one permission
_READERS = ("read", "glob", "grep", "webfetch", "websearch", "todowrite", "skill", "lsp")


class Opencode(Agent):
    """The agent opencode."""

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
        # Without a title, opencode would ask the model for one.
        return [*line, "--title", f"tmuxagents {plan.run_id[:8]}"]

    def environment(self, _agent_dir: str, plan: Plan | None) -> dict[str, str]:
        """Return the permission rules, and the variable that stops updates."""
        own = {"OPENCODE_DISABLE_AUTOUPDATE": "1"}
        if plan is None or (plan.driver == LIVE and plan.permission is None and not plan.tools):
            return own  # a person is there to answer
        return {**own, **permission(plan.permission or "edit", plan.tools or ())}

    def prompted(self, path: str, environment: Mapping[str, str]) -> dict[str, str]:
        """Return a configuration with one more file of instructions; the user's own files stay."""
        own = raw_json.parse(environment.get(_CONTENT, "{}").encode())
        if own is None:
            raise Unusable(f"{_CONTENT} is not plain JSON, so no text can be added to it.", kind="no-prompt")
        listed = own.get("instructions")
        files = [*(listed if isinstance(listed, list) else ()), path]
        return {_CONTENT: jsonline.encode({**own, "instructions": files}).decode().rstrip()}

    def live(self) -> LiveAgent | None:
        """Return how it runs live."""
        from tmuxagents.agents.opencode import live  # noqa: PLC0415  (a batch child pays nothing for it)

        return live.LIVE

    def live_arguments(self, plan: Plan, _run_dir: str) -> list[str]:
        """Return the words for the bridge: the session to continue, the model, and a title."""
        title = plan.name or f"tmuxagents {plan.run_id[:8]}"
        return ["--", plan.child_session or "", plan.resolved_model or "", title]

    def reader(self, _plan: Plan, _run_dir: str) -> OpencodeReader:
        """Return a reader for one child."""
        return OpencodeReader()

    def agent_files(self) -> AgentFiles:
        """Return where its own agent files are, and what they mean."""
        from tmuxagents.agents.capabilities import AgentFiles  # noqa: PLC0415  (only presets ask)

        return AgentFiles(
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
        """Return its capabilities."""
        from tmuxagents.agents import capabilities as can  # noqa: PLC0415  (no wrapper needs them)

        return can.Capabilities(
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
    allowed = [tool for tool in tools or _READERS if level != "read-only" or tool in _READERS]
    rules: dict[str, Any] = {_ALL: "deny", **{_key(tool): "allow" for tool in allowed}}
    if level == "ask":  # over ACP
        asked = {key: "ask" if rule == "deny" else rule for key, rule in _SAFE.items()}
        rules = {_ALL: "ask", **{_key(tool): "allow" for tool in _READERS}, _READ: {"*": "allow", **asked}}
    elif level == "full":
        rules = {**rules, _OUTSIDE: "allow"} if tools else {_ALL: "allow"}
    elif level == "edit" and not tools:
        rules = _UNASKED
    else:
        rules[_OUTSIDE] = _NOT_OUTSIDE
        if _READ in rules:
            rules[_READ] = {"*": "allow", **_SAFE}
    return {"OPENCODE_PERMISSION": jsonline.encode(rules).decode().rstrip()}


def _key(tool: str) -> str:
    """Return the key of a tool's permission."""
    if tool in _EDITS:
        return "edi?"
    return f"{tool[:-1]}?" if tool in TOOLS or tool in _READERS else tool


# --- its output ---

_REFUSED = (
    "The user rejected permission to use this specific tool call",
    "The user has specified a rule which prevents you from using this specific tool call",
)
_NOT_OFFERED = "Model tried to call unavailable tool"  # a tool that is denied as a whole is not offered
_SIGNALS = 128  # from here on, an exit code means a signal
_ENDS = {"stop": "stop", "length": "length"}
_FAILURES = {"MessageAbortedError": "aborted", "MessageOutputLengthError": "length"}


class OpencodeReader(LineReader):
    """Reads one opencode."""

    exit_counts = False

    def __init__(self) -> None:
        super().__init__()
        self.session: str | None = None
        self._stepped = False  # the model was asked
        self.failure: str | None = None  # how the run ends if the child exits now
        self._broken = 0  # answers in a row that broke off

    def with_session(self, raw: dict[str, Any], *reported: Event) -> list[Event]:
        """Return events; the event of a new session comes first."""
        session = raw_json.key(raw.get("sessionID"))
        if session is None or session == self.session:
            return list(reported)
        self.session = session
        return [events.session_started(session), *reported]

    def take(self, kind: str, raw: dict[str, Any], _now: float) -> Reading:
        """Read one line; each has the id of the session."""
        part = raw_json.table(raw.get("part"))
        text = raw_json.text(part.get("text"))
        reported: list[Event] = []
        is_active = True
        match kind:
            case "step_start":
                self._stepped, self.failure = True, None
                reported = self.works_again()
            case "text":
                reported = [events.assistant_text(text)] if text else []
            case "reasoning":
                reported = [events.thinking(text)] if text else []
            case "tool_use":
                reported = _tool_events(part)
            case "step_finish":
                reported = self._step_over(part)
                is_active = not self._broken  # else endless retries would count as work
            case "error":
                error = raw_json.table(raw.get("error"))
                name, data = raw_json.word(error.get("name")) or "", raw_json.table(error.get("data"))
                message = (
                    raw_json.sentence(data.get("message")) or raw_json.sentence(error.get("message")) or name
                )
                self.failure = _FAILURES.get(name, "error")
                if not self._stepped and name == "UnknownError":  # the request never got as far as the model
                    self.failure = "config"
                    message += " (opencode reports this for a model that it does not know.)"
                self.error_message = message or None
                reported = self.works_again()
            case _:
                return NOTHING
        return Reading(self.with_session(raw, *reported), active=is_active)

    def _step_over(self, part: dict[str, Any]) -> list[Event]:
        reason = raw_json.word(part.get("reason")) or ""
        tokens = raw_json.table(part.get("tokens"))
        names = ("input", "output", "reasoning")
        new, output, reasoning = (raw_json.count(tokens.get(name)) for name in names)
        cache = raw_json.table(tokens.get("cache"))
        read, written = raw_json.count(cache.get("read")), raw_json.count(cache.get("write"))
        # opencode's `output` excludes reasoning; ours includes it.
        figures = {"input": new, "output": output + reasoning, "cacheRead": read, "cacheWrite": written}
        reported: list[Event] = []
        if any(figures.values()):
            figures["reasoning"], cost = reasoning, raw_json.amount(part.get("cost"))
            reported = usage_of(figures, "call", cost=cost, cost_kind="estimated")
        if reason == "unknown":
            self._broken += 1
            message = "The answer of the model broke off."
            return [*reported, events.retry(attempt=self._broken, most=None, delay_ms=None, message=message)]
        self._broken = 0
        if reason == "tool-calls":  # opencode asks the model again
            return reported
        if reason not in _ENDS:
            self.error_message = f"The model ended its answer: {reason}." if reason else None
        return [*reported, *self.over(_ENDS.get(reason, "error"))]

    def over(self, reason: str) -> list[Event]:
        """Return the end of an answer, which is also the end of the turn."""
        return self.finish(reason)

    def left(self, exit_code: int | None) -> list[Event]:
        """Return the end after an error. Without any line, opencode has refused its command line."""
        if self.settled or exit_code is None:
            return []
        if self.failure is not None:
            return self.finish(self.failure, aborted=self.failure == "aborted")
        return self.finish("config") if 0 < exit_code < _SIGNALS and self.session is None else []


def _tool_events(part: dict[str, Any]) -> list[Event]:
    """Return a call and its end: opencode reports both at once, when the call is over."""
    state, call = raw_json.table(part.get("state")), raw_json.key(part.get("callID"))
    tool, given = raw_json.word(part.get("tool")) or "tool", raw_json.table(state.get("input"))
    output = raw_json.text(state.get("error")) or raw_json.text(state.get("output")) or ""
    if tool == "invalid":  # opencode's name for a call that it could not make
        tool, output = raw_json.word(given.get("tool")) or tool, raw_json.text(given.get("error")) or output
        failed = True
    else:
        code = raw_json.whole(raw_json.table(state.get("metadata")).get("exit"))
        failed = state.get("status") == "error" or bool(code)
    begun = events.tool_call(call, tool, given)
    refused = output.startswith(_REFUSED) or (tool in TOOLS and output.startswith(_NOT_OFFERED))
    if failed and refused:
        return [begun, events.denied(call, tool, output)]
    time = raw_json.table(state.get("time"))
    start, end = raw_json.whole(time.get("start")), raw_json.whole(time.get("end"))
    lasted = None if start is None or end is None else max(0, end - start)
    return [begun, events.tool_result(call, tool, is_error=failed, text=output, duration_ms=lasted)]
