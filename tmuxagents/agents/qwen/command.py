"""How to call Qwen Code, and how to read a live one. Pure.

In a batch run, Qwen Code's stdin stays open: prompts and answers are lines of JSON.

- A permission level is an approval mode. A call that would need a person's permission is denied, unless the
  level is `ask`. `read-only` is Qwen Code's plan mode, which runs commands that only read.
- The settings of its folder apply, unless the user has switched on folder trust in Qwen Code. A prompt that
  begins with `/` is a command to Qwen Code.
- The text of a preset replaces the sentence that says who Qwen Code is; the rest of its own prompt stays. A
  second text would have to be on the command line, so Qwen Code gets only this one.

A live Qwen Code has its own screen in the window; its second output and its hooks come through a bridge. The
second output (`--json-file`) has the lines of a batch run, but not the end of a turn. A hook reports that:
`Stop` or `StopFailure`. If Qwen Code waits for a person without one of these, its turn was broken off. The
task and messages go in by `--input-file`. Messages also go in with the answer to the hook after a tool.
"""

from __future__ import annotations

from tmuxagents.agents import capabilities as words
from tmuxagents.agents import raw as raw_json
from tmuxagents.agents.base import ACTIVE, NOTHING, Agent, Ask, LiveAgent, Reading
from tmuxagents.agents.brand import HookedReader, session_uuid, usage_of
from tmuxagents.agents.envelope import ALLOW, PERMISSION, question
from tmuxagents.agents.qwen.reader import QwenReader, figures_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from tmuxagents.agents.base import Sent, Talker
    from tmuxagents.records import Plan
    from tmuxagents.runs.events import Event


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
    "ls": "glob",  # Qwen Code has no other tool that lists files
}
# A child may not start agents or timers, or talk to other sessions.
_NEVER = ("agent", "list_agents", "send_message", "cron_create", "loop_wakeup")
_OF_PEOPLE = ("ask_user_question", "enter_plan_mode", "exit_plan_mode")  # tools that need a person


