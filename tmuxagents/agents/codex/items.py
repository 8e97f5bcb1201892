"""Read the items of Codex (messages, thoughts, tool calls) from `codex exec` and from the app server.

`codex exec` writes `command_execution` and `aggregated_output`; the app server writes `commandExecution` and
`aggregatedOutput`. Apart from that, their items are the same. A tool that we know gets our name.

Pure.
"""

from __future__ import annotations

from tmuxagents.agents import raw as raw_json
from tmuxagents.agents.base import NOTHING, Reading
from tmuxagents.agents.brand import LineReader
from tmuxagents.runs import events
from tmuxagents.text import provider_error, safe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tmuxagents.runs.events import Event

    Item = dict[str, Any]

_RETRIES = "Reconnecting... "
_ROUTER, _SAYS = b"codex_core::tools::router", "error="  # on stderr, before the reason of a refusal
_BY_ANSWER = "rejected by user"  # an item reports such a call
_CUT = "max_output_tokens"  # in the message of a turn whose answer was cut


class ItemReader(LineReader):
    """Reads items, and the other lines that `codex exec` and the app server have in common."""

    exit_counts = False  # the stream says how a turn ended; an exit code after that is noise

    def __init__(self) -> None:
        super().__init__()
        self.session: str | None = None
        self.refused: dict[str, str] = {}  # calls that were refused by an answer: id -> by whom
        self.subjects: dict[str, str] = {}  # calls with a path: id -> their files

    def takes_session(self, session: Any, model: Any = None) -> list[Event]:
        """Report the session, once."""
        session_id = raw_json.key(session)
        if session_id is None or self.session is not None:
            return []
        self.session, self.model = session_id, raw_json.word(model)
        return [events.session_started(session_id, model=self.model)]

    def item_began(self, item: Item, now: float) -> Reading:
        """Report a tool call that begins."""
        found = _tool_of(item)
        if found is None or self.settled:  # after its end, nothing belongs to this turn
            return NOTHING
        tool, args = found
        if "path" in args and (call_id := raw_json.key(item.get("id"))):
            raw_json.remember(self.subjects, call_id, ", ".join(args.get("files") or [args["path"]]))
        return Reading(self.call(item.get("id"), tool, args, now), active=True)

    def item_ended(self, item: Item, now: float) -> Reading:
        """Report a message, a thought, or the end of a call."""
        if self.settled and (raw_json.key(item.get("id")) or "") not in self.calls:
            return NOTHING
        kind, text = _kind(item), raw_json.text(item.get("text")) or ""
        if kind == "agentmessage":
            return Reading([events.assistant_text(text)] if text.strip() else [], active=True)
        if kind == "reasoning":
            parts = [*raw_json.listed(item.get("summary")), *raw_json.listed(item.get("content"))]
            thought = text or "\n".join(part for part in parts if isinstance(part, str))
            return Reading([events.thinking(thought)]) if thought.strip() else NOTHING
        found = _tool_of(item)
        if found is None:
            return NOTHING
        reported = self.call(item.get("id"), *found, now)
        if item.get("status") == "declined":
            return Reading([*reported, self._declined(item, found[0])], active=True)
        result = raw_json.table(item.get("result"))
        is_error = result.get("isError", result.get("is_error")) is True
        failed = item.get("status") == "failed" or _code(item) not in (0, None) or is_error
        reported += self.result(item.get("id"), _output(item, failed=failed), now, failed=failed)
        return Reading(reported, active=True)

    def _declined(self, item: Item, tool: str) -> Event:
        call_id = raw_json.key(item.get("id"))
        self.calls.pop(call_id or "", None)
        by = self.refused.pop(call_id or "", None)
        return events.denied(call_id, tool, f"denied by {by}" if by else "declined")

    def overheard(self, line: bytes) -> list[Event]:
        """Report a call that the permission level refused: if no question was asked, no item reports it."""
        if _ROUTER not in line or b"ejected" not in line:
            return list(super().overheard(line))
        _, _, why = safe.line(line.decode("utf-8", "replace")).partition(_SAYS)
        if why.rstrip('")} \\').endswith(_BY_ANSWER):
            return []
        return [events.denied(None, "edit" if why.startswith("patch") else "bash", why)]

    def broken_off(self, now: float) -> list[Event]:
        """Report the end of the calls that an interrupt broke off, whose items never end.

        A call that an answer refused never ran: it is reported as denied.
        """
        reported: list[Event] = []
        for call_id, (tool, _) in list(self.calls.items()):
            if call_id in self.refused:
                reported.append(self._declined({"id": call_id}, tool))
            else:
                reported += self.result(call_id, "The call was broken off.", now, failed=True)
        return reported

    def retry(self, message: str, why: str | None = None) -> Event:
        """Report that Codex asks the model again: `Reconnecting... 1/5 (why)`."""
        count, _, rest = message.removeprefix(_RETRIES).partition(" ")
        attempt, _, most = count.partition("/")
        is_counted = message.startswith(_RETRIES) and attempt.isdecimal() and most.isdecimal()
        return events.retry(
            attempt=int(attempt[:9]) if is_counted else None,
            most=int(most[:9]) if is_counted else None,
            delay_ms=None,
            message=(rest.strip("() ") if is_counted else message) or why,
        )

    def failed(self, message: str | None, what: Any = None) -> list[Event]:
        """Report a failed turn. `what` is the kind of failure, as Codex names it."""
        self.error_message = provider_error.sentence(message) if message else self.error_message
        if _CUT in (message or ""):
            return self.finish("length")
        return self.finish("limit" if what == "sessionBudgetExceeded" else "error")


