"""What was measured, told: the tables, and docs/performance.md with its chart."""

from __future__ import annotations

import os
import platform
import subprocess
import time
from typing import TYPE_CHECKING

from scripts.benchmark import chart
from scripts.benchmark.curves import BY_CHILDREN, BY_KNOWN
from scripts.benchmark.peers import ROW as PEERS
from scripts.benchmark.table import HEAD, markdown, number
from tests.harness import REPOSITORY

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from scripts.benchmark.table import Figure

PAGE = REPOSITORY / "docs" / "performance.md"
CHART = PAGE.with_suffix(".svg")
BEGIN, END = "<!-- figures: written by scripts/bench --doc -->", "<!-- end of figures -->"


def machine() -> str:
    """Return one line on what this was measured on, and when."""
    tmux = subprocess.run(["tmux", "-V"], capture_output=True, text=True, check=True).stdout.strip()
    system = f"{platform.system()} {'.'.join(platform.release().split('.')[:2])}"
    python = f"CPython {platform.python_version()}"
    return f"{time.strftime('%Y-%m-%d')}, {os.cpu_count()} cores, {system}, {python}, {tmux}"


def tables(figures: Sequence[Figure]) -> list[str]:
    """Return the tables: goals, growth, peers; each only if anything of it was measured."""
    growth = [figure for figure in figures if figure.row in (BY_CHILDREN, BY_KNOWN)]
    peers = [figure for figure in figures if figure.row == PEERS]
    goals = [figure for figure in figures if figure not in (*growth, *peers)]
    found = []
    if goals:
        found.append(markdown([HEAD, *(figure.cells() for figure in goals)]))
    if growth:
        rows = [(figure.what, figure.ours, f"{number(figure.figure)} x") for figure in growth]
        found.append(markdown([("growth", "by how many: cost", "last / first"), *rows]))
    if peers:
        head = ("the status of 20 jobs", "CPU time of the answer; what stays", "ratio", "beside it")
        asked = [(figure.what, figure.ours, _beside(figure), figure.floor) for figure in peers]
        found.append(markdown([head, *asked]))
    return found


def _beside(figure: Figure) -> str:
    return f"{number(figure.figure)} x" if figure.figure else "-"


def write(machine_line: str, figures: Sequence[Figure], page: Path = PAGE) -> None:
    """Put the figures into the page, between its marks, and draw its chart."""
    before, _, rest = page.read_text().partition(BEGIN)
    _, found, after = rest.partition(END)
    if not found:
        raise RuntimeError(f"{page} has no room for figures: {BEGIN} … {END}")
    page.write_text("\n\n".join([before + BEGIN, told(machine_line, figures), END]) + after)
    page.with_suffix(".svg").write_text(chart.picture(figures))


def told(machine_line: str, figures: Sequence[Figure]) -> str:
    """Return what the page says of one run."""
    goals = [figure for figure in figures if figure.met is not None]
    missed = dict.fromkeys(str(figure.row) for figure in goals if not figure.met)
    met = sum(figure.met is True for figure in goals)
    rows = f"; in row {', '.join(missed)} one is missed" if missed else ""
    sentence = f"Measured {machine_line}: {met} of {len(goals)} goals met{rows}."
    return "\n\n".join([sentence, *tables(figures)])
