"""SQLite's own module, imported fast, and the registry's file: where it lies, whether it is the same.

`_sqlite3` asks for `functools.lru_cache` once, and importing `functools` takes longer than all else that a
look imports. So during that import a stand-in holds the C function alone. `sqlite3`, the package around
`_sqlite3`, adds dates, which the registry does not store, and 1.5 ms.

Touches: SQLite.
"""

from __future__ import annotations

import os
import sys

from tmuxagents.system.identity import host

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

NAME = "registry.db"

Identity = tuple[int, int]


class Unfit(Exception):
    """The registry cannot be used now, or not by us; it is left as it is."""


class Damaged(Exception):
    """The registry's file is none, or not ours; `identity` is the file that was found so."""

    def __init__(self, why: str, identity: Identity | None) -> None:
        super().__init__(why)
        self.identity = identity


def path_of(home: str) -> str:
    """Return the path of this machine's registry in a state directory."""
    return f"{home}/hosts/{host()}/{NAME}"


def identity(path: str) -> Identity | None:
    """Return device and inode of a file, None if there is none."""
    try:
        facts = os.stat(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Unfit(str(error.strerror)) from error
    return facts.st_dev, facts.st_ino
