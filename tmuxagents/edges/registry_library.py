"""SQLite's own module, imported without `functools`, which takes longer than all else that a look imports.

It asks for `functools.lru_cache` once, to remember the statements of a connection. The C function behind that
is had without the rest: as long as the import lasts, something that has only that stands in its place.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["sqlite3"]

_NAME = "functools"


def _prepare() -> None:
    """Import it so; where that does not work, the import below does as always."""
    try:
        from _functools import _lru_cache_wrapper  # type: ignore[import-not-found]  # noqa: PLC0415

        def lru_cache(maxsize: int) -> Callable[[Callable[..., Any]], Any]:
            return lambda ask: _lru_cache_wrapper(ask, maxsize, False, tuple)  # noqa: FBT003  (no names there)

        stand_in = type(sys)(_NAME)
        stand_in.lru_cache = lru_cache  # type: ignore[attr-defined]
        sys.modules[_NAME] = stand_in
        import _sqlite3  # noqa: F401, PLC0415
    except ImportError:
        return
    finally:
        sys.modules.pop(_NAME, None)


# Who has it, has it: and with a thread beside us it is there, since `threading` imports it.
if _NAME not in sys.modules:
    _prepare()

# The C part alone: the package around it adds dates, which nobody here stores, and 1.5 ms to every look.
import _sqlite3 as sqlite3  # noqa: E402  (prepared first)
