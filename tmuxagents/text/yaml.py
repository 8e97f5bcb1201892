"""YAML as people write it, read without surprises: preset headers, layouts, task files. Pure.

The scalars are those of YAML 1.2 (`off`, `12:30` and dates stay text), and nothing that makes YAML dangerous
is accepted: tags, anchors, aliases, a key that occurs twice, endless size. The reader works on the library's
event stream and never on its composer: a hostile text is refused at the first event too many, and nothing
recurses. Tabs may separate words, as YAML allows; the library refuses them.
"""

from __future__ import annotations

import re

import yaml

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from yaml.events import Event

MOST_BYTES = 64 * 1024
MOST_NODES = 2000
DEEPEST = 4
_FENCE = "---"
_MOST_SHOWN = 60
_LONGEST_REASON = 200

_SLIPS = (yaml.YAMLError, ValueError, OverflowError, RecursionError)  # what the library lets through
_KEY = re.compile(r"([A-Za-z][\w.-]{0,40})\s*:")
_ANCHORS = "anchors and aliases (& and *) are not allowed; put a text that begins so in quotes"
_BAD_CHARACTER = "it holds a character that may not be there (U+{:04X})"
_UNSPEAKABLE = re.compile("[\0\ud800-\udfff]")  # escapes can say it; no file, argument or variable can
_NO_CLOSING_QUOTE = "found unexpected end of stream"
_MISPLACED_COLON = "mapping values are not allowed here"
# What the library says, in words for the person who wrote the file.
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


class Loaded:
    """A YAML value, the same with every scalar as it was written, and the line of each of its places."""

    __slots__ = ("lines", "value", "written")

    def __init__(self, value: Any, written: Any, lines: dict[tuple[str | int, ...], int]) -> None:
        self.value = value
        self.written = written
        self.lines = lines  # by path: ("tasks", 0, "model")


class Frontmatter:
    """A header and the text below it. Without a header there are no fields, and all is body."""

    __slots__ = ("body", "fields", "lines", "written")

    def __init__(
        self, fields: dict[str, Any], written: dict[str, Any], lines: dict[str, int], body: str
    ) -> None:
        self.fields = fields
        self.written = written
        self.lines = lines
        self.body = body


def parse(text: str) -> Frontmatter:
    """Read a header between `---` lines and the body below it; raise Malformed."""
    header, body = split(text)
    if header is None:
        return Frontmatter({}, {}, {}, body)
    loaded = load(f"{header}\n")  # a block of text in the last line ends as one anywhere else does
    if loaded.value is None:
        return Frontmatter({}, {}, {}, body)
    if not isinstance(loaded.value, dict):
        raise Malformed("the header must be a list of `key: value` lines", line=2)
    lines = {str(path[0]): line for path, line in loaded.lines.items() if len(path) == 1}
    return Frontmatter(loaded.value, loaded.written, lines, body)


