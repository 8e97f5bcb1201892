"""The private parts of CPython that the package uses: each is there, behaves, and may be missing.

The tests run on the version that they run on. `_sqlite3` without `functools` is in tests/registry.
"""

from __future__ import annotations

import ast
import hashlib
import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.harness import REPOSITORY
from tmuxagents import cpython

pytestmark = pytest.mark.usefixtures("nothing_hangs")

PACKAGE = Path(cpython.__file__).parent
SUBREAPER = """import ctypes
cpython.prctl(36, 1)
found = ctypes.c_int()
ctypes.CDLL(None).prctl(37, ctypes.byref(found), 0, 0, 0)
print(found.value)"""


def asked(code: str, *, before: str = "") -> str:
    """Run code in an interpreter that has imported nothing but what Python starts with."""
    lines = f"import sys\n{before}\nsys.path.append(sys.argv[1])\nfrom tmuxagents import cpython\n{code}"
    argv = [sys.executable, "-I", "-S", "-B", "-c", lines, str(REPOSITORY)]
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout.strip()


def signal_names() -> set[str]:
    """Return what modules of the package take from `signal` by way of cpython."""
    found = set()
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text("utf-8")
        if "from tmuxagents.cpython import" in text:
            nodes = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Attribute))
            found |= {node.attr for node in nodes if ast.unparse(node.value) == "signal"}
    return found


def test_the_c_module_of_signals_has_all_that_is_used_and_means_the_same() -> None:
    assert {"SIGTERM", "set_wakeup_fd", "pidfd_send_signal"} <= signal_names()
    for name in signal_names():
        here, there = getattr(cpython.signal, name), getattr(signal, name)
        assert here == there or callable(here), name


def test_the_c_parts_of_json_write_and_read_as_the_package_does() -> None:
    encode_text, make_encoder, make_scanner = cpython.json_parts()
    document = {"a": [1, 2.5, None, True, "x\n\u2028é"], "b": {}}
    no = (False, False, False)
    text = "".join(make_encoder(None, repr, encode_text, None, ":", ",", *no)(document, 0))
    assert text == json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    how: Any = json.JSONDecoder()
    assert make_scanner(how)(text, 0) == (document, len(text))


def test_the_scanner_refuses_without_the_package_by_errors_that_are_known() -> None:
    how = "strict=True; object_hook=object_pairs_hook=None; parse_float=float; parse_int=int"
    code = f"""class How: {how}; parse_constant=str
for text in ("", "[1,", '{{"a"'):
    try: cpython.json_parts()[2](How)(text, 0)
    except (ValueError, *cpython.NOT_JSON): print("refused")"""
    assert asked(code).split() == ["refused"] * 3


def test_none_of_the_packages_that_they_replace_is_imported() -> None:
    slow = '{"json", "re", "signal", "enum", "contextlib", "functools", "ctypes", "hashlib", "_hashlib"}'
    code = "cpython.prctl(36, 0); cpython.prepare_sqlite(); cpython.json_parts(); cpython.sha256(b'')\n"
    assert asked(f"{code}print({slow} & set(sys.modules))") == "set()"


def test_prctl_is_called() -> None:
    assert asked(SUBREAPER) == "1"


def test_without_the_function_below_ctypes_the_package_calls_it() -> None:
    assert asked(SUBREAPER, before="import ctypes, _ctypes\ndel _ctypes.call_function") == "1"


def test_without_the_c_module_of_signals_the_package_takes_its_place() -> None:
    hidden = "import signal\nsys.modules['_signal'] = None"
    assert asked("print(cpython.signal.__name__)", before=hidden) == "signal"


@pytest.mark.parametrize("times", [0, 999, 4095, 4096])  # from a megabyte on, the package itself is asked
def test_a_hash_is_that_of_the_package(times: int) -> None:
    text = bytes(range(256)) * times
    assert cpython.sha256(text) == hashlib.sha256(text).hexdigest()
    assert asked(f"cpython.sha256(bytes({len(text)})); print('hashlib' in sys.modules)") == str(times == 4096)


def test_without_the_c_module_of_hashes_the_package_takes_its_place() -> None:
    hidden = "sys.modules |= {'_sha2': None, '_sha256': None}"
    code = "print(cpython.sha256(b'x'), 'hashlib' in sys.modules)"
    assert asked(code, before=hidden) == f"{hashlib.sha256(b'x').hexdigest()} True"


def test_errors_are_ignored_as_named_and_no_others() -> None:
    with cpython.ignoring(OSError, ValueError):
        raise FileNotFoundError
    with pytest.raises(KeyError), cpython.ignoring(OSError):
        raise KeyError
