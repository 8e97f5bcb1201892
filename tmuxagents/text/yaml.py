"""Read YAML as people write it, without surprises: preset headers, layouts, tasks files. Pure.

Scalars follow YAML 1.2: `off`, `12:30` and dates stay text. Dangerous features of YAML are refused: tags,
anchors, aliases, duplicate keys, unlimited size and depth. The reader takes the library's events one by one,
so it stops at the first event beyond a limit. Tabs may separate words, as the standard allows. The library
would refuse them.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import yaml

from tmuxagents.text import safe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MOST_BYTES = 64 * 1024
MOST_NODES = 2000
DEEPEST = 4
_FENCE = "---"
_MOST_SHOWN = 60
_LONGEST_REASON = 200

_SLIPS = (yaml.YAMLError, ValueError, OverflowError, RecursionError)  # the library raises all of these
_KEY = re.compile(r"([A-Za-z][\w.-]{0,40})\s*:")
_ANCHORS = "anchors and aliases (& and *) are not allowed; put a text that begins so in quotes"
_BAD_CHARACTER = "it holds a character that may not be there (U+{:04X})"
_UNSPEAKABLE = re.compile("[\0\ud800-\udfff]")  # an escape gives them; no argument or variable can hold them
_NO_CLOSING_QUOTE = "found unexpected end of stream"
_MISPLACED_COLON = "mapping values are not allowed here"
# The library's messages, in words for the author of the file.
_WORDS = {
    _NO_CLOSING_QUOTE: "a quote is not closed",
    _MISPLACED_COLON: 'a text that holds ": " must be in quotes',
    "found character '\\t' that cannot start any token": "a tab cannot indent; use blanks",
    "sequence entries are not allowed here": "a list begins on a line of its own",
    "could not find expected ':'": 'here a ":" is missing',
    "found character '`' that cannot start any token": "put a text that begins with ` in quotes",
    "found character '@' that cannot start any token": "put a text that begins with @ in quotes",
    "found character '%' that cannot start any token": "put a text that begins with % in quotes",
}


class Malformed(ValueError):
    """A text that cannot be read: why, in which line of the file, and at which key if that is known."""

    def __init__(self, reason: str, *, line: int | None = None, field: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.line = line
        self.field = field


class Loaded(NamedTuple):
    """A YAML value, the same value with its scalars as written, and the line of each part."""

    value: Any
    written: Any
    lines: dict[tuple[str | int, ...], int]  # by path, such as ("tasks", 0, "model")


class Frontmatter(NamedTuple):
    """A header and the text below it. Without a header there are no fields, and all text is body."""

    fields: dict[str, Any]
    written: dict[str, Any]
    lines: dict[str, int]
    body: str


def parse(text: str) -> Frontmatter:
    """Parse a header between `---` lines and the body below it; raise Malformed."""
    header, body = split(text)
    if header is None:
        return Frontmatter({}, {}, {}, body)
    loaded = load(f"{header}\n")  # so that a block of text in the last line ends like any other
    if loaded.value is None:
        return Frontmatter({}, {}, {}, body)
    if not isinstance(loaded.value, dict):
        raise Malformed("the header must be a list of `key: value` lines", line=2)
    lines = {str(path[0]): line for path, line in loaded.lines.items() if len(path) == 1}
    return Frontmatter(loaded.value, loaded.written, lines, body)


def split(text: str) -> tuple[str | None, str]:
    """Return header and body. The header begins with a blank line, so that line numbers match."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    end = text.find(f"\n{_FENCE}", len(_FENCE)) if text.startswith(_FENCE) else -1
    if end < 0:
        return None, text
    return text[len(_FENCE) : end], text[end + 1 + len(_FENCE) :].strip()


def is_unclosed(text: str) -> bool:
    """Say whether a text begins a header without ending it."""
    return text.removeprefix("\ufeff").startswith(_FENCE) and split(text)[0] is None


def load(text: str, *, deepest: int = DEEPEST) -> Loaded:
    """Parse one YAML document; raise Malformed. Lines count from 1."""
    if len(text.encode("utf-8", "surrogatepass")) > MOST_BYTES:
        raise Malformed(f"it is larger than {MOST_BYTES // 1024} KB")
    reader = _Reader(deepest)
    try:
        value, written = reader.document(text)
    except yaml.reader.ReaderError as error:
        found = error.character
        code = ord(found) if isinstance(found, str) else int(found)
        raise Malformed(_BAD_CHARACTER.format(code), line=text.count("\n", 0, error.position) + 1) from error
    except yaml.MarkedYAMLError as error:
        raise _malformed(error, text, reader.field) from error
    except Malformed:
        raise
    except _SLIPS as error:
        raise Malformed("it cannot be read as YAML", line=reader.at) from error
    return Loaded(value, written, reader.lines)


def _malformed(error: yaml.MarkedYAMLError, text: str, field: str | None) -> Malformed:
    """Return the library's error with a line, a field and helpful words."""
    problem = error.problem or "it cannot be read as YAML"
    mark = error.context_mark if problem == _NO_CLOSING_QUOTE else error.problem_mark
    rows = text.rstrip().splitlines() or [""]
    # A problem at the end of the text is reported for the last line with text.
    at = min(mark.line, len(rows) - 1) if mark else None
    row = "" if at is None else rows[at]
    key = _KEY.match(row)
    if error.context in ("while scanning an alias", "while scanning an anchor"):
        problem = _ANCHORS
    elif problem == _MISPLACED_COLON and row.count(":") == 1:
        problem = 'the line before it is no "key: value"'
    reason = _WORDS.get(problem, problem)[:_LONGEST_REASON]
    return Malformed(reason, line=None if at is None else at + 1, field=key.group(1) if key else field)


