"""Templates for lists: text with fields of a document, such as `{{.name}} {{.usage.cost}}`. Pure."""

from __future__ import annotations

from tmuxagents.text import jsonline

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

_OPEN, _CLOSE, _JSON = "{{", "}}", "json "
_ESCAPES = {"\\t": "\t", "\\n": "\n", "\\\\": "\\"}


class BadTemplateError(ValueError):
    """A template that cannot be read, or names an unknown field (`near`: the known fields)."""

    def __init__(self, message: str, near: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.near = near


class Template:
    """A template, read once: pieces of text, and the fields between them."""

    def __init__(self, text: str) -> None:
        before, *rest = text.split(_OPEN)
        self._before = _unescaped(before)
        self._fields: list[tuple[list[str], bool, str]] = []  # path, whether as JSON, the text after it
        for part in rest:
            field, closed, after = part.partition(_CLOSE)
            as_json = field.strip().startswith(_JSON)
            path = field.strip().removeprefix(_JSON).strip().removeprefix(".")
            if not closed or not (path or as_json):
                raise BadTemplateError(f"the template needs a field and }}}} after {_OPEN}{field}")
            self._fields.append((path.split(".") if path else [], as_json, _unescaped(after)))

    def fill(self, document: Mapping[str, Any]) -> str:
        """Return the text for one document; raise BadTemplateError for a field that it does not have."""
        found = [self._before]
        for path, as_json, after in self._fields:
            value: Any = document
            for depth, key in enumerate(path):
                if not isinstance(value, dict) or key not in value:
                    if value is None and depth:  # a missing object has no members
                        break
                    name = ".".join(path[: depth + 1])
                    raise BadTemplateError(
                        f'there is no field "{name}"', list(value) if isinstance(value, dict) else ()
                    )
                value = value[key]
            if as_json or not isinstance(value, str):
                value = "" if value is None else jsonline.encode({"": value}).decode()[4:-2]
            found += [value, after]
        return "".join(found)


def _unescaped(text: str) -> str:
    found, at = "", 0
    while at < len(text):
        pair = text[at : at + 2]
        found += _ESCAPES.get(pair, text[at])
        at += 2 if pair in _ESCAPES else 1
    return found
