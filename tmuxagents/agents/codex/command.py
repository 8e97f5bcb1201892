"""How to call Codex. A batch run talks to its app server; an older Codex runs `codex exec`.

- The permission level is Codex's sandbox: `read-only`, `edit` (Codex may write to the working directory) or
  `full` (no sandbox). With these levels Codex asks nobody, and a forbidden action fails. With `ask`, Codex
  may write to the working directory, but asks before each patch, and before each command that is not known
  to be harmless.
- The request for a session carries the texts of a preset. Text to add becomes developer instructions; text
  that replaces the system prompt becomes base instructions. `codex exec` can only replace its base
  instructions, by a file.
- Codex takes no list of tools: the sandbox is the limit.
- Codex chooses the id of a session, and continues a session from any folder.

`codex exec --json` takes one prompt for one turn, and prints lines. Three signs do not mean failure: an exit
code other than 0 after a finished turn; an `error` line, which Codex also prints when it only retries a
request; an item of the type `error`, which is a warning. If the sandbox refuses a patch, only stderr reports
it: no item appears. Tokens come once, at the end, and count the whole session.

Touches: the texts of a preset in a run directory.
"""

from __future__ import annotations

from tmuxagents.agents import raw as raw_json
from tmuxagents.agents.base import ACTIVE, NOTHING, Agent, Reading, inside
from tmuxagents.agents.capabilities import ASK, EDIT, FULL, READ_ONLY
from tmuxagents.agents.codex.items import ItemReader, figures, is_retry
from tmuxagents.errors import BadRequest, Unusable
from tmuxagents.runs import directory, events

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from tmuxagents.agents.base import LiveAgent, Reader
    from tmuxagents.agents.capabilities import AgentFiles, Capabilities
    from tmuxagents.agents.codex.app_server import AppServer
    from tmuxagents.records import Plan
    from tmuxagents.runs.events import Event

_SERVES_FROM = (0, 120)  # versions whose app server starts sessions, steers turns and asks for approvals
_SANDBOXES = {
    READ_ONLY: ("read-only", "never"),
    EDIT: ("workspace-write", "never"),
    FULL: ("danger-full-access", "never"),
    ASK: ("workspace-write", "untrusted"),
}
_LEVELS = [(level, _SANDBOXES[level]) for level in (READ_ONLY, EDIT, FULL)]
_NO_SANDBOX = "--dangerously-bypass-approvals-and-sandbox"


class Codex(Agent):
    """The agent Codex."""

    name = "codex"
    home_variable = "CODEX_HOME"
    program = "codex"
    how_to_install = "npm install -g @openai/codex"
    how_to_log_in = "run `codex login`"

    def arguments(self, plan: Plan, run_dir: str) -> list[str]:
        """Return the arguments: of the app server, or of one turn whose prompt comes on stdin."""
        if has_app_server(plan.agent_version):
            return ["app-server"]
        level = plan.permission or EDIT
        replaced, added = _prompts(plan)
        if level == ASK or added:
            what = "ask for permission" if level == ASK else "add to its system prompt"
            message = f"Codex {plan.agent_version} cannot {what}."
            raise BadRequest(message, kind="agent-too-old", hint="install a newer Codex")
        flags = [_NO_SANDBOX] if level == FULL else ["-s", _SANDBOXES[level][0]]
        if (model := _model(plan)) is not None:
            flags += ["-m", model]
        for path in replaced:
            in_toml = inside(path, run_dir).replace("\\", "\\\\").replace('"', '\\"')
            flags += ["-c", f'model_instructions_file="{in_toml}"']
        # Codex refuses flags after these words.
        resumed = ["resume", plan.child_session] if plan.child_session else []
        return ["exec", "--json", "--skip-git-repo-check", *flags, *resumed, "-"]

    def talker(self, plan: Plan, run_dir: str) -> AppServer | None:
        """Return a talker to the app server; None if `codex exec` takes the prompt."""
        if not has_app_server(plan.agent_version):
            return None
        from tmuxagents.agents.codex.app_server import AppServer  # noqa: PLC0415  (one seat needs it)

        sandbox, approvals = _SANDBOXES[plan.permission or EDIT]
        replaced, added = _prompts(plan)
        named: Mapping[str, str | None] = {
            "cwd": plan.cwd,
            "sandbox": sandbox,
            "approvalPolicy": approvals,
            "model": _model(plan),
            "baseInstructions": _text(replaced, run_dir),
            "developerInstructions": _text(added, run_dir),
        }
        settings = {key: value for key, value in named.items() if value is not None}
        return AppServer(settings, child_session=plan.child_session, asks_people=plan.permission == ASK)

    def reader(self, plan: Plan, _run_dir: str) -> Reader:
        """Return a reader of `codex exec`."""
        return ExecReader(plan.baseline)

    def live(self) -> LiveAgent | None:
        """Return how Codex runs live."""
        from tmuxagents.agents.codex import app_server  # noqa: PLC0415  (a batch child pays nothing for it)

        return app_server.LIVE

    def agent_files(self) -> AgentFiles:
        """Return where its own agent files are, and what they mean."""
        from tmuxagents.agents.capabilities import TOML, AgentFiles  # noqa: PLC0415  (only presets ask)

        return AgentFiles(
            agent=self.name,
            title="Codex",
            project=(".codex/agents",),
            suffix=TOML,
            body="developer_instructions",
            permission=("sandbox_mode", {sandbox: level for level, (sandbox, _) in _LEVELS}),
            harmless=("nickname_candidates",),
        )

    def capabilities(self) -> Capabilities:
        """Return its capabilities."""
        from tmuxagents.agents import capabilities as can  # noqa: PLC0415  (no wrapper asks)

        return can.Capabilities(
            seats=(can.DUPLEX, can.STREAM, can.LIVE),
            permissions=can.PERMISSIONS,
            steer=True,
            system_prompt=(can.ADD, can.REPLACE),
            usage=can.OF_CALL,
            oldest="0.120.0",
            tested="0.169.0",
        )


