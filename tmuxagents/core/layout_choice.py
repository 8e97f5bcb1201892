"""Which layout file of a name counts: the project's before the user's, the user's before the shipped one."""

from __future__ import annotations

import difflib

from tmuxagents.core import layouts, sanitize
from tmuxagents.core.layouts import Layout
from tmuxagents.errors import BadConfig, BadRequest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class Bad:
    """A file that is no layout, and why."""

    __slots__ = ("error", "name", "path", "source")

    def __init__(self, name: str, *, source: str, path: str, error: BadConfig) -> None:
        self.name = name
        self.source = source
        self.path = path
        self.error = error


class Shelf:
    """All layouts that can be named somewhere, good and bad, by name; of one name the first one counts."""

    def __init__(self, found: Iterable[Layout | Bad]) -> None:
        self._files = sorted(found, key=lambda one: (one.name, -layouts.SOURCES.index(one.source)))
        first: dict[str, Layout | Bad] = {}
        for one in self._files:
            before = first.setdefault(one.name, one)
            if isinstance(one, Layout) and before is not one:
                one.hidden_by = before.path
            if isinstance(before, Layout) and before is not one and before.hides is None:
                before.hides = one.path

    @property
    def layouts(self) -> list[Layout]:
        """Return all that can be used, also those that another one hides."""
        return [one for one in self._files if isinstance(one, Layout)]

    @property
    def warnings(self) -> list[str]:
        """Return what is wrong with the others, a line a file."""
        return [one.error.message.partition("\n")[0] for one in self._files if isinstance(one, Bad)]

    @property
    def names(self) -> list[str]:
        """Return the names that mean something."""
        return list(dict.fromkeys(one.name for one in self._files))

    def choose(self, name: str) -> Layout:
        """Return the layout of a name, or of one source: `global:NAME`. Raises unknown-layout, bad-layout."""
        source, _, bare = name.rpartition(":")
        for one in self._files:
            if one.name == bare and source in ("", one.source):
                if isinstance(one, Bad):
                    raise one.error
                return one
        raise self._unknown(name)

    def _unknown(self, name: str) -> BadRequest:
        near: Sequence[str] = difflib.get_close_matches(name, self.names, n=1)
        shown = sanitize.cut(sanitize.line(name), 40)
        message = f'Unknown layout: "{shown}". Available layouts: {", ".join(self.names) or "(none)"}'
        hint = f"Did you mean {near[0]}?" if near else "tmuxagents layouts list says where they lie"
        return BadRequest(message, kind="unknown-layout", hint=hint, candidates=near)