class Qwen(Agent):
    """The agent Qwen Code."""

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
        """Return the flags that batch and live runs share."""
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
        """Return the variable that gives an API key."""
        return {"OPENAI_API_KEY": key}

    def environment(self, _agent_dir: str, _plan: Plan | None) -> Mapping[str, str]:
        """Return the variable that keeps a needless warning off stderr."""
        return {"QWEN_CODE_SUPPRESS_YOLO_WARNING": "1"}

    def prompted(self, path: str, _environment: Mapping[str, str]) -> Mapping[str, str]:
        """Return the variable that names the file: its text replaces the sentence about who Qwen Code is."""
        return {"QWEN_SYSTEM_IDENTITY_MD": path}

    def reader(self, plan: Plan, _run_dir: str) -> QwenReader:
        """Return a reader for one child."""
        return QwenReader(plan.baseline)

    def talker(self, plan: Plan, _run_dir: str) -> Talker:
        """Return a talker for one child."""
        from tmuxagents.agents.qwen.reader import QwenTalker  # noqa: PLC0415  (a live child needs none)

        return QwenTalker(plan.baseline, asks_people=plan.permission == words.ASK)

    def live(self) -> LiveAgent:
        """Return its live form."""
        return LIVE

    def live_arguments(self, plan: Plan, _run_dir: str) -> list[str]:
        """Return the flags of a live run."""
        return self.set_up(plan, asks_people=True)

    def agent_files(self) -> words.AgentFiles:
        """Return where its own agent files are, and what they mean."""
        return words.AgentFiles(
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
        """Return its capabilities."""
        return words.Capabilities(
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


# --- a live one ---

_NOT_ALLOWED = "A person did not allow it."


class QwenLiveReader(HookedReader, QwenReader):
    """Reads the second output of one Qwen Code, and its hooks."""

    def __init__(self, sent: Sent) -> None:
        super().__init__(sent)
        self._pending_prompts: list[tuple[int, str]] = []  # our prompts that it has not started on
        self._open: dict[str, dict[str, Any]] = {}  # questions to a person
        self._is_denied = False  # our answer has denied a call since the last prompt

    def left(self, _exit_code: int | None) -> list[Event]:
        """Return nothing: its lines have reported everything."""
        return []

    def take(self, kind: str, raw: dict[str, Any], now: float) -> Reading:  # noqa: PLR0911  (a case for each kind)
        """Read a line of the second output, of a hook, or of the bridge."""
        match kind:
            case "SessionStart":
                self.model = raw_json.word(raw.get("model")) or self.model
                return Reading(self._opened(raw))
            case "assistant":
                figures = figures_of(raw_json.table(raw.get("message")).get("usage"))
                reported = super().take(kind, raw, now).events
                return Reading([*reported, *usage_of(figures, words.OF_CALL)], active=True)
            case "user":
                return self._prompt_or_results(raw, now)
            case "control_request":
                request_id, request = raw_json.key(raw.get("request_id")), raw.get("request")
                if request_id is not None and isinstance(request, dict):
                    raw_json.remember(self._open, request_id, request)
                    ask = question(request_id, request)
                    # Its input file takes only a yes or a no: any other question needs its own screen.
                    is_ours = ask.kind == PERMISSION
                    self.asks.open[request_id] = ask if is_ours else Ask("", ask.kind, ask.text)
                return ACTIVE
            case "control_response":  # a person has answered on the screen
                response = raw_json.table(raw.get("response"))
                request_id = raw_json.key(response.get("request_id")) or ""
                request = self._open.pop(request_id, None)
                self.asks.open.pop(request_id, None)
                if request is None or raw_json.table(response.get("response")).get("allowed") is not False:
                    return ACTIVE
                denied = self.deny(request.get("tool_use_id"), request.get("tool_name"), _NOT_ALLOWED)
                return Reading(denied, active=True)
            case "bridge_says":
                number, text = raw_json.whole(raw.get("inboxId")), raw_json.text(raw.get("text"))
                if number is not None and text is not None:
                    self._pending_prompts.append((number, text))
                return NOTHING
        return super().take(kind, raw, now)

    def _prompt_or_results(self, raw: dict[str, Any], now: float) -> Reading:
        """Read a line of the user's side: a prompt, or the results of tools."""
        blocks = raw_json.blocks(raw_json.table(raw.get("message")).get("content"))
        if not blocks or any(block.get("type") == "tool_result" for block in blocks):
            return super().take("user", raw, now)
        text = "\n".join(raw_json.texts(blocks, "text"))
        self.has_begun, self._is_denied = True, False
        reported = self.works_again()
        for at, (number, prompt) in enumerate(self._pending_prompts):
            if prompt.strip() == text.strip():
                del self._pending_prompts[at]
                return Reading([*reported, *self.taken({"inboxId": number})], active=True)
        return Reading([*reported, self.human_input(text)], active=True)

    def answered(self, raw: dict[str, Any]) -> list[Event]:
        """Report a call that our answer denies. That ends the turn, but no person has interrupted it."""
        ask = self.asks.answered(raw)
        request = self._open.pop(ask.id, None) if ask else None
        if ask is None or request is None or raw.get("answer") == ALLOW:
            return []
        self._is_denied = True
        why = f"denied by {self.asks.given[ask.id][1]}"
        return self.deny(request.get("tool_use_id"), request.get("tool_name"), why)

    def stopped(self, hook: str, raw: dict[str, Any]) -> Reading:
        """Report the end of a turn. If only the idle notification shows it, a denial or a person ended it."""
        why = "stop"
        if hook == "StopFailure":
            why, answer = "error", raw_json.text(raw.get("last_assistant_message")) or ""
            if self._texts:  # the child has also printed the error as an answer
                self._texts[-1] = self._texts[-1].removesuffix(answer)
            self.error_message = raw_json.sentence(raw.get("error_details")) or answer or None
        else:
            self.error_message = None
        if hook == "Notification":
            self.typed |= not self._is_denied
            self._texts.clear()
            why = "refused" if self._is_denied else "aborted"
        self._open.clear()
        return self.settle(self._report_texts(), why)


LIVE = LiveAgent(AGENT.live_arguments, QwenLiveReader, f"{__file__.rpartition('/')[0]}/bridge.py")
