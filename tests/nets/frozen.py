"""The frozen home of tests/data/run-v1, thawed into a private one, and what commands print as one text.

Everything here goes through files and the installed command: it holds whatever becomes of our modules.
"""

from __future__ import annotations

import difflib
import json
import re
import shutil
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

from tests.harness import REPOSITORY, Home

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    Golden = Callable[[Path, str], None]

FROZEN = REPOSITORY / "tests" / "data" / "run-v1"
PLACE = "/tmp/run-v1"  # where it was recorded; its files say so
HOST = "machine"  # the host that it was recorded on; its files say so
REGISTRY = "registry.db"


def thaw(home: Home, *, here: bool) -> dict[str, str]:
    """Fill a home with the frozen runs; return their names and ids.

    To this machine they are from before its last boot, so their wrappers are gone; only `elsewhere` is of
    another machine.
    `here`: the runs are of this home's own project, and no registry knows them yet. Else they are of the
    place where they were recorded, and the frozen registry knows them.
    """
    home.be_unwatched()
    (host,) = (folder.name for folder in (home.state / "hosts").iterdir())
    shutil.copytree(FROZEN / "runs", home.state / "runs", copy_function=shutil.copyfile)
    changes = {f'"host":"{HOST}"': f'"host":"{host}"'} | ({PLACE: str(home.folder)} if here else {})
    for path in (home.state, *home.state.rglob("*")):
        path.chmod(0o700 if path.is_dir() else 0o600)
        if path.name in ("meta.json", "wrapper.json"):
            path.write_text(replaced(path.read_text(), changes))
    if not here:
        _know(home.state / "hosts" / host / REGISTRY, host)
    return names()


def _know(registry: Path, host: str) -> None:
    """Put the frozen registry there. Git keeps no rights, and no machine has another's name."""
    shutil.copyfile(FROZEN / REGISTRY, registry)
    registry.chmod(0o600)
    with closing(sqlite3.connect(registry)) as book, book:
        book.execute("UPDATE run SET host = ? WHERE host = ?", (host, HOST))


def names() -> dict[str, str]:
    """Return the frozen runs, oldest first: a name for each, and its id."""
    plans = [json.loads(path.read_text()) for path in (FROZEN / "runs").glob("*/meta.json")]
    found: dict[str, str] = {}
    for plan in sorted(plans, key=lambda plan: float(plan["createdAt"])):
        found[f"{plan['name']}-again" if plan["name"] in found else plan["name"]] = plan["runId"]
    return found


def replaced(text: str, changes: Mapping[str, str]) -> str:
    """Return a text with some of its words changed."""
    for old, new in changes.items():
        text = text.replace(old, new)
    return text


# --- what commands print ---


class Pages:
    """Commands and what they print, as a person would see it, to be compared with a file.

    What differs from one time to the next is replaced by the patterns in `substitutions` alone.
    """

    def __init__(self, home: Home, substitutions: Mapping[str, str]) -> None:
        self.home = home
        self.substitutions = substitutions
        self._lines: list[str] = []

    def add(self, *words: str, variables: Mapping[str, str] | None = None, **more: Any) -> str:
        """Carry a command out and write down what it prints; return its standard output."""
        environment = self.home.environment | {"COLUMNS": "80"} | dict(variables or {})
        done = self.home.command(*words, env=environment, **more)
        shown = [word if re.fullmatch(r"[\w./:@=+,-]+", word) else json.dumps(word) for word in words]
        complaints = "".join(f"! {line}\n" for line in done.stderr.splitlines())
        said = f"{_laid_out(done.stdout)}{complaints}[{done.returncode}]"
        given = [f"{name}={value}" for name, value in (variables or {}).items()]
        self.say(" ".join(["$", *given, "tmuxagents", *shown]), said)
        return done.stdout

    def say(self, title: str, text: str) -> None:
        """Write a text down."""
        text = f"{title}\n{_laid_out(text)}"
        for pattern, word in self.substitutions.items():
            text = re.sub(pattern, word, text, flags=re.MULTILINE)
        self._lines.append(f"{text.rstrip()}\n")

    @property
    def text(self) -> str:
        """All of it."""
        return "\n".join(self._lines)


def _laid_out(printed: str) -> str:
    """Return what was printed; a JSON document with a line for each of its values."""
    if not re.fullmatch(r"\{.*\}\n?", printed):
        return printed if printed.endswith("\n") or not printed else f"{printed}\n"
    return json.dumps(json.loads(printed), indent=1, ensure_ascii=False) + "\n"


def compare(path: Path, text: str, *, write: bool) -> None:
    """Compare a text with what a file holds; `write`: have the file hold it from now on."""
    if write:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    wanted = path.read_text("utf-8") if path.exists() else ""
    if text != wanted:
        where = str(path.relative_to(REPOSITORY))
        lines = difflib.unified_diff(wanted.splitlines(), text.splitlines(), where, "now", lineterm="")
        diff = "\n".join(lines)
        raise AssertionError(f"{diff}\nIf this is meant: scripts/golden writes {where} again.")
