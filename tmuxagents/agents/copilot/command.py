"""How to call GitHub Copilot CLI (`--output-format json`), and how to read a live one. Pure.

What a user must know. With `edit`, a child may change files below its folder and run commands that only
read. `read-only` denies all commands and changes. `full` allows everything, also outside the folder. A batch
run reports its usage at its exit, and only in tokens, not in money. The text of a preset becomes custom
instructions, beside the user's own.

A live child has its own screen in the window. The bridge passes on the log of its session. The log has every
line of a batch run, and the hooks besides; `agentStop` ends a turn. The hooks are a plugin in the folder of
the bridge. The command line names that plugin, so the user's files stay unchanged. Only the command line can
hold a first prompt, so it holds a sentence that a hook replaces with the task. Messages go in by hooks, too:
in the answer to the hook after a tool, or to the hook before Copilot CLI stops.
"""

from __future__ import annotations

from tmuxagents.agents import raw as raw_json
from tmuxagents.agents.base import ACTIVE, NOTHING, Agent, Ask, LiveAgent, Reading
from tmuxagents.agents.brand import HookedReader, session_uuid, usage_of
from tmuxagents.agents.copilot.reader import USAGE, CopilotReader, figures_of
from tmuxagents.runs import events

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from tmuxagents.agents.base import Sent
    from tmuxagents.agents.capabilities import AgentFiles, Capabilities
    from tmuxagents.records import Plan
    from tmuxagents.runs.events import Event

TASK = "Do the task that tmuxagents hands over."
STOP, AFTER_TOOL, PROMPTED, LEFT = "agentStop", "postToolUse", "userPromptSubmitted", "sessionEnd"
_FOLDERS = "COPILOT_CUSTOM_INSTRUCTIONS_DIRS"
_ALLOWED = {
    "read-only": ("--deny-tool=write", "--deny-tool=shell"),
    "edit": ("--allow-tool=write",),
    "full": ("--allow-all",),
}


class Copilot(Agent):
    """The agent GitHub Copilot CLI."""

    name = "copilot"
    program = "copilot"
    how_to_install = "npm install -g @github/copilot"
    how_to_log_in = "run: copilot login"
    home_variable = "COPILOT_HOME"
    prompt_link = "preset.instructions.md"
    about_usage = (b'{"type":"session.usage_record"', b'{"type":"session.shutdown"')
    tools = ("view", "bash", "edit", "create", "grep", "glob")

    def arguments(self, plan: Plan, run_dir: str) -> list[str]:
        """Return the flags of a batch run. The task goes to stdin."""
        driven = ["--output-format", "json", "--usage-output-file", f"{run_dir}/{USAGE}", "--no-ask-user"]
        return [*driven, *self.set_up(plan)]

    def set_up(self, plan: Plan) -> list[str]:
        """Return the flags that batch and live runs share."""
        line = ["--no-auto-update", *_ALLOWED[plan.permission or "edit"]]
        if plan.tools:
            line.append(f"--available-tools={','.join(plan.tools)}")
        if plan.resolved_model:
            line += ["--model", plan.resolved_model]
        if plan.child_session:
            return [*line, f"--resume={plan.child_session}"]
        return [*line, "--session-id", session_uuid(plan)]

    def environment(self, _agent_dir: str, _plan: Plan | None) -> dict[str, str]:
        """Return the variables that override the user's: theirs could change the permission level."""
        return {"COPILOT_ALLOW_ALL": "false", "COPILOT_AUTO_UPDATE": "false"}

    def prompted(self, path: str, environment: Mapping[str, str]) -> Mapping[str, str]:
        """Return the variable that adds the file's folder to those searched for `*.instructions.md`."""
        return {_FOLDERS: ",".join(filter(None, (environment.get(_FOLDERS), path.rpartition("/")[0])))}

    def live(self) -> LiveAgent:
        """Return its live form."""
        return LIVE

    def live_arguments(self, plan: Plan, _run_dir: str) -> list[str]:
        """Return the flags of a live run."""
        return [*self.set_up(plan), *([] if plan.reopens else [f"--interactive={TASK}"])]

    def reader(self, plan: Plan, _run_dir: str) -> CopilotReader:
        """Return a reader for one child."""
        return CopilotReader(plan.child_session or session_uuid(plan), plan.baseline or {})

    def session_log(self, session: str | None, environment: Mapping[str, str]) -> str | None:
        """Return the log of a session, which also has the usage of a killed run that reported none."""
        if session is None or "/" in session:
            return None
        home = environment.get(self.home_variable) or f"{environment.get('HOME', '')}/.copilot"
        return f"{home}/session-state/{session}/events.jsonl"

    def agent_files(self) -> AgentFiles:
        """Return where its own agent files are, and what they mean."""
        from tmuxagents.agents.capabilities import AgentFiles  # noqa: PLC0415  (only presets ask)

        return AgentFiles(
            agent=self.name,
            title="Copilot CLI",
            project=(".github/agents",),
            titled=False,
            tools=dict.fromkeys(("execute", "shell", "bash", "powershell"), ("bash",))
            | dict.fromkeys(("read", "view", "notebookread"), ("read", "ls"))
            | dict.fromkeys(("edit", "multiedit", "write", "create", "notebookedit"), ("edit", "write"))
            | {"search": ("grep", "find"), "grep": ("grep",), "glob": ("find",)},
            harmless=("target", "infer", "user-invocable", "disable-model-invocation"),
        )

    def capabilities(self) -> Capabilities:
        """Return its capabilities."""
        from tmuxagents.agents import capabilities as can  # noqa: PLC0415  (no wrapper needs them)

        return can.Capabilities(
            seats=(can.STREAM, can.LIVE),
            system_prompt=(can.ADD,),
            tools={"read": "view", "bash": "bash", "edit": "edit", "write": "create", "grep": "grep"}
            | {"find": "glob", "ls": "view"},
            reads_tools=True,
            usage=can.OF_SESSION,
            oldest="1.0.102",
            tested="1.0.102",
        )


