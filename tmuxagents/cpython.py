"""All code that relies on private parts of CPython, with the reason for each. It is light, for `poll`.

Each public package would cost `poll`, and every child's wrapper, several milliseconds. If a private part is
missing, the public package takes its place. Only the C codec of JSON has no substitute: every supported
CPython has it. tests/test_cpython.py checks that each part is there and works.

Touches: the C modules below Python's library.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import _json
    import signal as signal  # noqa: PLC0414  (for other modules)
    from collections.abc import Callable
    from typing import Any
else:
    try:
        import _signal as signal  # `signal` makes enums: 4 of the 20 ms of a wrapper's start, and memory
    except ImportError:
        import signal

__all__ = ["NOT_JSON", "ignoring", "json_parts", "prctl", "prepare_sqlite", "sha256", "signal"]

# Besides ValueError, the C scanner raises StopIteration at the end of a text. Before 3.12 it also raises
# SystemError, if it cannot look up its error class because `json.decoder` is not imported.
NOT_JSON = (StopIteration, SystemError)
_WORTH_OPENSSL = 1024 * 1024  # bytes to hash


class ignoring:  # noqa: N801  (contextlib's `suppress`, which is slow to import)
    """Continue after the block if one of these errors is raised in it."""

    __slots__ = ("_errors",)

    def __init__(self, *errors: type[BaseException]) -> None:
        self._errors = errors

    def __enter__(self) -> None:
        """Do nothing."""

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> bool:
        return kind is not None and issubclass(kind, self._errors)


def json_parts() -> tuple[Callable[[str], str], type[_json.make_encoder], type[_json.make_scanner]]:
    """Return the C parts of `json` (escaping of a text, encoder, scanner), since `json` imports `re`."""
    from _json import encode_basestring, make_encoder, make_scanner  # noqa: PLC0415  (not always needed)

    if hasattr(sys, "gettotalrefcount"):  # a debug build does not survive a missing error class
        import json.decoder  # noqa: F401, PLC0415  (the scanner looks its error up by name)
    return encode_basestring, make_encoder, make_scanner


def prctl(option: int, value: int) -> None:
    """Call the system's prctl without `ctypes`, which would take 3 of a wrapper's first 15 ms."""
    try:
        import _ctypes  # noqa: PLC0415  (called once)

        found = _ctypes.dlsym(_ctypes.dlopen(None, 0), "prctl")  # type: ignore[arg-type]  # None: what is loaded
        _ctypes.call_function(found, (option, value, 0, 0, 0))
    except (ImportError, AttributeError):
        import ctypes  # noqa: PLC0415  (only without _ctypes)

        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def sha256(text: bytes) -> str:
    """Return the SHA-256 of a text in hex, without `hashlib`, whose OpenSSL takes 2.5 ms to load.

    From a megabyte on, OpenSSL is worth loading: it needs a fifth of the time.
    """
    if len(text) >= _WORTH_OPENSSL:
        import hashlib  # noqa: PLC0415  (seldom needed)

        return hashlib.sha256(text).hexdigest()
    try:
        made = __import__("_sha2" if sys.version_info >= (3, 12) else "_sha256")
    except ImportError:
        made = __import__("hashlib")
    return str(made.sha256(text).hexdigest())


def prepare_sqlite() -> None:
    """Import `_sqlite3` without `functools`, if possible; otherwise a later import loads both.

    `_sqlite3` needs only `functools.lru_cache`, and importing `functools` takes longer than all other imports
    of `poll`. During the import a substitute module holds the C function.
    """
    name = "functools"
    if name in sys.modules:  # always so beside other threads, since `threading` imports it
        return
    try:
        from _functools import _lru_cache_wrapper  # type: ignore[import-not-found]  # noqa: PLC0415  (as above)

        def lru_cache(maxsize: int) -> Callable[[Callable[..., Any]], Any]:
            return lambda ask: _lru_cache_wrapper(ask, maxsize, False, tuple)  # noqa: FBT003  (no names there)

        substitute = type(sys)(name)
        substitute.lru_cache = lru_cache  # type: ignore[attr-defined]  # a module made here
        sys.modules[name] = substitute
        import _sqlite3  # noqa: F401, PLC0415  (for its effect: the next import finds it)
    except ImportError:
        return
    finally:
        sys.modules.pop(name, None)
