"""What the code says of a recording against its true verdict: one line for each difference."""

from __future__ import annotations

import hashlib
import tempfile
from typing import TYPE_CHECKING, Any

from scripts.conforming.recordings import figures
from scripts.conforming.replay import Played, play
from tmuxagents import records
from tmuxagents.runs import narration

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from scripts.conforming.recordings import Recording

# A child that said nothing at all gives its exit as the reason, and what stands on stderr as the message.
_BY_EXIT = ("config", "error")
_ENDS = {None: "without an end", True: "failed", False: "went well"}
_ANSWERED = 200  # by HTTP: what else a model call holds is an error's text


def differences(recording: Recording, cuts: Callable[[bytes], Sequence[bytes]] | None = None) -> list[str]:
    """Return what the code says of a recording and the truth does not. Raises NotJudged."""
    with tempfile.TemporaryDirectory() as folder:
        return judged(recording, play(recording, folder, cuts))


def judged(recording: Recording, played: Played) -> list[str]:
    """Return the differences of a played recording."""
    return [
        *_endings(recording, played),
        *_turns(recording, played),
        *_text(recording, played),
        *_tools(recording, played),
        *_names(recording, played),
        *_usage(recording, played),
    ]


def is_undetectable(recording: Recording) -> bool:
    """Say whether the truth cannot be read from the stream: completed is then right."""
    return bool(recording.verdict.get("undetectable"))


def _endings(recording: Recording, played: Played) -> Iterator[str]:
    wanted, otherwise = recording.verdict, recording.verdict.get("ifNotAsked")
    ours = played.verdict(recording.meta, asked=otherwise is not None)
    if is_undetectable(recording):
        if ours.status not in (records.COMPLETED, wanted["status"]):
            yield f"status: {ours.status} ({ours.reason}), and it cannot be told from completed"
        return
    if ours.status != wanted["status"]:
        yield f"status: {ours.status} ({ours.reason}) instead of {wanted['status']} ({wanted.get('reason')})"
    elif not _means(ours.reason, wanted.get("reasonWord"), recording):
        yield f"reason: {ours.reason} instead of {wanted.get('reasonWord')}"
    if otherwise is not None:
        alone = played.verdict(recording.meta, asked=False)
        if alone.status != otherwise["status"]:
            yield f"status if nobody had asked for the stop: {alone.status} instead of {otherwise['status']}"


def _means(ours: str, wanted: Any, recording: Recording) -> bool:
    silent = not recording.stdout.strip()
    return wanted is None or ours == wanted or (ours == "exit" and wanted in _BY_EXIT and silent)


def _turns(recording: Recording, played: Played) -> Iterator[str]:
    wanted = [turn["status"] for turn in recording.verdict.get("turns") or ()]
    if wanted and played.turns != wanted:
        yield f"turns: {', '.join(played.turns) or 'none'} instead of {', '.join(wanted)}"


def _text(recording: Recording, played: Played) -> Iterator[str]:
    wanted, ours = recording.verdict.get("text"), played.state.text
    if wanted is None:
        calls = recording.meta.get("model_calls_list") or ()
        spoken = [one.get("text") or "" for one in calls if one.get("status") == _ANSWERED]
        if ours and not any(ours.strip() in text or text[:200] in ours for text in spoken if text):
            yield f"text: {ours[:60]!r}, which no model said"
    elif ours is None:
        if not wanted.get("partial"):
            yield f"text: none instead of {wanted['head'][:60]!r}"
    elif hashlib.sha256(ours.encode("utf-8", "surrogatepass")).hexdigest() != wanted["sha256"]:
        yield f"text: {ours[:60]!r}, {len(ours)} letters, instead of {wanted['head'][:60]!r}"


def _tools(recording: Recording, played: Played) -> Iterator[str]:
    told = {
        event.fields["callId"]: event.fields["toolName"]
        for event in played.events
        if event.type == "tool_call"
    }
    ended = {e.fields["callId"]: e.fields["isError"] for e in played.events if e.type == "tool_result"}
    denied = [event.fields["callId"] for event in played.events if event.type == "denied"]
    wanted = recording.verdict.get("tools") or []
    known = {str(tool["id"]): tool for tool in wanted if tool.get("id")}
    for call, tool in known.items():
        name = told.get(call)
        if name is None and call not in denied:
            yield f"tool {tool['name']} ({call}): not told"
        elif name is not None and name not in (tool["name"], tool.get("shownAs"), *narration.WORDS):
            yield f"tool {tool['name']}: told as {name}"
        how = "denied" if call in denied else _ENDS[ended.get(call)]
        if not _fits(tool, how):
            truth = "never ran" if not tool["ran"] else "went well" if tool["ok"] else "failed"
            yield f"tool {tool['name']}: {how}, and it {truth}"
    for call in told.keys() - known.keys() - {None}:
        if recording.verdict.get("tools") is not None:
            yield f"tool {told[call]} ({call}): told, and no model called it"
    shown = [one for one in recording.verdict.get("denials") or () if one.get("id")]
    if len(denied) != len(shown) and len(denied) != len(recording.verdict.get("denials") or ()):
        yield f"denials: {len(denied)} instead of {len(shown)}"


def _fits(tool: dict[str, Any], how: str) -> bool:
    """Say whether a call may be told so: one that was ended in the middle need not have an end."""
    if not tool["ran"]:
        return how != "went well"
    return how == "went well" if tool["ok"] else how in ("failed", "without an end")


def _names(recording: Recording, played: Played) -> Iterator[str]:
    verdict, state = recording.verdict, played.state
    if verdict.get("sessionTold") and state.child_session != verdict.get("session"):
        yield f"session: {state.child_session} instead of {verdict['session']}"
    if verdict.get("model") and state.model != verdict["model"]:
        yield f"model: {state.model} instead of {verdict['model']}"


def _usage(recording: Recording, played: Played) -> Iterator[str]:
    usage = recording.verdict.get("usage") or {}
    told, served = usage.get("told"), usage.get("served")
    if not told or not served:
        return
    ours = {key: played.state.usage[key] for key in figures(served)}
    beside = usage.get("servedOfThatSideCalls") or dict.fromkeys(served, 0)
    own = figures({key: served[key] - beside.get(key, 0) for key in served})
    if ours in (figures(served), own) or _is_told(ours, told):
        return
    yield f"usage: {_words(ours)} instead of {_words(own)}"


def _is_told(ours: dict[str, int], told: dict[str, Any]) -> bool:
    """Say whether these are the figures that the agent told, which may be fewer than what was charged.

    Of a session's figures nothing is taken: they hold what was used before this run.
    """
    raw = told.get("raw")
    over_acp = isinstance(raw, dict) and "prompts" in raw
    if told.get("basis") != "run" and not (over_acp and told.get("basis") == "call"):
        return False
    sums: dict[str, int] = {}
    rows = raw.get("prompts") if isinstance(raw, dict) and over_acp else raw
    for row in rows if isinstance(rows, list) else [rows]:
        usage = row.get("usage", row) if isinstance(row, dict) else {}
        usage = usage.get("token_count", usage) or {}
        for key, value in usage.items():
            if type(value) is int:
                sums[key] = sums.get(key, 0) + value
    both = ours["input"] + ours["cacheRead"]
    return ours["output"] in sums.values() and (ours["input"] in sums.values() or both in sums.values())


def _words(usage: dict[str, int]) -> str:
    return ", ".join(f"{value} {key}" for key, value in usage.items())