def is_retry(message: str) -> bool:
    """Say whether an error only reports that Codex asks the model again."""
    return message.startswith(_RETRIES)


def figures(counts: Item, keys: tuple[str, str, str, str, str], basis: str) -> dict[str, Any]:
    """Return usage figures under our names.

    `keys`: Codex's names for all input, the input from the cache, the input written to the cache, the output,
    and the reasoning in it.
    """
    whole, cached, written, output, reasoning = (raw_json.count(counts.get(key)) for key in keys)
    new = max(0, whole - cached - written)
    parts = {"input": new, "cacheRead": cached, "cacheWrite": written, "output": output}
    more = {"cost": 0, "reasoning": reasoning, "costKind": "none", "basis": basis}
    return {**parts, "totalTokens": sum(parts.values()), **more}


# --- what an item is --------------------------------------------------------------------------------------


def _kind(item: Item) -> str:
    return (raw_json.word(item.get("type")) or "").replace("_", "").lower()


def _code(item: Item) -> Any:
    return item.get("exit_code", item.get("exitCode"))


def _output(item: Item, *, failed: bool) -> str:
    """Return the output of a call: a command's output or the texts of a result, and its error."""
    output = raw_json.text(item.get("aggregated_output", item.get("aggregatedOutput"))) or ""
    result = item.get("result")
    content = result.get("content") if isinstance(result, dict) else item.get("contentItems")
    output = output or "\n".join(
        text for block in raw_json.blocks(content) if (text := raw_json.text(block.get("text")))
    )
    if message := raw_json.text(raw_json.table(item.get("error")).get("message")):
        output = f"{output}\n{message}".lstrip("\n")
    code = raw_json.whole(_code(item))
    return f"{output.rstrip()}\n\nCommand exited with code {code}".lstrip() if failed and code else output


def _tool_of(item: Item) -> tuple[str, Item] | None:  # noqa: PLR0911  (a case for each kind)
    """Return the tool of an item and its arguments, in our words; None if it is no call."""
    tool, args = raw_json.word(item.get("tool")) or "tool", raw_json.table(item.get("arguments"))
    match _kind(item):
        case "commandexecution":
            return "bash", {"command": unwrapped(raw_json.text(item.get("command")) or "")}
        case "filechange":
            return _change(item)
        case "mcptoolcall":
            return f"{raw_json.word(item.get('server')) or 'mcp'}.{tool}", args
        case "dynamictoolcall" | "collabtoolcall" | "collabagenttoolcall":
            prompt = raw_json.text(item.get("prompt"))
            return tool, {"prompt": prompt} if prompt else args
        case "websearch":
            return "web_search", {"query": raw_json.text(item.get("query")) or ""}
        case "imageview":
            return "view_image", {"path": raw_json.text(item.get("path")) or ""}
    return None


def _change(item: Item) -> tuple[str, Item]:
    """Return a file change as our call `write` or `edit`. A patch of several files is one edit."""
    changes = raw_json.blocks(item.get("changes"))
    first = changes[0] if changes else {}
    args: Item = {"path": raw_json.text(first.get("path")) or ""}
    diffs = [raw_json.text(one.get("diff")) for one in changes]
    kind = first.get("kind")
    how = kind.get("type") if isinstance(kind, dict) else kind
    if len(changes) == 1 and how == "add" and diffs[0] is not None:
        return "write", {**args, "content": diffs[0]}
    if len(changes) > 1:
        args["files"] = [path for one in changes if (path := raw_json.text(one.get("path")))]
    pairs = [pair for diff in diffs if diff for pair in _pairs(diff)]
    return "edit", {**args, "edits": pairs} if pairs else args


def _pairs(diff: str) -> list[dict[str, str]]:
    """Return the hunks of a unified diff as old and new text."""
    found: list[tuple[list[str], list[str]]] = []
    for line in diff.split("\n"):
        if line.startswith("@@"):
            found.append(([], []))
        elif found:  # lines before the first hunk are headers
            old, new = found[-1]
            if line[:1] in (" ", "-"):
                old.append(f"{line[1:]}\n")
            if line[:1] in (" ", "+"):
                new.append(f"{line[1:]}\n")
    return [{"oldText": "".join(old), "newText": "".join(new)} for old, new in found]


_SHELL_FLAGS = (" -lc ", " -c ")


def unwrapped(command: str) -> str:
    """Return the script that a command runs in a shell: `ls`, if the command is `/bin/bash -lc 'ls'`."""
    for flag in _SHELL_FLAGS:
        shell, found, script = command.partition(flag)
        if found and shell.endswith("sh") and " " not in shell:
            return _one_word(script) or command
    return command


def _one_word(text: str) -> str | None:
    """Return one word as a shell reads it, without its quotes; None if there are several words."""
    words: list[str] = []
    quote, at = "", 0
    while at < len(text):
        sign = text[at]
        at += 1
        if sign == "\\" and quote != "'" and at < len(text):
            words.append(text[at])
            at += 1
        elif sign == quote:
            quote = ""
        elif not quote and sign in "'\"":
            quote = sign
        elif not quote and sign.isspace():
            return None
        else:
            words.append(sign)
    return None if quote else "".join(words)
