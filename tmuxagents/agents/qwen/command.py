"""How to call Qwen Code, with its stdin kept open: prompts and answers are lines of JSON. Pure.

- A level of permission is an approval mode, and what would need a person's permission is denied, unless the
  level is to ask. `read-only` is its plan mode: it runs commands that only read.
- The settings of its folder apply, unless the user has switched on folder trust in Qwen Code. A prompt that
  begins with `/` is a command to it.
- The text of a preset comes in place of the sentence that says who Qwen Code is; the rest of its own prompt
  stays. Another text to add could only be on its command line.

A live Qwen Code: its own screen in the window, its second output and its hooks, through a bridge.

The second output (`--json-file`) has the lines of a batch run, but not the end of a turn: that is a hook,
`Stop` or `StopFailure`. If it waits for a person without one of them, its turn was broken off. Task and
messages go in by `--input-file`, and as the answer to the hook after a tool.
"""

from __future__ import annotations

from tmuxagents.agents import capabilities as words
from tmuxagents.agents import raw as raw_json
from tmuxagents.agents.base import ACTIVE, NOTHING, Ask, Reading
from tmuxagents.agents.brand import Brand, session_uuid
from tmuxagents.agents.envelope import ALLOW, PERMISSION, question
from tmuxagents.agents.hooks.heard import FOLDER_VARIABLE, HookedReader
from tmuxagents.agents.qwen.reader import QwenReader, figures_of, usage_of
from tmuxagents.runs import events

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, ClassVar

    from tmuxagents.agents.base import LiveAgent, Talker
    from tmuxagents.agents.brand import AgentFiles
    from tmuxagents.records import Plan
    from tmuxagents.runs.events import Event


_NOT_ALLOWED = "A person did not allow it."


class QwenLive:
    """How Qwen Code runs live."""

    folder_variable = FOLDER_VARIABLE
    bridge: str | None = f"{__file__.rpartition('/')[0]}/bridge.py"

    def arguments(self, plan: Plan, _run_dir: str) -> list[str]:
        """Return its flags."""
        return AGENT.set_up(plan, asks_people=True)

    def reader(self, sent: Callable[[int], Event | None]) -> QwenLiveReader:
        """Return a reader for one child. `sent` returns the message that has a number."""
        return QwenLiveReader(sent)


LIVE = QwenLive()