class _Reader:
    """Reads one document and refuses a text beyond the limits, which also bound the recursion."""

    def __init__(self, deepest: int) -> None:
        self.lines: dict[tuple[str | int, ...], int] = {}
        self.at: int | None = None  # the line of the last event
        self.field: str | None = None  # the key at the top whose value is being read
        self._deepest = deepest
        self._nodes = 0

    def document(self, text: str) -> tuple[Any, Any]:
        """Return the value of the document, and the same value with its scalars as written."""
        self._loader: Any = Loader(text)
        self._next()  # the stream begins
        if self._loader.check_event(yaml.StreamEndEvent):
            return None, None
        self._next()  # the document begins
        found = self._node(())
        self._next()  # the document ends
        if not self._loader.check_event(yaml.StreamEndEvent):
            self._next()
            self.field = None
            raise self._refusal("there may be only one document")
        return found

    def _next(self) -> Any:
        event = self._loader.get_event()
        self.at = event.start_mark.line + 1 if event.start_mark else None
        return event

    def _node(self, path: tuple[str | int, ...]) -> tuple[Any, Any]:
        event = self._allowed()
        self.lines[path] = self.at or 1
        if isinstance(event, yaml.ScalarEvent):
            written = self._text(event)
            return (written if event.style else typed(written)), written
        if len(path) >= self._deepest:
            raise self._refusal(f"it is nested deeper than {self._deepest} levels")
        if isinstance(event, yaml.MappingStartEvent):
            return self._mapping(path)
        pairs: list[tuple[Any, Any]] = []
        while not self._loader.check_event(yaml.SequenceEndEvent):
            pairs.append(self._node((*path, len(pairs))))
        self._next()
        return [value for value, _ in pairs], [written for _, written in pairs]

    def _mapping(self, path: tuple[str | int, ...]) -> tuple[dict[str, Any], dict[str, Any]]:
        values: dict[str, Any] = {}
        written: dict[str, Any] = {}
        while not self._loader.check_event(yaml.MappingEndEvent):
            event = self._allowed()
            if not isinstance(event, yaml.ScalarEvent):
                raise self._refusal("a key must be a word")
            key = self._text(event)
            shown = safe.first_letters(key, _MOST_SHOWN)
            if key in values:
                raise self._refusal(f'the key "{shown}" occurs twice', field=shown)
            if not path:
                self.field = shown
            values[key], written[key] = self._node((*path, key))
        self._next()
        return values, written

    def _allowed(self) -> Any:
        """Return the next event, which begins a value; refuse a value that is not allowed."""
        event = self._next()
        if event.anchor is not None:  # an alias has one, too
            raise self._refusal(_ANCHORS)
        if event.tag is not None:
            raise self._refusal("tags (!) are not allowed; put a text that begins so in quotes")
        self._nodes += 1
        if self._nodes > MOST_NODES:
            raise self._refusal(f"it has more than {MOST_NODES} entries")
        return event

    def _text(self, event: yaml.ScalarEvent) -> str:
        unspeakable = _UNSPEAKABLE.search(event.value)
        if unspeakable:
            raise self._refusal(_BAD_CHARACTER.format(ord(unspeakable.group())))
        return str(event.value)

    def _refusal(self, reason: str, *, field: str | None = None) -> Malformed:
        return Malformed(reason, line=self.at, field=field or self.field)


# --- scalars ----------------------------------------------------------------------------------------------

_LONGEST_NUMBER = 64  # digits; a longer number stays text
_CONSTANTS = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_WHOLE = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FRACTION = re.compile(
    r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)"
)


def typed(text: str) -> Any:
    """Return the value of a plain scalar in YAML 1.2."""
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if len(text) > _LONGEST_NUMBER:
        return text
    if _WHOLE.fullmatch(text):
        return int(text, 0 if text[1:2] in ("o", "x") else 10)
    if _FRACTION.fullmatch(text):
        return float(text.replace(".", "") if text[-1].isalpha() else text)
    return text


# --- tabs -------------------------------------------------------------------------------------------------

_BLANKS = " \t"
_BREAKS = "\r\n\x85\u2028\u2029"


class Loader(yaml.BaseLoader):
    """The library's loader, but a tab is a blank unless it indents a line."""

    def scan_plain_spaces(self, indent: int, start_mark: Any) -> list[str] | None:
        """Take the blanks and tabs between two words of a text without quotes."""
        length = self._blanks()
        blanks = self.prefix(length)
        self.forward(length)
        if self.peek() in _BREAKS:
            spaces: list[str] | None = super().scan_plain_spaces(indent, start_mark)
            return spaces
        return [blanks] if blanks else []

    def scan_to_next_token(self) -> None:
        """Go to the next token. A tab that indents the token is not skipped, and so is refused."""
        super().scan_to_next_token()
        while self.peek() == "\t":
            before = self.buffer[self.pointer - self.column : self.pointer]
            blanks = self._blanks()
            if not before.strip(_BLANKS) and self.peek(blanks) not in f"#\0{_BREAKS}":
                return  # it indents a token
            self.forward(blanks)
            if not self.flow_level:
                # No mapping or list can begin after a tab: its column would depend on the width of the tab.
                self.allow_simple_key = False
            super().scan_to_next_token()

    def _blanks(self) -> int:
        length = 0
        while self.peek(length) in _BLANKS:
            length += 1
        return length
