"""Rows 1 to 4: what a look costs, in CPU time, as a multiple of the smallest Python process (F)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scripts.benchmark.measure import Case, interleaved
from scripts.benchmark.table import ratio

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scripts.benchmark.stage import Stage, Stand
    from scripts.benchmark.table import Figure

KNOWN, LIVE = 10_000, 100
_SMALLEST = ["-I", "-S", "-c", "pass"]
_WITH_RE = "import re, sys; from tmuxagents.__main__ import main; sys.exit(main())"
_POLL, _JSON, _VERB, _GROWTH = 2.2, 2.8, 1.3, 1.15


def looks(stage: Stage) -> Iterator[Figure]:
    """Rows 1 and 3: 100 live runs among 10,000, no watcher."""
    with stage.home(known=KNOWN, live=LIVE) as stand:
        stand.settle()
        one = stand.live[0]
        wanted = {"poll RUN": ["poll", one], "poll": ["poll"], "statusline": ["statusline"]}
        wanted |= {"poll --since": ["poll", "--since", _cursor(stand)], "poll --json": ["poll", "--json"]}
        environment = stand.home.environment
        cases = {"F": Case([stage.python, *_SMALLEST], environment)}
        for name, arguments in wanted.items():
            cases[name] = Case([stage.entry, *arguments], environment)
            cases[f"{name} "] = Case([stage.python, "-c", _WITH_RE, *arguments], environment)
        found = interleaved(cases, stage.times(60))
    for name in wanted:
        row, goal = (3, _JSON) if name == "poll --json" else (1, _POLL)
        words = f"`{name}`, {LIVE} live of {KNOWN:,} known"
        yield ratio(row, words, found["F"], found[name], goal=goal, of="F")
        yield ratio(
            row, f"`{name}`, by an older pip's script", found["F"], found[f"{name} "], goal=None, of="F"
        )


def _cursor(stand: Stand) -> str:
    return stand.call("poll", "--since", "0").splitlines()[-1].split()[1]


def growth(stage: Stage) -> Iterator[Figure]:
    """Row 2: poll among 10,000 runs beside poll of a single one."""
    with stage.home(known=1, live=1) as few, stage.home(known=KNOWN, live=1) as many:
        stands = {"few": few, "many": many}
        cases = {}
        for name, stand in stands.items():
            stand.call("poll")
            cases[name] = Case([stage.entry, "poll", "-A"], stand.home.environment)
        many.settle()
        found = interleaved(cases, stage.times(60))
    yield ratio(2, f"`poll` with {KNOWN:,} runs, with 1", found["few"], found["many"], goal=_GROWTH)


def verbs(stage: Stage) -> Iterator[Figure]:
    """Row 4: verbs that need no tmux, beside the import of click alone."""
    with stage.home(known=20, live=1) as stand:
        stand.settle()
        stand.call("poll")
        (run,) = stand.live
        over = stand.ended[0]
        bare = {
            "output": ["output", over],
            "transcript": ["transcript", run],
            "events": ["events", run],
            "schema": ["schema", "run"],
            "models": ["models"],
            "tools": ["tools"],
            "stop (of a run that has ended)": ["stop", over],
            "--help": ["--help"],
        }
        with_yaml = {"presets list": ["presets", "list"]}  # its header is YAML, and nobody reads that faster
        environment = stand.home.environment
        cases = {
            name: Case([stage.python, "-c", name], environment)
            for name in ("import click", "import click, yaml")
        }
        wanted = bare | with_yaml
        cases |= {name: Case([stage.entry, *words], environment) for name, words in wanted.items()}
        found = interleaved(cases, stage.times(40))
    for name in wanted:
        floor = "import click" if name in bare else "import click, yaml"
        yield ratio(4, f"`{name}`", found[floor], found[name], goal=_VERB, of=floor)