class QwenLiveReader(HookedReader, QwenReader):
    """Reads the second output of one Qwen Code, and its hooks."""

    def __init__(self, sent: Callable[[int], Event | None]) -> None:
        super().__init__()
        self.listen(sent)
        self._said: list[tuple[int, str]] = []  # our prompts that it has not taken up
        self._open: dict[str, dict[str, Any]] = {}  # questions to a person
        self._is_denied = False  # by us, since the last prompt

    def kind(self, raw: Mapping[str, Any]) -> str:
        """Return the name of a hook, or the kind of a line."""
        return raw_json.word(raw.get("hook_event_name")) or super().kind(raw)

    def left(self, _exit_code: int | None) -> list[Event]:
        """Return nothing: its lines have told all."""
        return []

    def _assistant(self, raw: dict[str, Any], now: float) -> Reading:
        message = raw.get("message")
        used = usage_of(figures_of(message.get("usage") if isinstance(message, dict) else None), "call")
        return Reading([*super()._assistant(raw, now).events, *used], active=True)

    def _says(self, raw: dict[str, Any], _now: float) -> Reading:
        number, text = raw_json.whole(raw.get("inboxId")), raw_json.text(raw.get("text"))
        if number is not None and text is not None:
            self._said.append((number, text))
        return NOTHING

    def _started(self, raw: dict[str, Any], _now: float) -> Reading:
        self.model = raw_json.word(raw.get("model")) or self.model
        return Reading(self._opened(raw))

    def _prompt(self, raw: dict[str, Any], now: float) -> Reading:
        """Read a line of the user's side: a prompt, or what tools gave."""
        message = raw.get("message")
        content = message.get("content") if isinstance(message, dict) else None
        blocks = raw_json.blocks(content)
        if not blocks or any(block.get("type") == "tool_result" for block in blocks):
            return self._user(raw, now)
        text = "\n".join(raw_json.texts(blocks, "text"))
        self.has_begun, self._is_denied = True, False
        told = self.works_again()
        for at, (number, said) in enumerate(self._said):
            if said.strip() == text.strip():
                del self._said[at]
                sent = self._sent(number)
                return Reading([*told, *([] if sent is None else [sent])], active=True)
        self.typed = True
        return Reading([*told, events.human_input(text)], active=True)

    def _asks(self, raw: dict[str, Any], _now: float) -> Reading:
        known, request = raw_json.key(raw.get("request_id")), raw.get("request")
        if known is not None and isinstance(request, dict):
            raw_json.remember(self._open, known, request)
            ask = question(known, request)
            # Its second output takes a yes or a no, and no words.
            self.asks.open[known] = ask if ask.kind == PERMISSION else Ask("", ask.kind, ask.text)
        return ACTIVE

    def _answered(self, raw: dict[str, Any], _now: float) -> Reading:
        """Report what our answer denies. Its turn ends with that, and by no person."""
        ask = self.asks.answered(raw)
        request = self._open.pop(ask.id, None) if ask else None
        if ask is None or request is None or raw.get("answer") == ALLOW:
            return ACTIVE
        self._is_denied = True
        why = f"denied by {self.asks.given[ask.id][1]}"
        return Reading(self.deny(request.get("tool_use_id"), request.get("tool_name"), why), active=True)

    def _answers(self, raw: dict[str, Any], _now: float) -> Reading:
        """Read what a person answered on the screen."""
        told, response = [], raw.get("response")
        if not isinstance(response, dict):
            return ACTIVE
        inner, known = response.get("response"), str(response.get("request_id"))
        request = self._open.pop(known, None)
        if request is not None and isinstance(inner, dict) and inner.get("allowed") is False:
            told = self.deny(request.get("tool_use_id"), request.get("tool_name"), _NOT_ALLOWED)
        self.asks.open.pop(known, None)
        return Reading(told, active=True)

    def _over(self, told: list[Event], stop_reason: str) -> Reading:
        self._open.clear()
        return self.settle(told, stop_reason)

    def _stop(self, _raw: dict[str, Any], _now: float) -> Reading:
        self.error_message = None
        return self._over(self._told_texts(), "stop")

    def _stop_failure(self, raw: dict[str, Any], _now: float) -> Reading:
        said = raw_json.text(raw.get("last_assistant_message")) or ""
        if self._texts:  # it has said the error as if it were an answer
            self._texts[-1] = self._texts[-1].removesuffix(said)
        self.error_message = raw_json.sentence(raw.get("error_details")) or said or None
        return self._over(self._told_texts(), "error")

    def _notice(self, _raw: dict[str, Any], _now: float) -> Reading:
        """Conclude from its idleness that the turn was broken off: by our denial, else by a person."""
        if self.settled or not self.has_begun:
            return NOTHING
        self.typed |= not self._is_denied
        self._texts.clear()
        self.error_message = None
        return self._over([], "refused" if self._is_denied else "aborted")

    def _end(self, raw: dict[str, Any], _now: float) -> Reading:
        self.has_left = raw.get("reason") == "prompt_input_exit"
        return NOTHING

    takes: ClassVar = QwenReader.takes | {
        "bridge_says": _says,
        "bridge_taken": HookedReader.taken,
        "SessionStart": _started,
        "assistant": _assistant,
        "user": _prompt,
        "control_request": _asks,
        "control_response": _answers,
        "bridge_answer": _answered,
        "Stop": _stop,
        "StopFailure": _stop_failure,
        "Notification": _notice,
        "SessionEnd": _end,
    }


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
        from tmuxagents.agents.qwen.reader import QwenTalker  # noqa: PLC0415  (a live child needs none)

        return QwenTalker(plan.baseline, asks_people=plan.permission == words.ASK)

    def live(self) -> LiveAgent:
        """Return how it runs live."""
        return LIVE

    def agent_files(self) -> AgentFiles:
        """Return what its own agent files mean."""
        from tmuxagents.agents import brand  # noqa: PLC0415  (only presets ask)

        return brand.USUAL.changed(
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
