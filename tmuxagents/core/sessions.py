"""Sessions as the tools of a parent know them: what stands beside a text, what is refused, what is kept."""

from __future__ import annotations

from tmuxagents.core.delegates import status_word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from tmuxagents.core.retrieval import Told

MOST_SESSIONS, MOST_RUNS = 32, 10

# --- what stands beside a text ----------------------------------------------------------------------------


def output_details(run: Mapping[str, Any], task_name: str, run_count: int, most_lines: int) -> dict[str, Any]:
    """Return `details` of get_subagent_output. `run` is the shape of the session's latest run."""
    return {
        "sessionId": run["sessionId"],
        "status": status_word(run["status"]),
        "taskName": task_name,
        "runCount": run_count,
        "maxLines": most_lines,
        "state": run["status"],
        "reason": run["reason"],
    }


def session_details(
    run: Mapping[str, Any], task_name: str, runs: Sequence[Told], most_lines: int
) -> dict[str, Any]:
    """Return `details` of get_subagent_session. `run` is the shape of the session's latest run."""
    return {
        **output_details(run, task_name, len(runs), most_lines),
        "messageCount": sum(len(one.messages) for one in runs),
        "exitCode": run["exitCode"],
        "model": run["model"],
    }


# --- refusals ---------------------------------------------------------------------------------------------


def unknown_session(session: str) -> str:
    """Return what is said of a session that nobody knows."""
    return f'Session "{session}" not found. The session may have expired or the ID is incorrect.'


def unknown_resume(session: str) -> str:
    """Return why a session that nobody knows is not resumed."""
    return (
        f'Cannot resume: session "{session}" not found. The session may have expired or the ID is incorrect.'
    )


def running_resume(session: str) -> str:
    """Return why a session that works is not resumed."""
    return f'Cannot resume: session "{session}" is still running. Wait for it to complete before resuming.'


# --- which sessions are remembered ------------------------------------------------------------------------


class Session:
    """One session of one parent: when its first run began, and whether one of its runs works."""

    __slots__ = ("is_live", "session_id", "since")

    def __init__(self, session_id: str, since: float, *, is_live: bool) -> None:
        self.session_id = session_id
        self.since = since
        self.is_live = is_live


def remembered(sessions: Sequence[Session], most: int = MOST_SESSIONS) -> list[Session]:
    """Return the sessions that a parent may still ask its tools for; the oldest go first, none that works."""
    surplus = len(sessions) - most
    gone: set[str] = set()
    for session in sorted(sessions, key=lambda one: one.since):
        if len(gone) < surplus and not session.is_live:
            gone.add(session.session_id)
    return [session for session in sessions if session.session_id not in gone]


def remembered_runs(runs: Sequence[Told]) -> Sequence[Told]:
    """Return the runs of a session that are told of: the latest."""
    return runs[-MOST_RUNS:]
