"""SQLite is imported without `functools`; both modules are complete afterwards."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.harness import REPOSITORY

pytestmark = pytest.mark.usefixtures("nothing_hangs")

ASKED = """import sys
sys.path.append(sys.argv[1])
sys.dont_write_bytecode = True
from tmuxagents.registry import database as registry
print(*(name for name in ("functools", "collections", "re", "operator") if name in sys.modules))
with registry.open_memory() as book:
    connection = book._database._connection
    print(*(connection.execute(f"SELECT {number}").fetchone()[0] for number in range(300)))
    assert book.ids() == set()
import functools
print(functools.wraps.__module__, functools.lru_cache(4)(abs)(-3))"""


def asked(before: str = "") -> list[str]:
    """Open a registry in a process that has imported nothing else; return the printed lines."""
    argv = [sys.executable, "-I", "-S", "-c", before + ASKED, str(REPOSITORY)]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def test_it_comes_alone_and_works_and_leaves_functools_as_it_is() -> None:
    figures = " ".join(map(str, range(300)))  # more statements than a connection remembers
    assert asked() == ["", figures, "functools 3"]


def test_where_functools_is_there_it_is_taken() -> None:
    assert asked("import functools\n")[0] == "functools collections operator"


def test_without_the_c_function_it_comes_as_always() -> None:
    hidden = "import sys\nsys.modules['_functools'] = type(sys)('_functools')\n"
    assert asked(hidden)[0] == "functools collections operator"
