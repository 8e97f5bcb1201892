#!/usr/bin/env -S python3 -S
"""A child that really runs: it speaks pi's JSON mode and does what its prompt says, one step a line.

It is a file of its own, so that Python compiles nothing else at each start.
"""

import os
import sys

sys.path.insert(0, os.path.realpath(__file__).rpartition("/tests/")[0])

from tests.children.steps import main

main()
