"""Modules of Python's own that a wrapper would wait for at its start, without what is slow.

`contextlib` and the enums of `signal` would take 4 of its 20 ms, and memory for as long as its child lives.

Touches: the C modules below Python's library.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal as signal  # noqa: PLC0414  (for others, from here)
else:
    import _signal as signal

__all__ = ["ignoring", "signal"]


class ignoring:  # noqa: N801  (it reads as contextlib's `suppress` does)
    """Go on behind the block if one of these errors comes up in it."""

    __slots__ = ("_errors",)

    def __init__(self, *errors: type[BaseException]) -> None:
        self._errors = errors

    def __enter__(self) -> None:
        """Nothing is to be done yet."""

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> bool:
        return kind is not None and issubclass(kind, self._errors)
