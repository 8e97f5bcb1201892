"""All that relies on private parts of CPython, with the reason for each. Light: every look imports it.

The public packages would cost a look such as `poll`, and a wrapper, of which there is one a child, several
milliseconds each. Where a private part is missing, the public package takes its place; only the C codec of
JSON has no fallback: every supported CPython has it. tests/test_cpython.py checks that each part is there and
behaves.

Touches: the C modules below Python's library.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import _json
    import signal as signal  # noqa: PLC0414  (for others, from here)
    from collections.abc import Callable
    from typing import Any
else:
    try:
        import _signal as signal  # `signal` makes enums: 4 of the 20 ms in which a wrapper starts, and memory
    except ImportError:
        import signal

__all__ = ["NOT_JSON", "ignoring", "json_parts", "prctl", "prepare_sqlite", "sha256", "signal"]

# What the C scanner raises besides ValueError: at the end of a text, and, before 3.12, where its error class
# cannot be looked up because `json.decoder` is not imported.
NOT_JSON = (StopIteration, SystemError)


class ignoring:  # noqa: N801  (it reads as contextlib's `suppress` does, which is slow to import)
    """Go on behind the block if one of these errors comes up in it."""

    __slots__ = ("_errors",)

    def __init__(self, *errors: type[BaseException]) -> None:
        self._errors = errors

    def __enter__(self) -> None:
        """Nothing is to be done yet."""

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> bool:
        return kind is not None and issubclass(kind, self._errors)


def json_parts() -> tuple[Callable[[str], str], type[_json.make_encoder], type[_json.make_scanner]]:
    """Return the C parts of `json`, which is written over `re`: the escape of a text, encoder and scanner."""
    from _json import encode_basestring, make_encoder, make_scanner  # noqa: PLC0415  (not each look needs it)

    if hasattr(sys, "gettotalrefcount"):  # a debug build does not survive a missing error class
        import json.decoder  # noqa: F401, PLC0415  (the scanner looks its error up by name)
    return encode_basestring, make_encoder, make_scanner


def prctl(option: int, value: int) -> None:
    """Call the system's prctl by the C module below `ctypes`, itself 3 of a wrapper's first 15 ms."""
    try:
        import _ctypes  # noqa: PLC0415  (it is asked once)

        found = _ctypes.dlsym(_ctypes.dlopen(None, 0), "prctl")  # type: ignore[arg-type]  # None: what is loaded
        _ctypes.call_function(found, (option, value, 0, 0, 0))
    except (ImportError, AttributeError):
        import ctypes  # noqa: PLC0415

        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def sha256(text: bytes) -> str:
    """Return the SHA-256 of a text in hex, without `hashlib`: that loads OpenSSL, 2.5 ms of a launch."""
    try:
        made = __import__("_sha2" if sys.version_info >= (3, 12) else "_sha256")
    except ImportError:
        made = __import__("hashlib")
    return str(made.sha256(text).hexdigest())


def prepare_sqlite() -> None:
    """Import `_sqlite3` without `functools`, where that works; a later import finds it in any case.

    `_sqlite3` asks for `functools.lru_cache` once, and importing `functools` takes longer than all else that
    a look imports. During the import a stand-in holds the C function alone.
    """
    name = "functools"
    if name in sys.modules:  # also with a thread beside us, since `threading` imports it
        return
    try:
        from _functools import _lru_cache_wrapper  # type: ignore[import-not-found]  # noqa: PLC0415

        def lru_cache(maxsize: int) -> Callable[[Callable[..., Any]], Any]:
            return lambda ask: _lru_cache_wrapper(ask, maxsize, False, tuple)  # noqa: FBT003  (no names there)

        stand_in = type(sys)(name)
        stand_in.lru_cache = lru_cache  # type: ignore[attr-defined]
        sys.modules[name] = stand_in
        import _sqlite3  # noqa: F401, PLC0415
    except ImportError:
        return
    finally:
        sys.modules.pop(name, None)
