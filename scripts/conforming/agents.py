"""scripts/conformance agents FOLDER…: every recording in the folders against its true verdict, as a table."""

from __future__ import annotations

import sys

from scripts.conforming import recordings, truth
from scripts.conforming.judge import printable
from scripts.conforming.recordings import NoRecordings, Recording
from scripts.conforming.replay import NotJudged

GROUP = "agents"
_RIGHT, _WRONG, _UNTOLD, _CONTESTED, _LEFT = "right", "wrong", "undetectable", "contested", "not judged"


def main(folders: list[str]) -> int:
    """Print brand, recording and what became of it; 1 if one is wrong, 2 if there is none."""
    try:
        found = recordings.find(folders)
    except NoRecordings as problem:
        print(f"scripts/conformance: {problem}", file=sys.stderr)
        return 2
    counts = dict.fromkeys((_RIGHT, _WRONG, _UNTOLD, _CONTESTED, _LEFT), 0)
    for recording in found:
        word, lines = _row(recording)
        counts[word] += 1
        shown = f" ({lines[0]})" if word == _LEFT else ""
        print(printable(f"{recording.brand:<10}{recording.name:<24}{word}{shown}"))
        for line in lines if word in (_WRONG, _CONTESTED) else ():
            print(printable(f"  {line}"))
    print(", ".join(f"{count} {word}" for word, count in counts.items() if count or word in (_RIGHT, _WRONG)))
    return 1 if counts[_WRONG] or len(found) == counts[_LEFT] else 0


def _row(recording: Recording) -> tuple[str, list[str]]:
    """Return what became of a recording, and its differences or why it was not judged."""
    try:
        lines = truth.differences(recording)
    except NotJudged as why:
        return _LEFT, [str(why)]
    except Exception as error:  # noqa: BLE001  (a recording that our code cannot bear is a wrong one)
        lines = [f"{type(error).__name__}: {error}"]
    if lines and recording.verdict.get("contested"):
        return _CONTESTED, lines
    if lines:
        return _WRONG, lines
    return (_UNTOLD if truth.is_undetectable(recording) else _RIGHT), []
