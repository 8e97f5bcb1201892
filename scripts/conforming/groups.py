"""The groups that are known: for each the one adapter that hands a case to the real code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scripts.conforming import disk, profiles, running, sessions, showing

if TYPE_CHECKING:
    from collections.abc import Callable

PURE: dict[str, Callable[[Any], Any]] = {
    "formatToolCall": showing.tool_call,
    "formatBashCommand": showing.bash_command,
    "shortenPath": showing.path,
    "shortenPathsInText": showing.paths_in_text,
    "collapseCdDot": showing.change_of_directory,
    "formatToolResult": showing.tool_result,
    "countNonEmptyLines": showing.filled_lines,
    "parseFrontmatter": profiles.header,
    "getProfilesDir": profiles.folder,
    "profileToArgs": profiles.flags,
    "extraArgs": profiles.flags,
    "validateProfileTools": profiles.tool_conflict,
    "validateProfileSkills": profiles.skill_conflict,
    "applyExcludeTools": profiles.exclusions,
    "resolveProfileSkills": profiles.resolved_skills,
    "profileSummary": profiles.summary,
    "formatProfileDetail": profiles.detail,
    "serializeProfileToMarkdown": profiles.text,
    "formatRunsForResume": sessions.before_a_resumed_task,
    "formatSessionTranscript": sessions.transcript,
    "loopDetection": running.loop,
    "windowLines": running.window_lines,
    "exitStatus": running.exit_status,
    "stripAnsi": showing.plain,
    "appendLineToWindow": showing.rolling,
    "getSummaryText": showing.progress_summary,
    "retrieval": sessions.retrieved,
    "truncatingRender": showing.shortened,
    "colorizeToolLine": showing.coloured,
    "renderDelegateCall": showing.delegate_call,
    "renderDelegateResult": showing.delegate_result,
    "settings": running.setting,
    "profileCommand": profiles.command,
    "profileCommandCompletions": profiles.completions,
    "idleTimeout": running.idle_timeout,
    "progressText": showing.phrases,
}
# These get a folder as well.
ON_DISK: dict[str, Callable[[Any, str], Any]] = {
    "loadProfiles": disk.profiles,
    "filesParameter": disk.files,
}