AGENT = Copilot()


# --- a live one ---

_NO_HOOKS = "Copilot CLI ran no hook, so the task did not reach it: are hooks switched off?"


def settles(raw: Mapping[str, Any]) -> bool:
    """Say whether a line of the log ends a turn."""
    kind, data = raw.get("type"), raw_json.table(raw.get("data"))
    if kind != "hook.end":
        return kind in ("abort", "session.error")
    return data.get("hookType") == STOP and raw_json.table(data.get("output")).get("decision") != "block"


class CopilotLiveReader(HookedReader, CopilotReader):
    """Reads the log of one Copilot CLI."""

    file: str | None = None

    def __init__(self, sent: Sent) -> None:
        super().__init__(sent)
        self._own_prompts = {TASK}  # prompts that are not a person's
        self._has_hooks = False
        self._reported: tuple[str, str | None] | None = None  # the session and the model, as last reported

    def left(self, _exit_code: int | None) -> list[Event]:
        """Return nothing: the log has reported everything."""
        return []

    def take(self, kind: str, raw: dict[str, Any], now: float) -> Reading:  # noqa: C901, PLR0911, PLR0912  (a case for each kind)
        """Read one line of the log, or of the bridge."""
        data = raw_json.table(raw.get("data"))
        match kind:
            case "bridge_session":
                self._session = raw_json.key(raw.get("session")) or ""
                return NOTHING
            case "bridge_prompted":
                return Reading(self._in_session(), active=True)
            case "session.start" | "session.resume":
                self.model = raw_json.word(data.get("selectedModel")) or self.model
                return Reading(self._in_session())
            case "user.message":
                return self._prompt(raw_json.text(data.get("content")) or "")
            case "hook.start":
                self._has_hooks = True
                if data.get("hookType") == LEFT:
                    self.has_left = raw_json.table(data.get("input")).get("reason") == "user_exit"
                return ACTIVE
            case "hook.end":
                return self.settle([], "length" if self.is_cut else "stop") if settles(raw) else ACTIVE
            case "abort":
                self.typed = True  # only a person's key aborts a turn
                self.error_message = None
                return self.settle([], "aborted")
            case "session.error":
                super().take(kind, raw, now)
                return self.settle([], "error")
            case "session.usage_record":
                self.wordless = True  # the model has worked, and its answer has not come yet
                figures = figures_of([raw_json.table(data.get("usage"))])
                return Reading(usage_of(figures, "call"), active=True)
            case "permission.requested" | "user_input.requested" | "elicitation.requested":
                if ask_id := raw_json.key(data.get("requestId")):
                    raw_json.remember(self.asks.open, ask_id, _question(kind, data))
                return ACTIVE
            case "permission.completed" | "user_input.completed" | "elicitation.completed":
                self.asks.open.pop(raw_json.key(data.get("requestId")) or "", None)
                return ACTIVE
            case "bridge_taken" if (text := raw_json.text(raw.get("text"))) is not None:
                self._own_prompts.add(text)
        return super().take(kind, raw, now)

    def _in_session(self) -> list[Event]:
        """Report the session, and again once the log names the model."""
        current = self._session, self.model
        if not self._session or current == self._reported:
            return []
        self._reported = current
        return [events.session_started(self._session, model=self.model)]

    def _prompt(self, text: str) -> Reading:
        is_ours = text in self._own_prompts and not (text == TASK and self.has_begun)
        self.has_begun, self.cut = True, 0
        reported = self.works_again()
        if not is_ours:
            return Reading([*reported, self.human_input(text)], active=True)
        self._own_prompts.discard(text)
        if self._has_hooks:
            return Reading(reported, active=True)
        self.error_message = _NO_HOOKS
        return self.settle([], "config")


def _question(kind: str, data: dict[str, Any]) -> Ask:
    """Return a question; only Copilot CLI's own screen can answer it."""
    if kind != "permission.requested":
        text = raw_json.sentence(data.get("question")) or raw_json.sentence(data.get("message"))
        return Ask("", "question", text)
    asked = raw_json.table(data.get("permissionRequest"))
    keys = ("intention", "fullCommandText", "fileName", "path", "url")
    wish = ": ".join(filter(None, (raw_json.sentence(asked.get(key)) for key in keys)))
    return Ask("", "permission", wish or raw_json.word(asked.get("kind")))


LIVE = LiveAgent(AGENT.live_arguments, CopilotLiveReader, f"{__file__.rpartition('/')[0]}/bridge.py")
