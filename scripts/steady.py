"""scripts/test: pytest, and what failed once more, alone and one by one, if it was little.

usage: steady.py CACHE NOTES PYTEST-ARGUMENT...

What passes the second time fails nothing, but is unsteady: NOTES gets a line for each. CACHE is pytest's own,
and is cleared at the beginning.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

MOST = 10  # where more fail, something is broken
FAILED = 1  # pytest's code where tests failed; others say that it could not do its work
AGAIN = ("-n0", "--last-failed", "--last-failed-no-failures=none")


def main(cache: str, notes: str, *asked: str) -> int:
    """Run the tests; return the exit code."""
    code = pytest(cache, "--cache-clear", *asked)
    failed = last_failed(cache)
    if code != FAILED or not 0 < len(failed) <= MOST:
        return code
    print(f"\nsteady: {len(failed)} failed, and are tried once more, alone\n", flush=True)
    code = pytest(cache, *asked, *AGAIN)
    still = last_failed(cache)
    with Path(notes).open("a", encoding="utf-8") as file:
        for name in failed:
            if code in (0, FAILED) and name not in still:
                file.write(f"unsteady: {name} (failed beside others, passed alone)\n")
    return code or int(bool(still))


def pytest(cache: str, *arguments: str) -> int:
    """Run pytest; return its exit code."""
    argv = [sys.executable, "-m", "pytest", "-o", f"cache_dir={cache}", *arguments]
    return subprocess.run(argv, check=False).returncode


def last_failed(cache: str) -> list[str]:
    """Return what failed and has not passed since, as pytest keeps it."""
    kept = Path(cache, "v", "cache", "lastfailed")
    return list(json.loads(kept.read_text("utf-8"))) if kept.exists() else []


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
