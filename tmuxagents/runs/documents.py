"""Records as JSON documents: the one place where the contract's camelCase keys are written. Pure."""

from __future__ import annotations

from tmuxagents import records
from tmuxagents.text.safe import first_bytes, size_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from tmuxagents.errors import TmuxAgentsError
    from tmuxagents.records import Identity, Verdict
    from tmuxagents.runs.endings import Standing
    from tmuxagents.runs.lifecycle import RunState

RESULT_OUTPUT_LIMIT = 64 * 1024
RUN_OUTPUT_LIMIT = 4096
# What of a plan stands in the run shape as it is.
_PLANNED = (
    *("runId", "sessionId", "callId", "name", "mode", "taskIndex", "step"),
    *("preset", "presetKind", "presetSource", "presetPath", "presetHash", "presetHides", "tools"),
    *("agent", "driver", "task", "cwd", "project", "owner", "after", "files", "resumes"),
    *("requestedModel", "resolvedModel", "modelSource", "timeout", "createdAt"),
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


def result(  # noqa: PLR0913  (what only the end knows)
    meta: Mapping[str, Any],
    state: RunState,
    verdict: Verdict,
    *,
    ended_at: float,
    duration_s: float,
    lingered: bool = False,
    logs_incomplete: bool = False,
) -> dict[str, Any]:
    """Return result.json. A run that never started lasted no time."""
    output = state.text
    return {
        "v": 1,
        "runId": meta["runId"],
        "sessionId": meta["sessionId"],
        "status": verdict.status,
        "reason": verdict.reason,
        "exitCode": verdict.exit_code,
        "signal": verdict.signal,
        "stopReason": state.stop_reason,
        "errorMessage": verdict.error_message,
        "output": None if output is None else first_bytes(output, RESULT_OUTPUT_LIMIT),
        "model": state.model or meta.get("resolvedModel"),
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


def run(  # noqa: PLR0913  (what only the caller knows)
    meta: Mapping[str, Any],
    state: RunState,
    standing: Standing,
    *,
    run_dir: str,
    activity: str | None,
    tmux: Mapping[str, Any] | None,
    elapsed_s: float,
    ended_at: float | None,
) -> dict[str, Any]:
    """Return the run shape, as it stands in every document."""
    how = standing.verdict
    output = state.text
    return {
        **{key: meta.get(key) for key in _PLANNED},
        "status": standing.status,
        "reason": how.reason if how else None,
        "activity": activity if how is None else None,
        "attended": state.attended,
        "settled": how is None and state.settled,
        "needsInput": how is None and state.needs_input,
        "agentVersion": state.agent_version,
        "model": state.model or meta.get("resolvedModel"),
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
        "artifacts": _artifacts(meta),
        "tmux": {
            "socket": (meta.get("tmux") or {}).get("socket"),
            "session": (tmux or {}).get("session") or (meta.get("tmux") or {}).get("session"),
            "window": None
            if standing.status == records.QUEUED
            else state.window or (tmux or {}).get("window"),
            "pane": state.pane or (tmux or {}).get("pane"),
        },
        "elapsedSeconds": round(elapsed_s, 1),
    }


def _artifacts(meta: Mapping[str, Any]) -> dict[str, Any]:
    files = meta.get("artifacts") or {}
    return {
        "meta": "meta.json",
        "prompt": "prompt.txt",
        "systemPrompt": meta.get("systemPromptPath"),
        "appendSystemPrompt": meta.get("appendSystemPromptPath"),
        **{key: files.get(key) for key in ("events", "stdout", "stderr", "transcript", "session", "result")},
    }


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
