"""One tool call as one line: `read → src/auth.ts:10+20 (20 lines)`. Pure.

These lines are for views of several children; `runs/narration` has the phrases for one. Whatever a child
sends, a preview contains no control sequence, and no line break except in a wrapped command.
"""

from __future__ import annotations

import json
from typing import NamedTuple

from tmuxagents.text import figures, paths, safe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    Args = Mapping[str, Any]

UNKNOWN, _NO_ACTION = "...", "?"
_BESIDE_COMMAND, _BESIDE_ROW = 12, 5  # columns beside the command in a bash line, and in its continuation
_TODO_WIDTH = 48
_LEAST = 3
_LINTED = 3  # up to three files are all named; of more, the first two


class Place(NamedTuple):
    """Where a child works, and how wide its lines may be."""

    cwd: str
    home: str
    width: int = 160

    def path(self, value: str) -> str:
        """Return a path as it is shown."""
        return paths.shorten(value, cwd=self.cwd, home=self.home)


def preview(tool: str, args: Any, place: Place) -> str:
    """Return the line of a call. `args` may be anything."""
    arguments = args if isinstance(args, dict) else {}
    name = safe.line(tool) or "tool"
    if name in _BARE:
        return name
    shown = _SHOWN.get(name)
    if shown is None:
        return f"{name} {_cut(_json(arguments), len(name) + 1, place)}" if arguments else name
    return f"{_LABELS.get(name, name)} → {shown(arguments, place)}"


# --- values that a child sent -----------------------------------------------------------------------------


def _text(args: Args, *keys: str) -> str | None:
    """Return the first of these arguments that is not empty, on one line."""
    for key in keys:
        value = args.get(key)
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        words = str(value) if type(value) in (int, float) else _flat(value) if isinstance(value, str) else ""
        if words:
            return words
    return None


def _flat(text: str) -> str:
    # Not safe.line: it would change blanks, which have a meaning in a path or a pattern.
    return safe.text(text).replace("\n", " ").replace("\t", " ").strip()


def _path(args: Args, place: Place, *keys: str) -> str:
    path = _text(args, *(keys or ("path", "filePath", "file_path")))
    return UNKNOWN if path is None else place.path(path)


def _entries(args: Args, key: str) -> list[Any]:
    value = args.get(key)
    return value if isinstance(value, list) else []


def _named(entries: Sequence[Any], key: str) -> list[str]:
    """Return this field of each entry that has it; an entry may be the text itself."""
    found = [_text(entry, key) if isinstance(entry, dict) else _text({key: entry}, key) for entry in entries]
    return [words for words in found if words]


def _cut(words: str, beside: int, place: Place) -> str:
    return safe.cut(words, max(_LEAST, place.width - beside))


# --- the text after the arrow, for each kind of tool ------------------------------------------------------


def _edit(args: Args, place: Place) -> str:
    edits = [edit for edit in _entries(args, "edits") if isinstance(edit, dict)]
    if not edits:
        return _path(args, place)
    added, removed = (sum(_count(edit.get(key)) for edit in edits) for key in ("newText", "oldText"))
    return f"{_path(args, place)} ({figures.counted(len(edits), 'edit')}) +{added}/-{removed}"


def _count(text: Any) -> int:
    return len(figures.filled_lines(text)) if isinstance(text, str) else 0


def _read(args: Args, place: Place) -> str:
    # Some children send 0 for an offset or limit that they do not want.
    offset, limit = (_text(args, key) if args.get(key) else None for key in ("offset", "limit"))
    start = f":{offset}" if offset else ""
    return _path(args, place) + start + (f"+{limit} ({limit} lines)" if limit else "")


def _bash(args: Args, place: Place) -> str:
    command = args.get("command")
    if not isinstance(command, str) or not command:
        return UNKNOWN
    first, following = (max(_LEAST, place.width - beside) for beside in (_BESIDE_COMMAND, _BESIDE_ROW))
    return paths.shown(command, cwd=place.cwd, home=place.home, first=first, following=following)


