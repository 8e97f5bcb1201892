"""How to call Qwen Code, with its stdin kept open: prompts and answers are lines of JSON.

- A level of permission is an approval mode, and what would need a person's permission is denied, unless the
  level is to ask. `read-only` is its plan mode: it runs commands that only read.
- The settings of its folder apply, unless the user has switched on folder trust in Qwen Code. A prompt that
  begins with `/` is a command to it.
- The text of a preset comes in place of the sentence that says who Qwen Code is; the rest of its own prompt
  stays. Another text to add could only be on its command line.

Pure.
"""

from __future__ import annotations

from tmuxagents.agents import capabilities as words
from tmuxagents.agents.brand import Brand, session_uuid
from tmuxagents.agents.qwen.reader import QwenReader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from tmuxagents.agents.agent_files import AgentFiles
    from tmuxagents.agents.base import LiveAgent, Talker
    from tmuxagents.records import Plan

_MODES = {
    words.READ_ONLY: "plan",
    words.EDIT: "auto-edit",
    words.FULL: "yolo",
    words.ASK: "default",
}
_TOOLS = {
    "read": "read_file",
    "bash": "run_shell_command",
    "edit": "edit",
    "write": "write_file",
    "grep": "grep_search",
    "find": "glob",
    "ls": "glob",  # it declares no other tool that lists files
}
# It is no parent of agents, of timers, or of talks with other sessions.
_NEVER = ("agent", "list_agents", "send_message", "cron_create", "loop_wakeup")
_OF_PEOPLE = ("ask_user_question", "enter_plan_mode", "exit_plan_mode")  # tools that need one


class Qwen(Brand):
    """The adapter."""

    name = "qwen"
    program = "qwen"
    how_to_install = "npm install -g @qwen-code/qwen-code"
    how_to_log_in = "start qwen and type /auth, or set OPENAI_API_KEY"
    tools = tuple(dict.fromkeys(_TOOLS.values()))

    def arguments(self, plan: Plan, _run_dir: str) -> list[str]:
        """Return the flags of a batch run."""
        driven = ["--output-format=stream-json", "--input-format=stream-json", "--include-partial-messages"]
        return [*driven, *self.set_up(plan, asks_people=plan.permission == words.ASK)]

    def set_up(self, plan: Plan, *, asks_people: bool) -> list[str]:
        """Return the flags that a batch run and a live one share."""
        resumes = plan.child_session
        line = [f"--resume={resumes}" if resumes else f"--session-id={session_uuid(plan)}"]
        line.append(f"--approval-mode={_MODES.get(plan.permission or words.EDIT, 'plan')}")
        if plan.resolved_model and plan.model_source != "agent":
            line.append(f"--model={plan.resolved_model}")
        line += [f"--core-tools={tool}" for tool in dict.fromkeys(plan.tools or ())]
        never = _NEVER if asks_people else (*_NEVER, *_OF_PEOPLE)
        line += [f"--exclude-tools={tool}" for tool in never]
        return [*line, "--allowed-mcp-server-names=none"]

    def key_variables(self, key: str, _provider: str | None) -> Mapping[str, str]:
        """Return the variable that gives it an API key."""
        return {"OPENAI_API_KEY": key}

    def environment(self, _agent_dir: str, _plan: Plan | None) -> Mapping[str, str]:
        """Return what keeps its stderr to what matters."""
        return {"QWEN_CODE_SUPPRESS_YOLO_WARNING": "1"}

    def prompted(self, path: str, _environment: Mapping[str, str]) -> Mapping[str, str]:
        """Return the text as what says who it is, which is one sentence of its own prompt."""
        return {"QWEN_SYSTEM_IDENTITY_MD": path}

    def reader(self, plan: Plan, _run_dir: str) -> QwenReader:
        """Return a reader for one child."""
        return QwenReader(plan.baseline)

    def talker(self, plan: Plan, _run_dir: str) -> Talker:
        """Return what talks to one child."""
        from tmuxagents.agents.qwen.talker import QwenTalker  # noqa: PLC0415  (a live child needs none)

        return QwenTalker(plan.baseline, asks_people=plan.permission == words.ASK)

    def live(self) -> LiveAgent:
        """Return how it runs live."""
        from tmuxagents.agents.qwen import live  # noqa: PLC0415  (a batch child pays nothing for it)

        return live.LIVE

    def agent_files(self) -> AgentFiles:
        """Return what its own agent files mean."""
        from tmuxagents.agents import agent_files  # noqa: PLC0415  (only presets ask)

        return agent_files.USUAL.changed(
            agent=self.name,
            title="Qwen Code",
            own=".qwen/agents",
            project=(".qwen/agents",),
            tools={its: (ours,) for ours, its in _TOOLS.items() if ours != "ls"}
            | {"list_directory": ("ls",)},
            own_tools=("web_fetch", "todo_write"),
            permission=("approvalMode", {mode: level for level, mode in _MODES.items()}),
        )

    def capabilities(self) -> words.Capabilities:
        """Return what it can do."""
        return words.USUAL.changed(
            seats=(words.DUPLEX, words.LIVE),
            permissions=words.PERMISSIONS,
            steer=True,
            system_prompt=(words.ADD,),
            tools=_TOOLS,
            reads_tools=True,
            usage=words.OF_SESSION,
            oldest="0.24.4",
            tested="0.24.4",
        )


AGENT = Qwen()
