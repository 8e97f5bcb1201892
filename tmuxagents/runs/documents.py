"""Records as JSON documents: the one place where the contract's camelCase keys are written. Pure."""

from __future__ import annotations

from tmuxagents import records
from tmuxagents.records import Plan
from tmuxagents.runs.events import is_figure
from tmuxagents.text.safe import first_bytes, size_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    _Fields = dict[str, tuple[str, Callable[[Any], Any]]]

    from tmuxagents.errors import TmuxAgentsError
    from tmuxagents.records import Identity, Verdict
    from tmuxagents.runs.endings import Standing
    from tmuxagents.runs.lifecycle import RunState

RESULT_OUTPUT_LIMIT = 64 * 1024
RUN_OUTPUT_LIMIT = 4096


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _needed_text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _whole(value: Any) -> int | None:
    return value if type(value) is int else None


def _figure(value: Any) -> float | None:
    return value if is_figure(value) else None


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _texts(value: Any) -> list[str]:
    return [item for item in _list(value) if isinstance(item, str)]


def _object(value: Any) -> dict[str, Any] | None:
    return value if isinstance(value, dict) else None


# The fields of a plan in the order of meta.json, each with its key and the function that reads its value.
_FIELDS: _Fields = {
    "run_id": ("runId", _needed_text),
    "session_id": ("sessionId", _text),
    "call_id": ("callId", _text),
    "name": ("name", _text),
    "mode": ("mode", _text),
    "task_index": ("taskIndex", _whole),
    "step": ("step", lambda _: None),
    "agent": ("agent", _needed_text),
    "driver": ("driver", _text),
    "preset": ("preset", _text),
    "preset_kind": ("presetKind", _text),
    "preset_source": ("presetSource", _text),
    "preset_path": ("presetPath", _text),
    "preset_hash": ("presetHash", _text),
    "preset_hides": ("presetHides", _text),
    "tools": ("tools", _texts),
    "system_prompt": ("systemPrompt", _text),
    "system_prompt_path": ("systemPromptPath", _text),
    "append_system_prompt_path": ("appendSystemPromptPath", _text),
    "requested_model": ("requestedModel", _text),
    "resolved_model": ("resolvedModel", _text),
    "model_source": ("modelSource", _text),
    "task": ("task", _needed_text),
    "cwd": ("cwd", _needed_text),
    "project": ("project", _text),
    "owner": ("owner", _text),
    "root": ("root", _text),
    "timeout": ("timeout", _figure),
    "files": ("files", _list),
    "after": ("after", _texts),
    "resumes": ("resumes", _text),
    "session_path": ("sessionPath", _needed_text),
    "artifacts": ("artifacts", lambda value: _object(value) or {}),
    "created_at": ("createdAt", _figure),
}
# The fields of a plan that the run document shows, in its order.
_SHOWN = (
    *("run_id", "session_id", "call_id", "name", "mode", "task_index", "step"),
    *("preset", "preset_kind", "preset_source", "preset_path", "preset_hash", "preset_hides", "tools"),
    *("agent", "driver", "task", "cwd", "project", "owner", "after", "files", "resumes"),
    *("requested_model", "resolved_model", "model_source", "timeout", "created_at"),
)
# meta.json has these keys only if they have a value, and those of _AGENT all together or not at all.
_OPTIONAL: _Fields = {
    "keep_background": ("keepBackground", lambda value: value is True),
    "allow_outside": ("allowOutside", lambda value: value is True),
    "reopens": ("reopens", lambda value: value is True),
    "nesting": ("nesting", _whole),
    "profile": ("profile", _object),
    "account": ("account", _text),
    "preset_from": ("presetFrom", _text),
    "replayed": ("replayed", _whole),
    "task_name": ("taskName", _text),
    "agent_kind": ("agentKind", _text),
    "permission": ("permission", _text),
    "child_session": ("childSession", _text),
    "baseline": ("baseline", _object),
}
_AGENT: _Fields = {
    "agent_command": ("agentCommand", lambda value: _texts(value) if isinstance(value, list) else None),
    "agent_version": ("agentVersion", _text),
    "initiator": ("initiator", _text),
}
_ARTIFACTS = ("events", "stdout", "stderr", "transcript", "session", "result")
_NEEDED_TEXTS = ("agent", "cwd", "sessionId", "sessionPath", "task")
_OTHER_TEXTS = ("project", "resolvedModel", "systemPromptPath", "appendSystemPromptPath", "presetKind")


