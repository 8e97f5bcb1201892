"""Sum up what `ls` and `find` found: `2 files, 1 dir`, `3 matches`; `+` if there was more.

Pure.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

TOOLS = ("ls", "find")
_NOTICE = "["  # begins a remark of the tool inside its listing
_EMPTY, _NONE = "(empty directory)", "No files found matching pattern"
_MORE = ("resultLimitReached", "entryLimitReached")


def summary(tool: str, text: str, details: Any = None, *, cut: bool = False) -> str | None:
    """Return the summary of a listing, None for other tools. `cut`: the text is only its beginning."""
    if tool not in TOOLS:
        return None
    whole = text.rpartition("\n")[0] if cut else text  # the last line may be torn
    found = [line for line in lines(whole) if not line.startswith(_NOTICE)]
    if isinstance(details, dict):
        truncation = details.get("truncation")
        cut |= bool(truncation.get("truncated", True) if isinstance(truncation, dict) else truncation)
        cut |= any(details.get(key) for key in _MORE)
    more = "+" if cut else ""
    if tool == "find":
        matches = 0 if found == [_NONE] else len(found)
        return f"{matches} {'match' if matches == 1 else 'matches'}{more}"
    if found in ([], [_EMPTY]):
        return f"(empty){more}"
    dirs = sum(line.rstrip().endswith("/") for line in found)
    counts = ((len(found) - dirs, "file"), (dirs, "dir"))
    return ", ".join(f"{count} {word}{'' if count == 1 else 's'}" for count, word in counts if count) + more


def lines(text: str) -> list[str]:
    """Return the lines of a text that are not blank."""
    return [line for line in text.split("\n") if line.strip()]
