"""Read a brand's own agent file as the header of a preset. Pure.

A field without an equivalent preset key is a fault, unless the brand lists it as harmless. Common tools get
our names. Tools that only this brand has keep their names.
"""

from __future__ import annotations

import re

from tmuxagents.agents import capabilities
from tmuxagents.presets.fields import DESCRIPTION, NAME, Flaw
from tmuxagents.text import paths, yaml

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from tmuxagents.agents.capabilities import AgentFiles

_MODEL, _TOOLS, _PERMISSION = "model", "tools", "permission"
_INHERITED = "inherit"
_ALL = "*"
_NOTHING = "a preset has nothing that means this: remove it, or write a preset of your own"


def header_of(text: str, path: str, files: AgentFiles) -> tuple[yaml.Frontmatter | None, list[Flaw]]:
    """Return the file as the header of a preset, and its flaws; None if the file defines no agent."""
    header = _toml(text) if files.suffix == capabilities.TOML else yaml.parse(text)
    if not header.fields or (files.titled and not isinstance(header.fields.get(NAME), str)):
        return None, []
    reading = _HeaderReader(header, files)
    fields = dict(reading.fields())
    fields[NAME] = header.fields[NAME] if files.titled else paths.stem(path)
    body = header.body if files.body is None else str(header.fields.get(files.body) or "").strip()
    kept = {key: header.written[key] for key in fields if key in _KEPT and key in header.written}
    return yaml.Frontmatter(fields, {**fields, **kept}, header.lines, body), reading.flaws


_KEPT = (NAME, DESCRIPTION, _MODEL)


class _HeaderReader:
    """Reads one header that uses the brand's words."""

    def __init__(self, header: yaml.Frontmatter, files: AgentFiles) -> None:
        self._header = header
        self._files = files
        self.flaws: list[Flaw] = []

    def fields(self) -> Iterator[tuple[str, Any]]:
        """Yield the fields of the preset."""
        files = self._files
        mode = files.permission[0] if files.permission else None
        for key, value in self._header.fields.items():
            if value is None or key in (*files.harmless, NAME, files.body):
                continue
            if key == DESCRIPTION or (key == _MODEL and value != _INHERITED):
                yield key, value
            elif key == mode and files.permission:
                modes = files.permission[1]
                if isinstance(value, str) and value in modes:
                    yield _PERMISSION, modes[value]
                else:
                    levels = ", ".join(modes)
                    self._fault(key, f"no permission level means {str(value)[:40]!r}; known are {levels}")
            elif key in (_TOOLS, _PERMISSION) and files.switches:
                continue
            elif key == _TOOLS:
                yield from self._tools(value)
            elif key != _MODEL:
                self._fault(key, _NOTHING)
        if files.switches:
            yield from self._switched()

    def _fault(self, key: str, message: str) -> None:
        self.flaws.append(Flaw(message, line=self._header.lines.get(key), field=key))

    def _tools(self, value: Any) -> Iterator[tuple[str, Any]]:
        listed = value.split(",") if isinstance(value, str) else value
        if not isinstance(listed, list) or not all(isinstance(one, str) for one in listed):
            self._fault(_TOOLS, "this must be a list of words")
            return
        names = [one.strip() for one in listed if one.strip()]
        if _ALL not in names:
            yield _TOOLS, self._named(names)

    def _named(self, names: Iterable[str]) -> list[str]:
        """Return the tools under our names, in the same order."""
        found: list[str] = []
        for name in names:
            ours = self._files.tools.get(name.lower())
            if ours is None and name not in self._files.own_tools:
                self._fault(_TOOLS, f"{name[:40]!r} is no tool that a child of tmuxagents can be given")
            found += ours if ours is not None else [name]
        return list(dict.fromkeys(found))

    def _switched(self) -> Iterator[tuple[str, Any]]:
        """Yield the tools that are left, if any is switched off."""
        every = [*self._files.tools, *self._files.own_tools]
        left = dict.fromkeys(every, True)
        for key, values in ((_TOOLS, (True, False)), (_PERMISSION, ("allow", "deny"))):
            rules = self._header.fields.get(key) or {}
            if not isinstance(rules, dict) or not all(one in values for one in rules.values()):
                self._fault(key, f"this must say {' or '.join(map(str, values)).lower()} of each tool")
                continue
            for pattern, value in rules.items():
                meant = re.compile(re.escape(pattern).replace(r"\*", ".*"))
                left |= dict.fromkeys(filter(meant.fullmatch, every), value == values[0])
        if not all(left.values()):
            yield _TOOLS, self._named(one for one in every if left[one])


def _toml(text: str) -> yaml.Frontmatter:
    """Read a file that is all header; raise Malformed."""
    import tomllib  # noqa: PLC0415  (one brand has such files)

    try:
        fields = tomllib.loads(text.removeprefix("\ufeff"))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise yaml.Malformed(f"it cannot be read as TOML: {error}"[:200]) from error
    lines, rows = {}, [row.strip() for row in text.splitlines()]
    for key in fields:  # the line that sets it, as people usually write it
        begins = (key, f"[{key}")
        lines[key] = next((number for number, row in enumerate(rows, 1) if row.startswith(begins)), 1)
    return yaml.Frontmatter(fields, {key: str(value) for key, value in fields.items()}, lines, "")