def plan_of(document: Mapping[str, Any]) -> Plan:
    """Return the plan in a meta.json, which may be damaged."""
    tables = (_FIELDS, _OPTIONAL, _AGENT)
    values = {name: read(document.get(key)) for table in tables for name, (key, read) in table.items()}
    values["session_id"] = values["session_id"] or values["run_id"]
    tmux = _object(document.get("tmux")) or {}
    return Plan(
        **values,
        tmux_socket=_text(tmux.get("socket")),
        tmux_session=_text(tmux.get("session")),
        tmux_launcher=_text(tmux.get("launcher")),
        written=document,
    )


def seen_from_here(plan: Plan, machine: Mapping[str, Any]) -> Plan:
    """Return the plan of a run on another machine, with the project, owner and tmux of this machine."""
    here = _object(machine.get("here"))
    if here is None:
        return plan
    return plan.changed(
        project=_text(here.get("project")) or plan.project,
        owner=_text(here.get("owner")) if "owner" in here else plan.owner,
        tmux_socket=_text(here.get("socket")),
        tmux_session=_text(here.get("session")),
        tmux_launcher=_text(here.get("launcher")),
        after=_texts(here.get("after")),
    )


def meta(plan: Plan) -> Mapping[str, Any]:
    """Return the meta.json of a plan; if the plan was read from one, that very document."""
    if plan.written is not None:
        return plan.written
    document: dict[str, Any] = {"v": 1}
    document |= {key: getattr(plan, name) for name, (key, _) in _FIELDS.items()}
    document["tmux"] = {
        "socket": plan.tmux_socket,
        "session": plan.tmux_session,
        "launcher": plan.tmux_launcher,
    }
    for name, (key, _) in _OPTIONAL.items():
        value = getattr(plan, name)
        if value is not None and value is not False:
            document[key] = value
    if plan.agent_command is not None:
        document |= {key: getattr(plan, name) for name, (key, _) in _AGENT.items()}
    return document


def is_sound(plan: Plan) -> bool:
    """Say whether a plan can be carried out: its file may have been edited."""
    document = meta(plan)
    tools = document.get("tools")
    return (
        all(isinstance(document.get(key), str) for key in _NEEDED_TEXTS)
        and all(isinstance(document.get(key), str | None) for key in _OTHER_TEXTS)
        and isinstance(tools, list)
        and all(isinstance(tool, str) for tool in tools)
        and is_figure(document.get("timeout"))
    )


def wrapper(identity: Identity, tmux: Mapping[str, Any], at: float) -> dict[str, Any]:
    """Return wrapper.json."""
    return {
        "v": 1,
        "host": identity.host,
        "bootId": identity.boot_id,
        "pidNamespace": identity.pid_namespace,
        "pid": identity.pid,
        "startTime": identity.start_time,
        "tmux": tmux,
        "at": round(at, 3),
    }


def result(  # noqa: PLR0913  (known only at the end)
    plan: Plan,
    state: RunState,
    verdict: Verdict,
    *,
    ended_at: float,
    duration_s: float,
    lingered: bool = False,
    logs_incomplete: bool = False,
) -> dict[str, Any]:
    """Return result.json. The duration of a run that never started is 0."""
    output = state.text
    return {
        "v": 1,
        "runId": plan.run_id,
        "sessionId": plan.session_id,
        **_optional_members(plan, state),
        "status": verdict.status,
        "reason": verdict.reason,
        "exitCode": verdict.exit_code,
        "signal": verdict.signal,
        "stopReason": state.stop_reason,
        "errorMessage": verdict.error_message,
        "output": None if output is None else first_bytes(output, RESULT_OUTPUT_LIMIT),
        "model": state.model or plan.resolved_model,
        "usage": state.usage,
        "toolCount": state.tool_count,
        "turns": state.turns,
        "messageCount": state.message_count,
        "startedAt": state.started_at,
        "endedAt": round(ended_at, 3),
        "durationMs": 0 if state.started_at is None else max(0, round(duration_s * 1000)),
        "outputBytes": None if output is None else size_of(output),
        "lingered": lingered,
        "leftBehind": state.left_behind,
        "logsIncomplete": logs_incomplete,
        "note": verdict.note,
    }