AGENT = Codex()


def has_app_server(version: str | None) -> bool:
    """Say whether a version has a usable app server. An unknown version is assumed to have one."""
    figures = [int(part) for part in (version or "").split(".")[:2] if part.isdecimal()]
    return tuple(figures) >= _SERVES_FROM if figures else True


def _model(plan: Plan) -> str | None:
    return None if plan.model_source == "agent" else plan.resolved_model


def _prompts(plan: Plan) -> tuple[list[str], list[str]]:
    """Return the files that replace Codex's system prompt, and the files whose text is added to it."""
    own, added = (
        [path] if path else [] for path in (plan.system_prompt_path, plan.append_system_prompt_path)
    )
    return (own, added) if plan.preset_kind == "profile" else ([], own + added)


def _text(paths: Sequence[str], run_dir: str) -> str | None:
    """Return the joined texts of files of the run. A child must not start if one cannot be read."""
    texts = []
    for path in paths:
        content = directory.read_bytes(inside(path, run_dir))
        if content is None:
            raise Unusable(f"{path} of the run cannot be read.", kind="no-prompt")
        texts.append(content.decode("utf-8", "replace"))
    return "\n\n".join(texts) if texts else None


# --- the output of `codex exec` ---

_KEYS = (
    *("input_tokens", "cached_input_tokens", "cache_write_input_tokens"),
    *("output_tokens", "reasoning_output_tokens"),
)
_REFUSED = (1, 2)  # exit codes without a first line: an unknown session, a wrong flag, a broken configuration


class ExecReader(ItemReader):
    """Reads one child of `codex exec`. `baseline`: the usage of its session before this run."""

    def __init__(self, baseline: Mapping[str, Any] | None = None) -> None:
        super().__init__()
        self._baseline = baseline or {}
        self._is_open = False  # a turn has begun and not ended
        self._failure: str | None = None

    def take(self, kind: str, raw: dict[str, Any], now: float) -> Reading:  # noqa: C901, PLR0911  (a case for each kind)
        """Read one line."""
        item = raw_json.table(raw.get("item"))
        match kind:
            case "thread.started":
                return Reading(self.takes_session(raw.get("thread_id")))
            case "turn.started":
                self._is_open = True
                return Reading(self.works_again())
            case "item.started":
                return self.item_began(item, now)
            case "item.updated":
                return ACTIVE
            case "item.completed":
                return self.item_ended(item, now)
            case "turn.completed":
                self._is_open = False
                used = figures(raw_json.table(raw.get("usage")), _KEYS, "session")
                for key in ("input", "cacheRead", "cacheWrite", "output", "totalTokens", "reasoning"):
                    used[key] = max(0, used[key] - raw_json.count(self._baseline.get(key)))
                return Reading([events.usage(used), *self.finish("stop")])
            case "turn.failed":
                self._is_open = False
                message = raw_json.sentence(raw_json.table(raw.get("error")).get("message"))
                return Reading(self.failed(message or self._failure))
            case "error":
                text = raw_json.sentence(raw.get("message")) or ""
                if is_retry(text):
                    return Reading([self.retry(text)])
                self._failure = text or self._failure
        return NOTHING

    def left(self, exit_code: int | None) -> list[Event]:
        """Judge a child that left without ending its turn, or without beginning one."""
        if self.session is None and exit_code in _REFUSED:
            return self.finish("config")
        if self._is_open and self._failure and exit_code:
            return self.failed(self._failure)
        return []
