"""Tabs in YAML, as YAML has them: between two words, behind a value, before a comment; they never indent.

The library refuses each of them outside of quotes, and with it the whole file.
"""

from __future__ import annotations

import yaml

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

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
