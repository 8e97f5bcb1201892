"""scripts/conformance FILE | agents FOLDER…: run vectors, or recordings of agents, through the real code."""

from __future__ import annotations

import argparse
import sys

from scripts.conforming import agents, cases
from scripts.conforming.agents import GROUP
from scripts.conforming.judge import judge


def main() -> int:
    """Print the cases that fail and the counts; 1 if any failed, 2 for a file that holds no vectors."""
    if sys.argv[1:2] == [GROUP]:
        return agents.main(sys.argv[2:])
    parser = argparse.ArgumentParser(prog="scripts/conformance", description=__doc__)
    parser.add_argument("file", metavar="FILE", help='JSON: {"groups": {NAME: [{id, in, out or error}, …]}}')
    try:
        listed = cases.read(parser.parse_args().file)
    except cases.NoVectors as problem:
        print(f"scripts/conformance: {problem}", file=sys.stderr)
        return 2
    failures = [failure for failure in map(judge, listed) if failure is not None]
    for failure in failures:
        print(failure)
    print(f"{len(listed) - len(failures)} passed, {len(failures)} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
