"""Stands in for a Claude Code on a terminal: it calls the hooks of its settings and prints their answers.

Each argument after the settings is what one hook is given, as JSON. `wait:FILE` waits until a file is there,
and `stay` waits for a signal.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

SETTINGS = json.loads(sys.argv[1].removeprefix("--settings="))

for word in sys.argv[2:]:
    if word == "stay":
        signal.pause()
    elif word.startswith("wait:"):
        while not os.path.exists(word.removeprefix("wait:")):
            time.sleep(0.01)
    else:
        given = json.loads(word)
        (hook,) = SETTINGS["hooks"][given["hook_event_name"]][0]["hooks"]
        done = subprocess.run(
            hook["command"], shell=True, input=word.encode(), capture_output=True, check=True
        )
        print(json.dumps([given["hook_event_name"], done.stdout.decode()]), flush=True)
