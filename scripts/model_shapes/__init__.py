"""The forms in which agents ask a model, a module each: read a request, answer it whole or in pieces.

Each has `asked(path, request)`, `whole(asked, turn)`, `error(turn)`, and `stream(asked, turn)`, which yields
Server-Sent Events and leaves the end away where the turn breaks off.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scripts.model_turns import Asked, Json, Turn

ENDS = {  # what a path ends with, and who speaks so
    "/chat/completions": "chat",
    "/messages": "messages",
    "/responses": "responses",
    ":generateContent": "gemini",
    ":streamGenerateContent": "gemini",
}
COUNTS = {"/messages/count_tokens": {"input_tokens": 120}, ":countTokens": {"totalTokens": 120}}


class Shape(Protocol):
    """One form of requests and answers."""

    def asked(self, path: str, request: Json) -> Asked: ...  # noqa: D102  (the module's docstring has them)
    def whole(self, asked: Asked, turn: Turn) -> Json: ...  # noqa: D102  (as above)
    def stream(self, asked: Asked, turn: Turn) -> Iterator[str]: ...  # noqa: D102  (as above)
    def error(self, turn: Turn) -> Json: ...  # noqa: D102  (as above)


def name_of(path: str) -> str | None:
    """Name the form of requests at this path, without its query."""
    return next((name for end, name in ENDS.items() if path.endswith(end)), None)


def named(name: str) -> Shape:
    """Return a form by its name."""
    found: Any = import_module(f"scripts.model_shapes.{name}")
    return found  # type: ignore[no-any-return]  # a module that has the form


def counted(path: str) -> Json | None:
    """Answer a request that wants tokens counted, and nothing else."""
    return next((dict(count) for end, count in COUNTS.items() if path.endswith(end)), None)