def split(text: str) -> tuple[str | None, str]:
    """Return header and body. The header keeps its place: its first line is the fence, left blank."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    end = text.find(f"\n{_FENCE}", len(_FENCE)) if text.startswith(_FENCE) else -1
    if end < 0:
        return None, text
    return text[len(_FENCE) : end], text[end + 1 + len(_FENCE) :].strip()


def is_unclosed(text: str) -> bool:
    """Say whether a text begins a header and does not end it."""
    return text.removeprefix("\ufeff").startswith(_FENCE) and split(text)[0] is None


def load(text: str, *, deepest: int = DEEPEST) -> Loaded:
    """Read one YAML document; raise Malformed. Lines count from 1."""
    if len(text.encode("utf-8", "surrogatepass")) > MOST_BYTES:
        raise Malformed(f"it is larger than {MOST_BYTES // 1024} KB")
    build = _Build(deepest)
    try:
        for event in yaml.parse(text, Loader=Loader):
            build.take(event)
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise Malformed(_BAD_CHARACTER.format(_code(error)), line=line) from error
    except yaml.MarkedYAMLError as error:
        raise _malformed(error, text, build.field) from error
    except Malformed:
        raise
    except _SLIPS as error:
        raise Malformed("it cannot be read as YAML", line=build.line) from error
    return Loaded(build.value, build.written, build.lines)


def _code(error: yaml.reader.ReaderError) -> int:
    found = error.character
    return ord(found) if isinstance(found, str) else int(found)


def _malformed(error: yaml.MarkedYAMLError, text: str, field: str | None) -> Malformed:
    """Return what the library found as a fault with a line, a field and words that help."""
    problem = error.problem or "it cannot be read as YAML"
    mark = error.context_mark if problem == _NO_CLOSING_QUOTE else error.problem_mark
    rows = text.rstrip().splitlines() or [""]
    # What is missing at the end is missing in the last line that says anything.
    at = min(mark.line, len(rows) - 1) if mark else None
    row = "" if at is None else rows[at]
    key = _KEY.match(row)
    if error.context in ("while scanning an alias", "while scanning an anchor"):
        problem = _ANCHORS
    elif problem == _MISPLACED_COLON and row.count(":") == 1:
        problem = 'the line before it is no "key: value"'
    reason = _WORDS.get(problem, problem)[:_LONGEST_REASON]
    return Malformed(reason, line=None if at is None else at + 1, field=key.group(1) if key else field)


class _Open:
    """A mapping or list whose end has not come."""

    __slots__ = ("key", "path", "value", "written")

    def __init__(self, path: tuple[str | int, ...], *, is_mapping: bool) -> None:
        self.path = path
        self.value: Any = {} if is_mapping else []
        self.written: Any = {} if is_mapping else []
        self.key: str | None = None  # of a mapping: its value comes next


class _Build:
    """Puts a value together out of events, and refuses what goes beyond the limits."""

    def __init__(self, deepest: int) -> None:
        self.value: Any = None
        self.written: Any = None
        self.lines: dict[tuple[str | int, ...], int] = {}
        self.line: int | None = None
        self.field: str | None = None  # the key at the top whose value is being read
        self._open: list[_Open] = []
        self._deepest = deepest
        self._nodes = 0
        self._documents = 0

    def take(self, event: Event) -> None:
        """Take the next event."""
        self.line = event.start_mark.line + 1 if event.start_mark else None
        if isinstance(event, yaml.DocumentStartEvent):
            self._documents += 1
            self.field = None
            if self._documents > 1:
                raise self._refusal("there may be one document only")
        elif isinstance(event, yaml.AliasEvent):
            raise self._refusal(_ANCHORS)
        elif isinstance(event, yaml.NodeEvent):
            self._node(event)
        elif isinstance(event, yaml.CollectionEndEvent):
            self._open.pop()

    def _node(self, event: Any) -> None:
        if event.anchor is not None:
            raise self._refusal(_ANCHORS)
        if event.tag is not None:
            raise self._refusal("tags (!) are not allowed; put a text that begins so in quotes")
        self._nodes += 1
        if self._nodes > MOST_NODES:
            raise self._refusal(f"it has more than {MOST_NODES} entries")
        if isinstance(event, yaml.ScalarEvent):
            self._scalar(event)
        else:
            self._collection(is_mapping=isinstance(event, yaml.MappingStartEvent))

    def _scalar(self, event: yaml.ScalarEvent) -> None:
        written = event.value
        unspeakable = _UNSPEAKABLE.search(written)
        if unspeakable:
            raise self._refusal(_BAD_CHARACTER.format(ord(unspeakable.group())))
        if self._open and isinstance(self._open[-1].value, dict) and self._open[-1].key is None:
            self._key(written)
            return
        plain = event.style is None and event.implicit[0]
        self._put(typed(written) if plain else written, written)

    def _key(self, key: str) -> None:
        inside = self._open[-1]
        if key in inside.value:
            raise self._refusal(f'the key "{_shown(key)}" stands there twice', field=_shown(key))
        inside.key = key
        if len(self._open) == 1:
            self.field = _shown(key)

    def _collection(self, *, is_mapping: bool) -> None:
        if self._open and isinstance(self._open[-1].value, dict) and self._open[-1].key is None:
            raise self._refusal("a key must be a word")
        if len(self._open) >= self._deepest:
            raise self._refusal(f"it is nested deeper than {self._deepest} levels")
        made = _Open(self._place(), is_mapping=is_mapping)
        self._put(made.value, made.written)
        self._open.append(made)

    def _place(self) -> tuple[str | int, ...]:
        """Return the path of what comes next."""
        if not self._open:
            return ()
        inside = self._open[-1]
        return (*inside.path, len(inside.value) if inside.key is None else inside.key)

    def _put(self, value: Any, written: Any) -> None:
        self.lines[self._place()] = self.line or 1
        if not self._open:
            self.value, self.written = value, written
            return
        inside = self._open[-1]
        if inside.key is None:
            inside.value.append(value)
            inside.written.append(written)
        else:
            inside.value[inside.key], inside.written[inside.key] = value, written
            inside.key = None

    def _refusal(self, reason: str, *, field: str | None = None) -> Malformed:
        return Malformed(reason, line=self.line, field=field or self.field)


def _shown(key: str) -> str:
    return key if len(key) <= _MOST_SHOWN else f"{key[:_MOST_SHOWN]}…"


_LONGEST_NUMBER = 64  # digits; what is longer is no figure that anybody counts with
_NULL = re.compile(r"(null|Null|NULL|~|)")
_TRUE = re.compile(r"(true|True|TRUE)")
_FALSE = re.compile(r"(false|False|FALSE)")
_WHOLE = re.compile(r"[-+]?[0-9]+")
_OTHER_BASE = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
_FRACTION = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_INFINITE = re.compile(r"([-+]?)\.(inf|Inf|INF)")
_NO_NUMBER = re.compile(r"\.(nan|NaN|NAN)")


def typed(text: str) -> Any:
    """Return what a plain scalar means in YAML 1.2."""
    if not text or text[0] in "nN~tTfF":
        for pattern, value in ((_NULL, None), (_TRUE, True), (_FALSE, False)):
            if pattern.fullmatch(text):
                return value
        return text
    return _number(text) if text[0] in "0123456789+-." and len(text) <= _LONGEST_NUMBER else text


def _number(text: str) -> Any:
    if _WHOLE.fullmatch(text):
        return int(text)
    if _OTHER_BASE.fullmatch(text):
        return int(text, 0)
    if _FRACTION.fullmatch(text):
        return float(text)
    infinite = _INFINITE.fullmatch(text)
    if infinite:
        return float(f"{infinite.group(1)}inf")
    return float("nan") if _NO_NUMBER.fullmatch(text) else text


_BLANKS = " \t"
_BREAKS = "\r\n\x85\u2028\u2029"


class Loader(yaml.BaseLoader):
    """The library's, for which a tab is a blank wherever it is not the beginning of a line."""

    def scan_plain_spaces(self, indent: int, start_mark: Any) -> list[str] | None:
        """Take what stands between two words of a text without quotes."""
        length = self._blanks()
        blanks = self.prefix(length)
        self.forward(length)
        if self.peek() in _BREAKS:
            spaces: list[str] | None = super().scan_plain_spaces(indent, start_mark)
            return spaces
        return [blanks] if blanks else []

    def scan_to_next_token(self) -> None:
        """Go to what comes next; a tab that indents it stays, and is refused there."""
        super().scan_to_next_token()
        while self.peek() == "\t" and not self._indents():
            self.forward(self._blanks())
            if not self.flow_level:
                # What is laid out by its column cannot begin behind a tab: nobody knows how wide that is.
                self.allow_simple_key = False
            super().scan_to_next_token()

    def _blanks(self) -> int:
        length = 0
        while self.peek(length) in _BLANKS:
            length += 1
        return length

    def _indents(self) -> bool:
        """Say whether only blanks stand before it in its line, and something of weight behind it."""
        before = self.buffer[self.pointer - self.column : self.pointer]
        return not before.strip(_BLANKS) and self.peek(self._blanks()) not in f"#\0{_BREAKS}"