def _grep(args: Args, place: Place) -> str:
    pattern, glob, path = (_text(args, key) for key in ("pattern", "glob", "path"))
    where = glob or (place.path(path) if path else "")
    return f"/{pattern or UNKNOWN}/" + (f" → {where}" if where else "")


def _find(args: Args, place: Place) -> str:
    pattern, path = _text(args, "pattern") or UNKNOWN, _text(args, "path")
    return f"{pattern} in {place.path(path)}" if path else pattern


def _delegate(args: Args, _place: Place) -> str:
    tasks = _entries(args, "tasks")
    default = _text(args, "profile")
    own = [_text(task, "profile") for task in tasks if isinstance(task, dict)]
    profiles = [profile for profile in own if profile] or ([default] if default else [])
    return figures.counted(len(tasks), "task") + (f" [{', '.join(profiles)}]" if profiles else "")


def _file(args: Args, place: Place) -> str:
    return _path(args, place, "file", "path", "filePath")


def _position(args: Args, place: Place) -> str:
    at = [words for key in ("line", "column") if (words := _text(args, key))]
    return ":".join([_file(args, place), *at])


def _lint(args: Args, place: Place) -> str:
    files = [place.path(path) for path in _named(_entries(args, "files"), "path")]
    if len(files) <= _LINTED:
        return ", ".join(files) or "(all)"
    return f"{files[0]}, {files[1]}, ... +{len(files) - 2} more"


def _todos_edited(args: Args, _place: Place) -> str:
    texts = _named(_entries(args, "todos"), "text")
    if texts:
        return safe.cut(", ".join(texts), _TODO_WIDTH)
    return f"{_text(args, 'action') or _NO_ACTION} {_json(_entries(args, 'indices'))}"


def _only(key: str, otherwise: str = UNKNOWN) -> Callable[[Args, Place], str]:
    return lambda args, _place: _text(args, key) or otherwise


def _only_beginning(tool: str, one: str, several: str) -> Callable[[Args, Place], str]:
    """Return a function that shows the first of one or several values, cut to the rest of the line."""

    def shown(args: Args, place: Place) -> str:
        first = _text(args, one) or next(iter(_named(_entries(args, several), one)), UNKNOWN)
        return _cut(first, len(f"{tool} → ") + 1, place)

    return shown


def _json(value: Any) -> str:
    return _flat(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


_BARE = ("list_todos", "list_subagent_profiles")
_LABELS = {"lint_files": "lint"}
_SHOWN: dict[str, Callable[[Args, Place], str]] = {
    "edit": _edit,
    "write": lambda args, place: f"{_path(args, place)} +{_count(args.get('content'))}",
    "read": _read,
    "bash": _bash,
    "grep": _grep,
    "find": _find,
    "ls": lambda args, place: place.path(_text(args, "path") or "."),
    "delegate_to_subagents": _delegate,
    "lsp_diagnostics": _file,
    **dict.fromkeys(("lsp_find_references", "lsp_goto_definition", "lsp_call_hierarchy"), _position),
    "lsp_find_symbol": _only("query"),
    "lsp_refactor_symbol": (
        lambda args, place: f"{_position(args, place)} → {_text(args, 'newName') or UNKNOWN}"
    ),
    **dict.fromkeys(("lint", "lint_files"), _lint),
    "fetch_content": _only_beginning("fetch_content", "url", "urls"),
    "fetch_repo": _only("url"),
    "web_search": _only_beginning("web_search", "query", "queries"),
    "write_todos": lambda args, _place: f"{len(_entries(args, 'todos'))} todos written",
    "edit_todos": _todos_edited,
    **dict.fromkeys(("get_subagent_output", "get_subagent_session"), _only("sessionId")),
    "workflow_step": _only("action", _NO_ACTION),
}