def _optional_members(plan: Plan, state: RunState, *, asks: bool = False) -> dict[str, Any]:
    """Return the keys that a document has only if the plan or the agent has a value for them."""
    extras: dict[str, Any] = {"asks": state.asks} if asks and state.asks else {}
    if plan.account is not None:
        extras["account"] = plan.account
    if plan.preset_from is not None:
        extras["presetFrom"] = plan.preset_from
    if state.child_session is not None:
        extras["childSession"] = state.child_session
    if state.denied:
        extras |= {"denied": state.denied, "denials": state.denials}
    return extras


def run(  # noqa: PLR0913  (known only to the caller)
    plan: Plan,
    state: RunState,
    standing: Standing,
    *,
    run_dir: str,
    activity: str | None,
    tmux: Mapping[str, Any] | None,
    elapsed_s: float,
    ended_at: float | None,
    host: str | None = None,
    code: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the run document. `host`: the other machine where it works; `code`: the code that came back."""
    how = standing.verdict
    output = state.text
    return {
        **({} if host is None else {"host": host}),
        **({} if code is None else {"code": code}),
        **_optional_members(plan, state, asks=how is None),
        **{_FIELDS[name][0]: getattr(plan, name) for name in _SHOWN},
        "status": standing.status,
        "reason": how.reason if how else None,
        "activity": activity if how is None else None,
        "attended": state.attended,
        "settled": how is None and state.settled,
        "needsInput": how is None and state.needs_input,
        "agentVersion": state.agent_version,
        "model": state.model or plan.resolved_model,
        "startedAt": state.started_at,
        "endedAt": ended_at,
        "lastEventAt": state.last_event_at,
        "runCount": 1,
        "turns": state.turns,
        "toolCount": state.tool_count,
        "messageCount": state.message_count,
        "usage": state.usage,
        "exitCode": how.exit_code if how else None,
        "signal": how.signal if how else None,
        "stopReason": state.stop_reason,
        "errorMessage": how.error_message if how else None,
        "output": None if output is None else first_bytes(output, RUN_OUTPUT_LIMIT),
        "outputBytes": None if output is None else size_of(output),
        "leftBehind": state.left_behind,
        "note": how.note if how else None,
        "runDir": run_dir,
        "artifacts": _artifacts(plan),
        "tmux": _place(plan, state, standing, tmux or {}, is_far=host is not None),
        "elapsedSeconds": round(elapsed_s, 1),
    }


def _artifacts(plan: Plan) -> dict[str, Any]:
    return {
        "meta": "meta.json",
        "prompt": "prompt.txt",
        "systemPrompt": plan.system_prompt_path,
        "appendSystemPrompt": plan.append_system_prompt_path,
        **{key: plan.artifacts.get(key) for key in _ARTIFACTS},
    }


def _place(
    plan: Plan, state: RunState, standing: Standing, tmux: Mapping[str, Any], *, is_far: bool
) -> dict[str, Any]:
    """Return a run's place in this machine's tmux. The events of a far child name a window there."""
    window, pane = tmux.get("window"), tmux.get("pane")
    if is_far:
        window = _text(window)
    else:
        window = None if standing.status == records.QUEUED else state.window or window
        pane = state.pane or pane
    session = tmux.get("session") or plan.tmux_session
    return {"socket": plan.tmux_socket, "session": session, "window": window, "pane": pane}


def error(problem: TmuxAgentsError, *, log: str | None = None) -> dict[str, Any]:
    """Return the error document."""
    body = {
        "kind": problem.kind,
        "message": problem.message,
        "hint": problem.hint,
        "exit": problem.exit_code,
        "faults": [{"field": f.field, "kind": f.kind, "message": f.message} for f in problem.faults],
        "candidates": problem.candidates,
    }
    return {"error": body if log is None else {**body, "log": log}}
